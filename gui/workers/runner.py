"""One function at a time off the GUI thread; only the latest call's answer counts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Qt, Signal

# Progress is passed on at most so often: more is not seen and costs the reader its time.
_PROGRESS_SECONDS = 0.05
# Whoever gives way goes on after this, whatever the window does.
_WAY_SECONDS = 0.5


class Handle:
    """What a running function sees of its runner. Every method may be called from any thread."""

    def __init__(self, emit_progress: Callable[[int], None]) -> None:
        self._cancelled = Event()
        self._way = Event()
        self._way.set()
        self._emit_progress = emit_progress
        self._next = 0.0

    def cancelled(self) -> bool:
        """Whether the answer is no longer wanted."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Say that the answer is no longer wanted."""
        self._cancelled.set()
        self._way.set()

    def give_way(self) -> None:
        """Wait while the window is busy. Python runs one thread at a time, so whatever works at
        the same time makes it twice as slow."""
        self._way.wait(_WAY_SECONDS)

    def hold(self, held: bool) -> None:
        """Say whether the window is busy."""
        if held:
            self._way.clear()
        else:
            self._way.set()

    def progress(self, done: int) -> None:
        """Say how much is done, in the function's own unit."""
        now = monotonic()
        if now >= self._next and not self.cancelled():
            self._next = now + _PROGRESS_SECONDS
            self._emit_progress(done)


Function: TypeAlias = Callable[[Handle], Any]


class Runner(QObject):
    """Runs a function in a thread of its own; the signals come in the thread of this object.

    The thread is a daemon: a read that hangs on a dead network disk must not keep the program
    from ending. An exception in it goes to ``sys.excepthook`` like any that nobody caught.
    """

    started = Signal()
    progressed = Signal(object)  # how much is done
    finished = Signal(object)  # the function's answer
    ended = Signal()  # after finished, an exception or cancel: nothing runs any more

    _answer = Signal(int, object, object)
    _progress = Signal(int, object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._generation = 0
        self._handle: Handle | None = None
        self._threads: list[Thread] = []
        self._over = False
        self._answer.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._progress.connect(self._deliver_progress, Qt.ConnectionType.QueuedConnection)

    @property
    def running(self) -> bool:
        """Whether an answer is still awaited."""
        return self._handle is not None

    def start(self, function: Function) -> None:
        """Run this function now; the answer to any earlier one is dropped. Nothing runs any more
        after `end`."""
        if self._over:
            return
        if self._handle is not None:
            self._handle.cancel()
        self._generation += 1
        generation = self._generation
        handle = Handle(lambda done: self._progress.emit(generation, done))
        self._handle = handle
        thread = Thread(
            target=self._run, args=(function, handle, generation), name=self._name, daemon=True
        )
        self._threads = [t for t in self._threads if t.is_alive()] + [thread]
        self.started.emit()
        thread.start()

    def cancel(self) -> None:
        """Drop the answer that is awaited, if any."""
        if self._handle is None:
            return
        self._handle.cancel()
        self._handle = None
        self._generation += 1
        self.ended.emit()

    def stop(self, seconds: float = 2.0) -> bool:
        """Cancel and wait until the threads have ended; False if one hangs in the system."""
        self.cancel()
        end = monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))
        self._threads = [t for t in self._threads if t.is_alive()]
        return not self._threads

    def end(self) -> bool:
        """`stop`, for good: this object goes soon, and no thread may look for it then."""
        self._over = True
        return self.stop()

    def _run(self, function: Function, handle: Handle, generation: int) -> None:
        answer: object = None
        error: Exception | None = None
        try:
            answer = function(handle)
        except Exception as caught:
            error = caught
        if not handle.cancelled():
            # At the end of the program this object may go before its thread has ended.
            with suppress(RuntimeError):
                self._answer.emit(generation, answer, error)
        # Its traceback holds this frame: a ring that only the collector frees, in any thread.
        del error

    def _deliver_progress(self, generation: int, done: object) -> None:
        if generation == self._generation:
            self.progressed.emit(done)

    def _deliver(self, generation: int, answer: object, error: Exception | None) -> None:
        if generation != self._generation:
            return
        self._handle = None
        if error is None:
            self.finished.emit(answer)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        self.ended.emit()
