"""A machine report in a file: what somebody else needs to plan for this machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from core.language import tr
from core.machine import Machine, own, places
from core.machine.machine import bare_name


def save(window: QWidget, machine: Machine, say: Callable[[str], None]) -> None:
    """Ask for a place and write the report there; ``say`` gets a sentence on how it went."""
    name = re.sub(r"[^\w .()+-]+", " ", bare_name(machine)).strip()
    suggested = places.home_of() / f"{name[:60] or 'machine'}.json"
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
