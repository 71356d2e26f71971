"""A window that takes the place of this one: what is built has its texts and keeps them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, Qt

from core.language import tr
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


def choose_language(
    window: MainWindow, language: str | None = None, numbers: str | None = None
) -> None:
    """Speak this language and write numbers so, now and next time; None leaves it as it is."""
    before = window.settings
    chosen = replace(
        before,
        language=before.language if language is None else language,
        numbers=before.numbers if numbers is None else numbers,
    )
    if chosen == before:
        return
    window.kept.save(chosen)
    window.show_ticks()
    if window.measuring.busy:
        window.say(tr("A server is being measured: this counts when the window opens again."))
        return
    if window.measuring.serving:
        window.say(
            tr("A server that this window started is running: this counts when it opens again.")
        )
        return
    window.anew = window.shown()
    window.close()


def show_again(window: MainWindow, view: View) -> None:
    """Show what the window before this one showed."""
    if view.place is None:
        return

    def opened() -> None:
        if window.document.model is not None:
            window.page_bar.setCurrentIndex(view.page)
            window.page.tabs.setCurrentIndex(view.panel)
            _attach(window, view.beside)

    window.opener.ended.connect(opened, Qt.ConnectionType.SingleShotConnection)
    if isinstance(view.place, Path):
        window.open_path(view.place)
    else:
        window.open_link(view.place)


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
