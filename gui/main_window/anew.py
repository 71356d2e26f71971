"""A window that takes the place of this one: what is built has its texts and keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, Qt

from core.remote import FileLink
from gui.panels.plan.beside import Beside

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


class View(NamedTuple):
    """What a window showed: the model, read or being read, the numbers of its page and of the panel
    beside it, and the files that were loaded beside the model."""

    place: Path | FileLink | None
    page: int = 0
    panel: int = 0
    beside: tuple[tuple[Beside, Path], ...] = ()


def view_of(window: MainWindow) -> View:
    """What another window needs to show the same."""
    at = window.page_bar.currentIndex(), window.page.tabs.currentIndex()
    opening, choice = window.opening, window.document.choice
    if opening.reading is not None or opening.place is None:
        return View(opening.reading, *at)
    beside = ((kind, getattr(choice, kind.value)) for kind in Beside)
    files = tuple((kind, found.file.header.path) for kind, found in beside if found is not None)
    return View(opening.place, *at, files)


def show_again(window: MainWindow, view: View) -> None:
    """Show what the window before this one showed."""
    if view.place is None:
        return

    def opened() -> None:
        if window.document.model is not None:
            window.page_bar.setCurrentIndex(view.page)
            window.page.tabs.setCurrentIndex(view.panel)
            _attach(window, view.beside)

    window.opening.reader.ended.connect(opened, Qt.ConnectionType.SingleShotConnection)
    window.opening.open(view.place)


def _attach(window: MainWindow, files: tuple[tuple[Beside, Path], ...]) -> None:
    if files:
        attaching = window.attaching
        attaching.opener.ended.connect(
            lambda: _attach(window, files[1:]), Qt.ConnectionType.SingleShotConnection
        )
        attaching.attach(*files[0])


def take_down(window: MainWindow) -> None:
    """End a window that was closed, and all that was made for it."""
    # Qt keeps what listens to a document, and that the document: the ring has to be cut.
    for gone in (window, window.document):
        gone.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
