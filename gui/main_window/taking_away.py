"""What leaves the window: the plan as text and as a web page, and what is drawn as pictures."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from core.gguf import display
from core.language import tr
from core.machine import places
from core.plan.plan import Plan
from core.tabular import TextFormat, json_text
from core.units import UnitSystem
from core.whole_file import write_out
from gui.panels.help.about import own_version
from gui.widgets.pictures import pictures

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


def file_name(words: str) -> str:
    """A name for a file, with nothing that a system takes amiss; a number in it has a point before
    its tenths, whatever the language."""
    numbers = re.sub(r"(?<=\d),(?=\d)", ".", words)
    return re.sub(r"[^\w.()+-]+", " ", numbers).strip()[:60].strip()


def copy_report(window: MainWindow, form: TextFormat) -> None:
    """Put the plan on the clipboard."""
    plan = window.document.plan
    if plan is not None:
        QGuiApplication.clipboard().setText(report_as(form, plan, window.document.units))
        window.message.say(tr("The report is on the clipboard, as {form}.", form=form.value))


def report_as(form: TextFormat, plan: Plan, units: UnitSystem) -> str:
    """JSON as the command line prints it, or text that keeps its columns inside of Markdown."""
    from core import report

    if form is TextFormat.JSON:
        return json_text(report.as_json(plan)) + "\n"
    return f"```\n{report.text(plan, units)}```\n"


def ask_for_report(window: MainWindow) -> None:
    """Ask where to, and save the plan as a web page."""
    plan = window.document.plan
    if plan is None:
        return
    name = file_name(plan.model.name or plan.model.file.header.path.stem)
    suggested = places.home_of() / f"{name or 'plan'}.html"
    chosen, _ = QFileDialog.getSaveFileName(
        window, tr("Save report"), str(suggested), tr("Web pages (*.html)")
    )
    if chosen:
        path = Path(chosen)
        path = path if path.suffix else path.with_suffix(".html")
        window.message.say(save_report(path, plan, window.document.units))


def save_report(path: Path, plan: Plan, units: UnitSystem) -> str:
    """Save it there; what came of it, in a sentence."""
    from core.report import html

    made = f"Weighbridge {own_version()}, {date.today().isoformat()}"
    try:
        write_out(path, html(plan, units, made))
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
