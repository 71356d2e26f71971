"""One or two lines over a value that is chosen with a slider, and where that value stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from gui.theme import Colors
from gui.widgets.curves_plot import line_pen
from gui.widgets.plot_frame import Axis, Frame, FramedPlot


@dataclass(frozen=True, slots=True)
class NamedLine:
    """Points in ascending order, and the name beside the end."""

    name: str
    points: tuple[tuple[float, float], ...]


class ChoicePlot(FramedPlot):
    """Draws the lines, a dotted upright line at the chosen value with a dot on each line, and
    dashed level lines with words, such as what is neither gain nor loss."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._axes: tuple[Axis, Axis] | None = None
        self._lines: tuple[NamedLine, ...] = ()
        self._chosen: tuple[float, tuple[float, ...]] = (0.0, ())
        self._levels: tuple[tuple[float, str], ...] = ()

    def show_lines(
        self,
        axes: tuple[Axis, Axis] | None,
        lines: Sequence[NamedLine],
        chosen: tuple[float, tuple[float, ...]],
        levels: Sequence[tuple[float, str]] = (),
        sentence: str = "",
    ) -> None:
        """``chosen`` is the value and the height of every line there; ``sentence`` says the
        picture for a screen reader."""
        self._axes, self._lines, self._chosen = axes, tuple(lines), chosen
        self._levels = tuple(levels)
        self.setAccessibleDescription(sentence)
        self.update()

    def spoken_value(self) -> str:
        """The chosen value, for a screen reader."""
        if self._axes is None:
            return ""
        return self._axes[0].words(self._chosen[0])

    def axes(self) -> tuple[Axis, Axis] | None:
        """As they were given."""
        return self._axes

    def minimumSizeHint(self) -> QSize:
        """Small beside what it explains."""
        metrics = self.fontMetrics()
        return QSize(30 * metrics.averageCharWidth(), 10 * metrics.height())

    def right_margin(self, metrics: QFontMetricsF) -> float:
        """Room for the longest name."""
        return max((metrics.horizontalAdvance(line.name) for line in self._lines), default=0) + 6

    def draw(self, painter: QPainter, frame: Frame, colors: Colors) -> None:
        """Levels below, lines above them, the chosen value on top."""
        metrics = QFontMetricsF(painter.font())
        for height, words in self._levels:
            y = frame.place(frame.across.low, height).y()
            painter.setPen(QPen(QColor(colors.muted), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(frame.inside.left(), y), QPointF(frame.inside.right(), y))
            painter.drawText(QPointF(frame.inside.left() + 6, y - 4), words)
        for number, line in enumerate(self._lines):
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(line_pen(number, colors))
            painter.drawPolyline(QPolygonF([frame.place(*p) for p in line.points]))
            end = frame.place(*line.points[-1])
            where = QPointF(frame.inside.right() + 6, end.y() + metrics.ascent() / 2 - 1)
            painter.drawText(where, line.name)
        at, heights = self._chosen
        painter.setPen(QPen(QColor(colors.text), 1, Qt.PenStyle.DotLine))
        painter.drawLine(frame.place(at, frame.up.low), frame.place(at, frame.up.high))
        for number, height in enumerate(heights):
            pen = line_pen(number, colors)
            painter.setPen(QPen(pen.color(), 1))
            painter.setBrush(pen.color())
            painter.drawEllipse(frame.place(at, height), 4, 4)
