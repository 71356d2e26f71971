"""A figure on the screen which says how it was come by, and which a click copies."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QToolTip, QWidget

from core.language import tr
from core.provenance import Number, explain, format_value
from core.units import UnitSystem
from gui.widgets.spoken import ToldLate
from gui.widgets.text import Style, qt_app

_COPIED_MS = 1500
_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


def explanation_html(name: str, text: str) -> str:
    """The text of `explain` as a tooltip: first line strong, nothing in it taken for markup."""
    first, _, rest = text.partition("\n")
    title = f"{escape(name)}: {escape(first)}" if name else escape(first)
    lines = "<br>".join(escape(line) for line in rest.split("\n")) if rest else ""
    return f"<div style='white-space:pre-wrap'><b>{title}</b><br>{lines}</div>"


class FactLabel(ToldLate, QAbstractButton):
    """Shows a `Number`. Hover, keyboard focus and a screen reader get its explanation; a click,
    Enter or Space copies what is shown.

    ``name`` says what the figure is ("KV cache"), for the explanation and the screen reader.
    ``style`` is how it is drawn; an unknown value is drawn muted. ``widest`` is a text for which
    there is always room, so that nothing is laid out anew while a figure slides.
    """

    marks_itself = True

    def __init__(
        self,
        name: str = "",
        *,
        style: Style = Style.BODY,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        widest: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._name = name
        self._style = style
        self._widest = widest
        self._align = align | Qt.AlignmentFlag.AlignVCenter
        self._number: Number[int] | Number[float] | None = None
        self._units = UnitSystem.GIB
        self._text: str | None = None
        self._shown = ""
        self._hint = QSize()
        self._follow_font()
        qt_app().fontChanged.connect(self._follow_font)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.clicked.connect(self._copy)

    @property
    def shown(self) -> str:
        """The text on the screen."""
        return self._shown

    def set_number(
        self,
        number: Number[int] | Number[float] | None,
        units: UnitSystem = UnitSystem.GIB,
        text: str | None = None,
        *,
        name: str | None = None,
    ) -> None:
        """Show a figure, in ``text`` where the place asks for another form than its unit's own,
        and under another ``name`` where one is given.

        None clears the label. Nothing happens where the same is shown already.
        """
        renamed = name is not None and name != self._name
        if renamed:
            self._name = name or ""
        elif number is self._number and units is self._units and text == self._text:
            return
        self._text = text
        shown = text
        if shown is None:
            shown = "" if number is None else format_value(number.value, number.unit, units)
        if shown != self._shown:
            self._shown = shown
            self._measure()
            self.update()
        elif not renamed and units == self._units and number == self._number:
            return
        self._number = number
        self._units = units
        self._describe()

    def explanation(self) -> str:
        """How the figure was come by, in lines; empty without a figure."""
        return explain(self._number, self._units) if self._number is not None else ""

    def in_words(self) -> str:
        """The explanation, for a screen reader."""
        return self.explanation()

    def sizeHint(self) -> QSize:
        """Room for the text. Digits are equally wide in most fonts: sliding moves nothing."""
        if not self._hint.isValid():
            self._measure()
        return self._hint

    def minimumSizeHint(self) -> QSize:
        """A figure is never cut."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text; a dotted line under it while the pointer is on it, a ground and a full line
        while it has the focus."""
        painter = QPainter(self)
        known = self._number is None or self._number.known
        role = self._style.role if known else QPalette.ColorRole.PlaceholderText
        color = self.palette().color(role)
        if self.hasFocus():
            painter.fillRect(self.rect(), self.palette().alternateBase())
            line = QRect(0, self.height() - 2, self.width(), 2)
            painter.fillRect(line, self.palette().highlight())
        painter.setPen(color)
        drawn = painter.drawText(self.rect(), int(self._align), self._shown)
        if self.underMouse() and not self.hasFocus() and self._number is not None:
            painter.setPen(QPen(color, 1, Qt.PenStyle.DotLine))
            painter.drawLine(drawn.left(), drawn.bottom(), drawn.right(), drawn.bottom())

    def event(self, event: QEvent) -> bool:
        """The tooltip is made when it is asked for."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            self._explain_at(event.globalPos())
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who walks by keyboard sees what others see on hover."""
        super().focusInEvent(event)
        if event.reason() in _KEYBOARD:
            # Qt tells the style of the new focus as well, and that hides every tooltip.
            QTimer.singleShot(0, self, self._explain_focus)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The explanation leaves with the focus."""
        super().focusOutEvent(event)
        QToolTip.hideText()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter copies, as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def _follow_font(self) -> None:
        self.setFont(self._style.font())
        self._metrics = QFontMetrics(self.font())
        self._least = self._metrics.horizontalAdvance(self._widest)
        self._measure()

    def _measure(self) -> None:
        width = max(self._metrics.horizontalAdvance(self._shown), self._least)
        hint = QSize(width, self._metrics.height() + 2)
        if hint != self._hint:
            self._hint = hint
            self.updateGeometry()

    def _describe(self) -> None:
        name = f"{self._name}: {self._shown}" if self._name else self._shown
        self.setAccessibleName(name)
        self.words_changed()

    def _explain_at(self, position: QPoint) -> None:
        if self._number is not None:
            QToolTip.showText(position, explanation_html(self._name, self.explanation()), self)

    def _explain_focus(self) -> None:
        if self.hasFocus():
            self._explain_at(self.mapToGlobal(QPoint(0, self.height() // 2)))

    def _copy(self) -> None:
        if not self._shown:
            return
        QGuiApplication.clipboard().setText(self._shown)
        below = self.mapToGlobal(QPoint(0, self.height() // 2))
        QToolTip.showText(below, tr("copied {text}", text=self._shown), self, QRect(), _COPIED_MS)
