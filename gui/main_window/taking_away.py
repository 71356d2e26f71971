"""What leaves the window: the plan as a web page, and what is drawn as pictures."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from core.gguf import display
from core.language import tr
from core.machine import places
from core.plan.plan import Plan
from core.units import UnitSystem
from gui.panels.help.about import own_version
from gui.widgets.pictures import pictures


def file_name(words: str) -> str:
    """A name for a file, with nothing that a system takes amiss; a number in it has a point before
    its tenths, whatever the language."""
    numbers = re.sub(r"(?<=\d),(?=\d)", ".", words)
    return re.sub(r"[^\w.()+-]+", " ", numbers).strip()[:60].strip()


def ask_for_report(window: QWidget, plan: Plan, units: UnitSystem) -> str:
    """Ask where to, and save the plan as a web page; what came of it, in a sentence ("" for
    nothing)."""
    name = file_name(plan.model.name or plan.model.file.header.path.stem)
    suggested = places.home_of() / f"{name or 'plan'}.html"
    chosen, _ = QFileDialog.getSaveFileName(
        window, tr("Save report"), str(suggested), tr("Web pages (*.html)")
    )
    if not chosen:
        return ""
    path = Path(chosen)
    return save_report(path if path.suffix else path.with_suffix(".html"), plan, units)


def save_report(path: Path, plan: Plan, units: UnitSystem) -> str:
    """Save it there; what came of it, in a sentence."""
    from core.report import html

    made = f"Weighbridge {own_version()}, {date.today().isoformat()}"
    try:
        path.write_text(html(plan, units, made), "utf-8")
    except OSError as error:
        why = error.strerror or error
        return tr("{file} could not be written: {why}.", file=display(path.name), why=why)
    return tr(
        "Saved as {file}: the plan on one page, without the folders of files.",
        file=display(path.name),
    )


def fill_pictures(menu: QMenu, window: QWidget) -> None:
    """A line for each picture that is shown just now."""
    menu.clear()
    for each in pictures(window):
        menu.addAction(f"{each.name}…".replace("&", "&&")).triggered.connect(each.ask)
    if menu.isEmpty():
        menu.addAction(tr("Nothing is drawn on this page")).setEnabled(False)
