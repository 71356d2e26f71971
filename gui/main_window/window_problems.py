"""What is wrong: with the program, with what was to be opened, with the open file, in its model."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal

from core.language import mark, tr
from core.problems import Problem, Severity
from gui.document import Document
from gui.main_window.file_watch import FileWatch
from gui.panels.problem_area import ProblemArea

EARLIER_CRASH = Problem(
    "crashed",
    mark("The program ended with an error the last time."),
    advice=mark(
        "What happened is in its log, which stays on this computer. A report of the error needs it."
    ),
    severity=Severity.NOTE,
)


class WindowProblems(ProblemArea):
    """The banners of the window. Failures stand until there are others, or something is opened; the
    rest stands as long as it is so."""

    reload_asked = Signal()
    log_asked = Signal()

    def __init__(self, document: Document, file_watch: FileWatch) -> None:
        super().__init__(
            {
                "file-changed": tr("Reload"),
                "crashed": tr("Open log"),
                "internal": tr("Open log"),
            }
        )
        self._document = document
        self._file_watch = file_watch
        self._failures: tuple[Problem, ...] = ()
        self._notes: tuple[Problem, ...] = ()  # about the program itself
        self.stack.acted.connect(self._act_on)
        document.model_changed.connect(self._show)
        file_watch.differs.connect(self._show)

    def show_failures(self, problems: Sequence[Problem]) -> None:
        """Say what has just failed, and no more what failed before."""
        self._failures = tuple(problems)
        self._show()

    def show_failure_inside(self, sentence: str) -> None:
        """Say that the program itself failed, besides whatever else did."""
        advice = tr("The file can be opened again. A report of this error needs the log.")
        self.show_failures((*self._failures, Problem("internal", sentence, advice=advice)))

    def show_earlier_crash(self) -> None:
        """Say that the program fell over the last time, and offer its log."""
        self._notes = (EARLIER_CRASH,)
        self._show()

    def _show(self) -> None:
        model = self._document.model
        found = (*model.file.problems, *model.problems) if model else ()
        serious = [p for p in found if p.severity is not Severity.NOTE]
        self.set_problems([*self._notes, *self._failures, *self._file_watch.problems, *serious])

    def _act_on(self, problem: Problem) -> None:
        """The button of a banner."""
        (self.reload_asked if problem.code == "file-changed" else self.log_asked).emit()
