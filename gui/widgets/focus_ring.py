"""A ring around the control that the keyboard is on.

What Qt's own style draws there differs from its ground by 1.3 to 2 times in lightness; WCAG 2.2
(1.4.11) asks for 3. The ring has two lines, of the accent and of the ground, so that one of them
stands out of any control. It comes with the keyboard and goes with the mouse.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from gui import theme
from gui.widgets.spoken import Role, Spoken
from gui.widgets.text import qt_app

# Tables and pictures show it in their own way, and so does a control that has `marks_itself`.
_KINDS = (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)
_WIDTH = 2


class FocusRings(QObject):
    """Puts the one ring on whatever control of the application has the keyboard."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._ring: _Ring | None = None
        qt_app().focusChanged.connect(self._follow)

    def _follow(self, _before: QWidget | None, now: QWidget | None) -> None:
        ring, self._ring = self._ring, None
        if ring is not None and isValid(ring):
            ring.leave()
        host = _host(now)
        if host is not None and host.window().testAttribute(
            Qt.WidgetAttribute.WA_KeyboardFocusChange
        ):
            self._ring = _Ring(host)


def _host(now: QWidget | None) -> QWidget | None:
    """The control to mark: the whole box and not the line in it."""
    while now is not None and isinstance(now.parentWidget(), (QComboBox, QAbstractSpinBox)):
        now = now.parentWidget()
    marks_itself = getattr(now, "marks_itself", False)
    return now if isinstance(now, _KINDS) and not marks_itself else None


class _Ring(QWidget, Spoken):
    """Lies over its parent, moves and scrolls with it, and takes nothing from it."""

    spoken_role = Role.Whitespace

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        host.installEventFilter(self)
        if isinstance(host, QTabBar):
            host.currentChanged.connect(self._fit)
        self._fit()
        self.show()

    def leave(self) -> None:
        """The keyboard went on."""
        self.hide()
        self._host.removeEventFilter(self)
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """As large as its host."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._fit()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        """Two lines, along the edge."""
        painter, colors = QPainter(self), theme.colors()
        for inside in range(_WIDTH + 1):
            line = self.rect().adjusted(inside, inside, -inside, -inside)
            theme.draw_frame(painter, line, colors.accent if inside < _WIDTH else colors.base)

    def _fit(self) -> None:
        host = self._host
        place: QRect = host.rect()
        if isinstance(host, QTabBar) and host.count():
            place = host.tabRect(host.currentIndex())
        self.setGeometry(place)
        self.raise_()
