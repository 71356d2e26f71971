"""Runs by what a token reads and by the share of the peak bandwidth that they reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from core.drawing.ticks import decades
from core.language import mark, tr, written
from gui.theme import Colors
from gui.widgets.plot_frame import Axis, Frame
from gui.widgets.plot_legend import area_brush
from gui.widgets.point_plot import PointPlot
from gui.widgets.share_marks import draw_mark

_STEP = 20.0  # per cent between two marks
_LINE = mark("expected here, by size")


@dataclass(frozen=True, slots=True)
class ShareDot:
    """One run: ``across`` is what a token reads, ``up`` per cent of the peak, ``group`` the place
    of its backend among all, -1 for the user's own. ``hollow`` ones carry a remark."""

    id: str
    across: float
    up: float
    group: int
    told: str
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Level:
    """What is expected where a token reads so much, in per cent."""

    across: float
    low: float
    mid: float
    high: float


class SharePlot(PointPlot[ShareDot]):
    """A logarithmic axis of sizes, an even one of shares; the line and the band of what is expected
    lie below the dots, the bar of the plan above them."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._unit = ""
        self._span = (1.0, 10.0)
        self._line: tuple[Level, ...] = ()
        self._here: Level | None = None
        self._said = ""

    def set_dots(self, dots: Sequence[ShareDot], unit: str, span: tuple[float, float]) -> None:
        """Show these. ``span`` is the range of sizes, so that the axis stays when dots leave."""
        self._unit, self._span = unit, span
        self.place_dots(dots)

    def set_expected(self, line: Sequence[Level], here: Level | None) -> None:
        """What is expected by size, and of the plan; nothing and None where it is not known."""
        now = (tuple(line), here)
        if now != (self._line, self._here):
            self._line, self._here = now
            self.update()

    def set_summary(self, words: str) -> None:
        """The picture in words, for a screen reader."""
        self._said = words
        self.describe()

    @property
    def expected(self) -> tuple[tuple[Level, ...], Level | None]:
        """The line, and the bar of the plan."""
        return self._line, self._here

    def summary(self) -> str:
        """As it was told."""
        return self._said

    def rank(self, dot: ShareDot) -> tuple[bool, bool]:
        """The user's own come first, those with a remark last."""
        return dot.group >= 0, dot.hollow

    def axes(self) -> tuple[Axis, Axis] | None:
        """Always: the plan's own bar may be all there is."""
        if not self._dots and self._here is None:
            return None
        low, high = self._span
        if self._here is not None:
            low, high = min(low, self._here.across), max(high, self._here.across)
        sizes = decades(0.9 * low, 1.1 * high)
        most = max((dot.up for dot in self._dots), default=0.0)
        top = max(100.0, _STEP * ceil(most / _STEP))
        shares = tuple(n * _STEP for n in range(round(top / _STEP) + 1))
        return (
            Axis(
                tr("{unit} read for one token", unit=self._unit),
                sizes[0],
                sizes[-1],
                tuple(sizes),
                lambda v: written(v, ",.10g"),
                True,
            ),
            Axis(
                tr("share of the peak bandwidth"),
                0,
                top,
                shares,
                lambda v: f"{written(v, '.0f')} %",
            ),
        )

    def head_height(self, metrics: QFontMetricsF, width: float) -> float:
        """One line of words where something is expected."""
        return metrics.height() * 1.7 if self._line or self._here else 0.0

    def draw_head(self, painter: QPainter, paper: QRectF, colors: Colors) -> None:
        """What the line, the band and the bar are."""
        metrics = QFontMetricsF(painter.font())
        line = metrics.height()
        x, y = paper.left() + line * 0.4, paper.top() + line * 0.7
        if self._line:
            swatch = QRectF(x, y - line * 0.35, line * 2, line * 0.7)
            painter.fillRect(swatch, area_brush(colors.accent))
            painter.setPen(QPen(QColor(colors.accent), 2))
            painter.drawLine(QPointF(x, y), QPointF(x + line * 2, y))
            x = self._draw_words(painter, x + line * 2.5, y, tr(_LINE), colors) + line
        if self._here is not None:
            _draw_bar(painter, QPointF(x, y - line * 0.4), y, QPointF(x, y + line * 0.4), colors)
            words = tr("this plan, and its band")
            self._draw_words(painter, x + line * 0.8, y, words, colors)

    def draw(self, painter: QPainter, frame: Frame, colors: Colors) -> None:
        """The band, the line, the dots and the bar; the user's own dots on top."""
        if self._line:
            line = [level for level in self._line if self._inside(frame, level)]
            top = [frame.place(level.across, level.high) for level in line]
            foot = [frame.place(level.across, level.low) for level in reversed(line)]
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(area_brush(colors.accent))
            painter.drawPolygon(QPolygonF([*top, *foot]))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colors.accent), 2))
            painter.drawPolyline(QPolygonF([frame.place(p.across, p.mid) for p in line]))
        for dot in sorted(self._dots, key=self.rank, reverse=True):
            if dot.group >= 0:
                self._draw_dot(painter, frame, dot, colors)
        if self._here is not None:
            here = self._here
            _draw_bar(
                painter,
                frame.place(here.across, here.high),
                frame.place(here.across, here.mid).y(),
                frame.place(here.across, here.low),
                colors,
            )
        for dot in self._dots:
            if dot.group < 0:
                self._draw_dot(painter, frame, dot, colors)
        self.draw_current(painter, frame, colors)

    def _draw_dot(self, painter: QPainter, frame: Frame, dot: ShareDot, colors: Colors) -> None:
        where = frame.place(dot.across, dot.up)
        draw_mark(painter, where, dot.group, colors, hollow=dot.hollow)

    @staticmethod
    def _inside(frame: Frame, level: Level) -> bool:
        return frame.across.low <= level.across <= frame.across.high

    @staticmethod
    def _draw_words(painter: QPainter, x: float, y: float, words: str, colors: Colors) -> float:
        """Words behind a swatch; where they end."""
        metrics = QFontMetricsF(painter.font())
        painter.setPen(QColor(colors.muted))
        painter.drawText(QPointF(x, y + metrics.ascent() / 2 - 1), words)
        return x + metrics.horizontalAdvance(words)


def _draw_bar(
    painter: QPainter, top: QPointF, middle: float, foot: QPointF, colors: Colors
) -> None:
    """An upright bar with ends and a mark in the middle, on a ground that sets it off."""
    for color, width in ((colors.window, 5.0), (colors.text, 2.0)):
        painter.setPen(QPen(QColor(color), width))
        painter.drawLine(top, foot)
        for end in (top, foot):
            painter.drawLine(end - QPointF(5, 0), end + QPointF(5, 0))
        painter.setBrush(QColor(colors.text))
        painter.drawEllipse(QPointF(top.x(), middle), 3, 3)
