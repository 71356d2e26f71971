"""Own machines and combinations: the dialogs."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox
from pytestqt.qtbot import QtBot

from core.machine import Machine, custom, machine_from, own
from core.units import UnitSystem
from gui.document import Document
from gui.panels.compare.own_machines import OwnMachinesDialog
from gui.panels.plan.combination import CombinationDialog

GIB = 2**30


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_machine(machine_from("nvidia-geforce-rtx-3090 + ram:64GiB@51.2"))
    return made


@pytest.fixture
def dialog(qtbot: QtBot, document: Document) -> OwnMachinesDialog:
    own.save(own.added((), custom(48 * GIB, 900e9), "Attic"))
    made = OwnMachinesDialog(document)
    qtbot.addWidget(made)
    made.show()
    return made


def names() -> list[str]:
    """What is stored."""
    return [machine.name for machine in own.load().machines]


def test_without_a_machine_there_is_nothing_to_do_with_one(
    qtbot: QtBot, document: Document
) -> None:
    dialog = OwnMachinesDialog(document)
    qtbot.addWidget(dialog)
    assert dialog.status.shown == "No machine is kept yet."
    assert not dialog.rename.isEnabled() and not dialog.export.isEnabled()
    assert dialog.add_present.isEnabled()


def test_the_plans_machine_is_kept_renamed_and_deleted(dialog: OwnMachinesDialog) -> None:
    changes: list[None] = []
    dialog.changed.connect(lambda: changes.append(None))
    dialog.add_present.click()
    assert names() == ["Attic", "GeForce RTX 3090 + 64.0 GiB RAM"]
    dialog.rename_to("Desk")
    assert names() == ["Attic", "Desk"]
    dialog.rename_to("Attic")
    assert names() == ["Attic", "Desk"]
    assert "already" in dialog.status.shown
    dialog.delete.click()
    assert names() == ["Attic"]
    assert len(changes) == 3
    dialog.undo.click()
    assert names() == ["Attic", "Desk"]
    assert not dialog.undo.isVisible()


def test_what_another_window_keeps_meanwhile_stays(
    qtbot: QtBot, dialog: OwnMachinesDialog, document: Document, tmp_path: Path
) -> None:
    other = OwnMachinesDialog(document)
    qtbot.addWidget(other)
    other._add(custom(8 * GIB, 50e9, name="Theirs"))
    dialog.rename_to("Cellar")
    assert names() == ["Cellar", "Theirs"]
    other._add(custom(9 * GIB, 50e9, name="Another"))
    dialog.list.setCurrentRow(0)
    dialog.delete.click()
    assert names() == ["Theirs", "Another"]
    other._add(custom(10 * GIB, 50e9, name="Last"))
    dialog.undo.click()
    assert names() == ["Cellar", "Theirs", "Another", "Last"]
    report = tmp_path / "report.json"
    report.write_text(own.report(machine_from("apple-m4-max-40-core-gpu")), "utf-8")
    other.take_file(report)
    dialog.add_present.click()
    assert len(names()) == 6


def test_a_machine_is_compared_or_planned_for(
    dialog: OwnMachinesDialog, document: Document
) -> None:
    chosen: list[str] = []
    dialog.chosen.connect(chosen.append)
    dialog.compare.click()
    dialog.plan.click()
    assert chosen == ["own-attic"]
    assert document.machine.name == "Attic"


def test_a_report_of_another_computer_and_a_list_are_opened(
    dialog: OwnMachinesDialog, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    report.write_text(own.report(machine_from("apple-m4-max-40-core-gpu")), "utf-8")
    dialog.take_file(report)
    assert names() == ["Attic", "Apple M4 Max (40-core GPU)"]
    listed = tmp_path / "machines.json"
    dialog.save_list(listed)
    dialog.take_file(listed)
    assert "here already" in dialog.status.shown
    assert len(names()) == 2


def test_a_file_that_is_no_report_is_told(dialog: OwnMachinesDialog, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1]")
    dialog.take_file(path)
    assert dialog.status.shown.startswith("x.json: ")
    assert names() == ["Attic"]


def test_what_cannot_be_saved_is_not_shown_as_if_it_were(
    dialog: OwnMachinesDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(own, "save", refuse)
    dialog.add_present.click()
    assert dialog.list.count() == 1
    assert "No space left" in dialog.status.shown


def test_cards_and_ram_make_one_machine(qtbot: QtBot) -> None:
    dialog = CombinationDialog(UnitSystem.GIB)
    qtbot.addWidget(dialog)
    made: list[Machine] = []
    dialog.made.connect(made.append)
    first, second = dialog.cards
    first.count.setValue(2)
    QTest.keyClicks(first.name, "rtx 3090 24")
    QTest.keyClicks(second.name, "rtx 3060 12")
    dialog.ram.setText("64 GiB")
    dialog.ram_bandwidth.setText("51.2")
    dialog.buttons.button(QDialogButtonBox.StandardButton.Ok).click()
    (machine,) = made
    assert [g.name for g in machine.gpus] == [
        "GeForce RTX 3090",
        "GeForce RTX 3090",
        "GeForce RTX 3060 12 GB",
    ]
    assert machine.host is not None and machine.host.memory.value == 64 * GIB


@pytest.mark.parametrize(
    ("card", "ram", "words"),
    [
        ("", "", "name a card"),
        ("abacus", "", "no card is called"),
        ("rtx 3090", "much", "no size"),
    ],
)
def test_what_is_no_combination_is_told_and_the_dialog_stays(
    qtbot: QtBot, card: str, ram: str, words: str
) -> None:
    dialog = CombinationDialog(UnitSystem.GIB)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.cards[0].name.setText(card)
    dialog.ram.setText(ram)
    dialog.buttons.button(QDialogButtonBox.StandardButton.Ok).click()
    assert words in dialog.problem.text()
    assert dialog.isVisible()
