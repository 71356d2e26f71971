"""The history of measurements for all pages of a window: opened when first needed, and who shows
it hears of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QObject, Signal

from core.machine.machine import Machine, OwnRun
from core.measure.history import History, HistoryError, Listed, PlanSnapshot, Stored
from core.measure.history.own_runs import own_runs_in
from core.measure.run import Cell, Run
from core.problems import Problem
from gui.workers.runner import Function, Handle

_Act: TypeAlias = Callable[[History], None]


class RunHistory(QObject):
    """Every method tells ``failed`` what went wrong instead of raising."""

    changed = Signal()
    failed = Signal(Problem)

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self._history: History | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def problem(self) -> Problem | None:
        """What is wrong with the file, if anything."""
        return self._open().problem

    def close(self) -> None:
        """Let go of the file; it is opened again where somebody asks."""
        if self._history is not None:
            self._history.close()
            self._history = None

    def all(self) -> tuple[Stored, ...]:
        """Every run, the latest first; without telemetry."""
        try:
            return self._open().all()
        except HistoryError as error:
            self.failed.emit(error.problem)
            return ()

    def lines(self) -> tuple[Listed, ...]:
        """Every run as a list shows it, the latest first."""
        try:
            return self._open().lines()
        except HistoryError as error:
            self.failed.emit(error.problem)
            return ()

    def load(self, run_id: str) -> Stored | None:
        """One run with everything."""
        try:
            return self._open().load(run_id)
        except HistoryError as error:
            self.failed.emit(error.problem)
            return None

    def reading(self, run_ids: Iterable[str]) -> Callable[[], tuple[Stored, ...]]:
        """What gives these runs with everything, from whatever thread calls it."""
        ids = tuple(run_ids)
        if self.problem is not None:  # what there is, is in memory
            found = tuple(entry for run_id in ids if (entry := self.load(run_id)) is not None)
            return lambda: found
        return lambda: _loaded(self._path, ids)

    def begin(self, run: Run, plan: PlanSnapshot | None) -> None:
        """A run has begun."""
        self._do(lambda history: history.begin(run, plan))

    def keep_cell(self, run_id: str, cell: Cell) -> None:
        """A cell is finished."""
        self._do(lambda history: history.keep_cell(run_id, cell))

    def finish(self, run: Run) -> None:
        """A run has ended."""
        self._do(lambda history: history.finish(run))

    def rename(self, run_id: str, title: str) -> None:
        """Call it so."""
        self._do(lambda history: history.rename(run_id, title))

    def note(self, run_id: str, notes: str) -> None:
        """Keep these notes with it. Nobody needs to show the list anew for that."""
        self._do(lambda history: history.note(run_id, notes), quietly=True)

    def delete(self, run_ids: Iterable[str]) -> None:
        """Take these out of the list."""
        chosen = tuple(run_ids)
        self._do(lambda history: history.delete(chosen))

    def restore(self, run_ids: Iterable[str]) -> None:
        """Bring these back."""
        chosen = tuple(run_ids)
        self._do(lambda history: history.restore(chosen))

    def add(self, stored: Iterable[Stored]) -> int:
        """Take runs in; how many were new."""
        entries = tuple(stored)
        new = 0
        try:
            new = self._open().add(entries)
        except HistoryError as error:
            self.failed.emit(error.problem)
        if new:
            self.changed.emit()
        return new

    def _do(self, act: _Act, quietly: bool = False) -> None:
        try:
            act(self._open())
        except HistoryError as error:
            self.failed.emit(error.problem)
            return
        if not quietly:
            self.changed.emit()

    def _open(self) -> History:
        if self._history is None:
            self._history = History(self._path)
            try:
                self._history.purge()
            except HistoryError as error:
                self.failed.emit(error.problem)
        return self._history


def _loaded(path: Path, run_ids: Iterable[str]) -> tuple[Stored, ...]:
    """Runs of a file. Raises HistoryError."""
    history = History(path, mend=False)
    try:
        return tuple(entry for run_id in run_ids if (entry := history.load(run_id)) is not None)
    finally:
        history.close()


def reading_own_runs(path: Path, machine: Machine) -> Function:
    """What was measured on this machine. Answers a tuple of `OwnRun`; never on the GUI thread, as
    a long history takes a second."""

    def read(handle: Handle) -> tuple[OwnRun, ...]:
        return own_runs_in(path, machine)

    return read
