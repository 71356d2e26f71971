"""The part of the ceiling plot that imports the plot library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QCursor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import (
    QGraphicsItem,
    QGraphicsView,
    QStyleOptionGraphicsItem,
    QToolTip,
    QWidget,
)

from core.plan.plan import DepthPoint
from core.units import format_rate, format_tokens
from gui import theme
from gui.widgets.ceiling_plot import Curve
from gui.widgets.plot_ticks import depth_ticks, round_above

pg: Any = pyqtgraph  # has no types


_RESERVED = "ceiling, up to the context chosen"
_BEYOND = "if more context were reserved"


class PlotCanvas:
    """Draws on ``widget``. The axes are fixed to the last depth and to a round rate above the
    curve, so that they stand still while the context slides."""

    def __init__(self) -> None:
        self._curve: Curve | None = None
        self._axes: tuple[int, float] | None = None
        self._view: Any = pg.GraphicsView()
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._view.setAntialiasing(True)
        # Bare parts rather than a PlotItem, which brings half a dozen menus along.
        self._box = pg.ViewBox(enableMenu=False, enableMouse=False)
        self._left = pg.AxisItem("left", linkView=self._box)
        self._bottom = pg.AxisItem("bottom", linkView=self._box)
        metrics = self._view.fontMetrics()
        layout = pg.GraphicsLayout()
        # Room for half a label at the top and at the right end.
        right = metrics.horizontalAdvance("262,144")
        layout.setContentsMargins(0, metrics.height() // 2, right, 0)
        layout.setSpacing(0)
        layout.addItem(self._left, 0, 0)
        layout.addItem(self._box, 0, 1)
        layout.addItem(self._bottom, 1, 1)
        self._view.setCentralItem(layout)
        for axis in (self._left, self._bottom):
            # So many pixels of a label may stand out beyond the end of its axis.
            axis.setStyle(hideOverlappingLabels=60)
        self._bottom.setLabel("depth, tokens in the cache")
        self._left.setLabel("tok/s")
        self._left.setWidth(metrics.horizontalAdvance("10,000") * 1.7)
        self._grid = pg.PlotCurveItem(connect="pairs")
        self._stem = pg.PlotCurveItem()
        self._dashed = pg.PlotCurveItem()
        self._solid = pg.PlotCurveItem()
        self._marker = pg.ScatterPlotItem(size=9, pxMode=True)
        for item in (self._grid, self._stem, self._dashed, self._solid, self._marker):
            self._box.addItem(item, ignoreBounds=True)
        self._legend = _Legend(self._box, self._view.font())
        self._box.sigResized.connect(self._resized)
        self._view.scene().sigMouseMoved.connect(self._read)
        self.dress()

    @property
    def widget(self) -> QGraphicsView:
        """What to put on the screen."""
        widget: QGraphicsView = self._view
        return widget

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
        c = theme.colors()
        self._view.setBackground(QColor(c.window))
        for axis in (self._bottom, self._left):
            axis.setPen(_pen(c.line))
            axis.setTextPen(_pen(c.muted))
        self._grid.setPen(_pen(c.line))
        self._solid.setPen(_pen(c.accent, width=2))
        self._dashed.setPen(_pen(c.muted, Qt.PenStyle.DashLine))
        self._stem.setPen(_pen(c.muted, Qt.PenStyle.DotLine))
        self._marker.setPen(_pen(c.window))
        self._marker.setBrush(pg.mkBrush(c.accent))
        self._legend.update()

    def set_curve(self, curve: Curve) -> None:
        """Draw this curve."""
        self._curve = curve
        self._set_axes(curve)
        _draw(self._solid, curve.reserved)
        _draw(self._dashed, curve.beyond)
        at = next((p for p in curve.reserved if p.depth == curve.depth), None)
        if at is None or at.tok_s is None:
            self._marker.setData([], [])
            self._stem.setData([], [])
        else:
            self._marker.setData([at.depth], [at.tok_s])
            self._stem.setData([at.depth, at.depth], [0.0, at.tok_s])
        self._place_legend()

    def _resized(self) -> None:
        self._place_legend()
        self._settle()

    def _settle(self) -> None:
        """What the library would do while it paints, and then paint once more."""
        self._box.prepareForPaint()

    def _place_legend(self) -> None:
        """In the corner on the right that the curve leaves free; nowhere on a small plot."""
        curve = self._curve
        if curve is None or self._axes is None:
            return
        self._legend.set_lines(2 if curve.beyond else 1)
        size, box = self._legend.boundingRect(), self._box.boundingRect()
        # The curve falls, so it is highest where the legend begins.
        point = curve.nearest(curve.last_depth * (1 - size.width() / max(box.width(), 1)))
        share = (point.tok_s or 0.0) / self._axes[1] if point else 0.0
        above = share < 1 - 1.2 * size.height() / max(box.height(), 1)
        self._legend.setVisible(size.width() < box.width() and 3 * size.height() < box.height())
        top = 0.0 if above else box.height() - 1.2 * size.height()
        self._legend.setPos(box.width() - size.width(), top)

    def _read(self, position: QPointF) -> None:
        """Say what the curve is under the pointer."""
        if self._curve is None or not self._box.sceneBoundingRect().contains(position):
            return
        point = self._curve.nearest(self._box.mapSceneToView(position).x())
        if point is not None and point.tok_s is not None:
            text = f"{format_rate(point.tok_s)} at {format_tokens(point.depth)} tokens"
            QToolTip.showText(QCursor.pos(), text, self._view)

    def _set_axes(self, curve: Curve) -> None:
        known = [p.tok_s for p in curve.reserved + curve.beyond if p.tok_s is not None]
        step, top = round_above(max(known, default=1.0))
        axes = (curve.last_depth, top)
        if axes == self._axes:
            return
        self._axes = axes
        end = max(curve.last_depth, 1)
        # A little beyond the ends, so that the marker and the last labels are whole.
        self._box.setRange(xRange=(0, 1.02 * end), yRange=(0, 1.05 * top), padding=0)
        rates = [i * step for i in range(round(top / step) + 1)]
        self._grid.setData([0, end] * len(rates[1:]), [r for r in rates[1:] for _ in range(2)])
        self._left.setTicks([[(rate, f"{rate:,.10g}") for rate in rates]])
        depths = depth_ticks(curve.last_depth)
        self._bottom.setTicks([[(depth, format_tokens(depth)) for depth in depths]])
        self._settle()


class _Legend(QGraphicsItem):
    """What the solid and the dashed line are."""

    def __init__(self, parent: QGraphicsItem, font: QFont) -> None:
        super().__init__(parent)
        self._font = font
        self._lines = 0
        self._bounds = QRectF()

    def set_lines(self, lines: int) -> None:
        """Tell the first one or both."""
        if lines != self._lines:
            self.prepareGeometryChange()
            self._lines = lines
            metrics = QFontMetricsF(self._font)
            widest = max(metrics.horizontalAdvance(words) for words in (_RESERVED, _BEYOND))
            self._bounds = QRectF(0, 0, widest + 4 * metrics.height(), lines * metrics.height())

    def boundingRect(self) -> QRectF:
        """So many lines."""
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """A piece of each line, and its words; grid lines do not run through them."""
        c = theme.colors()
        painter.fillRect(self._bounds, QColor(c.window))
        height = QFontMetricsF(self._font).height()
        painter.setFont(self._font)
        styles = ((c.accent, Qt.PenStyle.SolidLine, 2), (c.muted, Qt.PenStyle.DashLine, 1))
        lines = zip(range(self._lines), (_RESERVED, _BEYOND), styles, strict=False)
        for line, words, (color, style, width) in lines:
            middle = (line + 0.5) * height
            painter.setPen(QPen(QColor(color), width, style))
            painter.drawLine(QLineF(height / 2, middle, 2.5 * height, middle))
            painter.setPen(QColor(c.muted))
            place = self._bounds.adjusted(3 * height, line * height, 0, 0)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft), words)


def _pen(color: str, style: Qt.PenStyle = Qt.PenStyle.SolidLine, width: int = 1) -> Any:
    return pg.mkPen(color, width=width, style=style)


def _draw(item: Any, points: Sequence[DepthPoint]) -> None:
    known = [p for p in points if p.tok_s is not None]
    item.setData([p.depth for p in known], [p.tok_s for p in known])
