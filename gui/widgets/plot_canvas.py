"""The part of the ceiling plot that imports the plot library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QCursor, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsPathItem,
    QStyleOptionGraphicsItem,
    QToolTip,
    QWidget,
)

from core.drawing.ticks import depth_ticks, round_above
from core.language import mark, tr
from core.plan.plan import DepthPoint
from core.units import format_tokens
from gui import theme
from gui.widgets.bare_plot import BarePlot, pen, pg
from gui.widgets.ceiling_plot import Curve, at_point
from gui.widgets.plot_legend import Key, Legend, area_brush

_RESERVED = Key(mark("ceiling, up to the context chosen"), "accent", width=2)
_BEYOND = Key(mark("if more context were reserved"), "muted", Qt.PenStyle.DashLine)
_EXPECTED = Key(mark("expected, from published runs"), "good", Qt.PenStyle.DotLine, 2, area=True)
_MEASURED = Key(mark("measured here"), "text", dot=True)
_SPILLED = Key(mark("where the driver spills into RAM"), "bad", Qt.PenStyle.DashDotLine, 2)


class PlotCanvas(BarePlot):
    """Draws on ``widget``. The axes are fixed to the last depth and to a round rate above the
    curve, so that they stand still while the context slides."""

    def __init__(self) -> None:
        self._curve: Curve | None = None
        self._axes: tuple[int, float] | None = None
        super().__init__()
        self._bottom.setLabel(tr("depth, tokens in the cache"))
        self._left.setLabel("tok/s")
        self._left.setWidth(self._view.fontMetrics().horizontalAdvance(format_tokens(10_000)) * 1.7)
        self._band = QGraphicsPathItem()
        self._band.setPen(QPen(Qt.PenStyle.NoPen))
        self._band.setZValue(-1)  # below the grid
        self._lines = _Lines()
        self._measured = pg.ScatterPlotItem(size=8, pxMode=True)
        self._marker = pg.ScatterPlotItem([0], [0], size=9, pxMode=True)
        for item in (self._band, self._lines, self._measured, self._marker):
            self._box.addItem(item, ignoreBounds=True)
        self._legend = Legend(self._box, self._view.font())
        self._box.sigResized.connect(self._resized)
        self._view.scene().sigMouseMoved.connect(self._read)
        self.dress()

    def view_range(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The depths and the rates that the axes span."""
        (left, right), (low, high) = self._box.viewRange()
        return (left, right), (low, high)

    def marker(self) -> list[tuple[float, float]]:
        """Depth and rate of the marker, if there is one."""
        return [self._marker.pos().toTuple()] if self._marker.isVisible() else []

    def dress(self) -> None:
        """Take the colours of the theme."""
        super().dress()
        c = theme.colors()
        self._band.setBrush(area_brush(c.good))
        self._lines.set_pens(
            likely=pen(c.good, Qt.PenStyle.DotLine, width=2),
            stem=pen(c.muted, Qt.PenStyle.DotLine),
            beyond=pen(c.muted, Qt.PenStyle.DashLine),
            reserved=pen(c.accent, width=2),
            spilled=pen(c.bad, Qt.PenStyle.DashDotLine, width=2),
        )
        self._measured.setPen(pen(c.window))
        self._measured.setBrush(pg.mkBrush(c.text))
        self._marker.setPen(pen(c.window))
        self._marker.setBrush(pg.mkBrush(c.accent))
        self._legend.update()

    def set_curve(self, curve: Curve) -> None:
        """Draw this curve."""
        before, self._curve = self._curve, curve
        self._set_axes(curve)
        depths, ceiling, low, likely, high = _columns(curve.reserved + curve.beyond)
        end = len(curve.reserved)
        self._lines.set_lines(
            likely=_line(depths, likely),
            stem=self._mark(next((p for p in curve.reserved if p.depth == curve.depth), None)),
            beyond=_line(depths[end:], ceiling[end:]),
            reserved=_line(depths[:end], ceiling[:end], wide=True),
            spilled=_line(*_columns(curve.spilled)[:2]),
        )
        # Up to the context and beyond: what is expected does not depend on what is reserved.
        there_and_back = numpy.concatenate((depths, depths[::-1]))
        self._band.setPath(_line(there_and_back, numpy.concatenate((low, high[::-1]))))
        self._measured.setVisible(bool(curve.measured))
        if before is None or curve.measured != before.measured:
            self._measured.setData([d for d, _ in curve.measured], [r for _, r in curve.measured])
        self._place_legend()

    def band(self) -> list[tuple[float, float, float]]:
        """Depth, low and high of the band that is drawn, if there is one."""
        path = self._band.path()
        outline = [path.elementAt(n) for n in range(path.elementCount())]
        half = len(outline) // 2
        there_and_back = zip(outline[:half], reversed(outline[half:]), strict=True)
        return [(low.x, low.y, high.y) for low, high in there_and_back]

    def legend(self) -> list[str]:
        """What the legend says, whether there is room for it or not."""
        return [key.words for key in self._legend.keys]

    def _mark(self, at: DepthPoint | None) -> QPainterPath:
        """Put the marker there; returns the line down from it."""
        stem = QPainterPath()
        rate = at.tok_s if at is not None else None
        self._marker.setVisible(rate is not None)
        if at is not None and rate is not None:
            self._marker.setPos(at.depth, rate)
            stem.moveTo(at.depth, 0)
            stem.lineTo(at.depth, rate)
        return stem

    def _resized(self) -> None:
        self._place_legend()
        self._settle()

    def _place_legend(self) -> None:
        """In the corner on the right that the curve leaves free, in one column or two; nowhere
        where there is no such corner."""
        curve = self._curve
        if curve is None or self._axes is None:
            return
        keys = [_RESERVED]
        if curve.beyond:
            keys.append(_BEYOND)
        if curve.reserved[0].mid is not None:
            keys.append(_EXPECTED)
        if curve.spilled:
            keys.append(_SPILLED)
        if curve.measured:
            keys.append(_MEASURED)
        keys = [key._replace(words=tr(key.words)) for key in keys]
        box = self._box.boundingRect()
        for columns in (1, 2):
            size = self._legend.bounds_of(keys, columns)
            if size.width() >= box.width() or 1.5 * size.height() >= box.height():
                continue
            # The curve falls, so it is highest where the legend begins.
            point = curve.nearest(curve.last_depth * (1 - size.width() / max(box.width(), 1)))
            share = (point.tok_s or 0.0) / (1.05 * self._axes[1]) if point else 0.0
            room = 1.1 * size.height() / box.height()
            above = share < 1 - room
            low = min((p.low or p.tok_s or 0.0) for p in curve.spilled or curve.reserved[-1:])
            below = low / (1.05 * self._axes[1]) > room
            if above or below:
                top = 0.0 if above else box.height() - 1.1 * size.height()
                self._legend.set_keys(keys, columns)
                self._legend.setPos(box.width() - size.width(), top)
                self._legend.setVisible(True)
                return
        self._legend.set_keys(keys)
        self._legend.setVisible(False)

    def _read(self, position: QPointF) -> None:
        """Say what the curve is under the pointer."""
        if self._curve is None or not self._box.sceneBoundingRect().contains(position):
            return
        point = self._curve.nearest(self._box.mapSceneToView(position).x())
        if point is not None and point.tok_s is not None:
            words = at_point(point, self._curve.spilled)
            if not self._legend.isVisible():
                words = f"<p>{escape(words)}</p>{self._legend.html()}"
            QToolTip.showText(QCursor.pos(), words, self._view)

    def _set_axes(self, curve: Curve) -> None:
        known = [p.tok_s for p in curve.reserved + curve.beyond if p.tok_s is not None]
        known += [rate for _, rate in curve.measured]
        highest = max(known, default=1.0)
        axes = (curve.last_depth, round_above(highest)[1])
        if axes == self._axes:
            return
        self._axes = axes
        self._span(0, max(curve.last_depth, 1), highest)
        self._lines.set_room(self._box.viewRect())
        depths = depth_ticks(curve.last_depth)
        self._bottom.setTicks([[(depth, format_tokens(depth)) for depth in depths]])
        self._settle()


class _Lines(QGraphicsItem):
    """Lines in the units of the axes, without smoothing, the later ones above the earlier.

    The library has an item for every line, and each asks at every step how far it reaches.
    """

    def __init__(self) -> None:
        super().__init__()
        self._room = QRectF()
        self._pens: dict[str, QPen] = {}
        self._lines: dict[str, QPainterPath] = {}

    def set_room(self, room: QRectF) -> None:
        """All lines lie in here."""
        self.prepareGeometryChange()
        self._room = room

    def set_pens(self, **pens: QPen) -> None:
        """How each line is drawn, the lowest first."""
        self._pens = pens
        self.update()

    def set_lines(self, **lines: QPainterPath) -> None:
        """Where each line runs."""
        self._lines = lines
        self.update()

    def boundingRect(self) -> QRectF:
        """The room for lines."""
        return self._room

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """One line over the other."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for name, line in self._lines.items():
            painter.setPen(self._pens[name])
            painter.drawPath(line)


def _columns(points: Sequence[DepthPoint]) -> Any:
    """Depths, ceilings, and the low, middle and high of what is expected; unknown is NaN."""
    table = numpy.array(points, float).reshape(-1, len(DepthPoint._fields))
    return table.T[[DepthPoint._fields.index(n) for n in ("depth", "tok_s", "low", "mid", "high")]]


def _line(depths: Any, rates: Any, *, wide: bool = False) -> QPainterPath:
    """Through the points whose rate is known. A ``wide`` one is in pieces from point to point: as
    a whole it takes longer to draw."""
    known = numpy.flatnonzero(numpy.isfinite(rates))
    if wide:
        known = numpy.repeat(known, 2)[1:-1]
    connect = "pairs" if wide else "all"
    line: QPainterPath = pg.arrayToQPath(depths[known], rates[known], connect, finiteCheck=False)
    return line
