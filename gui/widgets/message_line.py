"""A sentence about what was done or goes on, beside everything else."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from gui.widgets.elided_text import ElidedText

_SAID_MS = 20_000  # long enough to be read aloud


class MessageLine(ElidedText):
    """Says one sentence at a time."""

    def __init__(self) -> None:
        super().__init__(sentence=True)
        self._over = QTimer(self)
        self._over.setSingleShot(True)
        self._over.timeout.connect(lambda: self.setText(""))

    def say(self, sentence: str) -> None:
        """Show it; "" when it is over. What is done is said for a while; what goes on
        ("Measuring…") until it is over."""
        self.setText(sentence)
        if sentence and not sentence.endswith("…"):
            self._over.start(_SAID_MS)
        else:
            self._over.stop()
