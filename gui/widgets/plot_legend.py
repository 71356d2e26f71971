"""What the lines and areas of a plot are, in words beside a piece of each."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from gui import theme

# A piece of each line in letters.
_PIECES = {
    Qt.PenStyle.SolidLine: "———",
    Qt.PenStyle.DashLine: "– – –",
    Qt.PenStyle.DotLine: "·····",
    Qt.PenStyle.DashDotLine: "–·–·–",
}
_DOT = "●"


class Key(NamedTuple):
    """One line of a legend. ``color`` names a colour of the theme; ``area`` fills behind it,
    ``dot`` stands in place of a line."""

    words: str
    color: str
    style: Qt.PenStyle = Qt.PenStyle.SolidLine
    width: int = 1
    area: bool = False
    dot: bool = False


def area_brush(color: str) -> QBrush:
    """How an area is filled: a veil of its colour."""
    veil = QColor(color)
    veil.setAlphaF(0.22)
    return QBrush(veil)


class Legend(QGraphicsItem):
    """Draws its keys over an opaque ground, so that grid lines do not run through the words.

    One key below the other, or in two columns where that is asked for."""

    def __init__(self, parent: QGraphicsItem, font: QFont) -> None:
        super().__init__(parent)
        self._font = font
        self._keys: tuple[Key, ...] = ()
        self._columns = 1
        self._bounds = QRectF()

    @property
    def keys(self) -> tuple[Key, ...]:
        """What is told."""
        return self._keys

    def html(self) -> str:
        """The same for a tooltip, where the plot has no room: a piece of each line, its words."""
        c = theme.colors()
        lines = (
            f'<span style="color:{getattr(c, key.color)}">'
            f"<b>{_DOT if key.dot else _PIECES[key.style]}</b></span> {escape(key.words)}"
            for key in self._keys
        )
        return f'<p style="white-space:pre">{"<br>".join(lines)}</p>'

    def set_keys(self, keys: Sequence[Key], columns: int = 1) -> None:
        """Tell these, in so many columns."""
        if (tuple(keys), columns) != (self._keys, self._columns):
            self.prepareGeometryChange()
            self._keys, self._columns = tuple(keys), columns
            self._bounds = self.bounds_of(keys, columns)

    def bounds_of(self, keys: Sequence[Key], columns: int) -> QRectF:
        """The room that these keys take."""
        metrics = QFontMetricsF(self._font)
        lines = -(-len(keys) // columns)
        return QRectF(0, 0, columns * self._width(keys), lines * metrics.height())

    def _width(self, keys: Sequence[Key]) -> float:
        """Of one column."""
        metrics = QFontMetricsF(self._font)
        widest = max((metrics.horizontalAdvance(key.words) for key in keys), default=0.0)
        return widest + 4 * metrics.height()

    def boundingRect(self) -> QRectF:
        """As many lines as there are keys, or half of that."""
        return self._bounds

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """A piece of each line or area, and its words."""
        c = theme.colors()
        painter.fillRect(self._bounds, QColor(c.window))
        height = QFontMetricsF(self._font).height()
        painter.setFont(self._font)
        lines = -(-len(self._keys) // self._columns)
        width = self._bounds.width() / self._columns
        for number, key in enumerate(self._keys):
            column, line = divmod(number, lines)
            left = column * width
            color, middle = getattr(c, key.color), (line + 0.5) * height
            if key.area:
                swatch = QRectF(left + height / 2, middle - 0.35 * height, 2 * height, 0.7 * height)
                painter.fillRect(swatch, area_brush(color))
            if key.dot:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(color))
                painter.drawEllipse(QPointF(left + 1.5 * height, middle), 4, 4)
            else:
                painter.setPen(QPen(QColor(color), key.width, key.style))
                painter.drawLine(QLineF(left + height / 2, middle, left + 2.5 * height, middle))
            painter.setPen(QColor(c.muted))
            place = self._bounds.adjusted(left + 3 * height, line * height, 0, 0)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft), key.words)
