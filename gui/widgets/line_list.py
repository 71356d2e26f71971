"""A list of lines that shows where the keyboard is even while nothing stands in it."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QListWidget, QWidget

from gui import theme


class LineList(QListWidget):
    """Qt's list; the style marks the current line alone, and an empty list has none."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """The edge stays while the lines move."""
        super().scrollContentsBy(dx, dy)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The lines, and an edge around them."""
        super().paintEvent(event)
        if self.hasFocus():
            theme.draw_focus(QPainter(self.viewport()), self.viewport().rect())
