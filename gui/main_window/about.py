"""What this program is, and its keys."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape

import PySide6
from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import QMessageBox, QWidget


def show_about(parent: QWidget) -> QMessageBox:
    """Name, version, and what the figures rest on."""
    return _show(
        parent,
        "About Weighbridge",
        f"<h3>Weighbridge {own_version()}</h3>"
        "<p>Weigh a language model before you load it: what it needs in memory, to the byte, "
        "and how fast it can write.</p>"
        "<p>Nothing is sent anywhere; only the server of a link that you open is asked for the "
        "header. Model files are opened for reading only.</p>"
        f"<p>Python {platform.python_version()}, PySide6 {PySide6.__version__}, "
        f"Qt {qVersion()}. MIT licence.</p>",
    )


def show_keys(parent: QWidget, keys: Sequence[tuple[str, str]]) -> QMessageBox:
    """Every key and what it does."""
    rows = "".join(
        f"<tr><td><b>{escape(key)}</b>&nbsp;&nbsp;</td><td>{escape(what)}</td></tr>"
        for key, what in keys
    )
    return _show(parent, "Keys", f"<h3>Keys</h3><table cellpadding=2>{rows}</table>")


def _show(parent: QWidget, title: str, text: str) -> QMessageBox:
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.RichText)
    box.setText(text)
    box.open()
    return box


def own_version() -> str:
    """The version that is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("weighbridge")
    except PackageNotFoundError:
        return "(version unknown: run from a folder, not installed)"
