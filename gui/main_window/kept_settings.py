"""The settings of one window: in memory at once, in their file where that is asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gui import settings as settings_file
from gui.settings import Settings


class KeptSettings:
    """``now`` is what counts. ``state`` tells the fields that the window has at hand: where it
    stands, and how it is divided. ``now`` counts from the beginning, whatever could be written."""

    def __init__(
        self, path: Path, state: Callable[[], Mapping[str, Any]], now: Settings | None = None
    ) -> None:
        self.path = path
        self._state = state
        self._stored = settings_file.load(path)
        self.now = now or self._stored

    def keep(self, settings: Settings | None = None, **changes: Any) -> None:
        """Remember these; written with everything else at the end."""
        self.now = replace(settings or self.now, **changes)

    def save(self, settings: Settings | None = None, **changes: Any) -> None:
        """Remember these and write all of it."""
        self.keep(settings, **changes)
        self.keep(**self._state())
        try:
            self.now = self._stored = settings_file.save_changes(self.path, self._stored, self.now)
        except OSError as error:
            logging.warning("settings could not be saved: %s", error)
