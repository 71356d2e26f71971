"""Who is still alive after a test, and where it was started."""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

import psutil
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QThread, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

# A thread or process that has been told to end gets so long.
_PATIENCE_SECONDS = 30.0


@contextmanager
def no_leaks() -> Iterator[None]:
    """Raise AssertionError where something started inside is alive at the end, naming it."""
    threads = set(threading.enumerate())
    children = set(psutil.Process().children())
    windows = set(QApplication.topLevelWidgets())
    started: list[tuple[QTimer | QThread, str]] = []
    with _recording(QTimer, started), _recording(QThread, started):
        yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    QCoreApplication.processEvents()
    if set(QApplication.topLevelWidgets()) - windows:
        gc.collect()  # a widget without a parent may hang in a cycle of Python's
    leaks = [_named(w) for w in QApplication.topLevelWidgets() if w not in windows]
    leaks += [
        f"{type(thing).__name__} started at {place}"
        for thing, place in started
        if shiboken6.isValid(thing) and _active(thing)
    ]
    leaks += [f"thread {t.name}" for t in _after_a_while(lambda: _threads(threads))]
    leaks += [
        f"process {p.pid} {' '.join(p.as_dict(['cmdline'])['cmdline'] or ['?'])}"
        for p in _after_a_while(lambda: set(psutil.Process().children()) - children)
    ]
    assert not leaks, "left alive: " + "; ".join(leaks)


@contextmanager
def _recording(
    kind: type[QTimer] | type[QThread], started: list[tuple[QTimer | QThread, str]]
) -> Iterator[None]:
    original: Any = kind.start

    def start(self: Any, *args: Any) -> None:
        frame = traceback.extract_stack(limit=2)[0]
        started.append((self, f"{frame.filename}:{frame.lineno}"))
        original(self, *args)

    setattr(kind, "start", start)  # noqa: B010  (mypy takes no plain assignment)
    try:
        yield
    finally:
        setattr(kind, "start", original)  # noqa: B010


def _active(thing: QTimer | QThread) -> bool:
    return thing.isActive() if isinstance(thing, QTimer) else thing.isRunning()


def _threads(before: set[threading.Thread]) -> set[threading.Thread]:
    # Qt's own threads show up as dummies once they ran Python; they have no end to wait for.
    return {
        t for t in set(threading.enumerate()) - before if not isinstance(t, threading._DummyThread)
    }


def _after_a_while(find: Callable[[], set[Any]]) -> set[Any]:
    end = monotonic() + _PATIENCE_SECONDS
    while (left := find()) and monotonic() < end:
        sleep(0.01)
    return left


def _named(widget: QWidget) -> str:
    words = widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""
    name = widget.objectName() or widget.windowTitle() or words or "without a name"
    return f"window {type(widget).__name__} ({name})"
