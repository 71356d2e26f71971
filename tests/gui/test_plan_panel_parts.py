"""Sizes that add up on the screen, the machine typed by hand, the recipes in order."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from core import language
from core.gguf import open_file
from core.machine import catalogue
from core.machine.machine import DeviceKind, Machine
from core.model import model_from
from core.plan.plan import DevicePlan, Part, PartKind, Verdict
from core.units import UnitSystem
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.panels.plan.recipes import recipes
from gui.panels.plan.sizes import DeviceSizes
from tests.support import plans

GIB = 2**30


PARTS = (PartKind.OTHERS, PartKind.WEIGHTS, PartKind.CACHE, PartKind.STATE, PartKind.COMPUTE)


def sizes_of(parts: list[int], capacity: int | None, system: UnitSystem) -> DeviceSizes:
    """Sizes of a device that holds these parts."""
    total = sum(parts)
    free = None if capacity is None else capacity - total
    plan = DevicePlan(
        plans.device("RAM", memory=capacity),
        tuple(Part(k, plans.bytes_number(size)) for k, size in zip(PARTS, parts, strict=False)),
        plans.bytes_number(total),
        plans.bytes_number(free),
        Verdict.FITS,
    )
    return DeviceSizes(plan, system)


def hundredths(text: str) -> tuple[int, str]:
    """ "1,234.56 GiB" as 123456 and "GiB"; less than a hundredth is 0."""
    number, unit = text.removeprefix("<").split(" ")
    return 0 if text.startswith("<") else int(number.replace(",", "").replace(".", "")), unit


@given(
    st.lists(st.integers(0, 2**40), min_size=1, max_size=len(PARTS)),
    st.integers(1, 2**41),
    st.sampled_from(UnitSystem),
)
def test_rounded_parts_add_up_to_the_rounded_total_and_with_what_is_free_to_the_capacity(
    parts: list[int], capacity: int, system: UnitSystem
) -> None:
    sizes = sizes_of(parts, capacity, system)
    total, unit = hundredths(sizes.total)
    shown = [hundredths(sizes.part(k, n)) for k, n in zip(PARTS, parts, strict=False)]
    assert {u for _, u in shown} == {unit}
    assert sum(steps for steps, _ in shown) == total
    over = sum(parts) > capacity
    free = hundredths(sizes.free)[0]
    assert total + (-free if over else free) == hundredths(sizes.capacity)[0]
    step = {"GiB": 2**30, "MiB": 2**20, "GB": 10**9, "MB": 10**6}[unit] / 100
    for (steps, _), part in zip(shown, parts, strict=True):
        assert abs(steps - part / step) <= 1


def test_a_card_of_24564_mib_is_shown_in_one_base_with_parts_that_add_up() -> None:
    """M48."""
    # Reported by users: 16.98 GiB of model and 4.5 GiB of cache on such a card.
    parts = [0, round(16.98 * GIB), round(4.5 * GIB)]
    capacity = 24_564 * 2**20
    gib = sizes_of(parts, capacity, UnitSystem.GIB)
    assert gib.capacity == "23.99 GiB"
    assert gib.part(PartKind.WEIGHTS, parts[1]) == "16.98 GiB"
    assert gib.part(PartKind.CACHE, parts[2]) == "4.50 GiB"
    assert gib.total == "21.48 GiB"
    assert gib.rest() == "2.51 GiB free"
    assert sizes_of(parts, capacity, UnitSystem.GB).capacity == "25.76 GB"


def test_something_small_is_not_shown_as_nothing() -> None:
    sizes = sizes_of([0, 990_000], 24 * GIB, UnitSystem.GIB)
    assert sizes.part(PartKind.WEIGHTS, 990_000) == "<0.01 GiB"
    assert sizes.part(PartKind.OTHERS, 0) == "0.00 GiB"


def test_a_small_device_is_shown_in_megabytes() -> None:
    assert sizes_of([2**20], 512 * 2**20, UnitSystem.GIB).capacity == "512.00 MiB"
    assert sizes_of([10**6], 512 * 10**6, UnitSystem.GB).capacity == "512.00 MB"


def test_a_capacity_that_nobody_knows_leaves_what_is_free_unknown() -> None:
    sizes = sizes_of([2**20], None, UnitSystem.GIB)
    assert (sizes.capacity, sizes.free) == ("unknown", "unknown")
    assert sizes.rest() == "what is left is not known"


@pytest.fixture
def dialog(qtbot: QtBot) -> OwnMachineDialog:
    made = OwnMachineDialog(plans.RTX_3090, UnitSystem.GIB)
    qtbot.addWidget(made)
    made.show()
    return made


def accept(qtbot: QtBot, dialog: OwnMachineDialog) -> Machine:
    with qtbot.waitSignal(dialog.made) as made:
        QTest.keyClick(dialog.memory, Qt.Key.Key_Return)
    assert made.args is not None
    machine = made.args[0]
    assert isinstance(machine, Machine)
    return machine


def test_it_starts_from_the_machine_that_is_chosen(dialog: OwnMachineDialog) -> None:
    assert dialog.memory.text() == "24.0 GiB"
    assert dialog.bandwidth.text() == "936 GB/s"
    assert dialog.ram.text() == "64.0 GiB"
    assert dialog.ram_bandwidth.text() == "51.2 GB/s"


def test_a_card_and_the_computer_around_it_are_typed(
    qtbot: QtBot, dialog: OwnMachineDialog
) -> None:
    dialog.memory.setText("32 GB")
    dialog.bandwidth.setText("1792")
    dialog.ram.setText("96")
    dialog.ram_bandwidth.setText("")
    machine = accept(qtbot, dialog)
    card, host = machine.devices
    assert card.kind is DeviceKind.GPU
    assert card.memory.value == 32 * 10**9
    assert card.bandwidth.value == 1792e9
    assert host.kind is DeviceKind.HOST
    assert host.memory.value == 96 * GIB  # a bare number is in the unit on the screen
    assert host.bandwidth.value is None


def test_a_card_whose_figures_are_left_alone_keeps_all_that_is_known_of_it(
    qtbot: QtBot,
) -> None:
    card = catalogue.machine("nvidia-geforce-rtx-3060-12-gb")
    made = OwnMachineDialog(card, UnitSystem.GIB)
    qtbot.addWidget(made)
    made.show()
    made.ram.setText("64 GiB")
    made.ram_bandwidth.setText("51.2")
    machine = accept(qtbot, made)
    assert machine.gpus == card.gpus  # arithmetic, link and source with it
    assert machine.host is not None and machine.host.bandwidth.value == 51.2e9
    made.show()
    made.ram.setText("")
    machine = accept(qtbot, made)
    assert machine.host is not None and not machine.host.memory.known


def test_figures_are_shown_and_typed_in_the_readers_way_of_writing_numbers(qtbot: QtBot) -> None:
    language.speak(numbers="12.345,6")
    made = OwnMachineDialog(plans.RTX_3090, UnitSystem.GIB)
    qtbot.addWidget(made)
    made.show()
    assert (made.memory.text(), made.ram_bandwidth.text()) == ("24,0 GiB", "51,2 GB/s")
    assert made.ram_bandwidth.placeholderText() == "51,2 GB/s"
    machine = accept(qtbot, made)  # what it was filled in with can be read again
    assert machine.host is not None and machine.host.bandwidth.value == 51.2e9
    made.show()
    made.memory.setText("24,5 GB")
    made.bandwidth.setText("1.008 GB/s")
    card = accept(qtbot, made).devices[0]
    assert (card.memory.value, card.bandwidth.value) == (24_500_000_000, 1008e9)


def test_ram_alone_and_one_memory_for_all_are_one_device(
    qtbot: QtBot, dialog: OwnMachineDialog
) -> None:
    dialog.kind.setCurrentText("RAM only")
    assert not dialog.ram.isVisible()
    assert not dialog.backend.isVisible()
    dialog.memory.setText("16 GiB")
    dialog.bandwidth.setText("51.2")
    machine = accept(qtbot, dialog)
    assert [d.kind for d in machine.devices] == [DeviceKind.HOST]
    again = OwnMachineDialog(machine, UnitSystem.GIB)
    qtbot.addWidget(again)
    again.show()
    assert again.kind.currentText() == "RAM only"
    again.kind.setCurrentText("One memory for all")
    machine = accept(qtbot, again)
    assert len(machine.devices) == 1
    assert machine.devices[0].unified


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("memory", "a lot", "a lot"),
        ("memory", "", "size"),
        ("memory", "0", "more than nothing"),
        ("bandwidth", "fast", "fast"),
        ("ram", "64 parsecs", "64 parsecs"),
    ],
)
def test_nonsense_is_answered_in_place_and_keeps_the_dialog_open(
    dialog: OwnMachineDialog, field: str, text: str, word: str
) -> None:
    made: list[Machine] = []
    dialog.made.connect(made.append)
    getattr(dialog, field).setText(text)
    QTest.keyClick(dialog.memory, Qt.Key.Key_Return)
    assert made == []
    assert dialog.isVisible()
    assert dialog.problem.isVisible()
    assert word in dialog.problem.text()


def test_recipes_run_from_large_to_small_after_the_file_as_it_is() -> None:
    path = files("resources") / "specimens" / "Llama-3.1-8B-Instruct-Q4_K_M.gguf"
    model = model_from(open_file(Path(str(path))))
    made = recipes(model)
    assert made[0].ftype is None
    assert made[0].words.startswith("as it is: Q4_K_M, 4.8")
    names = [recipe.ftype for recipe in made[1:]]
    # Published sizes of this model: F16 16.07, Q8_0 8.54, Q6_K 6.60, Q4_K_M 4.92, Q2_K 3.18 GB
    order = [names.index(name) for name in ("F16", "Q8_0", "Q6_K", "Q4_K_M", "Q2_K")]
    assert order == sorted(order)
    imatrix = {r.ftype for r in made if r.words.endswith(", imatrix")}
    assert "IQ2_XXS" in imatrix
    assert "Q4_K_M" not in imatrix
