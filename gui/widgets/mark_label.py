"""An icon and a word in one colour: a verdict, a severity."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from core.plan.plan import Verdict
from gui import theme
from gui.widgets.text import Style, qt_app


class MarkLabel(QLabel):
    """Shows a `theme.Mark`. The word is the label's text, so readers hear it."""

    def __init__(self, style: Style = Style.STRONG, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._style = style
        self._mark: Callable[[theme.Colors], theme.Mark] | None = None
        self._verdict: Verdict | None = None
        self._follow_font()
        qt_app().fontChanged.connect(self._follow_font)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_verdict(self, verdict: Verdict) -> None:
        """Say a verdict."""
        if verdict is not self._verdict:
            self.set_mark(lambda c: c.verdict(verdict))
            self._verdict = verdict

    def set_mark(self, mark: Callable[[theme.Colors], theme.Mark]) -> None:
        """Say this mark, in the colours of whichever theme is in use."""
        self._mark = mark
        self._verdict = None
        word = mark(theme.colors()).word
        if word != self.text():
            self.setText(word)
        self.update()

    def sizeHint(self) -> QSize:
        """The icon is as high as the text."""
        metrics = self.fontMetrics()
        return QSize(
            self._text_left() + metrics.horizontalAdvance(self.text()),
            metrics.height() + 2,
        )

    def minimumSizeHint(self) -> QSize:
        """A word is never cut."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The icon, then the word."""
        if self._mark is None:
            return
        mark = self._mark(theme.colors())
        painter = QPainter(self)
        side = self._side()
        box = QRect(0, (self.height() - side) // 2, side, side)
        theme.draw_icon(painter, box, mark.icon, mark.color)
        painter.setPen(QColor(mark.color))
        place = self.rect().adjusted(self._text_left(), 0, 0, 0)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, int(align), self.text())

    def _follow_font(self) -> None:
        self.setFont(self._style.font())

    def _side(self) -> int:
        return round(self.fontMetrics().ascent() * 1.1)

    def _text_left(self) -> int:
        return self._side() + self.fontMetrics().averageCharWidth() // 2
