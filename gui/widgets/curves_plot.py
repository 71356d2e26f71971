"""Several curves over depth, told apart by colour, by line and by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QToolTip, QWidget

from core.drawing.ticks import depth_ticks, round_above
from core.language import mark, tr, trn, written
from core.units import format_rate, format_tokens
from gui.theme import Colors
from gui.widgets.plot_frame import Axis, Frame, FramedPlot

MOST = 8  # more lines than this nobody tells apart
_THIN = mark("thin where memory is not enough for so much context")
_STRONG = 4  # pixels
_LETTERS = 26  # of a name beside its line
# Hue by light and dark, and the line: neighbours differ in both.
_LINES = (
    (("#1a62b3", "#76b5f5"), Qt.PenStyle.SolidLine),
    (("#b4540a", "#f0a050"), Qt.PenStyle.DashLine),
    (("#0b7a6c", "#4fc4b0"), Qt.PenStyle.DashDotLine),
    (("#7a4fc0", "#b79af2"), Qt.PenStyle.DotLine),
    (("#b02f6c", "#f08bb4"), Qt.PenStyle.SolidLine),
    (("#3d7a1e", "#93cc6a"), Qt.PenStyle.DashLine),
    (("#80613c", "#c9a77c"), Qt.PenStyle.DashDotDotLine),
    (("#47566b", "#b5c3d6"), Qt.PenStyle.DotLine),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: depths ascending, and a rate (tok/s) for each.

    ``until`` is the depth up to which its memory is enough, None where that is not known; from
    there on it is drawn thin.
    """

    name: str
    points: tuple[tuple[int, float], ...]
    until: int | None = None

    @property
    def ends_early(self) -> bool:
        """Whether memory is not enough for all of it."""
        return self.until is not None and self.until < self.points[-1][0]

    def at(self, depth: float) -> float | None:
        """The rate at a depth, between two points; None beyond the ends."""
        before: tuple[int, float] | None = None
        for point in self.points:
            if point[0] >= depth:
                if before is None or point[0] == depth:
                    return point[1] if point[0] == depth else None
                share = (depth - before[0]) / (point[0] - before[0])
                return before[1] + share * (point[1] - before[1])
            before = point
        return None


class CurvesPlot(FramedPlot):
    """Draws up to eight lines, their names at their ends. Pointing at a depth tells them all."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._lines: tuple[Line, ...] = ()
        self._count = 0  # of all, those that are not drawn among them
        self._strong = ""
        self._depth: int | None = None
        self._title = ""

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is drawn."""
        return self._lines

    def set_lines(self, lines: Sequence[Line], depth: int | None = None, title: str = "") -> None:
        """Draw these; ``depth`` is marked across, ``title`` says what rates they are, ceilings
        where it is empty. Those without a rate are left out."""
        known = tuple(line for line in lines if line.points)
        drawn = known[:MOST]
        now = (drawn, len(known), depth, title or tr("ceiling, tok/s"))
        if now == (self._lines, self._count, self._depth, self._title):
            return
        self._lines, self._count, self._depth, self._title = now
        self.setAccessibleDescription(" ".join(map(_sentence, drawn)) or self._words)
        self.update()

    def set_strong(self, name: str) -> None:
        """Draw the line of this name thicker than the others."""
        if name != self._strong:
            self._strong = name
            self.update()

    def spoken_value(self) -> str:
        """How many are drawn, for a screen reader."""
        return trn("{count} line", "{count} lines", len(self._lines))

    def axes(self) -> tuple[Axis, Axis] | None:
        """Depth, and rates from 0."""
        if not self._lines:
            return None
        last = max(line.points[-1][0] for line in self._lines)
        step, top = round_above(max(rate for line in self._lines for _, rate in line.points))
        ticks = tuple(n * step for n in range(round(top / step) + 1))
        return (
            Axis(
                tr("depth, tokens in the cache"),
                0,
                max(last, 1),
                tuple(map(float, depth_ticks(last))),
                lambda depth: format_tokens(round(depth)),
            ),
            Axis(self._title, 0, top, ticks, lambda rate: written(rate, ",.10g")),
        )

    def right_margin(self, metrics: QFontMetricsF) -> float:
        """Room for the longest name."""
        return max(metrics.horizontalAdvance(_label(line, metrics)) for line in self._lines) + 6

    def head_height(self, metrics: QFontMetricsF, width: float) -> float:
        """A line of words where there is something to say."""
        return metrics.height() if self._remark() else 0.0

    def draw_head(self, painter: QPainter, paper: QRectF, colors: Colors) -> None:
        """What a thin line means, and that not all are drawn."""
        metrics = QFontMetricsF(painter.font())
        remark = self._remark()
        if remark:
            painter.setPen(QColor(colors.muted))
            words = metrics.elidedText(remark, Qt.TextElideMode.ElideRight, paper.width() - 8)
            painter.drawText(QPointF(4, paper.top() + metrics.ascent() + 2), words)

    def draw(self, painter: QPainter, frame: Frame, colors: Colors) -> None:
        """The lines, a mark where memory ends, and the names."""
        metrics = QFontMetricsF(painter.font())
        if self._depth is not None and 0 < self._depth <= frame.across.high:
            painter.setPen(QPen(QColor(colors.muted), 1, Qt.PenStyle.DotLine))
            top, foot = (frame.place(self._depth, y) for y in (frame.up.high, 0))
            painter.drawLine(top, foot)
        for number, line in enumerate(self._lines):
            pen = line_pen(number, colors)
            if line.name == self._strong:
                pen.setWidth(_STRONG)
            _stroke(painter, frame, line, pen, line.until if line.ends_early else None)
        for line, (number, y) in zip(self._lines, self._label_places(frame, metrics), strict=True):
            end = frame.place(*line.points[-1])
            left = frame.inside.right() + 6
            if abs(y - end.y()) > 2 or end.x() < left - 8:
                painter.setPen(QPen(QColor(colors.muted), 0.6, Qt.PenStyle.DotLine))
                painter.drawLine(QPointF(end.x() + 1, end.y()), QPointF(left - 1, y))
            painter.setPen(line_pen(number, colors).color())
            painter.drawText(QPointF(left, y + metrics.ascent() / 2 - 1), _label(line, metrics))

    def event(self, event: QEvent) -> bool:
        """Say every line's rate at the depth under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.told_at(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def told_at(self, place: QPointF) -> str:
        """The rates at the depth of a place on the widget, the fastest first."""
        frame = self.frame(QRectF(self.rect()), QFontMetricsF(self.font()))
        if frame is None or not frame.inside.contains(place):
            return ""
        share = (place.x() - frame.inside.left()) / frame.inside.width()
        depth = round(share * frame.across.high)
        rates = [(line, line.at(depth)) for line in self._lines]
        known = sorted(
            ((line.name, rate) for line, rate in rates if rate is not None),
            key=lambda pair: -pair[1],
        )
        told = [f"{format_rate(rate)}  {name}" for name, rate in known]
        return "\n".join([tr("at {count:,} tokens", count=depth), *told])

    def _remark(self) -> str:
        words = [tr(_THIN)] if any(line.ends_early for line in self._lines) else []
        if self._count > MOST:
            words.append(tr("the first {count} of {all} are drawn", count=MOST, all=self._count))
        return "; ".join(words)

    def _label_places(self, frame: Frame, metrics: QFontMetricsF) -> list[tuple[int, float]]:
        """Each line's number and the height of its name: beside its end, none over another."""
        ends = [(frame.place(*line.points[-1]).y(), n) for n, line in enumerate(self._lines)]
        step = metrics.height()
        placed: list[tuple[float, int]] = []
        for y, n in sorted(ends):
            placed.append((max(y, placed[-1][0] + step) if placed else y, n))
        # What was pushed below the foot goes up again.
        lowest = frame.inside.bottom() - step / 2
        for i in range(len(placed) - 1, -1, -1):
            y, n = placed[i]
            placed[i] = (min(y, lowest), n)
            lowest = placed[i][0] - step
        return sorted((n, y) for y, n in placed)


def line_pen(number: int, colors: Colors) -> QPen:
    """The pen of a line by its place among the lines."""
    hues, style = _LINES[number % len(_LINES)]
    return QPen(QColor(hues[colors.dark]), 2, style)


def _stroke(painter: QPainter, frame: Frame, line: Line, pen: QPen, until: int | None) -> None:
    """The line; from ``until`` on thin, with a mark where memory ends."""
    thick = [p for p in line.points if until is None or p[0] <= until]
    edge = None if until is None else line.at(until)
    if until is not None and edge is not None:
        thick.append((until, edge))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen)
    painter.drawPolyline(QPolygonF([frame.place(*p) for p in thick]))
    if until is None:
        return
    thin = QPen(pen)
    thin.setWidthF(0.8)
    painter.setPen(thin)
    rest = [thick[-1]] if thick else []
    rest += [p for p in line.points if p[0] > until]
    painter.drawPolyline(QPolygonF([frame.place(*p) for p in rest]))
    if until > 0 and thick:
        where = frame.place(*thick[-1])
        painter.setPen(QPen(pen.color(), 2))
        painter.drawLine(where + QPointF(0, -5), where + QPointF(0, 5))


def _label(line: Line, metrics: QFontMetricsF) -> str:
    room = _LETTERS * metrics.averageCharWidth()
    return metrics.elidedText(line.name, Qt.TextElideMode.ElideMiddle, room)


def _sentence(line: Line) -> str:
    first, last = line.points[0], line.points[-1]
    words = tr(
        "{name}: {first} with an empty cache, {last} at {tokens} tokens",
        name=line.name,
        first=format_rate(first[1]),
        last=format_rate(last[1]),
        tokens=format_tokens(last[0]),
    )
    if line.until is None or not line.ends_early:
        return f"{words}."
    if not line.until:
        return tr("{what}; its memory is enough for nothing.", what=words)
    return tr(
        "{what}; its memory is enough up to {tokens} tokens.",
        what=words,
        tokens=format_tokens(line.until),
    )
