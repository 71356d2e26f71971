"""A machine report in a file: what somebody else needs to plan for this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

from core.language import tr
from core.machine import own, places
from core.machine.machine import bare_name
from core.whole_file import write_out
from gui.main_window.taking_away import file_name

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


def save(window: MainWindow) -> None:
    """Ask for a place, and write the report on the machine that is planned for there."""
    machine, say = window.document.machine, window.message.say
    suggested = places.home_of() / f"{file_name(bare_name(machine.name)) or 'machine'}.json"
    chosen, _ = QFileDialog.getSaveFileName(
        window, tr("Save machine report"), str(suggested), tr("Machine reports (*.json)")
    )
    if not chosen:
        return
    path = Path(chosen)
    if not path.suffix:
        path = path.with_suffix(".json")
    try:
        write_out(path, own.report(machine))
    except OSError as error:
        say(tr("The report could not be saved: {why}.", why=error.strerror or error))
        return
    say(tr("Saved {file}: hardware only, no serial numbers and no names of users.", file=path.name))
