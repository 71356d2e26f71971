"""A llama-server of our own: started with a plan, watched while it loads, and ended with us."""

from __future__ import annotations

import http.client
from collections.abc import Sequence
from time import monotonic, sleep
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from core.check.driver import Used
from core.language import tr
from core.measure import inner, launch
from core.measure.launch import LoadLog, Phase
from core.measure.telemetry import memory_used
from core.problems import Problem
from gui.workers.inner import InnerProcess
from gui.workers.runner import Function, Handle, Runner

_POLL_SECONDS = 0.1
_ASK_SECONDS = 2.0
_LOOK_MS = 250
_AGAIN_SECONDS = 1.0  # after the load, to see whether another program changes the memory


class Weighed(NamedTuple):
    """The memory in use on each GPU before a load, after it, and a moment later."""

    before: Used
    after: Used
    again: Used


class OwnServer(QObject):
    """At most one server. One that somebody else started is never touched."""

    said = Signal(str)  # more of its log
    changed = Signal()  # phase, or what it has read
    ready = Signal(str)  # its address
    ended = Signal(object)  # a Problem, or None where it was stopped
    weighed = Signal(object)  # `Weighed`: what the GPUs' drivers say of the load

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log = LoadLog()
        self.command: tuple[str, ...] = ()
        self.url = ""
        self.resident: int | None = None
        self.started_at = 0.0
        self.ready_after: float | None = None
        self._port = 0
        self._stopping = False
        self._process = InnerProcess(self)
        self._process.said.connect(self._heard)
        self._process.ended.connect(self._over)
        self._health = Runner("server health", self)
        self._health.finished.connect(self._answered)
        self._before: Used = ()
        self._scales = Runner("memory of the GPUs", self)
        self._scales.finished.connect(self._weighed)
        self._gauge = Runner("memory of the server", self)
        self._gauge.finished.connect(self._gauged)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process.running

    @property
    def is_ready(self) -> bool:
        """Whether it answers requests."""
        return self.running and self.log.phase is Phase.READY

    @property
    def phase(self) -> Phase:
        """What it is doing."""
        return self.log.phase

    @property
    def seconds(self) -> float:
        """How long it has been loading, or took to load."""
        if self.ready_after is not None:
            return self.ready_after
        return monotonic() - self.started_at if self.running else 0.0

    def start(self, command: Sequence[str], port: int) -> None:
        """Start this command, whose server will listen on ``port`` of 127.0.0.1."""
        if self.running:
            return
        self.command, self._port = tuple(command), port
        self.log = LoadLog()
        self.url = ""
        self.resident = None
        self.ready_after = None
        self._stopping = False
        self.started_at = monotonic()
        self._before = ()
        # Read within milliseconds; a server needs longer until it asks for memory.
        self._scales.start(weighing(0.0))
        self._process.start(inner.KEEPER, self.command)
        self._health.start(waiting_for(port))
        self._timer.start()
        self.changed.emit()

    def stop(self) -> None:
        """Ask it to end; `ended` comes when it has."""
        if self.running:
            self._stopping = True
            self._cancel_looks()
            self._process.close()

    def end(self) -> None:
        """End it now and wait until it has gone."""
        self._timer.stop()
        self._cancel_looks()
        self._process.end()

    def _cancel_looks(self) -> None:
        for runner in (self._health, self._scales, self._gauge):
            runner.cancel()

    def _heard(self, text: str) -> None:
        before = self.log.phase
        self.log.feed(text)
        self.said.emit(text)
        if self.log.phase is not before:
            self.changed.emit()

    def _answered(self, ready: bool) -> None:
        if not ready or not self.running:
            return
        self.ready_after = monotonic() - self.started_at
        self.log.phase = Phase.READY
        self._timer.stop()
        self.url = f"http://127.0.0.1:{self._port}"
        self.changed.emit()
        self.ready.emit(self.url)
        if self._before:
            self._scales.start(weighing(_AGAIN_SECONDS))

    def _weighed(self, readings: tuple[Used, ...]) -> None:
        if len(readings) == 1:
            (self._before,) = readings
        elif self.is_ready:
            self.weighed.emit(Weighed(self._before, *readings))

    def _look(self) -> None:
        """How much of it is in memory by now. Looking through all processes takes a while."""
        if not self._gauge.running:
            self._gauge.start(resident_of(self._process.pid))

    def _gauged(self, resident: int | None) -> None:
        if resident is not None and self.running:
            self.resident = resident
            self.changed.emit()

    def _over(self, code: int) -> None:
        self._timer.stop()
        self._cancel_looks()
        problem: Problem | None = None
        if not self._stopping:
            problem = launch.ended(self.command[0], code, self.log.text)
            if problem is None:
                problem = Problem(
                    "engine-ended", tr("llama-server ended by itself."), where=self.command[0]
                )
        self.url = ""
        self.changed.emit()
        self.ended.emit(problem)


def resident_of(pid: int) -> Function:
    """What a process's children have in memory. Answers bytes, or None where nobody may look."""

    def look(handle: Handle) -> int | None:
        import psutil

        try:
            family = psutil.Process(pid).children(recursive=True)
            return sum(int(p.memory_info().rss) for p in family)
        except psutil.Error:
            return None

    return look


def weighing(again_seconds: float) -> Function:
    """What the drivers say is in use on each GPU. Answers a tuple of one such reading, or of two
    where it is read again after a while; empty readings where there is no driver to ask."""

    def weigh(handle: Handle) -> tuple[Used, ...]:
        first = memory_used()
        if not again_seconds:
            return (first,)
        sleep(again_seconds)
        return first, memory_used()

    return weigh


def waiting_for(port: int) -> Function:
    """Ask a server of ours for its health until it says that it is well. Answers True.

    It refuses connections, then answers 503 while it loads. There is no limit: a large model on a
    slow disk takes as long as it takes, and the user can stop it.
    """

    def wait(handle: Handle) -> bool:
        while not handle.cancelled():
            if _well(port):
                return True
            sleep(_POLL_SECONDS)
        return False

    return wait


def _well(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_ASK_SECONDS)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
