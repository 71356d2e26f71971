"""A button for one file, with a line that says more."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from gui import theme
from gui.widgets.elided_text import plain_tip
from gui.widgets.text import Style

_CARD = 32  # characters


class FileCard(QAbstractButton):
    """A button for one file: its name, and a muted line that says more."""

    marks_itself = True

    def __init__(self, path: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.path = path
        self._title = path.name
        self._more = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._describe()

    def set_words(self, title: str, more: str) -> None:
        """Say what the file is."""
        self._title, self._more = title, more
        self._describe()
        self.update()

    def sizeHint(self) -> QSize:
        """Two lines and air."""
        metrics = self.fontMetrics()
        return QSize(_CARD * metrics.averageCharWidth(), 2 * metrics.height() + 3 * self._pad())

    def minimumSizeHint(self) -> QSize:
        """A card may shrink to half its width."""
        return QSize(self.sizeHint().width() // 2, self.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter opens, as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised card; its border tells hover and focus."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        c = theme.colors()
        focus = self.hasFocus()
        lit = self.isEnabled() and (focus or self.underMouse())
        width = 2.0 if focus else 1.0
        painter.setPen(QPen(QColor(c.accent if lit else c.line), width))
        painter.setBrush(QColor(c.raised if self.isDown() else c.base))
        inset = width / 2
        box = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter.drawRoundedRect(box, 4, 4)
        pad = self._pad()
        room = self.width() - 3 * pad
        strong = Style.STRONG.font()
        height = self.fontMetrics().height()
        for top, text, font, color in (
            (pad, self._title, strong, c.text),
            (2 * pad + height, self._more, self.font(), c.muted),
        ):
            painter.setFont(font)
            painter.setPen(QColor(color if self.isEnabled() else c.muted))
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideMiddle, room)
            line = QRect(3 * pad // 2, top, room, height)
            painter.drawText(line, int(Qt.AlignmentFlag.AlignVCenter), shown)

    def _pad(self) -> int:
        return self.fontMetrics().height() // 2

    def _describe(self) -> None:
        self.setAccessibleName(self._title)
        self.setAccessibleDescription(self._more)
        self.setToolTip(plain_tip(f"{self._title}\n{self._more}"))
