"""A plot that is painted by its own hands: axes, a picture of it as a file, and nothing to load."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.units import format_tokens
from gui import theme
from gui.theme import Colors
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Spoken


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: what it measures, its ends, the marks on it and what stands at each of them.

    A ``logarithmic`` axis has ends above 0.
    """

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]
    words: Callable[[float], str]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        if self.logarithmic:
            return log(max(value, 1e-9) / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Frame:
    """The inside of the axes on the paper, and how values become places in it."""

    inside: QRectF
    across: Axis
    up: Axis

    def place(self, x: float, y: float) -> QPointF:
        """Where a point lies on the paper."""
        return QPointF(
            self.inside.left() + self.across.share(x) * self.inside.width(),
            self.inside.bottom() - self.up.share(y) * self.inside.height(),
        )


class FramedPlot(QWidget, Spoken):
    """What plots with two axes share. A subclass says what its axes are and paints inside them.

    ``words`` stand in place of the plot where there is nothing to draw.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = ""
        self.setAccessibleName(name)
        Picture(self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @abstractmethod
    def axes(self) -> tuple[Axis, Axis] | None:
        """Across and up; None where there is nothing to draw."""

    @abstractmethod
    def draw(self, painter: QPainter, frame: Frame, colors: Colors) -> None:
        """Paint what lies inside the axes; ``painter`` is clipped to nothing."""

    def right_margin(self, metrics: QFontMetricsF) -> float:
        """Room for what stands to the right of the axes."""
        return metrics.horizontalAdvance(format_tokens(262_144)) / 2

    def head_height(self, metrics: QFontMetricsF, width: float) -> float:
        """Room for what stands above the axes."""
        return 0.0

    def draw_head(self, painter: QPainter, paper: QRectF, colors: Colors) -> None:
        """Paint what stands above the axes."""

    def set_words(self, words: str) -> None:
        """Why there is nothing to draw."""
        if words != self._words:
            self._words = words
            self.update()

    def frame(self, paper: QRectF, metrics: QFontMetricsF) -> Frame | None:
        """The axes on a paper of this size."""
        axes = self.axes()
        if axes is None:
            return None
        across, up = axes
        widest = max(metrics.horizontalAdvance(up.words(tick)) for tick in up.ticks)
        line = metrics.height()
        inside = paper.adjusted(
            widest + line * 0.6,
            self.head_height(metrics, paper.width()) + line * 1.5,
            -self.right_margin(metrics) - line * 0.5,
            -line * 2.6,
        )
        return Frame(inside, across, up) if inside.width() > 0 and inside.height() > 0 else None

    def paint(self, painter: QPainter, paper: QRectF, colors: Colors) -> None:
        """The whole plot on a piece of paper: a widget, an image, a drawing."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(paper, QColor(colors.window))
        metrics = QFontMetricsF(painter.font())
        if self.axes() is None:
            painter.setPen(QColor(colors.muted))
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(paper.adjusted(16, 16, -16, -16), int(flags), self._words)
            return
        frame = self.frame(paper, metrics)
        if frame is not None:
            self.draw_head(painter, paper, colors)
            _draw_axes(painter, frame, metrics, colors)
            self.draw(painter, frame, colors)

    def sizeHint(self) -> QSize:
        """Wide enough for a curve and its labels."""
        metrics = self.fontMetrics()
        return QSize(60 * metrics.averageCharWidth(), 16 * metrics.height())

    def minimumSizeHint(self) -> QSize:
        """May become narrower, never lower than a few lines."""
        metrics = self.fontMetrics()
        return QSize(36 * metrics.averageCharWidth(), 12 * metrics.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The plot, and an edge where it has the keyboard."""
        painter = QPainter(self)
        self.paint(painter, QRectF(self.rect()), theme.colors())
        if self.hasFocus():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            theme.draw_focus(painter, self.rect())

    def changeEvent(self, event: QEvent) -> None:
        """Colours are taken when it is painted."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()


def _draw_axes(painter: QPainter, frame: Frame, metrics: QFontMetricsF, colors: Colors) -> None:
    """Lines at the marks of the upright axis, words at those of both, and what they measure."""
    inside, line = frame.inside, metrics.height()
    grid, muted = QPen(QColor(colors.line), 1), QColor(colors.muted)
    for tick in frame.up.ticks:
        y = frame.place(frame.across.low, tick).y()
        painter.setPen(grid)
        painter.drawLine(QPointF(inside.left(), y), QPointF(inside.right(), y))
        painter.setPen(muted)
        words = frame.up.words(tick)
        left = inside.left() - line * 0.4 - metrics.horizontalAdvance(words)
        painter.drawText(QPointF(left, y + metrics.ascent() / 2 - 1), words)
    painter.setPen(grid)
    painter.drawLine(inside.bottomLeft(), inside.bottomRight())
    for tick, left, words in _apart(frame, metrics):
        x = frame.place(tick, frame.up.low).x()
        painter.setPen(grid)
        painter.drawLine(QPointF(x, inside.bottom()), QPointF(x, inside.bottom() + line * 0.25))
        painter.setPen(muted)
        painter.drawText(QPointF(left, inside.bottom() + line * 0.3 + metrics.ascent()), words)
    painter.setPen(muted)
    painter.drawText(QPointF(4, inside.top() - line * 0.6), frame.up.title)
    width = metrics.horizontalAdvance(frame.across.title)
    painter.drawText(
        QPointF(inside.center().x() - width / 2, inside.bottom() + line * 1.35 + metrics.ascent()),
        frame.across.title,
    )


def _apart(frame: Frame, metrics: QFontMetricsF) -> Sequence[tuple[float, float, str]]:
    """The marks across that have room for their words, with where those begin; the last mark
    comes before the others, since it is the end of the axis."""
    kept: list[tuple[float, float, str]] = []
    taken: list[tuple[float, float]] = []
    gap = metrics.horizontalAdvance("0")
    for tick in (frame.across.ticks[-1], *frame.across.ticks[:-1]):
        words = frame.across.words(tick)
        width = metrics.horizontalAdvance(words)
        left = frame.place(tick, frame.up.low).x() - width / 2
        if all(left > end + gap or left + width + gap < start for start, end in taken):
            taken.append((left, left + width))
            kept.append((tick, left, words))
    return kept
