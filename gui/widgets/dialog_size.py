"""How large a dialog opens: so many letters and lines, and no larger than the screen allows."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def open_at(dialog: QWidget, letters: int, lines: int) -> None:
    """Give a dialog room for so much text, at most nine tenths of the screen."""
    metrics, room = dialog.fontMetrics(), dialog.screen().availableSize()
    width, height = letters * metrics.averageCharWidth(), lines * metrics.height()
    dialog.resize(min(width, 9 * room.width() // 10), min(height, 9 * room.height() // 10))
