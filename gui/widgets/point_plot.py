"""Points that can be pointed at, walked through with the arrow keys, and taken."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import hypot
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from core.language import tr, trn
from gui.theme import Colors
from gui.widgets.plot_frame import Frame, FramedPlot

_NAMED = 4  # of the points that lie with another
_REACH = 10.0  # pixels around the pointer
_PAGE = 20  # points that a page key goes on by
_ALL = 1 << 30
_TAKE = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
_STEPS = {
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Up: 1,
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Down: -1,
    Qt.Key.Key_PageDown: _PAGE,
    Qt.Key.Key_PageUp: -_PAGE,
    Qt.Key.Key_Home: -_ALL,
    Qt.Key.Key_End: _ALL,
}


class Placed(Protocol):
    """A point: its place on the axes, and all about it in lines."""

    @property
    def id(self) -> str: ...
    @property
    def across(self) -> float: ...
    @property
    def up(self) -> float: ...
    @property
    def told(self) -> str: ...


P = TypeVar("P", bound=Placed)


class PointPlot(FramedPlot, Generic[P]):
    """``taken`` carries the id of a point that was clicked, or reached with the keyboard and taken
    with Enter; ``pointed`` that of the one that is told about, "" for none."""

    taken = Signal(str)
    pointed = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._dots: tuple[P, ...] = ()
        self._current = -1
        self._told = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)

    @property
    def dots(self) -> tuple[P, ...]:
        """What is drawn, from left to right."""
        return self._dots

    @property
    def current(self) -> P | None:
        """The point that the keyboard is on."""
        return self._dots[self._current] if 0 <= self._current < len(self._dots) else None

    def place_dots(self, dots: Sequence[P]) -> None:
        """Show these, from left to right; the keyboard stays on its point."""
        before = self.current
        self._dots = tuple(sorted(dots, key=lambda dot: (dot.across, dot.up, dot.id)))
        ids = [dot.id for dot in self._dots]
        self._current = ids.index(before.id) if before and before.id in ids else -1
        self.describe()
        self.update()

    def rank(self, dot: P) -> Any:
        """Of several points at one place the one with the least comes first."""
        return dot.id

    def spoken_value(self) -> str:
        """The point that the keyboard is on, for a screen reader."""
        dot = self.current
        if dot is not None:
            return dot.told.partition("\n")[0]
        return trn("{count} point", "{count} points", len(self._dots))

    @abstractmethod
    def summary(self) -> str:
        """What is drawn, for a screen reader."""

    def describe(self) -> None:
        """Tell a screen reader what is drawn, or the point that the keyboard is on."""
        dot = self.current
        self.setAccessibleDescription(dot.told.replace("\n", ", ") if dot else self.summary())

    def draw_current(self, painter: QPainter, frame: Frame, colors: Colors) -> None:
        """A box around the point that the keyboard is on."""
        current = self.current
        if current is not None and self.hasFocus():
            where = frame.place(current.across, current.up)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colors.accent), 2))
            painter.drawRect(QRectF(where.x() - 10, where.y() - 10, 20, 20))

    def nearest(self, place: QPointF) -> P | None:
        """The point under the pointer, if there is one."""
        return next(iter(self._close(place)), None)

    def told_at(self, place: QPointF) -> str:
        """All about the nearest point, and the names of those that lie with it."""
        close = self._close(place)
        if not close:
            return ""
        others = [dot.told.partition("\n")[0] for dot in close[1:]]
        if not others:
            return close[0].told
        names = ", ".join(others[:_NAMED])
        if len(others) <= _NAMED:
            near = tr("near it: {names}", names=names)
        else:
            count = len(others) - _NAMED
            near = tr("near it: {names} and {count} more", names=names, count=count)
        return f"{close[0].told}\n{near}"

    def _close(self, place: QPointF) -> list[P]:
        """Points under the pointer, the nearest first."""
        frame = self._frame_now()
        if frame is None:
            return []
        close = []
        for dot in self._dots:
            where = frame.place(dot.across, dot.up)
            distance = hypot(where.x() - place.x(), where.y() - place.y())
            if distance <= _REACH:
                close.append((round(distance), self.rank(dot), dot.id, dot))
        return [dot for *_, dot in sorted(close, key=lambda each: each[:3])]

    # What Qt asks.

    def event(self, event: QEvent) -> bool:
        """Say which points lie under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.told_at(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A hand over what can be clicked."""
        dot = self.nearest(event.position())
        shape = Qt.CursorShape.PointingHandCursor if dot else Qt.CursorShape.ArrowCursor
        self.setCursor(shape)
        self._point_at(dot)

    def leaveEvent(self, event: QEvent) -> None:
        """What the keyboard is on is told again."""
        super().leaveEvent(event)
        self._point_at(None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click takes the point."""
        dot = self.nearest(event.position())
        if dot is not None and event.button() is Qt.MouseButton.LeftButton:
            self.taken.emit(dot.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows, page keys, Home and End walk from point to point; Enter takes one."""
        step = _STEPS.get(Qt.Key(event.key()))
        if not self._dots or (step is None and event.key() not in _TAKE):
            super().keyPressEvent(event)
            return
        if step is None:
            if self.current is not None:
                self.taken.emit(self.current.id)
            return
        first = self._current < 0 and abs(step) < _ALL  # who comes here begins at the left
        self._current = 0 if first else min(max(self._current + step, 0), len(self._dots) - 1)
        self.describe()
        self.update()
        self._point_at(None)
        self._tell_current()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was told leaves with the keyboard."""
        super().focusOutEvent(event)
        QToolTip.hideText()

    def _point_at(self, dot: P | None) -> None:
        told = dot or self.current
        found = told.id if told is not None else ""
        if found != self._told:
            self._told = found
            self.pointed.emit(found)

    def _tell_current(self) -> None:
        frame, dot = self._frame_now(), self.current
        if frame is not None and dot is not None:
            where = frame.place(dot.across, dot.up).toPoint()
            QToolTip.showText(self.mapToGlobal(where), dot.told, self)

    def _frame_now(self) -> Frame | None:
        return self.frame(QRectF(self.rect()), QFontMetricsF(self.font()))
