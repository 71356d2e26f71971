"""A sentence about what was done or goes on, beside everything else."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from gui.widgets.elided_text import ElidedText

_SAID_MS = 20_000  # long enough to be read aloud


class MessageLine(ElidedText):
    """Says one sentence at a time: what was done for a while, what goes on ("Measuring…") until it
    is over."""

    def __init__(self) -> None:
        super().__init__(sentence=True)
        self._done = ""
        self._over = QTimer(self)
        self._over.setSingleShot(True)
        self._over.timeout.connect(self._forget)

    def say(self, sentence: str) -> None:
        """Show it; "" when what goes on is over. What was done just before is shown again then:
        it may have stood there for no longer than a moment."""
        if sentence and not sentence.endswith("…"):
            self._done = sentence
            self._over.start(_SAID_MS)
        self.setText(sentence or self._done)

    def _forget(self) -> None:
        if self.text() == self._done:
            self.setText("")
        self._done = ""
