"""One line of text that gives way where there is no room for it."""

from __future__ import annotations

from html import escape
from textwrap import wrap

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.widgets.text import Style, Text

_SHORTEST = 8  # characters
_TIP = 72  # characters of a line


def plain_tip(text: str) -> str:
    """A tooltip that shows a text as it is; Qt would take a file named "<b>" for markup, and give
    a sentence of a line and a half four short lines."""
    lines = (part for line in text.split("\n") for part in wrap(line, _TIP) or [""])
    return f"<div style='white-space:pre'>{'<br>'.join(map(escape, lines))}</div>"


class ElidedText(Text):
    """Shows as much of a text as fits; the tooltip has all of it. Both ends are kept, as is right
    for names; of a ``sentence`` the beginning."""

    def __init__(
        self,
        text: str = "",
        style: Style = Style.BODY,
        *,
        sentence: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, style, parent=parent)
        self._mode = Qt.TextElideMode.ElideRight if sentence else Qt.TextElideMode.ElideMiddle
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def elided(self) -> bool:
        """Whether something is left out now."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self._room()

    @property
    def drawn(self) -> str:
        """What is on the screen."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self._room())

    def sizeHint(self) -> QSize:
        """All of it."""
        # The advance is rounded; eliding compares the true width.
        width = self.fontMetrics().horizontalAdvance(self.text()) + 1
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """A few characters."""
        hint = self.sizeHint()
        shortest = _SHORTEST * self.fontMetrics().averageCharWidth()
        return QSize(min(hint.width(), shortest), hint.height())

    def event(self, event: QEvent) -> bool:
        """The whole text as tooltip, where it is not all on the screen."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            if self.elided:
                QToolTip.showText(event.globalPos(), plain_tip(self.text()), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text as far as there is room."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(
            self.rect(), int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), self.drawn
        )

    def _room(self) -> int:
        return self.width()
