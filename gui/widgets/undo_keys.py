"""Undo and redo from the keyboard reach the window's steps, also while a field has the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class UndoKeys(QObject):
    """An event filter for a field in which a step of the window is typed.

    A field takes these keys for the text in it, even where there is nothing to undo in that. Here
    it does so only while somebody types: until Enter takes what was typed.
    """

    def __init__(self, field: QAbstractSpinBox | QComboBox) -> None:
        super().__init__(field)
        self._field = field
        self._typing = False
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the keys to the window where the text has nothing for them."""
        match event.type():
            case QEvent.Type.FocusIn:
                self._typing = False
            case QEvent.Type.KeyPress if isinstance(event, QKeyEvent):
                self._typing = event.key() not in _ENTER and (self._typing or bool(event.text()))
            case QEvent.Type.ShortcutOverride if isinstance(event, QKeyEvent):
                if self._leaves(event):
                    event.ignore()
                    return True
        return False

    def _leaves(self, event: QKeyEvent) -> bool:
        edit = self._field.lineEdit()
        if edit is None:
            return False
        if event.matches(QKeySequence.StandardKey.Undo):
            return not (self._typing and edit.isUndoAvailable())
        if event.matches(QKeySequence.StandardKey.Redo):
            return not (self._typing and edit.isRedoAvailable())
        return False
