"""The bytes of one token as a bar: what is read for it, part by part, at the chosen depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.language import tr
from core.units import UnitSystem, format_bytes, format_exact_bytes, format_share
from gui import theme
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Spoken


class Segment(NamedTuple):
    """One part: its name, its bytes, the tone that it is drawn in, and what is counted together
    in it."""

    name: str
    bytes: int
    tone: theme.Toned | None
    holds: tuple[str, ...] = ()

    @property
    def whole_name(self) -> str:
        """The name, with what it holds where that is several things."""
        return f"{self.name} ({', '.join(self.holds)})" if self.holds else self.name


def sentence(segments: Sequence[Segment], units: UnitSystem) -> str:
    """The bar in words, the largest part first."""
    if not segments:
        return tr("What one token reads is not known.")
    total = sum(each.bytes for each in segments)
    parts = sorted(segments, key=lambda each: -each.bytes)
    words = ", ".join(f"{each.whole_name} {format_bytes(each.bytes, units)}" for each in parts)
    return tr("One token reads {size}: {parts}.", size=format_bytes(total, units), parts=words)


class TokenBar(QWidget, Spoken):
    """Segments to scale; the width stands for ``whole`` bytes, so that the bar grows with depth.

    A segment with room for it carries its name and size; every one explains itself on hover.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._segments: tuple[Segment, ...] = ()
        self._whole = 0
        self._units = UnitSystem.GIB
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Bytes of one token by part"))
        Picture(self)

    def set_segments(self, segments: Sequence[Segment], whole: int, units: UnitSystem) -> None:
        """Draw these; nothing happens where they are drawn already."""
        state = (tuple(segments), whole, units)
        if state == (self._segments, self._whole, self._units):
            return
        self._segments, self._whole, self._units = state
        self.setAccessibleDescription(sentence(segments, units))
        self.update()

    def spoken_value(self) -> str:
        """All of it, for a screen reader."""
        total = sum(each.bytes for each in self._segments)
        return format_bytes(total, self._units) if total else ""

    def sizeHint(self) -> QSize:
        """A line and a bit."""
        metrics = self.fontMetrics()
        return QSize(30 * metrics.averageCharWidth(), round(1.3 * metrics.height()))

    def minimumSizeHint(self) -> QSize:
        """May become a third as wide."""
        return QSize(self.sizeHint().width() // 3, self.sizeHint().height())

    def edges(self) -> list[tuple[Segment, int, int]]:
        """Every segment with its left and right edge in pixels, as drawn."""
        total = sum(each.bytes for each in self._segments)
        scale = self.width() / max(self._whole, total, 1)
        made, at = [], 0
        for each in self._segments:
            made.append((each, round(at * scale), round((at + each.bytes) * scale)))
            at += each.bytes
        return made

    def paintEvent(self, event: QPaintEvent) -> None:
        """Segments from the left, with words where they have room, and a frame for the whole."""
        c = theme.colors()
        painter = QPainter(self)
        box = self.rect()
        painter.fillRect(box, QColor(c.base))
        metrics = self.fontMetrics()
        for each, left, right in self.edges():
            if right <= left:
                continue
            gap = 1 if right - left > 2 else 0
            area = QRect(left, box.top(), right - left - gap, box.height())
            theme.fill(painter, area, c.tone(each.tone), c.base)
            words = self._words(each, right - left - metrics.height())
            if words:
                size = QSize(metrics.horizontalAdvance(words), metrics.height())
                ground = QRect(area.topLeft(), size + QSize(metrics.height() // 2, 0))
                ground.moveCenter(area.center())
                painter.fillRect(ground, QColor(c.base))
                painter.setPen(QColor(c.text))
                painter.drawText(ground, int(Qt.AlignmentFlag.AlignCenter), words)
        theme.draw_frame(painter, box, c.muted)

    def event(self, event: QEvent) -> bool:
        """Hovering a part tells its bytes."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            total = sum(each.bytes for each in self._segments)
            for each, left, right in self.edges():
                if left <= event.pos().x() < right:
                    words = tr(
                        "{name}: {size} ({exact}), {share} of what one token reads",
                        name=each.whole_name,
                        size=format_bytes(each.bytes, self._units),
                        exact=format_exact_bytes(each.bytes),
                        share=format_share(each.bytes / total),
                    )
                    QToolTip.showText(event.globalPos(), words, self)
                    return True
            more = self._whole - total
            if self._segments and more > 0:
                words = tr(
                    "{size} more are read for a token at the right end of the curve, where "
                    "the cache is fullest",
                    size=format_bytes(more, self._units),
                )
                QToolTip.showText(event.globalPos(), words, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def _words(self, segment: Segment, room: int) -> str:
        """Name and size, the name alone, or nothing, as there is room."""
        metrics = self.fontMetrics()
        both = f"{segment.name} {format_bytes(segment.bytes, self._units)}"
        return next((w for w in (both, segment.name) if metrics.horizontalAdvance(w) <= room), "")
