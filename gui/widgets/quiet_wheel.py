"""The wheel scrolls the page; it changes a control only after somebody went to that control."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget


class QuietWheel(QObject):
    """An event filter for controls inside a page that scrolls."""

    def guard(self, *widgets: QWidget) -> None:
        """Let these take the wheel only while they have the focus."""
        for widget in widgets:
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass the wheel on to the page."""
        if (
            event.type() is QEvent.Type.Wheel
            and isinstance(watched, QWidget)
            and not watched.hasFocus()
        ):
            event.ignore()
            return True
        return False
