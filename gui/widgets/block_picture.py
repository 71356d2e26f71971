"""Weights of one row as dots, and the levels that their format has for them."""

from __future__ import annotations

from math import isfinite

from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.explain.blocks import Sample, Trial
from core.language import tr, written
from gui import theme
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Spoken

_DOT = 2.5  # pixels, the radius


class BlockPicture(QWidget, Spoken):
    """Every dot is a weight; a line at each level that the block under the pointer uses; a hollow
    diamond where a trial format would put the weight. Blocks are kept apart by dotted lines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sample: Sample | None = None
        self._trial: Trial | None = None
        self._place = 0
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Weights of one row"))
        Picture(self)

    def show_sample(self, sample: Sample | None, trial: Trial | None) -> None:
        """Show weights, and beside them what a format would make of them."""
        self._sample, self._trial = sample, trial
        self._place = min(self._place, len(sample.values) - 1) if sample and sample.values else 0
        if sample is not None and sample.values:
            known = [value for value in sample.values if isfinite(value)] or [0.0]
            low, high = min(known), max(known)
            self.setAccessibleDescription(
                tr(
                    "{count} weights from {low:.4g} to {high:.4g}, {different} different ones in "
                    "the block",
                    count=len(sample.values),
                    low=low,
                    high=high,
                    different=len(sample.levels(self._place)),
                )
            )
        self.update()

    def spoken_value(self) -> str:
        """How much is drawn, for a screen reader."""
        count = len(self._sample.values) if self._sample is not None else 0
        return tr("{count} weights", count=count)

    def sizeHint(self) -> QSize:
        """Ten lines of text high."""
        metrics = self.fontMetrics()
        return QSize(60 * metrics.averageCharWidth(), 10 * metrics.height())

    def minimumSizeHint(self) -> QSize:
        """May shrink to half of that."""
        return self.sizeHint() / 2

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The levels are those of the block under the pointer."""
        self._place = self._place_at(event.position().x())
        self.update()
        super().mouseMoveEvent(event)

    def event(self, event: QEvent) -> bool:
        """The weight under the pointer, in figures."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._words(self._place_at(event.pos().x())), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Levels, edges of blocks, dots, diamonds."""
        sample = self._sample
        if sample is None or not sample.values:
            return
        c = theme.colors()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self._area()
        painter.setPen(QPen(QColor(c.line), 1))
        if sample.block_size > 1:
            first = self._place // sample.block_size * sample.block_size
            left = self._x(first - 0.5)
            right = self._x(first + sample.block_size - 0.5)
            for level in sample.levels(self._place):
                y = self._y(level)
                painter.drawLine(QLineF(left, y, right, y))
        painter.setPen(QPen(QColor(c.muted), 1, Qt.PenStyle.DotLine))
        if sample.block_size > 1:
            for edge in range(sample.block_size, len(sample.values), sample.block_size):
                x = self._x(edge - 0.5)
                painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
        painter.setPen(QPen(QColor(c.muted), 1))
        painter.drawLine(QLineF(area.left(), self._y(0), area.right(), self._y(0)))
        self._draw_axis(painter)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(c.accent))
        for number, value in enumerate(sample.values):
            if not isfinite(value):  # it has no place
                continue
            painter.drawEllipse(QPointF(self._x(number), self._y(value)), _DOT, _DOT)
        if self._trial is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(c.warn), 1.3))
            for number, value in enumerate(self._trial.values):
                x, y = self._x(number), self._y(value)
                reach = _DOT + 1.5
                painter.drawPolygon(
                    [
                        QPointF(x, y - reach),
                        QPointF(x + reach, y),
                        QPointF(x, y + reach),
                        QPointF(x - reach, y),
                    ]
                )

    def _draw_axis(self, painter: QPainter) -> None:
        """The largest and the smallest value, and zero."""
        metrics, area = painter.fontMetrics(), self._area()
        painter.setPen(QColor(theme.colors().muted))
        align = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for value in (self._reach(), 0.0, -self._reach()):
            box = QRectF(
                0, self._y(value) - metrics.height() / 2, area.left() - 6, metrics.height()
            )
            painter.drawText(box, align, written(value, ".3g"))

    def _words(self, place: int) -> str:
        if self._sample is None or not self._sample.values:
            return ""
        number, value = self._sample.first + place, self._sample.values[place]
        lines = [tr("element {number:,}: {value:.6g}", number=number, value=value)]
        if self._trial is not None:
            name, value = self._trial.type_name, self._trial.values[place]
            lines.append(tr("as {type}: {value:.6g}", type=name, value=value))
        return "\n".join(lines)

    def _area(self) -> QRectF:
        metrics = self.fontMetrics()
        left = metrics.horizontalAdvance("-0.0123 ")
        return QRectF(self.rect()).adjusted(left, metrics.height() / 2, -8, -metrics.height() / 2)

    def _reach(self) -> float:
        values = self._sample.values if self._sample is not None else ()
        return max((abs(v) for v in values if v == v and abs(v) < float("inf")), default=0) or 1.0

    def _x(self, number: float) -> float:
        assert self._sample is not None
        area = self._area()
        return area.left() + (number + 0.5) * area.width() / len(self._sample.values)

    def _y(self, value: float) -> float:
        area, reach = self._area(), self._reach()
        bounded = max(-reach, min(reach, value))
        return area.center().y() - bounded / reach * area.height() / 2

    def _place_at(self, x: float) -> int:
        if self._sample is None or not self._sample.values:
            return 0
        area, count = self._area(), len(self._sample.values)
        return max(0, min(count - 1, int((x - area.left()) / max(1, area.width()) * count)))
