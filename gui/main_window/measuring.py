"""The pages "Measure" and "History" of a window, and the history that both share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from core.machine.machine import Machine
from gui.document import Document
from gui.workers.runner import Runner

if TYPE_CHECKING:
    from gui.panels.history.page import HistoryPage
    from gui.panels.measure.page import MeasurePage
    from gui.workers.run_history import RunHistory


class Measuring(QObject):
    """Makes each page when it is first asked for. ``folder`` says where the user keeps llama.cpp,
    ``check_log`` opens the check with llama.cpp for a log."""

    folder_chosen = Signal(str)
    measure_asked = Signal()  # bring the page "Measure" to the front
    runs_found = Signal(tuple)  # of `OwnRun`: what was measured on this computer

    def __init__(
        self,
        document: Document,
        path: Path,
        folder: Callable[[], str],
        check_log: Callable[[str], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._folder = folder
        self._check_log = check_log
        self._path = path
        self._looked_at: Machine | None = None
        self._looker = Runner("own runs", self)
        self._looker.finished.connect(self.runs_found)
        document.machine_changed.connect(self._look)
        self._measure: MeasurePage | None = None
        self._history_page: HistoryPage | None = None

    @cached_property
    def history(self) -> RunHistory:
        """What was measured before; imported when somebody first asks, after the first paint."""
        from gui.workers.run_history import RunHistory

        history = RunHistory(self._path, self)
        history.changed.connect(self._look_again)
        return history

    def _look(self) -> None:
        """This computer is known, or is another one: what was measured on it?"""
        machine = self._document.this_computer
        if machine is None or (
            self._looked_at is not None and machine.devices == self._looked_at.devices
        ):
            return
        from gui.workers.run_history import reading_own_runs

        self._looked_at = machine
        self._looker.start(reading_own_runs(self._path, machine))

    def _look_again(self) -> None:
        """Runs were added, deleted or brought back; a run under way is looked at when it ends."""
        self._looked_at = None
        if not self.busy:
            self._look()

    @property
    def busy(self) -> bool:
        """Whether a run goes on."""
        return self._measure is not None and self._measure.busy

    @property
    def serving(self) -> bool:
        """Whether a server runs that ends with this window."""
        return self._measure is not None and self._measure.own.server.running

    def measure_page(self) -> MeasurePage:
        """A run against a server."""
        from gui.panels.measure.page import MeasurePage

        page = MeasurePage(self._document, self.history, self._folder())
        page.folder_chosen.connect(self.folder_chosen)
        page.log_asked.connect(self._check_log)
        self._measure = page
        return page

    def history_page(self) -> HistoryPage:
        """Earlier runs."""
        from gui.panels.history.page import HistoryPage

        self._history_page = HistoryPage(self._document, self.history)
        self._history_page.resume_asked.connect(self._take_up)
        return self._history_page

    def _take_up(self, run_id: str) -> None:
        """An interrupted run of the history comes back to where it can be resumed."""
        stored = self.history.load(run_id)
        self.measure_asked.emit()
        if stored is not None and self._measure is not None:
            self._measure.take_up(stored)

    def end(self) -> None:
        """The window closes: no worker and no server of ours stays behind, no note is lost."""
        if self._measure is not None:
            self._measure.end()
        if self._history_page is not None:
            self._history_page.end()
        if "history" in vars(self):
            self.history.close()
