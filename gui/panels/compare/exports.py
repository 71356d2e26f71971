"""Taking a comparison away: as text on the clipboard, as a picture in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from core.compare.columns import Column, as_csv, as_json, as_markdown
from core.language import tr
from core.tabular import TextFormat
from core.units import UnitSystem


def copy(
    form: TextFormat, columns: Sequence[Column[Any]], rows: Sequence[Any], units: UnitSystem
) -> None:
    """Put a table on the clipboard."""
    if form is TextFormat.MARKDOWN:
        text = as_markdown(columns, rows, units)
    else:
        text = (as_csv if form is TextFormat.CSV else as_json)(columns, rows)
    QGuiApplication.clipboard().setText(text)


def fill_copy(menu: QMenu, chosen: Callable[[TextFormat], None]) -> None:
    """A line for each form of text."""
    for form in TextFormat:
        menu.addAction(tr("Copy as {form}", form=form.value), partial(chosen, form))
