"""Bars for the turns of a session: waiting and writing, with and without reuse, and the context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.language import tr, written
from core.plan.plan import PartKind
from core.units import format_seconds, format_tokens
from gui import theme
from gui.widgets.spoken import Spoken

_LINES = 13  # of text high
_SPLIT = 12  # pixels of a turn from which both variants have a bar of their own
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400)
WAIT, WRITE, OTHER = PartKind.CACHE, PartKind.WEIGHTS, PartKind.OTHERS


@dataclass(frozen=True, slots=True)
class TurnBar:
    """One turn, in seconds. ``wait`` and ``write`` are with reuse; ``wait_without`` is the wait
    where everything is read again. ``other`` is compacting before and side requests after it.
    ``fill`` is 0..1 of the context; ``mark`` a word for what happens here, else empty. ``words``
    say all of it."""

    number: int
    wait: float
    write: float
    other: float
    wait_without: float
    fill: float
    mark: str
    words: str


class SessionPicture(QWidget, Spoken):
    """``chosen`` carries the place of the turn that was clicked, or gone to by the arrow keys."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars: tuple[TurnBar, ...] = ()
        self._current = 0
        self._top = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Turns of the session"))

    def set_bars(self, bars: Sequence[TurnBar]) -> None:
        """Show these turns."""
        self._bars = tuple(bars)
        self._current = min(self._current, max(0, len(bars) - 1))
        self._top = max(
            (b.other + b.write + max(b.wait, b.wait_without) for b in bars), default=1.0
        )
        self._top = max(self._top, 1e-6)
        self._describe()
        self.update()

    def set_current(self, place: int) -> None:
        """Point at one turn."""
        if place != self._current and 0 <= place < len(self._bars):
            self._current = place
            self._describe()
            self.update()

    @property
    def current(self) -> int:
        """The place of the turn that is pointed at."""
        return self._current

    def spoken_value(self) -> str:
        """Which turn is pointed at, for a screen reader."""
        if not self._bars:
            return ""
        return tr("turn {turn} of {count}", turn=self._current + 1, count=len(self._bars))

    def sizeHint(self) -> QSize:
        """A dozen lines of text high."""
        metrics = self.fontMetrics()
        return QSize(60 * metrics.averageCharWidth(), _LINES * metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Half as wide."""
        return QSize(self.sizeHint().width() // 2, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Axes, bars, the line of the context, and marks."""
        painter = QPainter(self)
        if not self._bars:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        plot = self._plot()
        self._draw_axes(painter, plot)
        for place, bar in enumerate(self._bars):
            self._draw_bar(painter, plot, place, bar)
        self._draw_marks(painter, plot)
        self._draw_context(painter, plot)
        if self.hasFocus():
            theme.draw_focus(painter, self.rect())

    def event(self, event: QEvent) -> bool:
        """The turn under the pointer in words."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            place = self._place_at(event.pos().x())
            if place is not None:
                QToolTip.showText(event.globalPos(), self._bars[place].words, self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the turn that was clicked."""
        place = self._place_at(int(event.position().x()))
        if place is not None and event.button() is Qt.MouseButton.LeftButton:
            self._go(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows, Home and End go from turn to turn."""
        last = len(self._bars) - 1
        goals = {
            Qt.Key.Key_Left: self._current - 1,
            Qt.Key.Key_Right: self._current + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        goal = goals.get(Qt.Key(event.key()))
        if goal is None or not self._bars:
            super().keyPressEvent(event)
            return
        self._go(max(0, min(goal, last)))

    def _go(self, place: int) -> None:
        self.set_current(place)
        self.chosen.emit(place)

    def _describe(self) -> None:
        words = self._bars[self._current].words if self._bars else tr("no turn")
        self.setAccessibleDescription(words.replace("\n", "; "))

    def _plot(self) -> QRect:
        metrics = self.fontMetrics()
        left = metrics.horizontalAdvance("59 min 59 s ")
        right = metrics.horizontalAdvance(" 100 %")
        height = metrics.height()
        return self.rect().adjusted(left, height + height // 2, -right - 1, -height - 4)

    def _slot(self, plot: QRect, place: int) -> tuple[float, float]:
        width = plot.width() / len(self._bars)
        return plot.left() + place * width, width

    def _place_at(self, x: int) -> int | None:
        plot = self._plot()
        if not self._bars or not plot.left() <= x <= plot.right():
            return None
        return min(len(self._bars) - 1, (x - plot.left()) * len(self._bars) // plot.width())

    def _y(self, plot: QRect, seconds: float) -> float:
        return plot.bottom() - seconds / self._top * plot.height()

    def _draw_axes(self, painter: QPainter, plot: QRect) -> None:
        c = theme.colors()
        metrics = painter.fontMetrics()
        step = next((s for s in _STEPS if self._top / s <= 5), 86_400.0)
        if self._top < 1:
            step = self._top / 4
        seconds = 0.0
        while seconds <= self._top:
            y = round(self._y(plot, seconds))
            painter.setPen(QPen(QColor(c.line), 1))
            painter.drawLine(plot.left(), y, plot.right(), y)
            painter.setPen(QColor(c.muted))
            words = format_seconds(seconds).removesuffix(" 0 s").removesuffix(" 0 min")
            if 1 <= seconds < 60:
                words = f"{written(seconds, 'g')} s"
            box = QRect(0, y - metrics.height() // 2, plot.left() - 6, metrics.height())
            painter.drawText(box, _RIGHT, words if seconds else "0")
            seconds += step
        for share in (0.0, 0.5, 1.0):
            y = round(plot.bottom() - share * plot.height())
            box = QRect(plot.right() + 4, y - metrics.height() // 2, self.width(), metrics.height())
            painter.drawText(box, _LEFT, f"{written(100 * share, '.0f')} %")
        painter.drawText(QRect(0, 0, plot.left() - 6, metrics.height()), _RIGHT, tr("time"))
        head = QRect(0, 0, self.width() - 1, metrics.height())
        painter.drawText(head, _RIGHT, tr("context"))
        self._draw_numbers(painter, plot, metrics)

    def _draw_numbers(self, painter: QPainter, plot: QRect, metrics: QFontMetrics) -> None:
        """The numbers of as many turns as there is room for."""
        room = metrics.horizontalAdvance("0000")
        _, width = self._slot(plot, 0)
        every = next(n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if n * width >= room)
        for place, bar in enumerate(self._bars):
            if bar.number % every and place:
                continue
            left, _ = self._slot(plot, place)
            box = QRect(round(left), plot.bottom() + 3, max(round(width), room), metrics.height())
            middle = width >= room
            if not middle:
                box.moveLeft(round(left + width / 2 - room / 2))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignHCenter), format_tokens(bar.number))
        painter.drawText(
            QRect(0, plot.bottom() + 3, plot.left() - 6, metrics.height()), _RIGHT, tr("turn")
        )

    def _draw_bar(self, painter: QPainter, plot: QRect, place: int, bar: TurnBar) -> None:
        c = theme.colors()
        left, width = self._slot(plot, place)
        if place == self._current:
            ground = QColor(c.accent)
            ground.setAlphaF(0.14)
            painter.fillRect(QRectF(left, plot.top(), width, plot.height()), ground)
        split = width >= _SPLIT
        gap = 2 if split else 0
        own = QRectF(left + gap / 2, 0, (width - gap) / 2 if split else width, 0)
        base = 0.0
        for seconds, part in ((bar.other, OTHER), (bar.wait, WAIT), (bar.write, WRITE)):
            top, bottom = self._y(plot, base + seconds), self._y(plot, base)
            box = QRectF(own.left(), top, max(own.width(), 1), bottom - top).toAlignedRect()
            if seconds > 0:
                theme.fill(
                    painter, box.intersected(plot.adjusted(0, 0, 1, 1)), c.tone(part), c.base
                )
            base += seconds
        whole = bar.other + bar.wait_without + bar.write
        painter.setPen(QPen(QColor(c.muted), 1, Qt.PenStyle.DashLine))
        y = round(self._y(plot, whole))
        if split:
            box = QRect(round(own.right()), y, round((width - gap) / 2), plot.bottom() - y)
            painter.drawRect(box)
            read = round(self._y(plot, bar.other + bar.wait_without))
            painter.drawLine(box.left(), read, box.right(), read)
        else:
            painter.drawLine(round(left), y, round(left + width), y)

    def _draw_marks(self, painter: QPainter, plot: QRect) -> None:
        c = theme.colors()
        metrics = painter.fontMetrics()
        free = 0
        heading = metrics.horizontalAdvance(tr("context")) + 2 * metrics.averageCharWidth()
        end = min(plot.right(), self.width() - heading)
        for place, bar in enumerate(self._bars):
            if not bar.mark:
                continue
            left, width = self._slot(plot, place)
            x = round(left + width / 2)
            painter.setPen(QPen(QColor(c.warn), 1, Qt.PenStyle.DashDotLine))
            painter.drawLine(x, plot.top() - 3, x, plot.bottom())
            room = metrics.horizontalAdvance(bar.mark) + metrics.averageCharWidth()
            start = max(plot.left(), min(x - room // 2, end - room))
            if start >= free:
                painter.setPen(QColor(c.warn))
                box = QRect(start, 0, room, metrics.height())
                painter.drawText(box, int(Qt.AlignmentFlag.AlignHCenter), bar.mark)
                free = start + room

    def _draw_context(self, painter: QPainter, plot: QRect) -> None:
        c = theme.colors()
        points: list[QPointF] = []
        for place, bar in enumerate(self._bars):
            left, width = self._slot(plot, place)
            points.append(
                QPointF(left + width / 2, plot.bottom() - min(bar.fill, 1.0) * plot.height())
            )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(c.text), 2))
        painter.drawPolyline(QPolygonF(points))
        painter.setBrush(QColor(c.text))
        if len(self._bars) <= 40:
            for point in points:
                painter.drawEllipse(point, 2.0, 2.0)


_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
