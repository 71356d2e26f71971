"""Points by memory and speed, told apart by shape as well as by colour; a click takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QToolTip, QWidget

from core.plan.plan import Verdict
from gui.theme import Colors
from gui.widgets.plot_frame import Axis, Frame, FramedPlot
from gui.widgets.plot_ticks import decades, doublings

_NAMED = 4  # of the dots that lie with another
_REACH = 10.0  # pixels around the pointer
_ORDER = (Verdict.DOES_NOT_FIT, Verdict.UNKNOWN, Verdict.TIGHT, Verdict.FITS)
_WORDS = {
    Verdict.FITS: "fits",
    Verdict.TIGHT: "tight",
    Verdict.DOES_NOT_FIT: "does not fit",
    Verdict.UNKNOWN: "unknown",
}
_NEXT = (Qt.Key.Key_Right, Qt.Key.Key_Up)
_BEFORE = (Qt.Key.Key_Left, Qt.Key.Key_Down)
_TAKE = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


@dataclass(frozen=True, slots=True)
class Dot:
    """One machine. ``across`` and ``up`` are above 0; ``told`` says all about it in lines.
    ``ringed`` marks those that were chosen."""

    id: str
    across: float
    up: float
    verdict: Verdict
    told: str
    ringed: bool = False


class ScatterPlot(FramedPlot):
    """Shows dots on two logarithmic axes. ``taken`` carries the id of one that was clicked, or
    reached with the arrow keys and taken with Enter."""

    taken = Signal(str)

    def __init__(self, name: str, across: str, up: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._titles = (across, up)
        self._dots: tuple[Dot, ...] = ()
        self._current = -1
        self._axes: tuple[Axis, Axis] | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._describe()

    @property
    def dots(self) -> tuple[Dot, ...]:
        """What is drawn, from left to right."""
        return self._dots

    @property
    def current(self) -> Dot | None:
        """The dot that the keyboard is on."""
        return self._dots[self._current] if 0 <= self._current < len(self._dots) else None

    def set_dots(self, dots: Sequence[Dot], across: str = "", up: str = "") -> None:
        """Show these; those without a place are left out. ``across`` and ``up`` are what the axes
        measure, where that has changed."""
        self._titles = (across or self._titles[0], up or self._titles[1])
        before = self.current
        drawn = (dot for dot in dots if dot.across > 0 and dot.up > 0)
        self._dots = tuple(sorted(drawn, key=lambda dot: (dot.across, dot.up, dot.id)))
        ids = [dot.id for dot in self._dots]
        self._current = ids.index(before.id) if before and before.id in ids else -1
        self._axes = self._made_axes()
        self._describe()
        self.update()

    def spoken_value(self) -> str:
        """The dot that the keyboard is on, for a screen reader."""
        dot = self.current
        return dot.told.partition("\n")[0] if dot is not None else f"{len(self._dots)} points"

    def axes(self) -> tuple[Axis, Axis] | None:
        """Memory in doublings, rates in decades."""
        return self._axes

    def head_height(self, metrics: QFontMetricsF, width: float) -> float:
        """As many lines as the legend takes."""
        return max((y for *_, y in self._legend(metrics, width)), default=0) + metrics.height() / 2

    def draw_head(self, painter: QPainter, paper: QRectF, colors: Colors) -> None:
        """What the shapes mean, and how many there are of each."""
        metrics = QFontMetricsF(painter.font())
        for verdict, words, x, below in self._legend(metrics, paper.width()):
            y = paper.top() + below
            draw_shape(painter, QPointF(x, y), verdict, colors)
            painter.setPen(QColor(colors.muted))
            beside = x + metrics.height() * 0.6
            painter.drawText(QPointF(beside, y + metrics.ascent() / 2 - 1), words)

    def draw(self, painter: QPainter, frame: Frame, colors: Colors) -> None:
        """What does not fit first, so that what does lies on top."""
        for verdict in _ORDER:
            for dot in self._dots:
                if dot.verdict is verdict and not dot.ringed:
                    draw_shape(painter, frame.place(dot.across, dot.up), verdict, colors)
        for dot in self._dots:
            if dot.ringed:
                where = frame.place(dot.across, dot.up)
                draw_shape(painter, where, dot.verdict, colors)
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(QColor(colors.text), 1.5))
                painter.drawEllipse(where, 7.5, 7.5)
        current = self.current
        if current is not None and self.hasFocus():
            where = frame.place(current.across, current.up)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colors.accent), 2))
            painter.drawRect(QRectF(where.x() - 10, where.y() - 10, 20, 20))

    def nearest(self, place: QPointF) -> Dot | None:
        """The dot under the pointer, if there is one; of several the one that fits."""
        return next(iter(self._close(place)), None)

    def told_at(self, place: QPointF) -> str:
        """All about the nearest dot, and the names of those that lie with it."""
        close = self._close(place)
        if not close:
            return ""
        others = [dot.told.partition("\n")[0] for dot in close[1:]]
        if not others:
            return close[0].told
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        return f"{close[0].told}\nnear it: {', '.join(others[:_NAMED])}{more}"

    def _close(self, place: QPointF) -> list[Dot]:
        """Dots under the pointer, the nearest first; of equals those that fit."""
        frame = self._frame_now()
        if frame is None:
            return []
        close = []
        for dot in self._dots:
            where = frame.place(dot.across, dot.up)
            distance = hypot(where.x() - place.x(), where.y() - place.y())
            if distance <= _REACH:
                close.append((round(distance), -_ORDER.index(dot.verdict), dot.id, dot))
        return [dot for *_, dot in sorted(close)]

    # What Qt asks.

    def event(self, event: QEvent) -> bool:
        """Say which machines lie under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.told_at(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A hand over what can be clicked."""
        over = self.nearest(event.position()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click takes the dot."""
        dot = self.nearest(event.position())
        if dot is not None and event.button() is Qt.MouseButton.LeftButton:
            self.taken.emit(dot.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk from dot to dot by memory and speed; Enter takes one."""
        key = event.key()
        if not self._dots or key not in (*_NEXT, *_BEFORE, *_TAKE):
            super().keyPressEvent(event)
            return
        if key in _TAKE:
            if self.current is not None:
                self.taken.emit(self.current.id)
            return
        step = 1 if key in _NEXT else -1
        start = 0 if self._current < 0 else self._current + step
        self._current = min(max(start, 0), len(self._dots) - 1)
        self._describe()
        self.update()
        self._tell_current()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was told leaves with the keyboard."""
        super().focusOutEvent(event)
        QToolTip.hideText()

    def _tell_current(self) -> None:
        frame, dot = self._frame_now(), self.current
        if frame is not None and dot is not None:
            where = frame.place(dot.across, dot.up).toPoint()
            QToolTip.showText(self.mapToGlobal(where), dot.told, self)

    def _describe(self) -> None:
        dot = self.current
        counts = [
            f"{count} {_WORDS[verdict]}"
            for verdict in reversed(_ORDER)
            if (count := sum(d.verdict is verdict for d in self._dots))
        ]
        words = (
            f"{len(self._dots)} machines: {', '.join(counts)}."
            if counts
            else self._words or "No machine is drawn."
        )
        self.setAccessibleDescription(dot.told.replace("\n", ", ") if dot else words)

    def _frame_now(self) -> Frame | None:
        return self.frame(QRectF(self.rect()), QFontMetricsF(self.font()))

    def _legend(
        self, metrics: QFontMetricsF, width: float
    ) -> list[tuple[Verdict, str, float, float]]:
        """Each verdict that occurs, its words, and where the middle of its shape is."""
        line = metrics.height()
        x, y = line * 0.6, line * 0.7
        found = []
        for verdict in reversed(_ORDER):
            count = sum(dot.verdict is verdict for dot in self._dots)
            words = f"{_WORDS[verdict]} {count}"
            taken = line * 1.6 + metrics.horizontalAdvance(words)
            if not count:
                continue
            if x + taken > width and x > line:
                x, y = line * 0.6, y + line
            found.append((verdict, words, x, y))
            x += taken
        return found

    def _made_axes(self) -> tuple[Axis, Axis] | None:
        if not self._dots:
            return None
        across = [dot.across for dot in self._dots]
        up = [dot.up for dot in self._dots]
        sizes = doublings(0.9 * min(across), 1.1 * max(across))
        rates = decades(0.9 * min(up), 1.1 * max(up))
        title, rate = self._titles
        return (
            Axis(title, sizes[0], sizes[-1], tuple(sizes), lambda v: f"{v:,.10g}", True),
            Axis(rate, rates[0], rates[-1], tuple(rates), lambda v: f"{v:,.10g}", True),
        )


def draw_shape(painter: QPainter, where: QPointF, verdict: Verdict, colors: Colors) -> None:
    """A filled circle fits, a filled diamond is tight, a cross does not fit, a square is not
    known."""
    color = QColor(colors.verdict(verdict).color)
    x, y = where.x(), where.y()
    painter.setPen(QPen(color, 1.4))
    if verdict is Verdict.DOES_NOT_FIT:
        painter.drawLine(QPointF(x - 3, y - 3), QPointF(x + 3, y + 3))
        painter.drawLine(QPointF(x - 3, y + 3), QPointF(x + 3, y - 3))
    elif verdict is Verdict.UNKNOWN:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(x - 3, y - 3, 6, 6))
    elif verdict is Verdict.TIGHT:
        painter.setBrush(color)
        diamond = [QPointF(x, y - 4.5), QPointF(x + 4.5, y), QPointF(x, y + 4.5)]
        painter.drawPolygon(QPolygonF([*diamond, QPointF(x - 4.5, y)]))
    else:
        painter.setBrush(color)
        painter.drawEllipse(where, 3.2, 3.2)
