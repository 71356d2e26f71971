"""A widget that scrolls where there is no room for all of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


def scrolled(widget: QWidget, name: str) -> QScrollArea:
    """The area around the widget, as wide as there is room; ``name`` is for screen readers.

    The keyboard goes to what stands in it; the page keys reach the area all the same.
    """
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setAccessibleName(name)
    area.setWidgetResizable(True)
    area.setWidget(widget)
    return area
