"""What is dropped on the window, and what is shown while something hovers over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from core.gguf.names import is_projector
from core.language import mark, tr
from core.problems import Problem, Severity
from gui import theme
from gui.main_window.engine_check import LOG_NAMES
from gui.panels.plan.beside import Beside
from gui.widgets.dropping import dropped_files, dropped_link
from gui.widgets.text import Style

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow

NOT_LOCAL = Problem(
    "not_local",
    mark("What was dropped is neither a file of this computer nor a link to one on a web server."),
    Severity.WARNING,
    mark("Drop a GGUF file, or the address of one."),
)


def leave_to_window(widget: QWidget) -> None:
    """A file may be dropped anywhere, on text fields too: none of this widget takes it."""
    for part in (widget, *widget.findChildren(QWidget)):
        part.setAcceptDrops(False)


def take(window: MainWindow, data: QMimeData) -> None:
    """Open what was dropped, or say why not. To an open model a projector is attached, and a log
    is held against its plan."""
    names, is_open = dropped_files(data), window.document.model is not None
    if names and is_open and names[0].lower().endswith(LOG_NAMES):
        window.engine_check.open_log(Path(names[0]))
    elif names and is_open and is_projector(Path(names[0]).name):
        window.attaching.attach(Beside.PROJECTOR, Path(names[0]))
    elif names:
        window.opening.open_first(names)
    elif link := dropped_link(data):
        window.finding.open_text(link)
    else:
        window.problems.show_failures((NOT_LOCAL,))


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
