"""What the plots of the plot library share: a view, two axes and a grid, dressed for the theme."""

from __future__ import annotations

from typing import Any

import pyqtgraph
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QGraphicsView

from core.drawing.ticks import round_above
from core.language import written
from gui import theme
from gui.widgets.text import qt_app

pg: Any = pyqtgraph  # has no types


def pen(color: str, style: Qt.PenStyle = Qt.PenStyle.SolidLine, width: int = 1) -> Any:
    """A pen of the library, so many pixels of the window wide."""
    # The library's pens are so many pixels of the screen wide, whatever the window's are.
    return pg.mkPen(color, width=width * qt_app().devicePixelRatio(), style=style)


class BarePlot:
    """Draws on ``widget``. Its grid lies below everything; whoever adds to it dresses it."""

    def __init__(self) -> None:
        self._view: Any = pg.GraphicsView()
        for part in (self._view, self._view.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            part.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._view.setAntialiasing(True)
        # Bare parts rather than a PlotItem, which brings half a dozen menus along.
        self._box = pg.ViewBox(enableMenu=False, enableMouse=False)
        self._left = pg.AxisItem("left", linkView=self._box)
        self._bottom = pg.AxisItem("bottom", linkView=self._box)
        metrics = self._view.fontMetrics()
        layout = pg.GraphicsLayout()
        # Room for half a label at the top and at the right end.
        right = metrics.horizontalAdvance(written(262_144))
        layout.setContentsMargins(0, metrics.height() // 2, right, 0)
        layout.setSpacing(0)
        layout.addItem(self._left, 0, 0)
        layout.addItem(self._box, 0, 1)
        layout.addItem(self._bottom, 1, 1)
        self._view.setCentralItem(layout)
        for axis in (self._left, self._bottom):
            # So many pixels of a label may stand out beyond the end of its axis.
            axis.setStyle(hideOverlappingLabels=60)
            # Rates below one would get "(x0.001)" into the axis' name, beside figures in tok/s.
            axis.enableAutoSIPrefix(False)
        self._grid = pg.PlotCurveItem(connect="pairs")
        self._box.addItem(self._grid, ignoreBounds=True)

    @property
    def widget(self) -> QGraphicsView:
        """What to put on the screen."""
        widget: QGraphicsView = self._view
        return widget

    def dress(self) -> None:
        """Take the colours of the theme."""
        c = theme.colors()
        self._view.setBackground(QColor(c.window))
        for axis in (self._bottom, self._left):
            axis.setPen(pen(c.line))
            axis.setTextPen(pen(c.muted))
        self._grid.setPen(pen(c.line))

    def _span(self, first: float, end: float, highest: float) -> float:
        """Let the axes span from ``first`` to ``end`` and to a round figure above ``highest``, a
        little beyond the ends so that marks and labels are whole; returns that figure."""
        step, top = round_above(highest)
        self._box.setRange(xRange=(first, 1.02 * end), yRange=(0, 1.05 * top), padding=0)
        rates = [i * step for i in range(round(top / step) + 1)]
        self._grid.setData([0, end] * len(rates[1:]), [r for r in rates[1:] for _ in range(2)])
        self._left.setTicks([[(rate, written(rate, ",.10g")) for rate in rates]])
        return top

    def _settle(self) -> None:
        """What the library would do while it paints, and then paint once more."""
        self._box.prepareForPaint()
