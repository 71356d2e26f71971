"""A number of tokens, typed, slid, or counted from a text file that is dropped on it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from core.language import tr
from gui.widgets.dropping import accept_copy, dropped_files
from gui.widgets.slider_field import SliderField

# What is dropped and is no text to count: a model opens in the window, whatever it is dropped on.
_MODELS = (".gguf",)


class TokenField(SliderField):
    """``dropped`` carries the path of a text file."""

    dropped = Signal(Path)

    def __init__(self, label: str, parent: QWidget | None = None) -> None:
        super().__init__(label, unit=tr("tokens"), parent=parent)
        self.setToolTip(tr("Drop a text file here to count its tokens"))

    def showEvent(self, event: QShowEvent) -> None:
        """The window takes all other drops."""
        super().showEvent(event)
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """One file that is no model."""
        if text_file(event) is not None:
            accept_copy(event)
        else:
            event.ignore()  # to the window

    def dropEvent(self, event: QDropEvent) -> None:
        """Ask for it to be counted."""
        path = text_file(event)
        if path is None:
            event.ignore()
            return
        accept_copy(event)
        self.dropped.emit(path)


def text_file(event: QDropEvent) -> Path | None:
    """The one file of a drop that may be a text; None for anything else."""
    data = event.mimeData()
    names = dropped_files(data)
    if not names or len(data.urls()) > 1:
        return None
    path = Path(names[0])
    return None if path.suffix.lower() in _MODELS else path
