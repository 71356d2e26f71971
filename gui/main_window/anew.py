"""A window that takes the place of this one: what is built has its texts and keeps them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, Qt

from core.language import tr
from core.remote import FileLink

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


class View(NamedTuple):
    """What a window showed: the model, read or being read, and the number of its page."""

    place: Path | FileLink | None
    page: int


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
    window.opener.ended.connect(
        lambda: window.page_bar.setCurrentIndex(view.page), Qt.ConnectionType.SingleShotConnection
    )
    if isinstance(view.place, Path):
        window.open_path(view.place)
    else:
        window.open_link(view.place)


def take_down(window: MainWindow) -> None:
    """End a window that was closed, and all that was made for it."""
    # Qt keeps what listens to a document, and that the document: the ring has to be cut.
    for gone in (window, window.document):
        gone.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
