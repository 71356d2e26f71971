"""The machine is searched for by typing: nothing between two keys may take the words away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QFocusEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QDialogButtonBox, QLineEdit
from pytestqt.qtbot import QtBot

from core.machine import catalogue, combine, custom, own
from core.machine.machine import named_here
from core.units import UnitSystem
from gui.document import Document
from gui.panels.plan.combination import CombinationDialog
from gui.panels.plan.machine_picker import MachinePicker, summary
from gui.panels.plan.own_machine import OwnMachineDialog
from tests.support import plans

HERE = plans.machine(plans.device("RAM"), id="this", name="This computer")
REASON = Qt.FocusReason


@pytest.fixture
def document() -> Document:
    made = Document(resolve=plans.resolve)
    made.set_this_computer(HERE)
    return made


@pytest.fixture
def picker(qtbot: QtBot, document: Document) -> MachinePicker:
    made = MachinePicker(document)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    made.box.clearFocus()
    made.box.setFocus(REASON.TabFocusReason)
    qtbot.waitUntil(lambda: edit(made).hasSelectedText())
    return made


def edit(picker: MachinePicker) -> QLineEdit:
    line = picker.box.lineEdit()
    assert line is not None
    return line


def popup(picker: MachinePicker) -> QAbstractItemView:
    matches = picker.completer.popup()
    assert matches is not None
    return matches


def send(picker: MachinePicker, kind: QEvent.Type, reason: Qt.FocusReason) -> None:
    QApplication.sendEvent(picker.box, QFocusEvent(kind, reason))
    QApplication.processEvents()


def test_a_list_that_opens_and_closes_while_one_types_leaves_the_words(
    picker: MachinePicker, document: Document
) -> None:
    for letter in "rtx 4070":
        QTest.keyClicks(picker.box, letter)
        # What X11 sends around the list of matches.
        send(picker, QEvent.Type.FocusAboutToChange, REASON.OtherFocusReason)
        send(picker, QEvent.Type.FocusOut, REASON.PopupFocusReason)
        for reason in (
            REASON.PopupFocusReason,
            REASON.OtherFocusReason,
            REASON.ActiveWindowFocusReason,
            REASON.MouseFocusReason,
        ):
            send(picker, QEvent.Type.FocusIn, reason)
    assert edit(picker).text() == "rtx 4070"
    assert not edit(picker).hasSelectedText()
    QTest.keyClick(picker.box, Qt.Key.Key_Return)
    assert "RTX 4070" in document.machine.name


def test_the_words_stay_while_the_list_of_matches_is_open_and_go_when_the_box_is_left(
    picker: MachinePicker, document: Document
) -> None:
    before = edit(picker).text()
    QTest.keyClicks(picker.box, "rtx")
    assert popup(picker).isVisible()
    send(picker, QEvent.Type.FocusOut, REASON.OtherFocusReason)
    assert edit(picker).text() == "rtx"
    popup(picker).hide()
    send(picker, QEvent.Type.FocusOut, REASON.TabFocusReason)
    assert edit(picker).text() == before
    assert document.machine is HERE


def test_arrows_and_the_wheel_never_open_the_dialog_of_ones_own_machine(
    picker: MachinePicker, document: Document
) -> None:
    before = edit(picker).text()
    for _ in range(3):
        QTest.keyClick(picker.box, Qt.Key.Key_Down)
    none = Qt.MouseButton.NoButton
    wheel = QWheelEvent(
        QPointF(5, 5),
        QPointF(5, 5),
        QPoint(),
        QPoint(0, -120),
        none,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(picker.box, wheel)
    assert picker.findChildren(OwnMachineDialog) == []
    assert edit(picker).text() == before
    assert document.machine is HERE


def test_the_last_line_of_the_list_opens_the_dialog_by_enter(
    picker: MachinePicker, qtbot: QtBot
) -> None:
    picker.box.showPopup()
    lines = picker.box.view()
    QTest.keyClick(lines, Qt.Key.Key_End)
    QTest.keyClick(lines, Qt.Key.Key_Return)
    (dialog,) = picker.findChildren(OwnMachineDialog)
    assert dialog.isVisible()
    dialog.close()


def test_a_line_taken_from_the_list_of_matches_becomes_the_line_of_the_machine(
    picker: MachinePicker, document: Document, qtbot: QtBot
) -> None:
    QTest.keyClicks(picker.box, "rtx 4070")
    matches = popup(picker)
    QTest.keyClick(matches, Qt.Key.Key_Down)
    QTest.keyClick(matches, Qt.Key.Key_Return)
    line = summary(document.machine, UnitSystem.GIB)
    assert "RTX 4070" in line
    qtbot.waitUntil(lambda: edit(picker).text() == line)


def test_a_click_selects_the_machine_so_that_typing_searches_even_right_after_a_choice(
    picker: MachinePicker, document: Document
) -> None:
    for words in ("4070", "3060"):
        QTest.mouseClick(edit(picker), Qt.MouseButton.LeftButton)
        QTest.keyClicks(picker.box, words)
        assert edit(picker).text() == words
        QTest.keyClick(picker.box, Qt.Key.Key_Return)
        assert words in document.machine.name
    QTest.keyClicks(picker.box, "5090")
    assert edit(picker).text() == "5090"
    QTest.mouseClick(edit(picker), Qt.MouseButton.LeftButton)
    assert not edit(picker).hasSelectedText()  # a click into one's own words goes on in them


def test_machines_that_the_user_keeps_are_listed_and_can_be_chosen(
    qtbot: QtBot, document: Document
) -> None:
    own.save(own.added((), custom(48 * 2**30, 900e9), "Attic"))
    picker = MachinePicker(document)
    qtbot.addWidget(picker)
    lines = [picker.box.itemText(n) for n in range(picker.box.count())]
    assert lines[1] == "Attic, 48.0 GiB"
    picker.box.activated.emit(1)
    assert document.machine.id == "own-attic"
    assert picker.box.currentText() == "Attic, 48.0 GiB"
    assert [picker.box.itemText(n) for n in range(picker.box.count())] == lines


def choose_line(picker: MachinePicker, words: str) -> None:
    at = next(n for n in range(picker.box.count()) if picker.box.itemText(n) == words)
    picker.box.setCurrentIndex(at)
    picker.box.activated.emit(at)
    QTest.qWait(1)


def test_the_list_says_that_the_catalogue_can_be_searched_and_empties_the_box_for_it(
    picker: MachinePicker, document: Document
) -> None:
    before = edit(picker).text()
    choose_line(picker, "Search the catalogue…")
    assert edit(picker).text() == ""
    assert "rtx 3060" in edit(picker).placeholderText()
    send(picker, QEvent.Type.FocusOut, REASON.TabFocusReason)
    assert edit(picker).text() == before
    choose_line(picker, "Search the catalogue…")
    QTest.keyClicks(picker.box, "rtx 3060 12")
    QTest.keyClick(picker.box, Qt.Key.Key_Return)
    assert document.machine.name == "GeForce RTX 3060 12 GB"


def test_ram_is_put_beside_the_card_that_is_chosen_and_the_card_stays_what_it_is(
    picker: MachinePicker, document: Document
) -> None:
    card = catalogue.machine("nvidia-geforce-rtx-3060-12-gb")
    document.set_machine(card)
    choose_line(picker, "Cards and RAM together…")
    (dialog,) = picker.findChildren(CombinationDialog)
    assert dialog.cards[0].name.text().startswith("GeForce RTX 3060 12 GB")
    assert dialog.ram.text() == ""
    dialog.ram.setText("64 GiB")
    dialog.ram_bandwidth.setText("51.2")
    dialog.buttons.button(QDialogButtonBox.StandardButton.Ok).click()
    assert document.machine.gpus == card.gpus
    host = document.machine.host
    assert host is not None and host.memory.value == 64 * 2**30
    again = CombinationDialog(UnitSystem.GIB, document.machine, picker)
    assert again.cards[0].name.text().startswith("GeForce RTX 3060 12 GB")
    assert (again.ram.text(), again.ram_bandwidth.text()) == ("64.0 GiB", "51.2 GB/s")


def test_a_card_is_put_into_this_computer(picker: MachinePicker, document: Document) -> None:
    dialog = CombinationDialog(UnitSystem.GIB, HERE, picker)
    assert dialog.cards[0].name.text() == ""
    assert dialog.ram.text() == "32.0 GiB"


def test_words_that_find_nothing_are_answered_below_the_box(
    picker: MachinePicker, document: Document
) -> None:
    QTest.keyClicks(picker.box, "65536")
    QTest.keyClick(picker.box, Qt.Key.Key_Return)
    assert document.machine is HERE
    assert picker.problem.isVisible()
    assert "no machine" in picker.problem.text()
    assert "rtx 3060" in picker.problem.text()
    QTest.keyClick(picker.box, Qt.Key.Key_Backspace)
    assert not picker.problem.isVisible()


def test_parts_are_taken_as_the_command_line_takes_them(
    picker: MachinePicker, document: Document
) -> None:
    QTest.keyClicks(picker.box, "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2")
    QTest.keyClick(picker.box, Qt.Key.Key_Return)
    assert len(document.machine.gpus) == 2
    assert edit(picker).text() == summary(document.machine, UnitSystem.GIB)
    QTest.keyClick(picker.box, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(picker.box, "2x nvidia-geforce-rtx-3090 + ram:much")
    QTest.keyClick(picker.box, Qt.Key.Key_Return)
    assert "much" in picker.problem.text()


def test_a_name_that_has_its_memory_says_it_once(picker: MachinePicker) -> None:
    QTest.keyClicks(picker.box, "rtx 3060 12")
    lines = picker.completer.model()
    assert lines.index(0, 0).data() == "GeForce RTX 3060 12 GB, 360 GB/s"


def test_this_computer_is_told_by_its_cards_once() -> None:
    here = replace(catalogue.machine("nvidia-geforce-rtx-3090"), id="this", name=named_here("3090"))
    assert summary(here, UnitSystem.GIB) == "This computer: 3090, 24.0 GiB"


def test_one_line_never_mixes_gib_and_gb() -> None:
    card = catalogue.machine("nvidia-geforce-rtx-3090")
    assert summary(card, UnitSystem.GB).endswith("3090, 25.8 GB")
    beside = combine(card, custom(64 * 2**30, 51.2e9, gpu=False))
    for units in UnitSystem:
        assert summary(beside, units).endswith("3090 + 64.0 GiB RAM, 24.0 GiB")
