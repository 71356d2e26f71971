"""Lanes of a cache as it fills: a lane for each kind of layer, a column for every few tokens."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.explain.story import Lane, Story
from core.language import tr, trn
from core.plan.plan import PartKind
from core.units import UnitSystem, format_bytes
from gui import theme
from gui.widgets.spoken import Spoken

_COLUMNS = 64  # of the context


class CachePicture(QWidget, Spoken):
    """Draws a moment of a story. What is drawn is said in words by whoever shows it.

    A full cell is kept and read by the next token, an outlined one was written and is of no use any
    more, an empty one is reserved and not written yet; the last full one is the newest.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._story: Story | None = None
        self._depth = 0
        self._units = UnitSystem.GIB
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("What the layers keep"))

    def show_moment(self, story: Story | None, depth: int, units: UnitSystem) -> None:
        """Show a story with so many tokens in the cache."""
        if story is not self._story:
            self._story = story
            self.updateGeometry()
        self._depth, self._units = depth, units
        self.setAccessibleDescription("; ".join(self._said(lane) for lane in self._lanes))
        self.update()

    def spoken_value(self) -> str:
        """How far the context is filled, for a screen reader."""
        return tr("{count:,} tokens", count=self._depth) if self._story is not None else ""

    def sizeHint(self) -> QSize:
        """Two lines of text for each lane."""
        metrics = self.fontMetrics()
        lanes = max(1, len(self._lanes))
        return QSize(50 * metrics.averageCharWidth(), lanes * self._pitch(metrics))

    def minimumSizeHint(self) -> QSize:
        """May be half as wide."""
        return QSize(self.sizeHint().width() // 2, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Words above every lane, its cells below them."""
        if self._story is None:
            return
        painter = QPainter(self)
        metrics = self.fontMetrics()
        pitch = self._pitch(metrics)
        for number, lane in enumerate(self._lanes):
            top = number * pitch
            self._draw_words(painter, QRect(0, top, self.width(), metrics.height()), lane)
            cells = QRect(
                0, top + metrics.height() + 2, self.width() - 1, metrics.height() * 3 // 2
            )
            if lane.state:
                self._draw_state(painter, cells)
            else:
                self._draw_cells(painter, cells, lane)

    @property
    def _lanes(self) -> tuple[Lane, ...]:
        return self._story.lanes if self._story is not None else ()

    def _pitch(self, metrics: QFontMetrics) -> int:
        return 3 * metrics.height() + metrics.height() // 4

    def _said(self, lane: Lane) -> str:
        size = format_bytes(lane.kept(self._depth), self._units)
        layers = trn("{count} layer", "{count} layers", lane.layers)
        return f"{tr(lane.name)}, {layers}: {size}"

    def _draw_words(self, painter: QPainter, line: QRect, lane: Lane) -> None:
        c = theme.colors()
        size = format_bytes(lane.kept(self._depth), self._units)
        room = painter.fontMetrics().horizontalAdvance(size + "  ")
        painter.setPen(QColor(c.text))
        painter.drawText(line, int(Qt.AlignmentFlag.AlignRight), size)
        layers = trn("{count} layer", "{count} layers", lane.layers)
        name = tr(lane.name)
        words = f"{name[:1].upper()}{name[1:]}, {layers}"
        painter.setPen(QColor(c.muted))
        left = line.adjusted(0, 0, -room, 0)
        elided = painter.fontMetrics().elidedText(
            words, Qt.TextElideMode.ElideRight, max(0, left.width())
        )
        painter.drawText(left, int(Qt.AlignmentFlag.AlignLeft), elided)

    def _draw_cells(self, painter: QPainter, cells: QRect, lane: Lane) -> None:
        c = theme.colors()
        tone = c.tone(PartKind.CACHE)
        assert self._story is not None
        context = max(1, self._story.context)
        first, last = lane.kept_from(self._depth), self._depth
        for column in range(_COLUMNS):
            left = cells.left() + column * cells.width() // _COLUMNS
            right = cells.left() + (column + 1) * cells.width() // _COLUMNS
            box = QRect(left, cells.top(), max(1, right - left - 1), cells.height())
            begin, end = column * context // _COLUMNS, (column + 1) * context // _COLUMNS
            if begin >= last:  # not written yet
                painter.setPen(QPen(QColor(c.line), 1, Qt.PenStyle.DotLine))
                painter.drawRect(box.adjusted(0, 0, -1, -1))
            elif end <= first:  # written, out of the window
                painter.setPen(QPen(QColor(tone.color), 1))
                painter.drawRect(box.adjusted(0, 0, -1, -1))
            else:
                painter.fillRect(box, QColor(tone.color))
                if end >= last:  # the newest
                    painter.fillRect(box, QColor(c.accent))

    def _draw_state(self, painter: QPainter, cells: QRect) -> None:
        """One box that is read and written again by every token, wherever the context ends."""
        c = theme.colors()
        tone = c.tone(PartKind.STATE)
        box = QRect(cells.left(), cells.top(), cells.width() // 6, cells.height())
        theme.fill(painter, box, tone, c.window)
        painter.setPen(QColor(c.muted))
        words = cells.adjusted(box.width() + painter.fontMetrics().averageCharWidth(), 0, 0, 0)
        text = painter.fontMetrics().elidedText(
            tr("of the same size from the first token to the last"),
            Qt.TextElideMode.ElideRight,
            words.width(),
        )
        painter.drawText(
            words, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text
        )
