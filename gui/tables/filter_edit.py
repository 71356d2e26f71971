"""The line over a table in which words are typed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget


class FilterEdit(QLineEdit):
    """A search field. Escape empties it; Down or Enter goes on to the table."""

    left = Signal()  # the cursor wants to go to the table

    def __init__(self, placeholder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self.setClearButtonEnabled(True)

    def take(self, letters: str) -> None:
        """Letters that were typed into the table."""
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.insert(letters)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape with nothing to clear is left to the window."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.left.emit()
        else:
            super().keyPressEvent(event)
