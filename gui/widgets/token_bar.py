"""The bytes of one token as a bar: what is read for it, part by part, at the chosen depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QFocusEvent, QHelpEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.language import tr
from core.units import UnitSystem, format_bytes, format_exact_bytes, format_share
from gui import theme
from gui.widgets.elided_text import plain_tip
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Spoken, ToldLate

_NARROWEST = 4  # pixels of the frame around what the keyboard is on


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


class TokenBar(ToldLate, QWidget, Spoken):
    """Segments to scale; the width stands for ``whole`` bytes, so that the bar grows with depth.

    A segment with room for it carries its name and size; every one, and what is left of the width,
    explains itself on hover and to the arrow keys.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._segments: tuple[Segment, ...] = ()
        self._whole = 0
        self._units = UnitSystem.GIB
        self._current = -1  # what the keyboard is on
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
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
        self.words_changed()
        self.update()

    def in_words(self) -> str:
        """All parts, for a screen reader."""
        return sentence(self._segments, self._units)

    def spoken_value(self) -> str:
        """What the keyboard is on, or all of it, for a screen reader."""
        told = self.told()
        if self.hasFocus() and 0 <= self._current < len(told):
            return told[self._current][0]
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
        if self.hasFocus():
            told = self.told()
            theme.draw_focus(painter, box)
            if 0 <= self._current < len(told):
                _, left, right = told[self._current]
                width = max(right - left, _NARROWEST)
                left = min(left, box.width() - width)
                area = QRect(left, box.top(), width, box.height())
                theme.draw_focus(painter, area)
                theme.draw_focus(painter, area.adjusted(1, 1, -1, -1))

    def told(self) -> list[tuple[str, int, int]]:
        """Every part in words with its left and right edge in pixels, and what the rest of the
        width stands for."""
        total = sum(each.bytes for each in self._segments)
        made = [
            (
                tr(
                    "{name}: {size} ({exact}), {share} of what one token reads",
                    name=each.whole_name,
                    size=format_bytes(each.bytes, self._units),
                    exact=format_exact_bytes(each.bytes),
                    share=format_share(each.bytes / total),
                ),
                left,
                right,
            )
            for each, left, right in self.edges()
            if each.bytes
        ]
        more = self._whole - total
        if made and more > 0:
            words = tr(
                "{size} more are read for a token at the right end of the curve, where "
                "the cache is fullest",
                size=format_bytes(more, self._units),
            )
            made.append((words, made[-1][2], self.width()))
        return made

    def event(self, event: QEvent) -> bool:
        """Hovering a part tells its bytes."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            x = event.pos().x()
            words = next((w for w, left, right in self.told() if left <= x < right), "")
            QToolTip.showText(event.globalPos(), plain_tip(words) if words else "", self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows, Home and End walk from part to part."""
        last = len(self.told()) - 1
        places = {
            Qt.Key.Key_Left: max(self._current - 1, 0),
            Qt.Key.Key_Right: self._current + 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        place = places.get(Qt.Key(event.key()))
        if place is None or last < 0:
            super().keyPressEvent(event)
            return
        self._current = min(place, last)
        self._tell_current()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who walks by keyboard begins at the part where they were."""
        super().focusInEvent(event)
        self._current = max(self._current, 0)
        # Qt tells the style of the new focus as well, and that hides every tooltip.
        QTimer.singleShot(0, self, self._tell_current)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was told leaves with the keyboard."""
        super().focusOutEvent(event)
        QToolTip.hideText()

    def _tell_current(self) -> None:
        told = self.told()
        self.update()
        if self.hasFocus() and 0 <= self._current < len(told):
            words, left, right = told[self._current]
            where = self.mapToGlobal(QPoint((left + right) // 2, self.height()))
            QToolTip.showText(where, plain_tip(words), self)

    def _words(self, segment: Segment, room: int) -> str:
        """Name and size, the name alone, or nothing, as there is room."""
        metrics = self.fontMetrics()
        both = f"{segment.name} {format_bytes(segment.bytes, self._units)}"
        return next((w for w in (both, segment.name) if metrics.horizontalAdvance(w) <= room), "")
