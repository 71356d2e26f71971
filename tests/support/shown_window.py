"""The main window, shown, on a computer that a test made up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from pytestqt.qtbot import QtBot

from core.machine.machine import Machine
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.theme import Theme
from gui.workers import computer


@contextmanager
def shown_window(
    qtbot: QtBot,
    theme: Theme,
    folder: Path,
    here: Machine,
    size: tuple[int, int] | None = None,
    *,
    active: bool = False,
) -> Iterator[MainWindow]:
    """A window that has looked at its computer; closed at the end. ``folder`` takes its settings;
    ``active`` waits until it has the keyboard."""
    with patch.object(computer, "detecting", lambda handle: here):
        made = MainWindow(Document(), theme, KeptSettings(folder / "settings.json"))
        qtbot.addWidget(made)
        if size is not None:
            made.resize(*size)
        made.show()
        if active:
            made.activateWindow()
        qtbot.waitUntil(lambda: made.document.this_computer is not None)
        if active:
            qtbot.waitUntil(made.isActiveWindow)
        yield made
        made.close()
