"""Models that are not open yet: behind links, and on this computer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from core.language import tr
from core.problems import Problem
from core.remote import FileLink, Link, RepositoryLink, read_link
from gui.document import Document
from gui.main_window.kept_settings import KeptSettings

if TYPE_CHECKING:
    from gui.panels.library import LibraryDialog


class Finding(QObject):
    """Asks for links and shows what they lead to. ``link_chosen`` and ``file_chosen`` carry what
    to open. Links and the user's folders are remembered."""

    link_chosen = Signal(FileLink)
    file_chosen = Signal(Path)
    failed = Signal(tuple)  # of `Problem`

    def __init__(self, document: Document, kept: KeptSettings, window: QWidget) -> None:
        super().__init__(window)
        self._document = document
        self._kept = kept
        self._window = window
        self._library: LibraryDialog | None = None

    def ask_for_link(self) -> None:
        """Let the user paste one."""
        from gui.panels.links import LinkDialog

        dialog = LinkDialog(self._kept.now.links, self._window)
        dialog.chosen.connect(self._take)
        dialog.open()

    def show_library(self) -> None:
        """The models on this computer; one dialog for the window."""
        from gui.panels.library import LibraryDialog

        if self._library is None:
            folders = self._kept.now.model_folders
            self._library = LibraryDialog(self._document, folders, self._window)
            self._library.open_asked.connect(self._open_from_library)
            self._library.folders_changed.connect(lambda own: self._kept.save(model_folders=own))
        self._library.show()
        self._library.raise_()
        self._library.activateWindow()

    def end(self) -> None:
        """The window is closed, and what came from it."""
        if self._library is not None:
            self._library.close()

    def _open_from_library(self, path: Path) -> None:
        """The list stays open, behind the window that shows what was chosen."""
        self.file_chosen.emit(path)
        self._window.raise_()
        self._window.activateWindow()

    def open_text(self, text: str) -> None:
        """Open what was dropped or given as an argument."""
        try:
            link = read_link(text)
        except ValueError as error:
            advice = tr("A link looks like https://huggingface.co/org/model.")
            self.failed.emit((Problem("bad-link", str(error), advice=advice),))
            return
        self._take(link, text)

    def _take(self, link: Link, text: str) -> None:
        self._kept.save(self._kept.now.with_link(text))
        if isinstance(link, RepositoryLink):
            self._show_repository(link)
        else:
            self.link_chosen.emit(link)

    def _show_repository(self, link: RepositoryLink) -> None:
        from gui.panels.links import RepositoryDialog

        dialog = RepositoryDialog(self._document, link, self._window)
        dialog.open_asked.connect(self.link_chosen)
        dialog.show()
