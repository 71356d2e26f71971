"""A machine report in a file: what somebody else needs to plan for this machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from core.machine import Machine, own, places


def save(window: QWidget, machine: Machine, say: Callable[[str], None]) -> None:
    """Ask for a place and write the report there; ``say`` gets a sentence on how it went."""
    name = re.sub(r"[^\w .()+-]+", " ", machine.name.removeprefix("This computer: ")).strip()
    suggested = places.home_of() / f"{name[:60] or 'machine'}.json"
    chosen, _ = QFileDialog.getSaveFileName(
        window, "Save machine report", str(suggested), "Machine reports (*.json)"
    )
    if not chosen:
        return
    path = Path(chosen)
    if not path.suffix:
        path = path.with_suffix(".json")
    try:
        path.write_text(own.report(machine), "utf-8")
    except OSError as error:
        say(f"The report could not be saved: {error.strerror or error}.")
        return
    say(f"Saved {path.name}: hardware only, no serial numbers and no names of users.")
