"""Looking for models on this computer, for a feed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from core.library import Entry, Folder, scan
from core.machine.machine import Machine
from core.problems import Problem
from gui.workers.feed import Spring
from gui.workers.runner import Handle


def searching(
    folders: Sequence[Folder], machine: Machine | None, known: Mapping[Path, Entry]
) -> Spring:
    """Brings `Entry` for each model and `Problem` for each folder that cannot be searched."""

    def run(handle: Handle) -> Iterator[Entry | Problem]:
        return scan(folders, machine, handle.cancelled, known, give_way=handle.give_way)

    return run
