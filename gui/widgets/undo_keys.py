"""Undo and redo from the keyboard reach the window's steps, also while a field has the focus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QLineEdit, QWidget

from gui.widgets.text import qt_app

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class UndoKeys(QObject):
    """Fields take these keys for the text in them, even where there is nothing to undo in it. In
    the fields of ``panel`` they do so only while somebody types: until Enter takes what was typed.
    """

    def __init__(self, panel: QWidget) -> None:
        super().__init__(panel)
        self._panel = panel
        self._typing = False
        qt_app().focusChanged.connect(self._follow)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the keys to the window where the text has nothing for them."""
        if not isinstance(event, QKeyEvent):
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            edit = _edit_of(watched)
            undo = event.matches(QKeySequence.StandardKey.Undo)
            if edit is None or not (undo or event.matches(QKeySequence.StandardKey.Redo)):
                return False
            steps = edit.isUndoAvailable() if undo else edit.isRedoAvailable()
            if not (self._typing and steps):
                event.ignore()
                return True
        elif event.type() is QEvent.Type.KeyPress:
            self._typing = event.key() not in _ENTER and (self._typing or bool(event.text()))
        return False

    def _follow(self, old: QWidget | None, now: QWidget | None) -> None:
        self._typing = False
        if old is not None:
            old.removeEventFilter(self)
        if now is not None and _edit_of(now) is not None and self._panel.isAncestorOf(now):
            now.installEventFilter(self)


def _edit_of(widget: QObject) -> QLineEdit | None:
    """The line in which a field's text is typed."""
    if isinstance(widget, QAbstractSpinBox | QComboBox):
        return widget.lineEdit()
    return widget if isinstance(widget, QLineEdit) else None
