"""One line of text that gives way: its middle is left out where there is no room for it."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.widgets.text import Style, Text

_SHORTEST = 8  # characters


def plain_tip(text: str) -> str:
    """A tooltip that shows a text as it is; Qt would take a file named "<b>" for markup."""
    return f"<span>{escape(text).replace(chr(10), '<br>')}</span>"


class ElidedText(Text):
    """Shows as much of a text as fits, both ends kept; the tooltip has all of it."""

    def __init__(
        self, text: str = "", style: Style = Style.BODY, *, parent: QWidget | None = None
    ) -> None:
        super().__init__(text, style, parent=parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def elided(self) -> bool:
        """Whether something is left out now."""
        return self.fontMetrics().horizontalAdvance(self.text()) > self._room()

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
        """The text, its middle left out."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        text = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideMiddle, self._room()
        )
        painter.drawText(
            self.rect(), int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text
        )

    def _room(self) -> int:
        return self.width()
