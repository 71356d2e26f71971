"""The part of the ceiling plot that imports the plot library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from PySide6.QtCore import QPointF, QSignalBlocker, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QToolTip

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
        self._stem = pg.PlotCurveItem()
        self._dashed = pg.PlotCurveItem()
        self._solid = pg.PlotCurveItem()
        self._spilled = pg.PlotCurveItem()
        self._likely = pg.PlotCurveItem()
        self._low, self._high = pg.PlotCurveItem(pen=None), pg.PlotCurveItem(pen=None)
        self._band = pg.FillBetweenItem(self._low, self._high)
        self._measured = pg.ScatterPlotItem(size=8, pxMode=True)
        self._marker = pg.ScatterPlotItem(size=9, pxMode=True)
        lines = (self._dashed, self._solid, self._spilled, self._measured, self._marker)
        for item in (self._band, self._likely, self._stem, *lines):
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
        depths, rates = self._marker.getData()
        return list(zip(depths.tolist(), rates.tolist(), strict=True))

    def dress(self) -> None:
        """Take the colours of the theme."""
        super().dress()
        c = theme.colors()
        self._solid.setPen(pen(c.accent, width=2))
        self._dashed.setPen(pen(c.muted, Qt.PenStyle.DashLine))
        self._stem.setPen(pen(c.muted, Qt.PenStyle.DotLine))
        self._spilled.setPen(pen(c.bad, Qt.PenStyle.DashDotLine, width=2))
        self._likely.setPen(pen(c.good, Qt.PenStyle.DotLine, width=2))
        self._band.setBrush(area_brush(c.good))
        self._measured.setPen(pen(c.window))
        self._measured.setBrush(pg.mkBrush(c.text))
        self._marker.setPen(pen(c.window))
        self._marker.setBrush(pg.mkBrush(c.accent))
        self._legend.update()

    def set_curve(self, curve: Curve) -> None:
        """Draw this curve."""
        self._curve = curve
        self._set_axes(curve)
        _draw(self._solid, curve.reserved)
        _draw(self._dashed, curve.beyond)
        _draw(self._spilled, curve.spilled)
        self._draw_band(curve)
        self._measured.setData([d for d, _ in curve.measured], [r for _, r in curve.measured])
        at = next((p for p in curve.reserved if p.depth == curve.depth), None)
        if at is None or at.tok_s is None:
            self._marker.setData([], [])
            self._stem.setData([], [])
        else:
            self._marker.setData([at.depth], [at.tok_s])
            self._stem.setData([at.depth, at.depth], [0.0, at.tok_s])
        self._place_legend()

    def band(self) -> list[tuple[float, float, float]]:
        """Depth, low and high of the band that is drawn, if there is one."""
        depths, low = self._low.getData()
        if depths is None:
            return []
        high = self._high.getData()[1]
        return list(zip(depths.tolist(), low.tolist(), high.tolist(), strict=True))

    def legend(self) -> list[str]:
        """What the legend says, whether there is room for it or not."""
        return [key.words for key in self._legend.keys]

    def _draw_band(self, curve: Curve) -> None:
        """Up to the context and beyond: what is expected does not depend on what is reserved."""
        points = [p for p in (*curve.reserved, *curve.beyond) if p.mid is not None]
        depths = [p.depth for p in points]
        with QSignalBlocker(self._low):  # or the area between the two is made twice
            self._low.setData(depths, [p.low for p in points])
        self._high.setData(depths, [p.high for p in points])
        self._likely.setData(depths, [p.mid for p in points])
        self._band.setVisible(bool(points))

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
        depths = depth_ticks(curve.last_depth)
        self._bottom.setTicks([[(depth, format_tokens(depth)) for depth in depths]])
        self._settle()


def _draw(item: Any, points: Sequence[DepthPoint]) -> None:
    known = [p for p in points if p.tok_s is not None]
    item.setData([p.depth for p in known], [p.tok_s for p in known])
