"""A picture of lines, bands and points over one axis, and what is drawn in words.

This part is light; what draws is loaded after the first paint (`gui.widgets.chart_plot`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QLineF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QStackedLayout, QVBoxLayout, QWidget

from core.language import trn
from gui import theme
from gui.widgets.pictures import Picture
from gui.widgets.plot_legend import area_brush
from gui.widgets.spoken import Role, Spoken
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

if TYPE_CHECKING:
    from gui.widgets.chart_plot import ChartPlot


class Ink(Enum):
    """How a series is drawn: each differs from the others by more than its colour."""

    CEILING = "ceiling"  # a solid line in the accent
    BAND = "band"  # an area with a dotted line in it
    POINTS = "points"  # filled points with whiskers
    OTHER = "other"  # hollow points with whiskers and a dashed line
    STEMS = "stems"  # a line down from each point


class Dot(NamedTuple):
    """A value at ``x``; ``low`` and ``high`` are the ends of its whisker or its band."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One thing that is drawn, with its name for the legend."""

    name: str
    ink: Ink
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``x_last`` is the end of the axis, ``depths`` whether it counts tokens. ``words`` say what is
    seen, for who does not see it."""

    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_last: float
    words: str
    depths: bool = True

    @property
    def top(self) -> float:
        """The largest value that is drawn."""
        values = [d.y if d.high is None else max(d.y, d.high) for s in self.series for d in s.dots]
        return max(values, default=0.0)


class ChartView(QWidget, Spoken):
    """Shows a `Chart` with its legend above, or a sentence where there is none."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chart: Chart | None = None
        self._asked = False
        self.plot: ChartPlot | None = None
        self.setAccessibleName(name)
        Picture(self)
        self.legend = Wrap()
        self._keys: tuple[tuple[str, Ink], ...] = ()
        self._words = Text("", Style.MUTED, wrap=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._place = QWidget()
        self._stack = QStackedLayout(self._place)
        self._stack.addWidget(self._words)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        column.addWidget(self.legend)
        column.addWidget(self._place, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def chart(self) -> Chart | None:
        """What is drawn now."""
        return self._chart

    def set_chart(self, chart: Chart) -> None:
        """Draw this; nothing happens where it is drawn already."""
        if chart != self._chart:
            self._chart = chart
            self._show()

    def set_words(self, words: str) -> None:
        """Say why nothing is drawn."""
        self._chart = None
        self._words.set_text(words)
        self._show()

    def spoken_value(self) -> str:
        """How much is drawn, for a screen reader."""
        count = sum(len(s.dots) for s in self._chart.series) if self._chart is not None else 0
        return trn("{count} value", "{count} values", count)

    def sizeHint(self) -> QSize:
        """Some twelve lines high with its legend."""
        metrics = self.fontMetrics()
        return QSize(44 * metrics.averageCharWidth(), 12 * metrics.height())

    def minimumSizeHint(self) -> QSize:
        """May become narrower."""
        return QSize(24 * self.fontMetrics().averageCharWidth(), self.sizeHint().height())

    def hasHeightForWidth(self) -> bool:
        """A legend of two lines takes its room from the picture."""
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        """The first paint asks for the part that draws."""
        if not self._asked:
            self._asked = True
            QTimer.singleShot(0, self, self._load)

    def changeEvent(self, event: QEvent) -> None:
        """The plot library does not follow the palette by itself."""
        if event.type() is QEvent.Type.PaletteChange and self.plot is not None:
            self.plot.dress()
        super().changeEvent(event)

    def _load(self) -> None:
        from gui.widgets.chart_plot import ChartPlot

        self.plot = ChartPlot()
        # Its own wish for room (640 x 480) is not asked for.
        ignored = QSizePolicy.Policy.Ignored
        self.plot.widget.setSizePolicy(ignored, ignored)
        self._stack.addWidget(self.plot.widget)
        self._show()

    def _show(self) -> None:
        chart = self._chart
        self._show_legend(chart)
        if chart is None:
            self._stack.setCurrentWidget(self._words)
            self.setAccessibleDescription(self._words.text())
            return
        self.setAccessibleDescription(chart.words)
        if self.plot is not None:
            self.plot.set_chart(chart)
            self._stack.setCurrentWidget(self.plot.widget)
        else:
            self._words.set_text("")

    def _show_legend(self, chart: Chart | None) -> None:
        keys = tuple((s.name, s.ink) for s in chart.series if s.name) if chart else ()
        if keys == self._keys:
            return
        self._keys = keys
        self.legend.set_cells([_Key(name, ink) for name, ink in keys])
        self.legend.setVisible(bool(keys))


class _Key(QWidget, Spoken):
    """A piece of what is drawn, and its name."""

    spoken_role = Role.StaticText

    def __init__(self, name: str, ink: Ink) -> None:
        super().__init__()
        self._name = name
        self._ink = ink
        self.setAccessibleName(name)
        self.setFont(Style.MUTED.font())

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._name) + 3 * metrics.height(), metrics.height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        height = self.fontMetrics().height()
        sample = QRectF(0, 0, 2 * height, height)
        draw_sample(painter, sample, self._ink)
        painter.setPen(QColor(theme.colors().muted))
        place = self.rect().adjusted(round(2.5 * height), 0, 0, 0)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), self._name)


def draw_sample(painter: QPainter, place: QRectF, ink: Ink) -> None:
    """A piece of a series, for a legend."""
    c = theme.colors()
    middle = place.center()
    match ink:
        case Ink.CEILING:
            painter.setPen(QPen(QColor(c.accent), 2))
            painter.drawLine(QLineF(place.left(), middle.y(), place.right(), middle.y()))
        case Ink.BAND:
            painter.fillRect(place.adjusted(0, 3, 0, -3), area_brush(c.good))
            painter.setPen(QPen(QColor(c.good), 2, Qt.PenStyle.DotLine))
            painter.drawLine(QLineF(place.left(), middle.y(), place.right(), middle.y()))
        case Ink.STEMS:
            painter.setPen(QPen(QColor(c.accent), 1))
            for share in (0.2, 0.5, 0.8):
                x = place.left() + share * place.width()
                painter.drawLine(QLineF(x, place.bottom() - 2, x, place.top() + 3))
        case Ink.POINTS | Ink.OTHER:
            other = ink is Ink.OTHER
            color = QColor(c.muted if other else c.text)
            painter.setPen(QPen(color, 1.5))
            painter.drawLine(QLineF(middle.x(), place.top() + 1, middle.x(), place.bottom() - 1))
            painter.setBrush(QColor(c.window) if other else color)
            painter.drawEllipse(middle, 4, 4)
