"""What happens when the program itself is wrong: it is written to a log and said in one sentence.

Nobody gets a traceback in the face, and nothing is lost: exceptions of any thread, what Python
cannot raise, Qt's own messages and hard crashes (faulthandler) all end in the same file.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    QStandardPaths,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)

from core.language import tr
from core.whole_file import open_file

# The log starts afresh beyond this; the former one is kept.
_SIZE_LIMIT = 1_000_000
_NUMBER_LIMIT = 20  # digits
# An error in a paint event comes back sixty times a second.
_REPORT_LIMIT = 50

# What an error leaves in the log: Python's last words, Windows' own, and what was logged as one.
_SIGNS = (b"Fatal Python error", b"fatal exception", b" ERROR ", b" CRITICAL ")

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def default_path() -> Path:
    """Where this user's log lies on this system."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.StateLocation)
    return Path(folder) / "weighbridge.log"


class CrashLog(QObject):
    """Catches what nobody caught, from `install` until `remove`.

    ``reported`` is emitted once for each different error, whatever thread it came from, with the
    sentence for the user. ``crashed_before`` tells, once it is installed, that an earlier start has
    left an error in the log and did not come to its end.
    """

    reported = Signal(str)

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path = path
        self.crashed_before = False
        self._mark = path.with_name(f"{path.stem}-{os.getpid()}.running")
        self._seen: set[str] = set()
        self._where = str(path)
        self._handler: logging.Handler | None = None

    def install(self) -> None:
        """Take over the hooks. Where the log cannot be written, standard error is used."""
        stream: TextIO | None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.crashed_before = self._look_back()
            if self.path.exists():
                if not self.path.is_file():  # a pipe would wait for whoever reads it
                    raise OSError("the log is no file")
                if self.path.stat().st_size > _SIZE_LIMIT:
                    self.path.replace(self.path.with_suffix(".log.old"))
            stream = self.path.open("a", encoding="utf-8", errors="backslashreplace")
            self._mark.write_text(str(self.path.stat().st_size), "utf-8")
        except OSError:
            stream = sys.stderr  # None in a Windows program without a console
            self._where = ""
        self._handler = logging.StreamHandler(stream) if stream else logging.NullHandler()
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.getLogger().addHandler(self._handler)
        if stream:
            faulthandler.enable(stream)
        self._stream = stream
        self._hooks = (sys.excepthook, threading.excepthook, sys.unraisablehook)
        sys.excepthook = self._exception
        threading.excepthook = self._thread_exception
        sys.unraisablehook = self._unraisable
        self._qt_handler = qInstallMessageHandler(_qt_message)

    def remove(self) -> None:
        """Give the hooks back and close the log."""
        if self._handler is None:
            return
        sys.excepthook, threading.excepthook, sys.unraisablehook = self._hooks
        qInstallMessageHandler(self._qt_handler)
        faulthandler.disable()
        logging.getLogger().removeHandler(self._handler)
        self._handler = None
        with suppress(OSError):
            self._mark.unlink(missing_ok=True)
        if self._stream is not None and self._stream is not sys.stderr:
            self._stream.close()

    def record(self, error: BaseException) -> None:
        """Log an error that was caught at the last moment, and tell the user once."""
        lines = traceback.format_exception(error)
        place = "".join(lines[-3:])
        if place in self._seen or len(self._seen) >= _REPORT_LIMIT:
            return
        self._seen.add(place)
        logging.error("%s", "".join(lines))
        self.reported.emit(
            tr(
                "Something went wrong inside the program ({error}). "
                "What is shown may be out of date; the details are in {place}.",
                error=type(error).__name__,
                place=self._where or tr("standard error"),
            )
        )

    def _look_back(self) -> bool:
        """Whether a start that is over left its mark, and an error in the log."""
        crashed = False
        for mark in self.path.parent.glob(f"{self.path.stem}-*.running"):
            number = mark.stem.rpartition("-")[2]
            if mark == self._mark or not _alive(number):
                with suppress(OSError):
                    crashed = crashed or self._error_since(mark)
                with suppress(OSError):
                    mark.unlink(missing_ok=True)
        return crashed

    def _error_since(self, mark: Path) -> bool:
        with open_file(mark) as told:
            text = told.read(_NUMBER_LIMIT).decode("utf-8", "replace").strip()
        with open_file(self.path) as log:
            size = log.seek(0, os.SEEK_END)
            start = int(text) if text.isdecimal() else 0
            log.seek(start if start <= size else 0)  # it may have started afresh in the meantime
            written = log.read(_SIZE_LIMIT)
        return any(sign in written for sign in _SIGNS)

    def _exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        self.record(error.with_traceback(trace))

    def _thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self.record(args.exc_value)

    def _unraisable(self, args: sys.UnraisableHookArgs) -> None:
        if args.exc_value is not None:
            self.record(args.exc_value)


def _alive(number: str) -> bool:
    """Whether a process of this number runs; True for what is no number, to be on the safe side."""
    import psutil

    return not number.isdecimal() or psutil.pid_exists(int(number))


def _qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    logging.log(_LEVELS.get(kind, logging.WARNING), "Qt: %s", message)
