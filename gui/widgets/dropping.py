"""What is dropped is read, never taken away."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDropEvent

from core.remote import is_link, local_name

_HERE = ("", "localhost")


def accept_copy(event: QDropEvent) -> None:
    """Accept it as a copy, whatever was proposed: who drags may delete what was moved."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def dropped_files(data: QMimeData) -> list[str]:
    """The names of what was dropped that lies on this computer or on a share of its network.

    Whether one is a folder is for the reader to find out: the disk may be slow.
    """
    return [_name(url) for url in data.urls() if url.isLocalFile()]


def dropped_link(data: QMimeData) -> str:
    """The first of what was dropped that is the address of a web server; "" for none."""
    return next((text for text in map(_address, data.urls()) if is_link(text)), "")


def _name(url: QUrl) -> str:
    # Qt loses the bytes of a name that is not UTF-8, but knows how a share is named.
    return local_name(_address(url)) if url.host() in _HERE else url.toLocalFile()


def _address(url: QUrl) -> str:
    return url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
