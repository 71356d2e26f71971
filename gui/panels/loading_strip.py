"""What is being read, how far it is, and a way out."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QWidget

from core.language import tr, trc
from gui.widgets.elided_text import ElidedText
from gui.widgets.text import Style, Text

# A file that is read faster than this shows no strip: it would only flicker.
_DELAY_MS = 150


class LoadingStrip(QWidget):
    """Shown while a file is read. ``cancelled`` is emitted by its button."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = ElidedText()
        self._done = Text(style=Style.MUTED)
        self._bar = QProgressBar()
        # A header does not say how long it is; the bar only shows that something goes on.
        self._bar.setRange(0, 0)
        self._bar.setAccessibleName(trc("a file", "Reading"))
        self._bar.setTextVisible(False)
        self._bar.setMaximumWidth(40 * self.fontMetrics().averageCharWidth())
        cancel = QPushButton(tr("Cancel"))
        cancel.setToolTip(tr("Keep what is shown (Esc)"))
        cancel.clicked.connect(self.cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._name, 1)
        row.addWidget(self._done)
        row.addWidget(self._bar, 1)
        row.addWidget(cancel)
        self._delay = QTimer(self)
        self._delay.setSingleShot(True)
        self._delay.setInterval(_DELAY_MS)
        self._delay.timeout.connect(self.show)
        self.hide()

    def begin(self, name: str) -> None:
        """Reading of this file has begun."""
        self._name.set_text(tr("Reading {name}", name=name))
        self._done.set_text("")
        self._delay.start()

    def set_progress(self, words: str) -> None:
        """How much has been read."""
        self._done.set_text(words)

    def end(self) -> None:
        """Nothing is read any more."""
        self._delay.stop()
        self.hide()
