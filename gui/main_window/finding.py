"""Models that are not open yet: behind links, and on this computer."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from core.problems import Problem
from core.remote import FileLink, Link, RepositoryLink, read_link
from gui.document import Document


class Finding(QObject):
    """Asks for links and shows what they lead to. ``link_chosen`` carries a file to open,
    ``link_typed`` a text to remember, ``failed`` a problem."""

    link_chosen = Signal(FileLink)
    link_typed = Signal(str)
    failed = Signal(Problem)

    def __init__(self, document: Document, window: QWidget) -> None:
        super().__init__(window)
        self._document = document
        self._window = window
        self.links: tuple[str, ...] = ()  # that were opened, the latest first

    def ask_for_link(self) -> None:
        """Let the user paste one."""
        from gui.panels.links import LinkDialog

        dialog = LinkDialog(self.links, self._window)
        dialog.chosen.connect(self._take)
        dialog.open()

    def open_text(self, text: str) -> None:
        """Open what was dropped or given as an argument."""
        try:
            link = read_link(text)
        except ValueError as error:
            advice = "A link looks like https://huggingface.co/org/model."
            self.failed.emit(Problem("bad-link", str(error), advice=advice))
            return
        self._take(link, text)

    def _take(self, link: Link, text: str) -> None:
        self.link_typed.emit(text)
        if isinstance(link, RepositoryLink):
            self._show_repository(link)
        else:
            self.link_chosen.emit(link)

    def _show_repository(self, link: RepositoryLink) -> None:
        from gui.panels.links import RepositoryDialog

        dialog = RepositoryDialog(self._document, link, self._window)
        dialog.open_asked.connect(self.link_chosen)
        dialog.show()
