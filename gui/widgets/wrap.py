"""Children side by side, wrapping to the next line where there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import QEvent, QRect, QSize
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from shiboken6 import isValid

# A child with its place: it may be hidden long before the layout hears of it.
Places: TypeAlias = list[tuple[QWidget, QRect]]


class Wrap(QWidget):
    """``uniform`` gives all children the same width, so that they form columns: that of the widest,
    and up to a third more to fill the line.
    ``last_right`` puts the last child at the right edge where it shares a line with others."""

    def __init__(
        self,
        *,
        uniform: bool = False,
        last_right: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._uniform = uniform
        self._last_right = last_right
        self._cells: list[QWidget] = []
        self._known: dict[int, Places] = {}  # by width
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_cells(self, cells: Sequence[QWidget]) -> None:
        """Show these, in this order; others that were shown are hidden, not deleted."""
        if list(cells) == self._shown() == self._cells:
            return  # whether one of them changed its size it says itself
        for old in self._cells:
            if old not in cells:
                old.hide()
        self._cells = list(cells)
        for cell in cells:
            if cell.parentWidget() is not self:
                cell.setParent(self)
            cell.show()
        self._changed()

    def hasHeightForWidth(self) -> bool:
        """Narrower is higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height of all lines at this width."""
        return max((place.bottom() + 1 for _, place in self._places(width)), default=0)

    def sizeHint(self) -> QSize:
        """As high as it is at its present width."""
        hints = [cell.sizeHint().width() for cell in self._shown()]
        return QSize(max(hints, default=0), self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        """As wide as the widest child must be."""
        return QSize(max((c.minimumSizeHint().width() for c in self._shown()), default=0), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the children anew."""
        self._place()

    def showEvent(self, event: QShowEvent) -> None:
        """What the children became in the meantime counts now."""
        super().showEvent(event)
        self._changed()

    def event(self, event: QEvent) -> bool:
        """A child wants another size, was shown or hidden, or is no child any more."""
        if event.type() is QEvent.Type.ChildRemoved:
            self._cells = [c for c in self._cells if isValid(c) and c.parentWidget() is self]
            self._known = {}
        if event.type() is QEvent.Type.LayoutRequest:
            self._changed()
            return True
        return super().event(event)

    def _shown(self) -> list[QWidget]:
        return [cell for cell in self._cells if not cell.isHidden()]

    def _changed(self) -> None:
        before = self._known
        self._known = {}
        if any(places != self._places(width) for width, places in before.items()) or not before:
            self.updateGeometry()
        self._place()

    def _place(self) -> None:
        for cell, place in self._places(self.width()):
            cell.setGeometry(place)

    def _places(self, width: int) -> Places:
        if not self.isVisible():
            return self._compute(width)  # nobody tells a hidden parent that a child changed
        places = self._known.get(width)
        if places is None:
            places = self._known[width] = self._compute(width)
        return places

    def _compute(self, width: int) -> Places:
        gap = 2 * self.fontMetrics().averageCharWidth()
        shown = self._shown()
        hints = [cell.sizeHint() for cell in shown]
        widest = max((hint.width() for hint in hints), default=0)
        line_height = max((hint.height() for hint in hints), default=0)
        between = line_height // 6
        if self._uniform and widest:
            columns = max(1, (width + gap) // (widest + gap))
            widest = max(widest, min((width + gap) // columns - gap, widest * 4 // 3))
        x = y = 0
        places: list[QRect] = []
        for hint in hints:
            taken = min(widest if self._uniform else hint.width(), width)
            if x and x + taken > width:
                x, y = 0, y + line_height + between
            places.append(QRect(x, y + (line_height - hint.height()) // 2, taken, hint.height()))
            x += taken + gap
        if self._last_right and places and x > places[-1].width() + gap:
            places[-1].moveRight(width - 1)
        return list(zip(shown, places, strict=True))
