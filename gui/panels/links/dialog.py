"""Paste a link, and see what it leads to before anything is asked of a server."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display
from core.language import mark, tr, trc
from core.remote import Link, RepositoryLink, is_link, read_link
from gui.widgets.dialog_size import open_at
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text

_WIDTH = 76  # letters
_EXPLANATION = mark(
    "A page or a file of Hugging Face, or a GGUF file on any web server. Only the header "
    "is read, a few megabytes; the weights stay where they are. For models that ask for "
    "consent, put an access token into the environment variable HF_TOKEN."
)
_PLACEHOLDER = mark("https://huggingface.co/…   or   org/model   or   org/model:Q4_K_M")


class LinkDialog(QDialog):
    """``chosen`` carries a link that can be asked for, with the text that was pasted."""

    chosen = Signal(object, str)  # Link

    def __init__(self, recent: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Open a link"))
        self._link: Link | None = None
        self.box = QComboBox()
        self.box.setEditable(True)
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.addItems(list(recent))
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.setAccessibleName(trc("what is pasted", "Link"))
        edit = self.box.lineEdit()
        assert edit is not None
        self.edit = edit
        edit.setPlaceholderText(tr(_PLACEHOLDER))
        edit.setAccessibleName(trc("what is pasted", "Link"))
        edit.setClearButtonEnabled(True)
        self.found = LiveText(wrap=True)
        self.open_button = QPushButton(tr("&Open"))
        self.open_button.setDefault(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.AcceptRole)
        for button in buttons.buttons():
            if isinstance(button, QPushButton):
                button.setAutoDefault(button is self.open_button)
        buttons.accepted.connect(self._take)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(Text(tr("Paste the address of a model"), Style.STRONG))
        column.addWidget(self.box)
        column.addWidget(self.found)
        column.addWidget(Text(tr(_EXPLANATION), Style.MUTED, wrap=True))
        column.addStretch(1)
        column.addWidget(buttons)
        self.box.editTextChanged.connect(self._read)
        self.box.setEditText(_from_clipboard())
        edit.selectAll()
        self._read(self.box.currentText())
        open_at(self, _WIDTH, self.sizeHint().height() // self.fontMetrics().height() + 1)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def _read(self, text: str) -> None:
        self._link = None
        words = " "
        if text.strip():
            try:
                self._link = read_link(text)
                words = _meaning(self._link)
            except ValueError as error:
                words = str(error)
        self.found.set_text(words)
        self.open_button.setEnabled(self._link is not None)
        self.open_button.setDefault(True)

    def _take(self) -> None:
        if self._link is not None:
            link, text = self._link, self.box.currentText().strip()
            self.accept()
            self.chosen.emit(link, text)


def _meaning(link: Link) -> str:
    if isinstance(link, RepositoryLink):
        words = [
            tr(
                "The models of {name} on {host}",
                name=display(link.name),
                host=urlsplit(link.hub).hostname,
            )
        ]
        if link.folder:
            words.append(tr("folder {name}", name=display(link.folder)))
        if link.revision != "main":
            words.append(tr("revision {name}", name=display(link.revision)))
        if link.label:
            words.append(tr("{label} first", label=display(link.label)))
        return ", ".join(words)
    parts = urlsplit(link.url)
    return tr("A file on {host}", host=parts.hostname)


def _from_clipboard() -> str:
    """What was copied, where it is a link: the usual reason to be here."""
    text = QGuiApplication.clipboard().text()[:5000].strip()
    if not is_link(text):
        return ""
    try:
        read_link(text)
    except ValueError:
        return ""
    return text
