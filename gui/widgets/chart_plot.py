"""The part of a chart that imports the plot library."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QCursor, QPainterPath
from PySide6.QtWidgets import QGraphicsPathItem, QToolTip

from core.drawing.ticks import depth_ticks, round_above
from core.language import written
from core.units import format_tokens
from gui import theme
from gui.widgets.bare_plot import BarePlot, pen, pg
from gui.widgets.chart import Chart, Dot, Ink, Series
from gui.widgets.plot_legend import area_brush

_NEAR = 20  # pixels between the pointer and what it tells about


class ChartPlot(BarePlot):
    """Draws on ``widget``. Axes begin at 0 and end at round figures."""

    def __init__(self) -> None:
        self._chart: Chart | None = None
        self._items: list[Any] = []
        super().__init__()
        self._left.setWidth(
            self._view.fontMetrics().horizontalAdvance(format_tokens(100_000)) * 1.6
        )
        self._box.sigResized.connect(self._settle)
        self._view.scene().sigMouseMoved.connect(self._read)
        self.dress()

    def dress(self) -> None:
        """Take the colours of the theme."""
        super().dress()
        if self._chart is not None:
            self._draw(self._chart)

    def set_chart(self, chart: Chart) -> None:
        """Draw this chart."""
        self._chart = chart
        self._set_axes(chart)
        self._draw(chart)

    def _draw(self, chart: Chart) -> None:
        for item in self._items:
            self._box.removeItem(item)
        self._items = [item for series in chart.series for item in _items(series)]
        for item in self._items:
            self._box.addItem(item, ignoreBounds=True)
        self._settle()

    def _set_axes(self, chart: Chart) -> None:
        self._bottom.setLabel(chart.x_label)
        self._left.setLabel(chart.y_label)
        end = max(chart.x_last, 1e-9)
        self._span(-0.01 * end, end, chart.top or 1.0)
        if chart.depths:
            ticks = [(float(depth), format_tokens(depth)) for depth in depth_ticks(round(end))]
        else:
            across, last = round_above(end)
            ticks = [
                (i * across, written(i * across, ",.10g"))
                for i in range(round(last / across) + 1)
                if i * across <= 1.001 * end
            ]
        self._bottom.setTicks([ticks])

    def _read(self, position: QPointF) -> None:
        """Say what is under the pointer."""
        chart = self._chart
        if chart is None or not self._box.sceneBoundingRect().contains(position):
            return
        near = [
            (self._distance(dot, position), dot)
            for series in chart.series
            for dot in series.dots
            if dot.tip
        ]
        if near and (best := min(near, key=lambda pair: pair[0]))[0] <= _NEAR:
            QToolTip.showText(QCursor.pos(), best[1].tip, self._view)

    def _distance(self, dot: Dot, position: QPointF) -> float:
        at = self._box.mapViewToScene(QPointF(dot.x, dot.y))
        between = at - position
        return float((between.x() ** 2 + between.y() ** 2) ** 0.5)


def _items(series: Series) -> list[Any]:
    c = theme.colors()
    dots = series.dots
    xs, ys = [d.x for d in dots], [d.y for d in dots]
    match series.ink:
        case Ink.CEILING:
            return [pg.PlotCurveItem(xs, ys, pen=pen(c.accent, width=2))]
        case Ink.BAND:
            likely = pg.PlotCurveItem(xs, ys, pen=pen(c.good, Qt.PenStyle.DotLine, 2))
            return [_band(dots), likely] if len(dots) > 1 else []
        case Ink.STEMS:
            feet = [v for x in xs for v in (x, x)]
            heads = [v for y in ys for v in (0.0, y)]
            return [pg.PlotCurveItem(feet, heads, connect="pairs", pen=pen(c.accent))]
        case Ink.POINTS | Ink.OTHER:
            other = series.ink is Ink.OTHER
            color = c.muted if other else c.text
            items = []
            if other:
                items.append(pg.PlotCurveItem(xs, ys, pen=pen(c.muted, Qt.PenStyle.DashLine)))
            items.append(_whiskers(dots, color))
            points = pg.ScatterPlotItem(xs, ys, size=9, pxMode=True)
            points.setPen(pen(color, width=1))
            points.setBrush(pg.mkBrush(c.window if other else color))
            return [*items, points]


def _whiskers(dots: tuple[Dot, ...], color: str) -> Any:
    ends = [(d.x, d.low, d.high) for d in dots if d.low is not None and d.high is not None]
    xs = [x for x, _, _ in ends for _ in range(2)]
    ys = [v for _, low, high in ends for v in (low, high)]
    return pg.PlotCurveItem(xs, ys, connect="pairs", pen=pen(color, width=2))


def _band(dots: tuple[Dot, ...]) -> QGraphicsPathItem:
    path = QPainterPath()
    above = [QPointF(d.x, d.high if d.high is not None else d.y) for d in dots]
    below = [QPointF(d.x, d.low if d.low is not None else d.y) for d in reversed(dots)]
    path.moveTo(above[0])
    for point in (*above[1:], *below):
        path.lineTo(point)
    path.closeSubpath()
    item = QGraphicsPathItem(path)
    item.setPen(pg.mkPen(None))
    item.setBrush(area_brush(theme.colors().good))
    return item
