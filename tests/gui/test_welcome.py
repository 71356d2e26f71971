"""The page without a model, and the line over a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import resources
from core.gguf.header import Kind
from core.language import NAMES, speak
from core.machine.machine import DeviceKind
from core.model.model import Model
from core.problems import Problem, Severity
from core.provenance import Number, Rank, Source, Unit
from core.units import UnitSystem
from gui.document import Document
from gui.panels.header_line import HeaderLine, layers_in_words
from gui.panels.welcome import WelcomePanel
from gui.theme import Theme, ThemeMode
from gui.widgets.fact_label import FactLabel
from gui.widgets.file_card import FileCard
from gui.widgets.text import Text
from gui.workers.opening import Summary, summarising
from gui.workers.runner import Handle
from resources import __file__ as resources_file
from tests.support import plans

HERE = plans.machine(
    plans.device("RTX 3090", kind=DeviceKind.GPU, memory=24 * 2**30, used=2**30),
    plans.device("RAM", memory=64 * 2**30, used=6 * 2**30, bandwidth=None),
    id="this",
    name="Here",
)


@pytest.fixture
def document() -> Document:
    return Document(resolve=plans.resolve)


@pytest.fixture
def welcome(qtbot: QtBot, document: Document) -> WelcomePanel:
    made = WelcomePanel(document)
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    return made


def cards(welcome: WelcomePanel) -> dict[str, FileCard]:
    return {card.accessibleName(): card for card in welcome.findChildren(FileCard)}


def texts(welcome: WelcomePanel) -> list[str]:
    return [t.text() for t in welcome.findChildren(Text) if t.isVisible() and t.text()]


def facts(welcome: WelcomePanel) -> list[str]:
    QCoreApplication.processEvents()  # new rows are shown by the layout
    return [f.shown for f in welcome.computer.findChildren(FactLabel) if f.isVisible()]


def test_until_the_computer_is_known_it_says_that_it_is_looking(
    welcome: WelcomePanel, document: Document
) -> None:
    assert "Looking at this computer…" in texts(welcome)
    assert not welcome.computer.measure_button.isVisible()
    document.set_this_computer(HERE)
    assert "Looking at this computer…" not in texts(welcome)


def test_every_device_of_this_computer_is_shown_with_what_is_known(
    welcome: WelcomePanel, document: Document
) -> None:
    document.set_this_computer(HERE)
    document.set_machine(plans.machine())  # whichever machine is chosen
    assert facts(welcome) == [
        "24.0 GiB",
        "1.00 GiB in use",
        "51.2 GB/s",
        "64.0 GiB",
        "6.00 GiB in use",
        "bandwidth unknown",
    ]
    document.set_units(UnitSystem.GB)
    assert facts(welcome)[0] == "25.8 GB"  # 24 x 2^30 = 25,769,803,776


def test_the_bandwidth_can_be_measured_until_it_was(
    qtbot: QtBot, welcome: WelcomePanel, document: Document
) -> None:
    document.set_this_computer(HERE)
    with qtbot.waitSignal(welcome.computer.measure_asked):
        QTest.mouseClick(welcome.computer.measure_button, Qt.MouseButton.LeftButton)
    measured = Number(40e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "here", "2026-01-02"))
    gpu, ram = HERE.devices
    document.set_this_computer(replace(HERE, devices=(gpu, replace(ram, bandwidth=measured))))
    assert facts(welcome)[-1] == "40.0 GB/s"
    assert not welcome.computer.measure_button.isVisible()


def test_a_doubtful_measurement_is_called_so_and_can_be_repeated(
    welcome: WelcomePanel, document: Document
) -> None:
    document.set_this_computer(HERE)
    button = welcome.computer.measure_button
    assert button.text() == "Measure RAM"
    source = Source(Rank.MEASURED, "here", "2026-01-02")
    doubtful = Number(40e9, Unit.BYTES_PER_SECOND, source, note="The runs differ by 20 %.")
    gpu, ram = HERE.devices
    document.set_this_computer(replace(HERE, devices=(gpu, replace(ram, bandwidth=doubtful))))
    assert "40.0 GB/s" in facts(welcome)
    assert "measured, unreliable" in texts(welcome)
    assert button.isVisible()
    assert button.text() == "Measure RAM again"
    welcome.computer.set_measuring(True)
    assert not button.isEnabled()
    welcome.computer.set_measuring(False)
    assert button.text() == "Measure RAM again"


def test_what_could_not_be_seen_is_said(welcome: WelcomePanel, document: Document) -> None:
    problem = Problem("driver", "The driver of the GPU does not answer.", Severity.NOTE)
    document.set_this_computer(replace(HERE, problems=(problem,)))
    assert "The driver of the GPU does not answer." in texts(welcome)


def test_a_recent_file_is_one_click_or_key_away_and_a_missing_one_is_greyed(
    qtbot: QtBot, welcome: WelcomePanel
) -> None:
    here, gone = Path("/models/here.gguf"), Path("/models/gone.gguf")
    welcome.set_recent([here, gone], {gone})
    found = cards(welcome)
    assert not found["gone.gguf"].isEnabled()
    assert "not found" in found["gone.gguf"].accessibleDescription()
    card = found["here.gguf"]
    with qtbot.waitSignal(welcome.chosen) as heard:
        QTest.mouseClick(card, Qt.MouseButton.LeftButton)
    assert heard.args == [here]
    with qtbot.waitSignal(welcome.chosen) as heard:
        QTest.keyClick(card, Qt.Key.Key_Space)
    assert heard.args == [here]


def test_without_recent_files_nothing_is_said_of_them(welcome: WelcomePanel) -> None:
    assert "RECENT FILES" not in texts(welcome)
    welcome.set_recent([Path("/a.gguf")], set())
    assert "RECENT FILES" in texts(welcome)
    welcome.set_recent([], set())
    assert "RECENT FILES" not in texts(welcome)


def test_a_specimen_says_what_it_is_in_the_chosen_units(
    welcome: WelcomePanel, document: Document
) -> None:
    moe, dense = Path("/s/moe.gguf"), Path("/s/dense.gguf")
    welcome.set_specimens([moe, dense])
    assert set(cards(welcome)) == {"moe", "dense"}
    welcome.set_summaries(
        [
            Summary(moe, "A Mixture", "Q4_K_M", 35_505_251_456, 2_950_000_000, 21_718_480_960),
            Summary(dense, "A Dense One", "", 8_030_261_312, 0, 4_920_000_000),
        ]
    )
    found = cards(welcome)
    said = found["A Mixture"].accessibleDescription()
    assert said == "35.5 B, 2.95 B active · Q4_K_M · 20.2 GiB"
    assert found["A Dense One"].accessibleDescription() == "8.03 B · 4.58 GiB"
    document.set_units(UnitSystem.GB)
    assert found["A Mixture"].accessibleDescription().endswith("21.7 GB")


def test_a_narrow_page_has_fewer_columns_and_clips_nothing(
    qtbot: QtBot, welcome: WelcomePanel
) -> None:
    welcome.set_specimens([Path(f"/s/{n}.gguf") for n in range(6)])
    columns = []
    for width in (1400, 900, 760):
        welcome.resize(width, 500)
        qtbot.wait(20)
        places = {card.x() for card in welcome.findChildren(FileCard)}
        columns.append(len(places))
        page = welcome.widget()
        assert page is not None
        assert page.width() <= welcome.viewport().width()
    assert columns == [3, 2, 2]


def test_the_bundled_specimens_are_summed_up_by_the_same_reader() -> None:
    folder = Path(resources_file).parent / "specimens"
    (found,) = summarising([folder / "Qwen3.6-35B-A3B-Q4_K_M.gguf"])(Handle(lambda done: None))
    # The published file: 35,505,251,456 parameters, 8 of 256 experts for each token.
    assert found.parameters == 35_505_251_456
    assert found.label == "Q4_K_M"
    assert 2.5e9 < found.active_parameters < 3.5e9


def shown(line: HeaderLine) -> list[str]:
    words = [(label.x(), label.text()) for label in line.findChildren(Text) if label.isVisible()]
    words += [(fact.x(), fact.shown) for fact in line.findChildren(FactLabel) if fact.isVisible()]
    return [word for _, word in sorted(words)]


def header_of(qtbot: QtBot, document: Document, model: Model, width: int = 1200) -> HeaderLine:
    line = HeaderLine(document)
    qtbot.addWidget(line)
    line.resize(width, 40)
    document.set_model(model)
    line.show()
    qtbot.waitExposed(line)
    qtbot.wait(20)
    return line


def test_the_header_says_the_model_in_one_breath(qtbot: QtBot, document: Document) -> None:
    line = header_of(qtbot, document, plans.model())
    assert shown(line) == [
        "A test model",
        "Q4_K_M",
        "4.89 bits",  # 8 x 21,718,480,960 / 35,505,251,456
        "35.5 B parameters",
        "3.00 B active",
        "40 layers, 10 with KV",
        "20.2 GiB",
    ]
    document.set_units(UnitSystem.GB)
    assert shown(line)[-1] == "21.7 GB"


def test_every_figure_of_the_header_says_how_it_was_come_by(
    qtbot: QtBot, document: Document
) -> None:
    line = header_of(qtbot, document, plans.model())
    for label in line.findChildren(FactLabel):
        assert len(label.explanation().splitlines()) >= 2
        assert label.accessibleName()


def test_a_file_that_is_no_model_is_named_and_a_missing_shard_makes_bounds(
    qtbot: QtBot, document: Document
) -> None:
    whole = plans.model()
    part = replace(
        whole, file=replace(whole.file, kind=Kind.PROJECTOR, missing=("m-00002-of-00002.gguf",))
    )
    line = header_of(qtbot, document, part)
    words = shown(line)
    assert words[-1] == "projector, 1 shard, others missing"
    assert "≥ 35.5 B parameters" in words
    assert "≥ 20.2 GiB" in words


def test_how_many_shards_there_are_is_what_the_file_says(qtbot: QtBot, document: Document) -> None:
    whole = plans.model()
    header = replace(whole.file.header, metadata={"split.count": 12_000})
    file = replace(whole.file, header=header, headers=(header,), missing=("11,999 other shards",))
    line = header_of(qtbot, document, replace(whole, file=file))
    assert shown(line)[-1] == "1 of 12,000 shards"


def test_a_long_name_gives_way_and_the_figures_stay(qtbot: QtBot, document: Document) -> None:
    model = replace(plans.model(), name="A model " + "with a very long name " * 10)
    line = header_of(qtbot, document, model, width=780)
    assert line.width() == 780
    for label in line.findChildren(FactLabel):
        if label.isVisible():
            assert label.geometry().right() < 780
            assert label.width() >= label.sizeHint().width()


def test_a_name_with_control_characters_is_neutralised(qtbot: QtBot, document: Document) -> None:
    model = replace(plans.model(), name="evil\u202egpj.exe\x00\n")
    line = header_of(qtbot, document, model)
    name = shown(line)[0]
    assert not any(c in name for c in "\u202e\x00\n")


@pytest.mark.parametrize(
    ("layers", "cached", "known", "words"),
    [
        (32, 32, True, "32 layers"),
        (40, 10, True, "40 layers, 10 with KV"),
        (24, 0, True, "24 layers, none with KV"),
        (1, 1, True, "1 layer"),
        (40, 0, False, "40 layers"),
    ],
)
def test_layers_are_told_with_those_that_keep_a_cache(
    layers: int, cached: int, known: bool, words: str
) -> None:
    model = plans.model(layers=layers, cache_layers=cached, known=known)
    assert layers_in_words(model) == words


@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
def test_the_words_of_the_first_button_stand_out_as_it_is_drawn(
    qtbot: QtBot, theme: Theme, mode: ThemeMode
) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1, on the style's gradient rather than on the colour it is given."""
    theme.set_mode(mode)
    panel = WelcomePanel(Document())
    qtbot.addWidget(panel)
    panel.show()
    button = panel.open_button
    image = button.grab().toImage()
    words = button.palette().color(QPalette.ColorRole.ButtonText)
    for y in range(4, image.height() - 4):
        ground = image.pixelColor(8, y)
        light, dark = sorted((luminance(words), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, ground.name()


def luminance(color: QColor) -> float:
    """WCAG 2.2, relative luminance of sRGB."""
    channels = (color.redF(), color.greenF(), color.blueF())
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("width", [700, 900, 1280, 1700])
@pytest.mark.parametrize("language", NAMES)
def test_it_scrolls_no_further_than_to_the_last_card(
    qtbot: QtBot, document: Document, width: int, language: str
) -> None:
    speak(language)
    welcome = WelcomePanel(document)
    qtbot.addWidget(welcome)
    document.set_this_computer(HERE)
    welcome.tips.show()
    welcome.set_specimens(resources.specimens())
    welcome.resize(width, 500)
    welcome.show()
    page = welcome.widget()
    assert page is not None
    qtbot.waitUntil(lambda: page.height() > 500)
    qtbot.wait(50)
    cards = welcome.findChildren(FileCard)
    last = max(card.mapTo(page, card.rect().bottomLeft()).y() for card in cards)
    assert page.height() - last <= 3 * welcome.fontMetrics().height()
