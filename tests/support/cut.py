"""What does not have the room that its words need, or stands outside of what it lies in."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QScrollArea,
    QScrollBar,
    QStyle,
    QStyleOptionComboBox,
    QTabBar,
    QWidget,
)

from gui.widgets.elided_text import ElidedText
from gui.widgets.live_text import LiveText


def cut(root: QWidget) -> list[str]:
    """Everything below ``root`` that is cut now, by kind, name and the words that are cut."""
    return [
        f"{type(widget).__name__} {widget.accessibleName()}: {why}"
        for widget in root.findChildren(QWidget)
        if widget.isVisible() and widget.window() is root.window()
        for why in _reasons(widget)
    ]


def _reasons(widget: QWidget) -> Iterator[str]:
    metrics, width = widget.fontMetrics(), widget.width()
    if isinstance(widget, QComboBox) and not widget.isEditable():
        option = QStyleOptionComboBox()
        widget.initStyleOption(option)
        control, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = widget.style().subControlRect(control, option, field, widget).width()
        if metrics.horizontalAdvance(widget.currentText()) > room - 2:
            yield widget.currentText()
    elif isinstance(widget, QAbstractSpinBox):
        if metrics.horizontalAdvance(widget.text()) > widget.lineEdit().width() - 4:
            yield widget.text()
    elif isinstance(widget, QLabel) and not isinstance(widget, ElidedText):
        wraps = widget.hasHeightForWidth()
        words = widget.shown if isinstance(widget, LiveText) else widget.text()
        if words and not wraps and metrics.horizontalAdvance(words.replace("&", "")) > width:
            yield words
        if words and wraps and widget.height() < widget.heightForWidth(width):
            yield f"{widget.height()} pixels for {words}"
    elif isinstance(widget, QAbstractButton) and not isinstance(widget.parent(), QTabBar):
        wanted = widget.minimumSizeHint()
        if width < wanted.width() or widget.height() < wanted.height():
            yield widget.text()
    elif isinstance(widget, QScrollArea) and widget.horizontalScrollBar().maximum() > 0:
        yield "scrolls sideways"
    parent = widget.parentWidget()
    if parent is None or isinstance(parent.parentWidget(), QAbstractScrollArea):
        return
    if not isinstance(widget, QScrollBar) and widget.geometry().right() > parent.width():
        yield f"ends at {widget.geometry().right()} of {parent.width()}"
