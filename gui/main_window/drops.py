"""What is dropped on the window, and what is shown while something hovers over it."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QRectF, Qt, QUrl
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from core.language import mark, tr
from core.problems import Problem, Severity
from core.remote import is_link
from gui import theme
from gui.widgets.text import Style

NOT_LOCAL = Problem(
    "not_local",
    mark("What was dropped is neither a file of this computer nor a link to one on a web server."),
    Severity.WARNING,
    mark("Drop a GGUF file, or the address of one."),
)


def dropped_files(data: QMimeData) -> list[str]:
    """Those of what was dropped that lie on this computer.

    Whether one is a folder is for the reader to find out: the disk may be slow.
    """
    return [url.toLocalFile() for url in data.urls() if url.isLocalFile()]


def dropped_link(data: QMimeData) -> str:
    """The first of what was dropped that is the address of a web server; "" for none."""
    found = (url.toString(QUrl.ComponentFormattingOption.FullyEncoded) for url in data.urls())
    return next((text for text in found if is_link(text)), "")


class DropHint(QWidget):
    """Lies over the whole window while a file hovers over it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def cover(self) -> None:
        """Cover the parent."""
        self.setGeometry(self._window.rect())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A veil with a dashed border and a sentence."""
        c = theme.colors()
        painter = QPainter(self)
        veil = QColor(c.window)
        veil.setAlphaF(0.9)
        painter.fillRect(self.rect(), veil)
        painter.setPen(QPen(QColor(c.accent), 2, Qt.PenStyle.DashLine))
        space = self.fontMetrics().height()
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(space, space, -space, -space), space / 2, space / 2
        )
        painter.setFont(Style.HEADLINE.font())
        painter.setPen(QColor(c.text))
        words = tr("Drop to weigh this file")
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), words)
