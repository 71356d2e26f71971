"""Decode ceiling over depth. This part is light; what draws the curve is loaded after the first
paint, because it takes longer to import than the window takes to appear."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QStackedLayout, QVBoxLayout, QWidget

from core.language import tr
from core.plan.plan import DepthPoint
from core.units import format_rate, format_rates, format_tokens
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Spoken, ToldLate
from gui.widgets.text import Style, Text

if TYPE_CHECKING:
    from gui.widgets.plot_canvas import PlotCanvas


@dataclass(frozen=True, slots=True)
class Curve:
    """What is drawn: ``reserved`` from depth 0 to the context, ``beyond`` from there to the end of
    the axis at ``last_depth``, a marker at ``depth``, and ``spilled`` where the memory is too
    small. Points are ascending by depth. ``measured`` are depths and rates of the user's own runs.
    """

    reserved: tuple[DepthPoint, ...]
    beyond: tuple[DepthPoint, ...]
    depth: int
    last_depth: int
    spilled: tuple[DepthPoint, ...] = ()
    measured: tuple[tuple[int, float], ...] = ()

    def nearest(self, depth: float) -> DepthPoint | None:
        """The point closest to a depth; None where no rate is known."""
        points = self.reserved + self.beyond
        if not points or points[0].tok_s is None:
            return None
        after = bisect_left(points, depth, key=lambda p: p.depth)
        around = points[max(after - 1, 0) : after + 1]
        return min(around, key=lambda p: abs(p.depth - depth))


def sentence(curve: Curve) -> str:
    """The curve in words."""
    first, last = curve.reserved[0], curve.reserved[-1]
    if first.tok_s is None or last.tok_s is None:
        return tr("The decode ceiling is not known.")
    facts = {
        "first": format_rate(first.tok_s),
        "last": format_rate(last.tok_s),
        "tokens": format_tokens(last.depth),
    }
    words = [tr("The decode ceiling is {first} at depth 0 and {last} at {tokens} tokens.", **facts)]
    if curve.beyond and curve.beyond[-1].tok_s is not None:
        end = curve.beyond[-1]
        words = [
            tr(
                "The decode ceiling is {first} at depth 0 and {last} at {tokens} tokens; with more "
                "context it would be {more} at {end}.",
                more=format_rate(end.tok_s or 0.0),
                end=format_tokens(end.depth),
                **facts,
            )
        ]
    if first.mid is not None and last.mid is not None:
        words.append(
            tr(
                "Published runs lead to expect {first} at depth 0 and {last} at {tokens} tokens.",
                first=_span(first),
                last=_span(last),
                tokens=format_tokens(last.depth),
            )
        )
    if curve.measured:
        told = ", ".join(
            tr("{rate} at {tokens}", rate=format_rate(rate), tokens=format_tokens(depth))
            for depth, rate in curve.measured
        )
        words.append(tr("Measured: {rates}.", rates=told))
    if curve.spilled:
        point = curve.spilled[-1]
        words.append(
            tr(
                "From about {tokens} tokens the memory is too small; a driver that spills into RAM "
                "leaves {rate} at {end}.",
                tokens=format_tokens(curve.spilled[0].depth),
                rate=format_rate(point.tok_s or 0.0),
                end=format_tokens(point.depth),
            )
        )
    return " ".join(words)


def at_point(point: DepthPoint, spilled: tuple[DepthPoint, ...] = ()) -> str:
    """One point of the curve in words."""
    words = tr(
        "{rate} at {tokens} tokens at most",
        rate=format_rate(point.tok_s or 0.0),
        tokens=format_tokens(point.depth),
    )
    if point.mid is not None:
        words = tr("{ceiling}, {span} expected", ceiling=words, span=_span(point))
    slow = next((p.tok_s for p in spilled if p.depth == point.depth), None)
    if slow is None:
        return words
    return tr("{rates}; {slow} where the driver spills", rates=words, slow=format_rate(slow))


def _span(point: DepthPoint) -> str:
    return format_rates(point.low or 0.0, point.high or 0.0)


class CeilingPlot(ToldLate, QWidget, Spoken):
    """Shows a `Curve`, or a sentence where there is none, with ``remedy`` under it."""

    def __init__(self, remedy: QWidget | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._curve: Curve | None = None
        self.canvas: PlotCanvas | None = None
        self._asked = False
        self._words = Text("", Style.MUTED, wrap=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._without = QWidget()
        column = QVBoxLayout(self._without)
        column.addStretch(1)
        column.addWidget(self._words)
        if remedy is not None:
            column.addWidget(remedy, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._without)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Decode ceiling by depth"))
        Picture(self)

    def set_curve(self, curve: Curve) -> None:
        """Draw this; nothing happens where it is drawn already."""
        if curve == self._curve:
            return
        self._curve = curve
        self._show()

    def set_words(self, words: str) -> None:
        """Say why there is no curve."""
        if self._curve is None and self._words.text() == words:
            return
        self._curve = None
        self._words.set_text(words)
        self._show()

    def in_words(self) -> str:
        """The curve, or why there is none, for a screen reader."""
        return sentence(self._curve) if self._curve is not None else self._words.text()

    def spoken_value(self) -> str:
        """The rate at the marker, for a screen reader."""
        point = self._curve.nearest(self._curve.depth) if self._curve is not None else None
        return at_point(point) if point is not None else ""

    def sizeHint(self) -> QSize:
        """Seven lines high at least, with room for the axis and a few labels; it takes more."""
        metrics = self.fontMetrics()
        return QSize(40 * metrics.averageCharWidth(), 7 * metrics.height())

    def minimumSizeHint(self) -> QSize:
        """May become narrower."""
        return QSize(24 * self.fontMetrics().averageCharWidth(), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The first paint asks for the part that draws."""
        if not self._asked:
            self._asked = True
            QTimer.singleShot(0, self, self._load)

    def changeEvent(self, event: QEvent) -> None:
        """The plot library does not follow the palette by itself."""
        if event.type() is QEvent.Type.PaletteChange and self.canvas is not None:
            self.canvas.dress()
        super().changeEvent(event)

    def _load(self) -> None:
        from gui.widgets.plot_canvas import PlotCanvas

        self.canvas = PlotCanvas()
        self._stack.addWidget(self.canvas.widget)
        self._show()

    def _show(self) -> None:
        self.words_changed()
        if self._curve is None:
            self._stack.setCurrentWidget(self._without)
        elif self.canvas is not None:
            self.canvas.set_curve(self._curve)
            self._stack.setCurrentWidget(self.canvas.widget)
        else:
            self._words.set_text("")
