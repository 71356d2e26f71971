"""Widgets that stay beside each other where lines wrap."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget


def together(*widgets: QWidget, spacing: int = -1) -> QWidget:
    """These on one line, no wider than they need; the space between them is the style's unless it
    is given, in pixels."""
    group = QWidget()
    group.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget)
    return group


def label_for(text: str, control: QWidget) -> QLabel:
    """The label of a control, whose mnemonic leads to it."""
    label = QLabel(text)
    label.setBuddy(control)
    return label


def labelled(text: str, control: QWidget) -> QWidget:
    """A label beside its control."""
    return together(label_for(text, control), control)
