"""Points by memory and speed, told apart by shape as well as by colour; a click takes one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from core.drawing.ticks import decades, doublings
from core.language import tr, trn, written
from core.plan.plan import Verdict
from core.plan.verdict import SHORT_WORDS
from gui.theme import Colors
from gui.widgets.plot_frame import Axis, Frame
from gui.widgets.point_plot import PointPlot

_ORDER = (Verdict.DOES_NOT_FIT, Verdict.UNKNOWN, Verdict.TIGHT, Verdict.FITS)


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


class ScatterPlot(PointPlot[Dot]):
    """Shows dots on two logarithmic axes."""

    def __init__(self, name: str, across: str, up: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._titles = (across, up)
        self._axes: tuple[Axis, Axis] | None = None
        self.describe()

    def set_dots(self, dots: Sequence[Dot], across: str = "", up: str = "") -> None:
        """Show these; those without a place are left out. ``across`` and ``up`` are what the axes
        measure, where that has changed."""
        self._titles = (across or self._titles[0], up or self._titles[1])
        self.place_dots([dot for dot in dots if dot.across > 0 and dot.up > 0])
        self._axes = self._made_axes()

    def rank(self, dot: Dot) -> int:
        """Of dots at one place those that fit come first."""
        return -_ORDER.index(dot.verdict)

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
        self.draw_current(painter, frame, colors)

    def summary(self) -> str:
        """How many there are of each verdict."""
        counts = [
            f"{count} {tr(SHORT_WORDS[verdict])}"
            for verdict in reversed(_ORDER)
            if (count := sum(d.verdict is verdict for d in self._dots))
        ]
        if not counts:
            return self._words or tr("No machine is drawn.")
        return trn(
            "{count} machine: {words}.",
            "{count} machines: {words}.",
            len(self._dots),
            words=", ".join(counts),
        )

    def _legend(
        self, metrics: QFontMetricsF, width: float
    ) -> list[tuple[Verdict, str, float, float]]:
        """Each verdict that occurs, its words, and where the middle of its shape is."""
        line = metrics.height()
        x, y = line * 0.6, line * 0.7
        found = []
        for verdict in reversed(_ORDER):
            count = sum(dot.verdict is verdict for dot in self._dots)
            words = f"{tr(SHORT_WORDS[verdict])} {count}"
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
            Axis(title, sizes[0], sizes[-1], tuple(sizes), lambda v: written(v, ",.10g"), True),
            Axis(rate, rates[0], rates[-1], tuple(rates), lambda v: written(v, ",.10g"), True),
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
