"""The view of a table: which row is chosen, and what its keys ask for."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from core.model.model import Role
from gui.tables.tensors import TensorTable
from gui.tables.view import SheetView
from tests.support.models import Spec, model_of

SPECS = [Spec(f"blk.{layer}.attn_q.weight", (256, 256), "Q4_K", Role.ATTENTION) for layer in (0, 1)]


@pytest.fixture
def view(qtbot: QtBot) -> SheetView:
    made = SheetView(TensorTable(), "tensor")
    qtbot.addWidget(made)
    sheet = made.model()
    assert isinstance(sheet, TensorTable)
    sheet.setParent(made)
    sheet.set_model(model_of(SPECS))
    made.show()
    return made


@pytest.mark.parametrize(
    "held",
    [
        Qt.KeyboardModifier.NoModifier,
        Qt.KeyboardModifier.ControlModifier,
        Qt.KeyboardModifier.ShiftModifier,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    ],
)
def test_a_row_is_chosen_whatever_keys_are_held(
    qtbot: QtBot, view: SheetView, held: Qt.KeyboardModifier
) -> None:
    """Ctrl+Shift+O opens a list with both keys down; with Shift, Qt's own way chose nothing."""
    key = QLineEdit()
    qtbot.addWidget(key)
    key.show()
    QTest.keyClick(key, Qt.Key.Key_F20, held)
    view.choose_row(1)
    assert [index.row() for index in view.selectionModel().selectedRows()] == [1]
    assert view.currentIndex().row() == 1
    QTest.keyClick(key, Qt.Key.Key_F20)


def test_delete_asks_for_rows_to_be_taken_away(qtbot: QtBot, view: SheetView) -> None:
    with qtbot.waitSignal(view.taken_away):
        QTest.keyClick(view, Qt.Key.Key_Delete)
