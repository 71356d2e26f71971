"""Something that comes bit by bit from beside the GUI thread: handed over in batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from gui.workers.runner import Handle, Runner

# Python hands the interpreter from thread to thread every 5 ms, and painting a table asks for it
# hundreds of times: while a feed works, the window would stand still for a third of a second.
_SWITCH_SECONDS = 0.0005
# A list is drawn anew at most so often while it fills.
_BATCH_MS = 120
# Drawing follows what came within so long; meanwhile the feed gives way.
_DRAWING_MS = 5

Spring: TypeAlias = Callable[[Handle], Iterable[Any]]


class Feed(Runner):
    """Runs through an iterable in a thread; ``came`` brings what is new as a list.

    Everything has come when ``finished`` is emitted; after ``cancel`` nothing more comes.
    """

    came = Signal(list)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(name, parent)
        self._box = _Box()
        self._timer = QTimer(self)
        self._timer.setInterval(_BATCH_MS)
        self._timer.timeout.connect(self._hand_over)
        self._drawing = QTimer(self)
        self._drawing.setSingleShot(True)
        self._drawing.setInterval(_DRAWING_MS)
        self._drawing.timeout.connect(self._go_on)
        self.ended.connect(self._rest)

    def pull(self, spring: Spring) -> None:
        """Run through this now; what an earlier call had left is dropped."""
        box = self._box = _Box()

        def run(handle: Handle) -> None:
            for item in spring(handle):
                if handle.cancelled():
                    return
                handle.give_way()
                box.put(item)

        self.start(run)
        if self.running:
            _hurry.begin(self)
            self._timer.start()

    def cancel(self) -> None:
        """Nothing more is wanted."""
        self._box = _Box()
        super().cancel()

    def _rest(self) -> None:
        self._timer.stop()
        self._drawing.stop()
        _hurry.over(self)

    def _deliver(self, generation: int, answer: object, error: Exception | None) -> None:
        self._hand_over()
        super()._deliver(generation, answer, error)

    def _hand_over(self) -> None:
        items = self._box.take()
        if not items:
            return
        if self._handle is not None:
            self._handle.hold(True)
            self._drawing.start()
        self.came.emit(items)

    def _go_on(self) -> None:
        if self._handle is not None:
            self._handle.hold(False)


class _Hurry:
    """The interval of Python is short while any feed works, and as it was before when none does."""

    def __init__(self) -> None:
        self._feeds: set[int] = set()
        self._usual = 0.0  # the interval without a feed

    def begin(self, feed: Feed) -> None:
        """This one works."""
        if not self._feeds:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_SECONDS)
        self._feeds.add(id(feed))

    def over(self, feed: Feed) -> None:
        """This one has ended."""
        if id(feed) in self._feeds:
            self._feeds.remove(id(feed))
            if not self._feeds:
                sys.setswitchinterval(self._usual)


_hurry = _Hurry()


class _Box:
    def __init__(self) -> None:
        self._items: list[Any] = []
        self._lock = Lock()

    def put(self, item: Any) -> None:
        with self._lock:
            self._items.append(item)

    def take(self) -> list[Any]:
        with self._lock:
            items, self._items = self._items, []
        return items
