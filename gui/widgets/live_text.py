"""Text that changes while something slides: laid out anew only where it needs other room."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.widgets.breakable import unbroken
from gui.widgets.text import Style, qt_app

_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class LiveText(QLabel):
    """A label that paints its own text, because QLabel asks for a new layout with every text.

    ``wrap`` breaks lines; the text then is as wide as its place and as high as it needs.
    """

    def __init__(
        self, style: Style = Style.BODY, *, wrap: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._style = style
        self._live = ""
        self._drawn = ""
        self._wrap = wrap
        self._hint = QSize()
        self.setForegroundRole(style.role)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(wrap)
        self.setSizePolicy(policy)
        self._follow_font()
        qt_app().fontChanged.connect(self._follow_font)

    @property
    def shown(self) -> str:
        """The text on the screen."""
        return self._live

    def set_text(self, text: str) -> None:
        """Show another text."""
        if text != self._live:
            self._live = text
            self._drawn = unbroken(text) if self._wrap else text
            self.setAccessibleName(text)
            self._measure()
            self.update()

    def hasHeightForWidth(self) -> bool:
        """Only where lines are broken."""
        return self._wrap

    def heightForWidth(self, width: int) -> int:
        """The height of all lines at this width."""
        return self._box(width).height() + 2 * self._headroom

    def sizeHint(self) -> QSize:
        """Room for the text at its present width."""
        return self._hint

    def minimumSizeHint(self) -> QSize:
        """A text that wraps may become narrow; another is never cut."""
        return QSize(0, self._hint.height()) if self._wrap else self._hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width breaks lines elsewhere."""
        super().resizeEvent(event)
        if self._wrap:
            self._measure()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        flags = int(_FLAGS) | (int(Qt.TextFlag.TextWordWrap) if self._wrap else 0)
        painter.drawText(self.rect(), flags, self._drawn)

    def _follow_font(self) -> None:
        self.setFont(self._style.font())
        self._headroom = self._style.headroom()
        self._measure()

    def _measure(self) -> None:
        if self._wrap:
            hint = QSize(self.width(), self.heightForWidth(self.width()))
        else:
            height = self._line() + 2 * self._headroom
            hint = QSize(self.fontMetrics().horizontalAdvance(self._live), height)
        if hint != self._hint:
            self._hint = hint
            self.updateGeometry()

    def _box(self, width: int) -> QRect:
        if not self._live:
            return QRect(0, 0, 0, self._line())
        room = QRect(0, 0, max(width, 1), 1 << 20)
        flags = int(Qt.AlignmentFlag.AlignLeft) | int(Qt.TextFlag.TextWordWrap)
        return self.fontMetrics().boundingRect(room, flags, self._drawn)

    def _line(self) -> int:
        return self.fontMetrics().height()
