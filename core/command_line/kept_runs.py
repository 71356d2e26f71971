"""The history as `measure` keeps it: the one that the window shows."""

from __future__ import annotations

from core.command_line.output import complain
from core.command_line.requests import BadRequestError
from core.measure.events import CellDone, Ended, Event
from core.measure.history import History, HistoryError, PlanSnapshot, Stored, history_path
from core.measure.run import Run, RunStatus
from core.problems import Problem

LAST = "last"
_GOES_ON = (RunStatus.STOPPED, RunStatus.FAILED)


class KeptRuns:
    """Keeps a run as it grows. What cannot be kept costs a word on standard error, never the
    measurement."""

    def __init__(self) -> None:
        self._history = History(history_path())
        self._told = False
        if self._history.problem is not None:
            self._tell(self._history.problem)

    def begin(self, run: Run, plan: PlanSnapshot | None) -> None:
        """A run begins, or goes on."""
        try:
            self._history.begin(run, plan)
        except HistoryError as error:
            self._tell(error.problem)

    def take(self, event: Event, run: Run) -> None:
        """What happened, and the run after it: each cell is safe when this returns."""
        try:
            match event:
                case CellDone(cell=cell):
                    self._history.keep_cell(run.id, cell)
                case Ended():
                    self._history.finish(run)
        except HistoryError as error:
            self._tell(error.problem)

    def close(self) -> None:
        """Let go of the file."""
        self._history.close()

    def to_resume(self, words: str) -> Stored:
        """The run that was stopped or failed last, or the one whose id begins so.

        Raises BadRequestError.
        """
        try:
            if words == LAST:
                found = [e.id for e in self._history.lines() if e.status in _GOES_ON][:1]
            else:
                found = [e.id for e in self._history.lines() if e.id.startswith(words.lower())]
            stored = self._history.load(found[0]) if len(found) == 1 else None
        except HistoryError as error:
            raise BadRequestError(error.problem.message) from None
        if len(found) > 1:
            raise BadRequestError(f"the ids of {len(found)} runs begin with {words}")
        if stored is None:
            which = "was stopped or failed" if words == LAST else f"has an id that begins {words}"
            raise BadRequestError(f"no run of the history {which}")
        if stored.run.status not in _GOES_ON:
            raise BadRequestError(f"the run {words} is finished: there is nothing to resume")
        return stored

    def _tell(self, problem: Problem) -> None:
        """Once: a disk that is full is full at every cell."""
        if not self._told:
            self._told = True
            complain(f"{problem.message} {problem.advice}".rstrip())
