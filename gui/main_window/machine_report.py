"""A machine report in a file: what somebody else needs to plan for this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from core.language import tr
from core.machine import Machine, own, places
from core.machine.machine import bare_name
from gui.main_window.taking_away import file_name


def save(window: QWidget, machine: Machine, say: Callable[[str], None]) -> None:
    """Ask for a place and write the report there; ``say`` gets a sentence on how it went."""
    suggested = places.home_of() / f"{file_name(bare_name(machine)) or 'machine'}.json"
    chosen, _ = QFileDialog.getSaveFileName(
        window, tr("Save machine report"), str(suggested), tr("Machine reports (*.json)")
    )
    if not chosen:
        return
    path = Path(chosen)
    if not path.suffix:
        path = path.with_suffix(".json")
    try:
        path.write_text(own.report(machine), "utf-8")
    except OSError as error:
        say(tr("The report could not be saved: {why}.", why=error.strerror or error))
        return
    say(tr("Saved {file}: hardware only, no serial numbers and no names of users.", file=path.name))
