"""The plan panel: what it says of a plan, and what its controls change."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAccessible, QColor, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QScrollArea,
    QSlider,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.gguf import open_file
from core.machine.machine import DeviceKind
from core.model import model_from
from core.model.model import Model
from core.plan.choice import Choice, FlashAttention
from core.plan.plan import PartKind, Verdict
from core.provenance import Number, Rank, Source, Unit
from core.units import UnitSystem
from gui.document import Document
from gui.panels.plan import PlanPanel
from gui.panels.plan import what_if as what_if_module
from gui.panels.plan.machine_picker import summary
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.panels.plan.recipes import Recipe, as_it_is
from gui.theme import LIGHT
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from tests.support import plans
from tests.support.cut import cut

GIB = 2**30
CARD = plans.machine(
    plans.device("RTX 3090", kind=DeviceKind.GPU, memory=24 * GIB, used=GIB, bandwidth=936e9),
    id="card",
    name="A card alone",
)


@pytest.fixture(autouse=True)
def few_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model made by hand has no tensors to requantize."""

    def made(model: Model) -> tuple[Recipe, ...]:
        return (as_it_is(model), Recipe("Q8_0", "Q8_0, 8.50 bits"), Recipe("Q2_K", "Q2_K"))

    monkeypatch.setattr(what_if_module, "recipes", made)


@pytest.fixture
def document() -> Document:
    made = Document(resolve=plans.resolve)
    made.set_machine(CARD)
    return made


@pytest.fixture
def panel(qtbot: QtBot, document: Document) -> PlanPanel:
    made = PlanPanel(document)
    qtbot.addWidget(made)
    document.set_model(plans.model())
    made.resize(720, 800)
    made.show()
    qtbot.waitUntil(lambda: made.speed.plot.canvas is not None)
    qtbot.waitUntil(made.what_if.quantization.isEnabled)
    return made


def said(panel: QWidget) -> list[str]:
    """Every text on the screen."""
    texts: list[str] = []
    for widget in panel.findChildren(QWidget):
        if not widget.isVisibleTo(panel):
            continue
        if isinstance(widget, FactLabel | LiveText):
            texts.append(widget.shown)
        elif isinstance(widget, QLabel | QAbstractButton):
            texts.append(widget.text())
    return [text for text in texts if text]


def steps(text: str) -> int:
    """ "1,234.56 GiB" in hundredths."""
    number = re.fullmatch(r"<?([\d,]+)\.(\d\d) (GiB|GB|MiB|MB)", text)
    assert number, text
    if text.startswith("<"):
        return 0
    return int(number[1].replace(",", "") + number[2])


def choose_context(panel: PlanPanel, tokens: int) -> None:
    panel.what_if.context.box.selectAll()
    QTest.keyClicks(panel.what_if.context.box, str(tokens))
    QTest.keyClick(panel.what_if.context.box, Qt.Key.Key_Return)


# Memory.


@pytest.mark.parametrize(
    ("context", "verdict", "words"),
    [
        (16_384, Verdict.TIGHT, "only 1.92 GiB free"),
        (262_144, Verdict.DOES_NOT_FIT, "2.77 GiB too much"),
    ],
)
def test_verdict_headline_and_reason_say_the_same(
    panel: PlanPanel, document: Document, context: int, verdict: Verdict, words: str
) -> None:
    document.choose(context=context)
    assert document.plan is not None
    assert document.plan.verdict is verdict
    assert panel.memory.verdict.text() == LIGHT.verdict(verdict).word
    assert panel.memory.about.shown == words
    assert panel.memory.reason.isHidden()
    assert panel.memory.headline.capacity.shown == "24.00 GiB"
    over = panel.memory.devices[0].bar.capacity_edge() is not None
    assert over is (verdict is Verdict.DOES_NOT_FIT)


def test_the_bar_overflows_at_the_very_step_at_which_the_words_change(
    panel: PlanPanel, document: Document
) -> None:
    """U19: bar and words turn at the same moment."""
    seen = set()
    for context in range(100_000, 260_000, 2_048):
        document.choose(context=context)
        over = panel.memory.devices[0].bar.capacity_edge() is not None
        word = panel.memory.verdict.text()
        assert over == (word == LIGHT.verdict(Verdict.DOES_NOT_FIT).word)
        assert over == ("too much" in panel.memory.about.shown)
        seen.add(over)
    assert seen == {True, False}


@pytest.mark.parametrize("units", list(UnitSystem))
@pytest.mark.parametrize("context", [512, 16_384, 262_144])
def test_the_parts_shown_add_up_to_the_total_shown_and_with_what_is_free_to_the_capacity(
    panel: PlanPanel, document: Document, context: int, units: UnitSystem
) -> None:
    document.set_units(units)
    document.choose(context=context)
    device = panel.memory.devices[0]
    shown = {
        kind: steps(entry.fact.shown)
        for kind, entry in device.entries.items()
        if not entry.isHidden()
    }
    total = steps(panel.memory.headline.total.shown)
    assert sum(shown.values()) == total
    free = steps(device.free.fact.shown)
    sign = -1 if document.plan and document.plan.verdict is Verdict.DOES_NOT_FIT else 1
    assert total + sign * free == steps(panel.memory.headline.capacity.shown)


def test_every_size_follows_the_unit_system(panel: PlanPanel, document: Document) -> None:
    assert any("GiB" in text for text in said(panel))
    document.set_units(UnitSystem.GB)
    for text in said(panel):
        assert "iB" not in text, text
    assert any("GB" in text for text in said(panel))


def test_every_figure_explains_itself(panel: PlanPanel) -> None:
    facts = [f for f in panel.findChildren(FactLabel) if f.isVisibleTo(panel) and f.shown]
    assert len(facts) > 8
    for fact in facts:
        assert fact.accessibleDescription(), fact.accessibleName()
        assert ": " in fact.accessibleName()


def test_parts_that_are_nothing_are_not_listed_and_unknown_ones_are(
    panel: PlanPanel, document: Document
) -> None:
    entries = panel.memory.devices[0].entries
    assert entries[PartKind.PROJECTOR].isHidden()
    document.set_model(plans.model(known=False))
    assert not entries[PartKind.CACHE].isHidden()
    assert entries[PartKind.CACHE].fact.shown == "unknown"


def test_two_cards_have_a_bar_each_and_their_memory_is_never_summed(
    panel: PlanPanel, document: Document
) -> None:
    card = CARD.devices[0]
    document.set_machine(plans.machine(card, card, plans.device("RAM"), id="two", name="Two"))
    assert len(panel.memory.devices) == 3
    names = [block.accessibleName() for block in panel.memory.devices]
    assert names == ["Memory of RTX 3090 #1", "Memory of RTX 3090 #2", "Memory of RAM"]
    assert panel.memory.headline.capacity.shown == "24.00 GiB"
    assert not any("48.0" in text for text in said(panel))
    assert panel.memory.about.shown == "on RTX 3090 #1, only 1.92 GiB free"
    document.set_machine(CARD)
    assert len(panel.memory.devices) == 1


def test_a_device_that_holds_next_to_nothing_is_one_line_that_still_says_everything(
    panel: PlanPanel, document: Document, qtbot: QtBot
) -> None:
    document.set_machine(plans.RTX_3090)
    qtbot.wait(20)
    card, host = panel.memory.devices
    assert card.bar.isVisible()
    assert not card.title.isVisible()  # the headline is its title
    assert host.title.isVisible()
    assert not host.bar.isVisible()
    assert not host.legend.isVisible()
    assert host.height() < 2 * host.fontMetrics().height()
    assert host.accessibleName() == "Memory of RAM"
    # 6 of 64 GiB are in use by others; that is all that lies there
    assert "system and others 6.00 GiB" in host.accessibleDescription()
    assert "58.0 GiB free" in host.accessibleDescription()
    spoken = host.amount.total.accessibleDescription()
    assert spoken.startswith("6.00 GiB")
    place = host.mapToGlobal(host.rect().center())
    QApplication.sendEvent(host, QHelpEvent(QEvent.Type.ToolTip, host.rect().center(), place))
    assert "system and others 6.00 GiB" in QToolTip.text()
    QToolTip.hideText()


def test_a_device_that_layers_were_moved_to_has_its_own_bar(qtbot: QtBot) -> None:
    document = Document()
    panel = PlanPanel(document)
    qtbot.addWidget(panel)
    path = files("resources") / "specimens" / "Llama-3.1-8B-Instruct-Q4_K_M.gguf"
    document.set_machine(plans.RTX_3090)
    document.set_model(model_from(open_file(Path(str(path)))))
    host = panel.memory.devices[1]
    assert not host.bar.isVisibleTo(panel)
    document.choose(gpu_layers=16)
    assert host.bar.isVisibleTo(panel)
    assert panel.memory.devices[0].bar.isVisibleTo(panel)
    document.undo_stack.undo()
    assert not host.bar.isVisibleTo(panel)


def test_two_devices_in_trouble_are_both_named(panel: PlanPanel, document: Document) -> None:
    two = plans.resolve(plans.model(), plans.RTX_3090, Choice(context=262_144))
    small = replace(
        two.memory.devices[1],
        total=Number(65 * GIB, Unit.BYTES, plans.FILE),
        free=Number(-GIB, Unit.BYTES, plans.FILE),
        verdict=Verdict.DOES_NOT_FIT,
    )
    memory = replace(two.memory, devices=(two.memory.devices[0], small))
    panel.memory.show_plan(replace(two, memory=memory), UnitSystem.GIB)
    assert "RTX 3090" in panel.memory.about.shown
    assert panel.memory.reason.shown == "Also 1.00 GiB too much on RAM"


# What is not known.


def test_an_unknown_cache_rule_is_grey_and_says_what_is_missing(
    panel: PlanPanel, document: Document, qtbot: QtBot
) -> None:
    document.set_model(plans.model(known=False, architecture="newcomer"))
    assert panel.memory.verdict.text() == LIGHT.verdict(Verdict.UNKNOWN).word
    assert "newcomer" in panel.memory.reason.shown
    assert panel.memory.headline.total.shown == "unknown"
    assert panel.speed.at_depth.shown == "unknown"
    assert panel.advice.buttons == []
    assert panel.advice.ask.isHidden()
    image = panel.grab().toImage()
    bad = QColor(LIGHT.bad)
    reds = [
        (x, y)
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y) == bad
    ]
    assert reds == []


def test_an_unknown_cache_rule_shows_the_range_that_the_keys_allow(
    panel: PlanPanel, document: Document
) -> None:
    model = plans.model(known=False)
    cache = replace(model.cache, low=20_480, high=81_920)
    document.set_model(replace(model, cache=cache))
    # 16,384 tokens at 20 and 80 KiB
    assert "between 320 MiB and 1.25 GiB" in panel.memory.reason.shown


def test_an_unknown_bandwidth_leaves_the_memory_verdict_alone(
    panel: PlanPanel, document: Document
) -> None:
    document.set_machine(plans.machine(plans.device("RAM", bandwidth=None)))
    assert panel.memory.verdict.text() == LIGHT.verdict(Verdict.FITS).word
    assert panel.speed.at_depth.shown == "unknown"
    assert panel.machine.bandwidth.fact.shown == "bandwidth unknown"


# Speed.


def test_the_headline_says_that_it_is_a_ceiling_and_what_that_is(panel: PlanPanel) -> None:
    # 936 GB/s over 2.4 GB, and over 2.4 GB + 16,384 tokens of 20,480 B (domain.md, section 2)
    assert panel.speed.at_start.shown == "390"
    assert panel.speed.at_depth.shown == "342 tok/s"
    word = next(w for w in panel.findChildren(QLabel) if w.text() == "ceiling")
    assert word.isVisible()
    for said_of_it in (word.toolTip(), word.accessibleDescription()):
        assert "not a promise" in said_of_it
    assert panel.speed.where.shown == "at most, from an empty cache to 16,384 tokens"


def test_the_ceiling_of_what_does_not_fit_is_no_offer(panel: PlanPanel, document: Document) -> None:
    document.choose(context=262_144)
    assert panel.speed.where.shown == "if it fitted, from an empty cache to 262,144 tokens"


def test_without_a_bandwidth_one_click_measures_this_computer(
    panel: PlanPanel, document: Document, qtbot: QtBot
) -> None:
    here = plans.machine(plans.device("RAM", bandwidth=None), id="this", name="This computer")
    document.set_machine(here)
    assert not panel.speed.remedy.isVisible()  # nobody has looked at it yet
    document.set_this_computer(here)
    assert panel.speed.remedy.isVisible()
    assert "Measure" in panel.speed.remedy.text()
    with qtbot.waitSignal(panel.measure_asked):
        QTest.mouseClick(panel.speed.remedy, Qt.MouseButton.LeftButton)
    source = Source(Rank.MEASURED, "memory read by this program")
    number = Number(41.5e9, Unit.BYTES_PER_SECOND, source)
    document.set_this_computer(replace(here, devices=(replace(here.devices[0], bandwidth=number),)))
    assert not panel.speed.remedy.isVisible()
    assert panel.speed.at_depth.shown.endswith("tok/s")


def test_without_a_bandwidth_another_machine_leads_to_typing_it(
    panel: PlanPanel, document: Document
) -> None:
    document.set_machine(plans.machine(plans.device("RAM", bandwidth=None)))
    QTest.mouseClick(panel.speed.remedy, Qt.MouseButton.LeftButton)
    (dialog,) = panel.findChildren(OwnMachineDialog)
    assert dialog.isVisible()
    dialog.bandwidth.setText("51.2")
    QTest.keyClick(dialog.memory, Qt.Key.Key_Return)
    assert document.machine.devices[0].bandwidth.value == 51.2e9
    assert not panel.speed.remedy.isVisible()
    assert panel.speed.at_depth.shown.endswith("tok/s")


def test_an_unknown_cache_rule_offers_no_bandwidth(panel: PlanPanel, document: Document) -> None:
    document.set_model(plans.model(known=False))
    assert not panel.speed.remedy.isVisible()


# What if.


def test_every_step_of_the_context_slider_changes_memory_and_speed_at_once(
    panel: PlanPanel, document: Document
) -> None:
    seen = set()
    QTest.keyClick(panel.what_if.context.slider, Qt.Key.Key_Home)
    for _ in range(9):
        assert document.plan is not None
        assert document.plan.settings.context == panel.what_if.context.value
        seen.add(
            (
                panel.memory.devices[0].entries[PartKind.CACHE].fact.shown,
                panel.speed.at_depth.shown,
                panel.speed.plot.accessibleDescription(),
            )
        )
        QTest.keyClick(panel.what_if.context.slider, Qt.Key.Key_Right)
    assert len(seen) == 9


def test_an_exact_context_can_be_typed(panel: PlanPanel, document: Document) -> None:
    choose_context(panel, 55_296)
    assert document.choice.context == 55_296
    assert panel.what_if.context.box.text() == "55,296"


def test_the_trained_length_is_marked(panel: PlanPanel) -> None:
    mark = "trained for 262,144"
    assert any(w.accessibleName() == mark for w in panel.findChildren(QWidget))


def test_a_file_that_says_no_trained_length_still_has_a_slider(
    panel: PlanPanel, document: Document
) -> None:
    document.set_model(plans.model(trained=None))
    QTest.keyClick(panel.what_if.context.slider, Qt.Key.Key_End)
    assert document.choice.context == 131_072


def test_a_drag_is_one_step_to_undo(panel: PlanPanel, document: Document) -> None:
    slider = panel.what_if.context.slider
    middle = slider.height() // 2
    start, end = slider.x_of(16_384), slider.x_of(512)
    left = Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    place = slider.rect().topLeft()
    place.setY(middle)

    def at(x: int) -> object:
        place.setX(x)
        return place

    QTest.mousePress(slider, left, none, at(start))  # type: ignore[call-overload]
    for x in range(start, end - 1, -5):
        QTest.mouseMove(slider, at(x))  # type: ignore[call-overload]
    QTest.mouseRelease(slider, left, none, at(end))  # type: ignore[call-overload]
    assert document.choice.context == 512
    assert document.undo_stack.count() == 1
    panel.steps.undo.click()
    assert document.choice.context is None
    assert panel.what_if.context.value == 16_384
    panel.steps.redo.click()
    assert panel.what_if.context.value == 512


def test_reset_brings_every_choice_back_and_keeps_the_machine(
    panel: PlanPanel, document: Document
) -> None:
    document.choose(context=4096, cache_k="q8_0", slots=2)
    assert panel.steps.reset.isEnabled()
    panel.steps.reset.click()
    assert document.choice == Choice()
    assert document.machine is CARD
    assert panel.what_if.cache_k.currentText() == "f16"
    assert not panel.steps.reset.isEnabled()


def test_buttons_are_enabled_where_they_do_something(panel: PlanPanel, document: Document) -> None:
    document.undo_stack.clear()
    assert not panel.steps.undo.isEnabled()
    document.choose(context=4096)
    assert panel.steps.undo.isEnabled()
    assert "context" in panel.steps.undo.toolTip()
    panel.steps.undo.click()
    assert panel.steps.redo.isEnabled()
    assert not panel.steps.undo.isEnabled()


@pytest.mark.parametrize(
    ("control", "word", "change"),
    [
        ("cache_k", "q8_0", {"cache_k": "q8_0"}),
        ("cache_v", "q4_0", {"cache_v": "q4_0"}),
        ("flash", "off", {"flash_attention": "off"}),
    ],
)
def test_lists_change_the_choice_and_follow_it(
    panel: PlanPanel, document: Document, control: str, word: str, change: dict[str, str]
) -> None:
    combo: QComboBox = getattr(panel.what_if, control)
    combo.setFocus()
    index = combo.findText(word)
    while combo.currentIndex() != index:
        down = combo.currentIndex() < index
        QTest.keyClick(combo, Qt.Key.Key_Down if down else Qt.Key.Key_Up)
    for name, value in change.items():
        assert getattr(document.choice, name) == value
    document.reset()
    assert combo.currentText() != word


def test_slots_are_chosen(panel: PlanPanel, document: Document) -> None:
    QTest.keyClick(panel.what_if.slots, Qt.Key.Key_Up)
    assert document.choice.slots == 2
    document.reset()
    assert panel.what_if.slots.value() == 1


def test_the_first_quantization_is_the_file_as_it_is(panel: PlanPanel, document: Document) -> None:
    field = panel.what_if.quantization
    assert field.box.currentText() == "as it is: Q4_K_M, 4.89 bits"
    QTest.keyClick(field.slider, Qt.Key.Key_Right)
    assert document.choice.requantize == "Q8_0"
    QTest.keyClick(field.slider, Qt.Key.Key_Home)
    assert document.choice.requantize is None


def test_layers_are_offered_where_there_is_a_card(panel: PlanPanel, document: Document) -> None:
    layers = panel.what_if.layers
    assert layers.isVisibleTo(panel)
    # 40 layers and the output, as -ngl counts them
    assert layers.box.maximum() == 41
    QTest.keyClick(layers.slider, Qt.Key.Key_Left)
    assert document.choice == Choice(gpu_layers=40)
    QTest.keyClick(layers.slider, Qt.Key.Key_Right)
    assert document.choice == Choice(gpu_layers="all")
    document.set_machine(plans.machine())
    assert not layers.isVisibleTo(panel)
    assert not layers.label.isVisibleTo(panel)


@pytest.mark.parametrize(
    ("choice", "row", "words"),
    [
        ({"context": 200_000}, "context", ("131,072", "Choose")),
        ({"cache_v": "q8_0", "flash_attention": FlashAttention.OFF}, "cache", ("refuses", "f16")),
        ({"requantize": "IQ2_XXS"}, "quantization", ("importance matrix", "--imatrix")),
        ({"backend": "cuda"}, "layers", ("no GPU", "another machine")),
    ],
)
def test_what_is_wrong_with_a_choice_is_said_below_its_control_with_advice(
    qtbot: QtBot, choice: dict[str, Any], row: str, words: tuple[str, str]
) -> None:
    document = Document()
    panel = PlanPanel(document)
    qtbot.addWidget(panel)
    path = files("resources") / "specimens" / "Llama-3.1-8B-Instruct-Q4_K_M.gguf"
    document.set_model(model_from(open_file(Path(str(path)))))
    notes = panel.what_if.notes
    assert all(lines.isHidden() for lines in notes.values())
    document.choose(**choice)
    for name, lines in notes.items():
        assert lines.isHidden() is (name != row)
    (line,) = notes[row].lines
    for word in words:
        assert word in line.text.shown
    assert line.text.shown.startswith(("Note: ", "Warning: ", "Error: "))
    document.reset()
    assert notes[row].isHidden()


# The place it has.


@pytest.mark.parametrize("width", [420, 520, 720, 1100])
@pytest.mark.parametrize("case", ["tight", "over", "unknown", "two"])
def test_nothing_is_cut_at_any_width(
    qtbot: QtBot, document: Document, width: int, case: str
) -> None:
    area = QScrollArea()
    area.setWidgetResizable(True)
    panel = PlanPanel(document)
    area.setWidget(panel)
    qtbot.addWidget(area)
    document.set_model(plans.model(known=case != "unknown"))
    if case == "two":
        document.set_machine(plans.RTX_3090)
    if case == "over":
        document.choose(context=262_144)
    area.resize(width, 900)  # the plot is painted where it is in sight
    area.show()
    qtbot.waitUntil(lambda: panel.speed.plot.canvas is not None)
    qtbot.wait(200)
    assert panel.width() <= area.viewport().width()
    assert cut(panel) == []


def test_everything_that_takes_input_has_a_name_for_screen_readers(panel: PlanPanel) -> None:
    count = 0
    for widget in panel.findChildren(QWidget):
        if not isinstance(widget, QAbstractButton | QComboBox | QAbstractSpinBox | QSlider):
            continue
        if not widget.isVisibleTo(panel) or widget.focusPolicy() is Qt.FocusPolicy.NoFocus:
            continue
        spoken = QAccessible.queryAccessibleInterface(widget)
        assert spoken.text(QAccessible.Text.Name), widget
        count += 1
    assert count > 15


def test_every_control_is_reached_with_the_tab_key(panel: PlanPanel, qtbot: QtBot) -> None:
    panel.activateWindow()
    panel.machine.box.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    reached = []
    for _ in range(120):
        focus = QApplication.focusWidget()
        assert focus is not None
        reached.append(focus)
        QTest.keyClick(focus, Qt.Key.Key_Tab)
    what_if = panel.what_if
    for control in (
        panel.memory.headline.total,
        what_if.context.slider,
        what_if.context.box,
        what_if.cache_k,
        what_if.cache_v,
        what_if.slots,
        what_if.flash,
        what_if.quantization.slider,
        what_if.quantization.box,
        what_if.layers.slider,
        panel.speed.at_depth,
        panel.steps.reset if panel.steps.reset.isEnabled() else panel.speed.bytes,
    ):
        assert control in reached, control.accessibleName()


# The machine.


def test_the_bandwidth_of_a_single_device_says_how_far_to_trust_it(
    panel: PlanPanel, document: Document
) -> None:
    assert panel.machine.bandwidth.fact.shown == "936 GB/s"
    assert panel.machine.bandwidth.rank.text() == "datasheet"
    for note, words in (("", "measured"), ("other programs ran", "measured, unreliable")):
        source = Source(Rank.MEASURED, "memory read by this program", "2026-01-01")
        number = Number(41.5e9, Unit.BYTES_PER_SECOND, source, note=note)
        host = replace(plans.device("RAM"), bandwidth=number)
        document.set_machine(plans.machine(host))
        assert panel.machine.bandwidth.fact.shown == "41.5 GB/s"
        assert panel.machine.bandwidth.rank.text() == words
        assert (note in panel.machine.bandwidth.fact.explanation()) or not note


def test_measuring_is_offered_for_this_computer_until_it_has_been_measured(
    panel: PlanPanel, document: Document, qtbot: QtBot
) -> None:
    button = panel.machine.measure
    assert button.isHidden()
    here = plans.machine(plans.device("RAM"), id="this", name="This computer")
    document.set_this_computer(here)
    document.set_machine(here)
    assert not button.isHidden()
    with qtbot.waitSignal(panel.measure_asked):
        button.click()
    source = Source(Rank.MEASURED, "memory read by this program")
    number = Number(41.5e9, Unit.BYTES_PER_SECOND, source)
    measured = replace(here.devices[0], bandwidth=number)
    document.set_this_computer(replace(here, devices=(measured,)))
    assert button.isHidden()


def test_nothing_is_measured_before_this_computer_has_been_looked_at(qtbot: QtBot) -> None:
    document = Document(resolve=plans.resolve)
    panel = PlanPanel(document)
    qtbot.addWidget(panel)
    document.set_model(plans.model())
    assert panel.machine.measure.isHidden()
    assert panel.memory.verdict.text() == LIGHT.verdict(Verdict.UNKNOWN).word


def popup(panel: PlanPanel) -> list[str]:
    model = panel.machine.completer.completionModel()
    return [str(model.data(model.index(row, 0))) for row in range(model.rowCount())]


@pytest.fixture
def typed(panel: PlanPanel, qtbot: QtBot) -> Callable[[str], list[str]]:
    def type_words(words: str) -> list[str]:
        edit = panel.machine.box.lineEdit()
        assert edit is not None
        panel.activateWindow()
        edit.setFocus()
        qtbot.waitUntil(edit.hasFocus)
        edit.selectAll()
        QTest.keyClicks(edit, words)
        return popup(panel)

    return type_words


def test_words_find_machines_in_the_catalogue(
    panel: PlanPanel, document: Document, typed: Callable[[str], list[str]]
) -> None:
    found = typed("rtx 3090")
    assert any(line.startswith("GeForce RTX 3090, 24 GB, 936 GB/s") for line in found)
    assert all("3090" in line for line in found)
    line = next(line for line in found if line.startswith("GeForce RTX 3090, "))
    panel.machine.completer.activated.emit(line)
    assert document.machine.name == "GeForce RTX 3090"
    assert document.machine.devices[0].bandwidth.value == pytest.approx(936e9, rel=0.001)
    assert panel.machine.box.currentText().startswith("GeForce RTX 3090")


def test_enter_takes_the_best_match_and_the_list_is_walked_by_arrows(
    panel: PlanPanel, document: Document, typed: Callable[[str], list[str]]
) -> None:
    found = typed("rtx 4090")
    edit = panel.machine.box.lineEdit()
    assert edit is not None
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert summary(document.machine, UnitSystem.GIB) == panel.machine.box.currentText()
    assert document.machine.name == found[0].split(", ")[0]
    found = typed("rtx 3090")
    list_of_matches = panel.machine.completer.popup()
    assert list_of_matches is not None
    while list_of_matches.currentIndex().row() != 1:
        QTest.keyClick(list_of_matches, Qt.Key.Key_Down)
    QTest.keyClick(list_of_matches, Qt.Key.Key_Return)
    assert document.machine.name == found[1].split(", ")[0]


def test_words_that_find_nothing_bring_back_the_machine_that_stands(
    panel: PlanPanel, document: Document, typed: Callable[[str], list[str]]
) -> None:
    assert typed("no such machine") == []
    panel.what_if.context.slider.setFocus()
    assert document.machine is CARD
    assert panel.machine.box.currentText().startswith("A card alone")


def test_machines_chosen_before_are_listed(panel: PlanPanel, document: Document) -> None:
    document.set_machine(plans.RTX_3090)
    lines = [panel.machine.box.itemText(i) for i in range(panel.machine.box.count())]
    assert any(line.startswith("RTX 3090") for line in lines)
    assert any(line.startswith("A card alone") for line in lines)
    index = next(i for i, line in enumerate(lines) if line.startswith("A card alone"))
    panel.machine.box.activated.emit(index)
    assert document.machine is CARD
