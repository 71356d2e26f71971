"""Every field for a number: typed in each way of writing, and left as it was found."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QInputDialog, QSpinBox
from pytestqt.qtbot import QtBot

from core.compare import compare_machines, with_price
from core.compare.tables import machine_columns
from core.language import STYLES, speak, written
from core.machine import Machine, combine, custom
from core.measure.run import RunPlan
from core.plan.choice import Choice
from core.units import UnitSystem
from gui.document import Document
from gui.language import Speech
from gui.panels.compare.price import parse_price
from gui.panels.measure.choices import ChoiceSection
from gui.panels.plan.combination import CombinationDialog
from gui.panels.plan.figure_edit import FigureEdit
from gui.panels.plan.machine_picker import MachinePicker
from gui.panels.plan.margin import MarginButton
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.widgets.decimal_box import DecimalBox
from tests.support import plans
from tests.support.dense import dense

GIB = 2**30
ENGLISH, SPANISH, FRENCH = STYLES
NARROW, FIXED, THIN = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}", "\N{THIN SPACE}"
OK = QDialogButtonBox.StandardButton.Ok

# What nvidia-smi tells of a 24 GB card, what dmidecode and the kernel tell of RAM: never round.
CARD, RAM = 24_564 * 2**20, 65_698_123_776
CARD_RATE, RAM_RATE = 1_008_096_000_000.0, 51_200_123_456.0
CARD_AND_RAM = combine(custom(CARD, CARD_RATE), custom(RAM, RAM_RATE, gpu=False))
STARTS = {
    "a card beside RAM": CARD_AND_RAM,
    "one memory": custom(CARD, CARD_RATE, unified=True),
    "RAM alone": custom(RAM, RAM_RATE, gpu=False),
}


def figures(machine: Machine) -> list[tuple[float | None, float | None]]:
    return [(d.memory.value, d.bandwidth.value) for d in machine.devices]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("units", UnitSystem)
@pytest.mark.parametrize("start", STARTS)
def test_a_machine_that_nobody_touched_stays_what_it_is_to_the_byte(
    qtbot: QtBot, style: str, units: UnitSystem, start: str
) -> None:
    speak(numbers=style)
    dialog = OwnMachineDialog(STARTS[start], units)
    qtbot.addWidget(dialog)
    made: list[Machine] = []
    dialog.made.connect(made.append)
    dialog.buttons.button(OK).click()
    assert figures(made[0]) == figures(STARTS[start])


@pytest.mark.parametrize("style", STYLES)
def test_the_ram_of_a_combination_that_nobody_touched_stays_what_it_is(
    qtbot: QtBot, style: str
) -> None:
    speak(numbers=style)
    dialog = CombinationDialog(UnitSystem.GB, CARD_AND_RAM)
    qtbot.addWidget(dialog)
    dialog.cards[0].name.setText("rtx 3090")
    made: list[Machine] = []
    dialog.made.connect(made.append)
    dialog.buttons.button(OK).click()
    assert figures(made[0])[-1] == (RAM, RAM_RATE)


@pytest.mark.parametrize("style", STYLES)
def test_a_typed_figure_counts_even_where_the_field_began_with_one(
    qtbot: QtBot, style: str
) -> None:
    speak(numbers=style)
    field = FigureEdit("24 GiB", UnitSystem.GIB, CARD_AND_RAM.devices[0].memory)
    qtbot.addWidget(field)
    assert field.as_bytes() == CARD
    field.setText(f"{written(1234.5, ',.1f')} GiB")
    assert field.as_bytes() == round(1234.5 * GIB)
    field.setText("")
    assert field.as_rate() is None
    for nothing in ("-5", "1,5,5", "1.5.5", "1e9", "abc", "9" * 400):
        field.setText(nothing)
        with pytest.raises(ValueError, match=r"."):
            field.as_bytes()


@pytest.mark.parametrize(
    ("style", "text", "value"),
    [
        (ENGLISH, "12.5", 12.5),
        (ENGLISH, "1,234.5", 1234.5),
        (ENGLISH, "12,5", None),  # neither 125 nor 12.5 for sure
        (ENGLISH, "0,512", None),
        (SPANISH, "12,5", 12.5),
        (SPANISH, "12.5", 12.5),  # the key of a number pad
        (SPANISH, "0.5", 0.5),
        (SPANISH, "1.234,5", 1234.5),
        (SPANISH, "1.234", 1234.0),
        (FRENCH, "12,5", 12.5),
        (FRENCH, "1 234,5", 1234.5),
        (FRENCH, f"1{NARROW}234,5", 1234.5),
        (FRENCH, f"1{FIXED}234,5", 1234.5),
        *((style, "1,5,5", None) for style in STYLES),
        *((style, "1.5.5", None) for style in STYLES),
        *((style, "-5", None) for style in STYLES),
        *((style, "1e3", None) for style in STYLES),
        *((style, "99999999", None) for style in STYLES),
    ],
)
def test_a_box_reads_tenths_as_they_are_meant_or_not_at_all(
    qtbot: QtBot, qapp: QApplication, style: str, text: str, value: float | None
) -> None:
    speech = Speech(qapp)
    speech.speak("en", style)
    try:
        box = DecimalBox()
        qtbot.addWidget(box)
        box.setRange(0, 1e6)
        box.setDecimals(1)
        box.setSuffix(" tok/s")
        box.setValue(7)
        line = box.lineEdit()
        assert line is not None
        line.selectAll()
        line.insert(text)
        box.interpretText()
        assert box.value() == (7 if value is None else value)
        box.interpretText()
        assert box.value() == (7 if value is None else value)
    finally:
        speech.speak("en", "")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("value", [0, 5, 999, 1000, 9999, 12_345, 1_234_567, 2**31 - 1])
def test_whole_numbers_are_read_as_boxes_show_them(
    qtbot: QtBot, qapp: QApplication, style: str, value: int
) -> None:
    speech = Speech(qapp)
    speech.speak("en", style)
    try:
        box = QSpinBox()
        qtbot.addWidget(box)
        box.setRange(0, 2**31 - 1)
        box.setGroupSeparatorShown(True)
        box.setValue(value)
        shown, line = box.text(), box.lineEdit()
        assert shown == written(value) and line is not None
        box.setValue(1)
        line.setText(shown)
        box.interpretText()
        assert box.value() == value
    finally:
        speech.speak("en", "")


@pytest.mark.parametrize(
    ("style", "text", "depths"),
    [
        (ENGLISH, "0, 4096 16k", (0, 4096, 16_384)),
        (ENGLISH, "0,2048;8192", (0, 2048, 8192)),
        (SPANISH, "0, 2.048, 16.384", (0, 2048, 16_384)),
        (SPANISH, "0 2048", (0, 2048)),
        (FRENCH, "0, 16 384", (0, 16_384)),
        (FRENCH, f"0, 16{NARROW}384", (0, 16_384)),
        (FRENCH, f"0, 16{FIXED}384, 1{THIN}024", (0, 1024, 16_384)),
        (FRENCH, "0 4096 16k", (0, 4096, 16_384)),
    ],
)
def test_depths_are_one_number_each(
    qtbot: QtBot, style: str, text: str, depths: tuple[int, ...]
) -> None:
    speak(numbers=style)
    section = ChoiceSection()
    qtbot.addWidget(section)
    section.depths.setText(text)
    plan = section.run_plan()
    assert isinstance(plan, RunPlan) and plan.depths == depths


@pytest.mark.parametrize("text", ["0,,", ",", "-1", "1.5", "٣", "1 2 x", "9" * 12])
def test_depths_that_are_none_are_answered(qtbot: QtBot, text: str) -> None:
    section = ChoiceSection()
    qtbot.addWidget(section)
    section.depths.setText(text)
    plan = section.run_plan()
    assert isinstance(plan, str) or plan.depths == (0,)


@pytest.mark.parametrize(
    ("style", "text", "rate"),
    [
        (ENGLISH, "gpu:24GiB@935.923", 935.923e9),
        (SPANISH, "gpu:24GiB@935.923", 935.923e9),  # copied from a command line
        (SPANISH, "gpu:24,5GiB@935,9", 935.9e9),
        (FRENCH, "gpu:24GiB@935,9", 935.9e9),
    ],
)
def test_parts_of_a_machine_may_have_the_readers_numbers(
    qtbot: QtBot, style: str, text: str, rate: float
) -> None:
    speak(numbers=style)
    document = Document(resolve=plans.resolve)
    picker = MachinePicker(document)
    qtbot.addWidget(picker)
    picker._take_parts(text)
    assert document.machine.devices[0].bandwidth.value == rate


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("price", [0.01, 1599.0, 1599.99, 12_345_678_901.25, 1e12])
def test_a_price_is_read_as_the_table_shows_it(style: str, price: float) -> None:
    speak(numbers=style)
    (column,) = (column for column in machine_columns() if column.name == "price")
    (row,) = compare_machines(dense(2.5e9, 0.6e9, 4096), [("card", CARD_AND_RAM)], Choice())
    assert parse_price(column.text(with_price(row, price))) == price


def test_what_shall_stay_free_is_left_alone_by_who_types_nothing(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = Document(resolve=plans.resolve)
    odd = 1_234_567_890
    document.set_margins({"this": odd})
    here = plans.machine(plans.device("GPU"), id="this", name="This computer")
    document.set_this_computer(here)
    document.set_model(plans.model())
    button = MarginButton(document)
    qtbot.addWidget(button)
    assert document.plan is not None
    button.show_plan(document.plan)
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, text: (text, True))
    button._ask()
    assert document.margins == {"this": odd}
    asked: list[tuple[str, str]] = []
    answers = iter([("lots", True), ("3 GiB", True)])

    def ask(parent: object, title: str, words: str, *, text: str) -> tuple[str, bool]:
        asked.append((words, text))
        return next(answers)

    monkeypatch.setattr(QInputDialog, "getText", ask)
    button._ask()
    assert document.margins == {"this": 3 * GIB}
    assert asked[1] == ("'lots' is no size; write it like 24 GB or 24 GiB.", "lots")
