"""The check with llama.cpp, which is built when somebody first asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from gui.document import Document

if TYPE_CHECKING:
    from gui.panels.check import CheckDialog

LOG_NAMES = (".log", ".txt", ".jsonl")


class EngineCheck(QObject):
    """One dialog for the window. ``folder`` is where the user keeps llama.cpp."""

    folder_chosen = Signal(str)

    def __init__(
        self, document: Document, history_path: Path, folder: str, window: QWidget
    ) -> None:
        super().__init__(window)
        self._document = document
        self._history_path = history_path
        self._folder = folder
        self._window = window
        self._dialog: CheckDialog | None = None

    def open(self) -> CheckDialog:
        """Bring it to the front."""
        dialog = self._dialog
        if dialog is None:
            from gui.panels.check import CheckDialog

            dialog = CheckDialog(self._document, self._history_path, self._folder, self._window)
            dialog.folder_chosen.connect(self.folder_chosen)
            self._dialog = dialog
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        return dialog

    def open_log(self, path: Path) -> None:
        """Hold the open model's plan against this log."""
        self.open().open_log(path)
