"""The settings of the program: in memory at once, in their file where that is asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gui import settings as settings_file
from gui.settings import Settings


class KeptSettings:
    """``now`` is what counts, whatever could be written. The file is read once, for the window
    and for one that takes its place; what is written is merged with what is there by then.

    ``state`` tells the fields that the window has at hand: where it stands, and how it is divided.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: Callable[[], Mapping[str, Any]] = dict
        self.now: Settings = settings_file.load(path)
        self._stored = self.now

    def keep(self, settings: Settings | None = None, **changes: Any) -> None:
        """Remember these; written with everything else at the end."""
        self.now = replace(settings or self.now, **changes)

    def save(self, settings: Settings | None = None, **changes: Any) -> None:
        """Remember these and write all of it."""
        self.keep(settings, **changes)
        self.keep(**self.state())
        try:
            self.now = self._stored = settings_file.save_changes(self.path, self._stored, self.now)
        except OSError as error:
            logging.warning("settings could not be saved: %s", error)
