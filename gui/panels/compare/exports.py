"""Taking a comparison away: as text on the clipboard, as a picture in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from core.compare.columns import Column, as_csv, as_json, as_markdown
from core.gguf import display
from core.plan.plan import Plan
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.widgets.plot_frame import FramedPlot

_PICTURES = "Drawing (*.svg);;Picture (*.png)"


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
        menu.addAction(f"Copy as {form.value}", partial(chosen, form))


def plan_title(plan: Plan | None, *, model: bool = True) -> str:
    """What a picture is of: the model, or the machine, and the choice."""
    if plan is None:
        return ""
    settings, own = plan.settings, plan.model
    label = f"{own.name or own.architecture} {settings.requantize or own.label}"
    return (
        f"{display(label if model else plan.machine.name)}, context {settings.context:,}, "
        f"K {settings.cache_k}, V {settings.cache_v}"
    )


def ask_for_picture(parent: QWidget, plot: FramedPlot, name: str, title: str) -> str:
    """Ask where to, and save the plot; what came of it, in a sentence ("" for nothing)."""
    chosen, kind = QFileDialog.getSaveFileName(parent, "Save picture", name, _PICTURES)
    if not chosen:
        return ""
    path = Path(chosen)
    if path.suffix.lower() not in (".svg", ".png"):
        path = path.with_name(path.name + (".png" if "png" in kind else ".svg"))
    return save_picture(plot, path, title)


def save_picture(plot: FramedPlot, path: Path, title: str = "") -> str:
    """Save the plot; what came of it, in a sentence."""
    try:
        plot.save(path, title)
    except OSError as error:
        return f"{display(path.name)} could not be written: {error.strerror or error}."
    return f"Saved as {display(path.name)}."
