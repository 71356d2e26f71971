"""The measuring process seen from the window, and the search for servers, off the GUI thread."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from core.gguf.header import Header
from core.measure import inner
from core.measure.clocks import utc_now
from core.measure.discovery import Found, discover, find
from core.measure.events import Ended, from_line, grown
from core.measure.job import Job
from core.measure.keys import Keys
from core.measure.run import Run, RunStatus
from core.measure.session import END_SECONDS, WORKER_GONE, job_line
from core.measure.vocabulary import words_of
from gui.workers.inner import InnerProcess
from gui.workers.runner import Function, Handle


class MeasureWorker(QObject):
    """One measurement at a time, in a process of its own: a window that draws in the same one
    would falsify every stamp."""

    happened = Signal(object)  # an Event; `run` has taken it in already
    ended = Signal()  # after the last event; the process is gone or going

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run: Run | None = None
        self._rest = ""
        self._over = True
        self._cancelled = False
        self.paused = False
        self.process = InnerProcess(self)
        self.process.said.connect(self._heard)
        self.process.ended.connect(self._gone)
        self._killer = QTimer(self)
        self._killer.setSingleShot(True)
        self._killer.timeout.connect(self._kill)

    @property
    def running(self) -> bool:
        """Whether more events will come."""
        return not self._over

    def start(self, job: Job) -> None:
        """Carry out this job. Nothing happens while another one runs."""
        if self.running:
            return
        self.process.end()
        self.run = job.run
        self._rest = ""
        self._over = self._cancelled = self.paused = False
        self.process.start(inner.WORKER)
        self.process.write(job_line(job))

    def pause(self) -> None:
        """Wait before the next request."""
        if self.running and not self.paused:
            self.paused = True
            self.process.write("pause")

    def resume(self) -> None:
        """Go on after a pause."""
        if self.running and self.paused:
            self.paused = False
            self.process.write("resume")

    def cancel(self) -> None:
        """End at once; what was finished stays."""
        if self.running and not self._cancelled:
            self._cancelled = True
            self.process.write("cancel")
            self._killer.start(round(END_SECONDS * 1000))

    def end(self) -> None:
        """The window closes: end the process and wait for that."""
        self._killer.stop()
        self._over = True
        self.process.end()

    def _heard(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            event = from_line(line)
            if event is not None and self.run is not None and self.running:
                self.run = grown(self.run, event)
                self._over = isinstance(event, Ended)
                self.happened.emit(event)
                if self._over:
                    self._finish()

    def _gone(self, code: int) -> None:
        if not self.running or self.run is None:
            return
        status = RunStatus.STOPPED if self._cancelled else RunStatus.FAILED
        event = Ended(status, utc_now(), () if self._cancelled else (WORKER_GONE,))
        self.run = grown(self.run, event)
        self._over = True
        self.happened.emit(event)
        self._finish()

    def _kill(self) -> None:
        self.process.end()
        self._gone(-1)

    def _finish(self) -> None:
        self._killer.stop()
        self.process.close()
        self.ended.emit()


def looking_for_servers(keys: Keys) -> Function:
    """Every model server of this computer. Answers a tuple of `Found`."""

    def look(handle: Handle) -> tuple[Found, ...]:
        return discover(keys.key_for)

    return look


def looking_at(address: str, key: str) -> Function:
    """The server at an address that was typed. Answers a `Found`, or a sentence where it is no
    address."""

    def look(handle: Handle) -> Found | str:
        try:
            return find(address, key)
        except ValueError as error:
            return str(error)

    return look


def reading_words(header: Header) -> Function:
    """Words of the file's own vocabulary. Answers a tuple of them."""

    def read(handle: Handle) -> tuple[str, ...]:
        return words_of(header)

    return read
