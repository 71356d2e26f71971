"""How severe a problem is, as an icon beside the first line of its words."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.language import tr
from core.problems import Severity
from gui import theme
from gui.widgets.spoken import Role, Spoken


class SeverityIcon(QWidget, Spoken):
    """As high as a line of text. What it says of the words beside it is its name."""

    spoken_role = Role.Graphic

    def __init__(self, severity: Severity = Severity.NOTE, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._severity = severity
        self.setAccessibleName(_word(severity))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Minimum)

    def set_severity(self, severity: Severity) -> None:
        """Show another one."""
        if severity is not self._severity:
            self._severity = severity
            self.setAccessibleName(_word(severity))
            self.update()

    def sizeHint(self) -> QSize:
        """A square of one line."""
        side = self.fontMetrics().height()
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The icon in the colour of its severity."""
        metrics = self.fontMetrics()
        side = metrics.ascent()
        top = (min(self.height(), self.sizeHint().height()) - side) // 2
        mark = theme.colors().severity(self._severity)
        theme.draw_icon(QPainter(self), QRect(0, top, side, side), mark.icon, mark.color)


def _word(severity: Severity) -> str:
    return tr(theme.colors().severity(severity).word)
