"""Rows below each other that come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtWidgets import QVBoxLayout, QWidget

W = TypeVar("W", bound=QWidget)


def fit_rows(column: QVBoxLayout, rows: list[W], count: int, make: Callable[[], W]) -> None:
    """Make rows at the end of a column, or take them away there, until there are ``count``."""
    while len(rows) > count:
        row = rows.pop()
        column.removeWidget(row)
        row.hide()
        row.deleteLater()
    while len(rows) < count:
        rows.append(make())
        column.addWidget(rows[-1])
