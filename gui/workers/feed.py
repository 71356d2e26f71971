"""Something that comes bit by bit from beside the GUI thread: handed over in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from gui.workers.runner import Handle, Runner

# A list is drawn anew at most so often while it fills.
_BATCH_MS = 120

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
        self.ended.connect(self._timer.stop)

    def pull(self, spring: Spring) -> None:
        """Run through this now; what an earlier call had left is dropped."""
        box = self._box = _Box()

        def run(handle: Handle) -> None:
            for item in spring(handle):
                if handle.cancelled():
                    return
                box.put(item)

        self._timer.start()
        self.start(run)

    def cancel(self) -> None:
        """Nothing more is wanted."""
        self._box = _Box()
        self._timer.stop()
        super().cancel()

    def _deliver(self, generation: int, answer: object, error: Exception | None) -> None:
        self._hand_over()
        super()._deliver(generation, answer, error)

    def _hand_over(self) -> None:
        items = self._box.take()
        if items:
            self.came.emit(items)


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
