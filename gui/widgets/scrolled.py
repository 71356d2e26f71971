"""A widget that scrolls where there is no room for all of it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


def scrolled(widget: QWidget, name: str) -> QScrollArea:
    """The area around the widget, as wide as there is room; ``name`` is for screen readers.

    The keyboard goes to what stands in it; the page keys reach the area all the same.
    """
    return _frameless(QScrollArea(), widget, name)


def yielding(widget: QWidget, name: str) -> QScrollArea:
    """The same for what shrinks by itself: it scrolls only where not even its least size is there,
    and never asks for a larger window."""
    return _frameless(_Yielding(), widget, name)


def _frameless(area: QScrollArea, widget: QWidget, name: str) -> QScrollArea:
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setAccessibleName(name)
    area.setWidgetResizable(not isinstance(area, _Yielding))
    area.setWidget(widget)
    return area


class PageOfWords(QWidget):
    """What stands in a scroll area of Qt's and has texts that wrap: as high as they are at the
    width it has. Qt would keep the height that they need in the narrowest window, and scroll into
    nothing below them."""

    def minimumSizeHint(self) -> QSize:
        """The height follows from the width."""
        return QSize(super().minimumSizeHint().width(), 0)


class _Yielding(QScrollArea):
    """Qt's own gives a page of wrapped words all the height that it would like to have."""

    def sizeHint(self) -> QSize:
        """As large as the widget would like to be."""
        inside = self.widget()
        return inside.sizeHint() if inside is not None else super().sizeHint()

    def minimumSizeHint(self) -> QSize:
        """A few words and lines."""
        metrics = self.fontMetrics()
        return QSize(20 * metrics.averageCharWidth(), 3 * metrics.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The widget follows."""
        super().resizeEvent(event)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The widget asks for another least size; the area is asked for nothing."""
        answer = super().eventFilter(watched, event)
        if event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return answer

    def _fit(self) -> None:
        inside, room = self.widget(), self.maximumViewportSize()
        if inside is None:
            return
        width = max(room.width(), inside.minimumSizeHint().width())
        height = max(room.height(), _least_height(inside, width))
        if height > room.height():
            width = max(
                room.width() - self.verticalScrollBar().sizeHint().width(),
                inside.minimumSizeHint().width(),
            )
            height = max(room.height(), _least_height(inside, width))
        inside.resize(width, height)


def _least_height(widget: QWidget, width: int) -> int:
    layout = widget.layout()
    if layout is not None and layout.hasHeightForWidth():
        return layout.totalMinimumHeightForWidth(width)
    return widget.minimumSizeHint().height()
