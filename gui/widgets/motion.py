"""Whether things may move by themselves: the one place that asks the desktop."""

from __future__ import annotations

from PySide6.QtWidgets import QStyle, QWidget

CALM_MS = 1000


def moves(widget: QWidget) -> bool:
    """Whether the desktop allows motion; False where its user asked for none."""
    hint = QStyle.StyleHint.SH_Widget_Animation_Duration
    return bool(widget.style().styleHint(hint, None, widget))


def pace(widget: QWidget, usual: int) -> int:
    """Milliseconds between two steps of something that plays: one step a second at most where
    no motion is wanted."""
    return usual if moves(widget) else max(usual, CALM_MS)
