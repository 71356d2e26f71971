"""Problems as quiet lines beside what they are about: an icon, and what to do in one go."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.language import tr
from core.problems import Problem
from gui import theme
from gui.widgets.live_text import LiveText
from gui.widgets.rows import fit_rows
from gui.widgets.severity_icon import SeverityIcon
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
        fit_rows(self._column, self.lines, len(wanted), _Line)
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
        self._icon = SeverityIcon()
        self.text = LiveText(Style.BODY, wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth())
        row.addWidget(self._icon)
        row.addWidget(self.text, 1)

    def show_problem(self, problem: Problem) -> None:
        self._icon.set_severity(problem.severity)
        word = theme.colors().severity(problem.severity).word
        words = (f"{word}: {tr(problem.message)}", tr(problem.advice))
        self.text.set_text(" ".join(filter(None, words)))
