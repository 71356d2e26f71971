"""A slider over stops that are not evenly spaced, and the line below it that marks one value.

The slider moves from stop to stop. A value between two stops can be shown, and the next arrow key
goes to the neighbouring stop.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSlider,
    QSizePolicy,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QStylePainter,
    QWidget,
)

from gui import theme
from gui.widgets.spoken import Role, Spoken

# Slider positions between two neighbouring stops; fine enough for a pixel on any screen.
_FINE = 1000
_MOST_TICKS = 20
_TICK = 3  # pixels
_Action = QAbstractSlider.SliderAction


class StopSlider(QSlider):
    """``chosen`` carries the value of the stop that the user went to; ``moved`` says that values
    lie elsewhere on it."""

    chosen = Signal(int)
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._stops: tuple[int, ...] = (0,)
        self.setSingleStep(_FINE)
        # Room for ticks; they are drawn here, because Fusion's do not show on a dark ground.
        self.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.actionTriggered.connect(self._aim)
        self.valueChanged.connect(lambda position: self.chosen.emit(self._value_at(position)))

    @property
    def stops(self) -> tuple[int, ...]:
        """The values of the stops, ascending."""
        return self._stops

    def set_stops(self, stops: Sequence[int]) -> None:
        """Offer these ascending values; the slider goes to the first."""
        if tuple(stops) == self._stops:
            return
        self._stops = tuple(stops)
        last = len(stops) - 1
        with QSignalBlocker(self):
            self.setRange(0, last * _FINE)
            self.setPageStep(_FINE * max(2, last // 5))
        self.update()
        self.moved.emit()

    def set_value(self, value: int) -> None:
        """Show a value, also one between the stops or beyond them."""
        with QSignalBlocker(self):
            self.setValue(self._position_of(value))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Longer or shorter."""
        super().resizeEvent(event)
        self.moved.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt's slider with ticks of our own."""
        painter = QStylePainter(self)
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        handle = QStyle.SubControl.SC_SliderHandle
        option.subControls = QStyle.SubControl.SC_SliderGroove | handle
        if self.isSliderDown():
            option.activeSubControls = handle
        c = theme.colors()
        painter.setPen(QColor(c.muted if self.isEnabled() else c.line))
        foot = self.height() - 1
        length = self._handle()
        span, last = self.width() - length, max(len(self._stops) - 1, 1)
        for stop in range(0, len(self._stops), -(-len(self._stops) // _MOST_TICKS)):
            x = length // 2 + span * stop // last
            painter.drawLine(x, foot - _TICK, x, foot)
        painter.drawComplexControl(QStyle.ComplexControl.CC_Slider, option)

    def x_of(self, value: int) -> int:
        """Where the handle's middle stands for a value, in pixels."""
        handle = self._handle()
        position = self._position_of(value)
        span = self.width() - handle
        return handle // 2 + QStyle.sliderPositionFromValue(0, self.maximum(), position, span)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A press beside the handle goes to the stop under the pointer."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        control = QStyle.ComplexControl.CC_Slider
        part = self.style().hitTestComplexControl(control, option, event.position().toPoint(), self)
        on_handle = part is QStyle.SubControl.SC_SliderHandle
        if event.button() is not Qt.MouseButton.LeftButton or on_handle:
            super().mousePressEvent(event)
            return
        self.setSliderDown(True)
        self.setSliderPosition(self._under(event.position().toPoint().x()))
        self.setSliderDown(False)
        event.accept()

    def _under(self, x: int) -> int:
        handle = self._handle()
        at = x - handle // 2
        position = QStyle.sliderValueFromPosition(0, self.maximum(), at, self.width() - handle)
        return _FINE * round(position / _FINE)

    def _handle(self) -> int:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        return self.style().pixelMetric(QStyle.PixelMetric.PM_SliderLength, option, self)

    def _aim(self, action: int) -> None:
        """Turn every movement by the user into one that ends on a stop."""
        here = self.value()
        page = self.pageStep() // _FINE
        below, above = -(-here // _FINE), here // _FINE  # steps count from these stops
        match _Action(action):
            case _Action.SliderSingleStepAdd:
                stop = above + 1
            case _Action.SliderSingleStepSub:
                stop = below - 1
            case _Action.SliderPageStepAdd:
                stop = above + page
            case _Action.SliderPageStepSub:
                stop = below - page
            case _Action.SliderToMinimum:
                stop = 0
            case _Action.SliderToMaximum:
                stop = len(self._stops) - 1
            case _Action.SliderMove:
                stop = round(self.sliderPosition() / _FINE)
            case _:
                return
        self.setSliderPosition(_FINE * min(max(stop, 0), len(self._stops) - 1))

    def _value_at(self, position: int) -> int:
        return self._stops[round(position / _FINE)]

    def _position_of(self, value: int) -> int:
        stops = self._stops
        right = bisect_right(stops, value)
        if right == 0:
            return 0
        if right == len(stops):
            return _FINE * (len(stops) - 1)
        left = right - 1
        share = (value - stops[left]) / (stops[right] - stops[left])
        return _FINE * left + round(_FINE * share)


class SliderMark(QWidget, Spoken):
    """A line below a slider that points at one of its values."""

    spoken_role = Role.StaticText

    def __init__(self, slider: StopSlider, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slider = slider
        self._value: int | None = None
        self._words = ""
        slider.moved.connect(self.update)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_mark(self, value: int | None, words: str) -> None:
        """Point at a value, with words; only the words for None."""
        if (value, words) != (self._value, self._words):
            self._value, self._words = value, words
            self.setAccessibleName(words)
            self.update()

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(0, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The words beside a triangle that points up at the slider."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = self.fontMetrics().horizontalAdvance(self._words)
        left = 0
        if self._value is not None:
            size = self.fontMetrics().averageCharWidth() * 0.6
            x = float(self._slider.x_of(self._value))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.colors().accent))
            painter.drawPolygon(
                [QPointF(x - size, 1.5 * size), QPointF(x + size, 1.5 * size), QPointF(x, 0)]
            )
            left = round(x + 2 * size)
            if left + width > self.width():
                left = round(x - 2 * size) - width
        painter.setPen(self.palette().placeholderText().color())
        place = QRect(max(left, 0), 0, self.width(), self.height())
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), self._words)


def doubling_stops(first: int, last: int) -> tuple[int, ...]:
    """Powers of two from ``first`` to below ``last``, then ``last`` itself.

    ``first`` is a power of two; where ``last`` is not above it, it is the only stop.
    """
    stops = []
    stop = first
    while stop < last:
        stops.append(stop)
        stop *= 2
    return (*stops, last)
