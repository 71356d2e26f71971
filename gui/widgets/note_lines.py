"""Problems as quiet lines beside what they are about: an icon, and what to do in one go."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.problems import Problem, Severity
from gui import theme
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style


class NoteLines(QWidget):
    """Shows these problems, one line each; hidden where there are none.

    While it is held it never gives room back, so that nothing jumps under a slider that is dragged.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: list[_Line] = []
        self._held = False
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(self.fontMetrics().height() // 4)
        self.hide()

    def set_problems(self, problems: Sequence[Problem]) -> None:
        """Show these, in this order, each once."""
        wanted = list(dict.fromkeys(problems))
        while len(self.lines) > len(wanted):
            line = self.lines.pop()
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        while len(self.lines) < len(wanted):
            self.lines.append(_Line())
            self._column.addWidget(self.lines[-1])
        for line, problem in zip(self.lines, wanted, strict=True):
            line.show_problem(problem)
        if self._held:
            self.setMinimumHeight(max(self.minimumHeight(), self.height()))
        shown = bool(wanted) or (self._held and not self.isHidden())
        if self.isHidden() is shown:
            self.setVisible(shown)

    def hold(self, held: bool) -> None:
        """Keep the room that problems have taken, or give back what is not needed."""
        self._held = held
        if not held:
            self.setMinimumHeight(0)
            self.setVisible(bool(self.lines))


class _Line(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._icon = _Icon()
        self.text = LiveText(Style.BODY, wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth())
        row.addWidget(self._icon)
        row.addWidget(self.text, 1)

    def show_problem(self, problem: Problem) -> None:
        self._icon.set_severity(problem.severity)
        word = theme.colors().severity(problem.severity).word
        self.text.set_text(" ".join(w for w in (f"{word}: {problem.message}", problem.advice) if w))


class _Icon(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._severity = Severity.NOTE
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Minimum)

    def set_severity(self, severity: Severity) -> None:
        if severity is not self._severity:
            self._severity = severity
            self.update()

    def sizeHint(self) -> QSize:
        side = self.fontMetrics().height()
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        side = self.fontMetrics().ascent()
        mark = theme.colors().severity(self._severity)
        top = (self.fontMetrics().height() - side) // 2
        theme.draw_icon(QPainter(self), QRect(0, top, side, side), mark.icon, mark.color)
