"""One request to scale: loading, the prompt chunk by chunk, the first token, the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.language import tr, trc
from core.plan.plan import PartKind
from core.units import format_seconds
from gui import theme
from gui.widgets.spoken import Spoken


@dataclass(frozen=True, slots=True)
class Stretch:
    """From ``start`` to ``end`` seconds, in the tone of ``part``. Neighbours of one tone are
    chunks, told apart where there is room."""

    start: float
    end: float
    part: PartKind


class RequestPicture(QWidget, Spoken):
    """A strip of stretches with a hand at ``now``. Whoever shows it says it in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stretches: tuple[Stretch, ...] = ()
        self._first_token: float | None = None
        self._now: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("One request to scale"))

    def set_request(self, stretches: Sequence[Stretch], first_token: float | None) -> None:
        """Show these stretches; the first token comes at that second."""
        self._stretches = tuple(stretches)
        self._first_token = first_token
        self.update()

    def set_now(self, now: float | None) -> None:
        """Put the hand at this second; None takes it away."""
        if now != self._now:
            self._now = now
            self.update()

    def spoken_value(self) -> str:
        """How long all of it takes, for a screen reader."""
        return format_seconds(self._stretches[-1].end) if self._stretches else ""

    def sizeHint(self) -> QSize:
        """Four lines of text high."""
        metrics = self.fontMetrics()
        return QSize(60 * metrics.averageCharWidth(), metrics.height() * 4)

    def minimumSizeHint(self) -> QSize:
        """Half as wide."""
        return QSize(self.sizeHint().width() // 2, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The strip, a flag at the first token, times below, the hand."""
        if not self._stretches:
            return
        c = theme.colors()
        painter = QPainter(self)
        line = painter.fontMetrics().height()
        strip = QRect(0, line + 4, self.width() - 1, line * 3 // 2)
        whole = max(self._stretches[-1].end, 1e-9)

        def at(seconds: float) -> int:
            return strip.left() + round(seconds / whole * strip.width())

        for stretch in self._stretches:
            left, right = at(stretch.start), at(stretch.end)
            box = QRect(left, strip.top(), max(1, right - left), strip.height())
            theme.fill(painter, box, c.tone(stretch.part), c.window)
            if right - left >= 4:
                painter.setPen(QColor(c.window))
                painter.drawLine(right - 1, strip.top(), right - 1, strip.bottom())
        painter.setPen(QPen(QColor(c.line), 1))
        painter.drawRect(strip)
        self._draw_times(painter, strip, whole, at(self._first_token or 0.0))
        if self._now is not None:
            x = at(min(self._now, whole))
            painter.setPen(QPen(QColor(c.bad), 2))
            painter.drawLine(x, strip.top() - 4, x, strip.bottom() + 4)

    def _draw_times(self, painter: QPainter, strip: QRect, whole: float, first: int) -> None:
        c = theme.colors()
        metrics = painter.fontMetrics()
        below = QRect(0, strip.bottom() + 6, self.width(), metrics.height())
        painter.setPen(QColor(c.muted))
        painter.drawText(below, int(Qt.AlignmentFlag.AlignLeft), trc("the request", "sent"))
        painter.drawText(below, int(Qt.AlignmentFlag.AlignRight), format_seconds(whole))
        if self._first_token is None:
            return
        words = tr("first token after {time}", time=format_seconds(self._first_token))
        room = metrics.horizontalAdvance(words)
        left = max(0, min(first - room // 2, self.width() - room))
        painter.setPen(QColor(c.text))
        painter.drawText(left, metrics.ascent(), words)
        painter.setPen(QPen(QColor(c.text), 1))
        painter.drawLine(first, metrics.height(), first, strip.bottom())
