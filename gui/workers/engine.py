"""Running llama.cpp for what it says while it looks at a model, as functions for a runner.

The program is ended as soon as it has said enough, when it takes too long, and when nobody wants
the answer any more; whatever it started ends with it.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import IO

from core.check.dry_run import PROGRAMS
from core.check.engine_ends import ending
from core.check.engine_log import EngineLog, read, says_enough, up_to_enough
from core.check.programs import find
from core.language import tr
from core.problems import Problem
from core.whole_file import open_file
from gui.workers.runner import Function, Handle

SECONDS = 120.0  # a first look at a large model on a cold disk takes some ten
# With -v a model of many tensors prints a few MB.
OUTPUT_LIMIT = 32_000_000
LOG_LIMIT = 64_000_000
_POLL_SECONDS = 0.05
_CHUNK = 65_536
_NO_CONSOLE: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows only


@dataclass(frozen=True, slots=True)
class EngineRun:
    """What came of a run. ``command`` is what was started; ``text`` the last of its output.

    ``log`` is None where ``problem`` says why there is nothing to compare; both are None where the
    run was cancelled.
    """

    command: tuple[str, ...]
    text: str
    log: EngineLog | None
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log that was read from a file, or why it was not."""

    path: Path
    text: str
    problem: Problem | None = None


def programs(folder: str = "") -> dict[str, str]:
    """The llama.cpp programs on this computer by name: in ``folder`` first, then elsewhere."""
    return find(PROGRAMS, folder)


def finding(folder: str = "") -> Function:
    """Look for them. Answers what `programs` does."""

    def look(handle: Handle) -> dict[str, str]:
        return programs(folder)

    return look


def free_port() -> int:
    """A port on the loopback interface that nobody holds now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def dry_running(command: Sequence[str], seconds: float = SECONDS) -> Function:
    """Run this command until it has said enough. Answers an `EngineRun`."""

    def run(handle: Handle) -> EngineRun:
        return _run(tuple(command), seconds, handle)

    return run


def reading_log(path: Path) -> Function:
    """Read a log that the user dropped. Answers a `LogFile`."""

    def load(handle: Handle) -> LogFile:
        try:
            with open_file(path) as file:
                data = file.read(LOG_LIMIT + 1)
        except OSError as error:
            why = error.strerror or error
            message = tr("The log could not be read: {reason}.", reason=why)
            return LogFile(path, "", _problem("engine-log", message, path))
        if len(data) > LOG_LIMIT:
            message = tr(
                "The log is longer than {size} MB; its beginning is used.", size=LOG_LIMIT // 10**6
            )
            return LogFile(path, _text(data[:LOG_LIMIT]), _problem("engine-log", message, path))
        if data.startswith(b"GGUF"):
            message = tr("This is a model, not a log.")
            return LogFile(path, "", _problem("engine-log", message, path))
        return LogFile(path, _text(data))

    return load


def _run(command: tuple[str, ...], seconds: float, handle: Handle) -> EngineRun:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A crash must not call a debugger (ggml.c, ggml_print_backtrace).
            env={**os.environ, "GGML_NO_BACKTRACE": "1"},
            creationflags=_NO_CONSOLE,
        )
    except OSError as error:
        words = error.strerror or str(error)
        problem = Problem(
            "engine-start",
            tr("The program could not be started: {reason}.", reason=words),
            advice=tr("Choose another folder of llama.cpp, or make the file executable."),
            where=command[0],
        )
        return EngineRun(command, "", None, problem)
    listener = _Listener(process)
    end = monotonic() + seconds
    stopped = late = False
    try:
        while not (listener.done or stopped):
            listener.wait(_POLL_SECONDS)
            late = monotonic() > end
            stopped = handle.cancelled() or late or listener.enough
        stopped = stopped or listener.full
    finally:
        code = _end(process, stopped)
        listener.close()
    text = up_to_enough(listener.text())
    if handle.cancelled():
        return EngineRun(command, text, None, None)
    return _judged(command, text, None if stopped else code, late, seconds)


def _judged(
    command: tuple[str, ...], text: str, code: int | None, late: bool, seconds: float
) -> EngineRun:
    """A run that has ended, with what can be read from it."""
    log = read(text)
    if log.fit or any(load.contexts for load in log.loads):
        return EngineRun(command, text, log, None)
    problem = ending(command[0], code, text)
    if problem is None and late:
        problem = Problem(
            "engine-late",
            tr("It did not say its sizes within {seconds:.0f} s and was ended.", seconds=seconds),
            advice=tr("A model on a slow disk takes longer the first time: try again."),
            where=command[0],
        )
    if problem is None:
        problem = Problem(
            "engine-silent",
            tr("It ended without saying what it would allocate."),
            advice=tr(
                "Builds from before December 2025 have no dry run: start it yourself with -v "
                "and drop its log here."
            ),
            where=command[0],
        )
    return EngineRun(command, text, None, problem)


class _Listener:
    """Takes a program's output in, in a thread of its own: a read cannot be interrupted."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self._stream: IO[bytes] = process.stdout
        self._said: list[bytes] = []
        self._over = Event()
        self.done = self.enough = self.full = False
        self._thread = Thread(target=self._read, name="engine output", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Until there is no need to listen any more, or so long."""
        self._over.wait(seconds)

    def text(self) -> str:
        """All that was said, up to the limit."""
        return _text(b"".join(self._said)[:OUTPUT_LIMIT])

    def close(self) -> None:
        """The program has ended: read what is left and end the thread."""
        self._thread.join(2.0)
        with suppress(OSError):
            self._stream.close()

    def _read(self) -> None:
        size, rest = 0, b""
        with suppress(OSError, ValueError):
            while size <= OUTPUT_LIMIT and (chunk := os.read(self._stream.fileno(), _CHUNK)):
                self._said.append(chunk)
                size += len(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[-_CHUNK:]
                if any(says_enough(_text(line)) for line in lines):
                    self.enough = True
                    self._over.set()
        self.full = size > OUTPUT_LIMIT
        self.done = True
        self._over.set()


def _end(process: subprocess.Popen[bytes], stop: bool) -> int | None:
    """End it with all that it started; its exit status where it ended by itself."""
    import psutil

    family = []
    with suppress(psutil.Error):
        family = psutil.Process(process.pid).children(recursive=True)
    if not stop:
        with suppress(subprocess.TimeoutExpired):
            process.wait(5.0)
    for child in family:
        with suppress(psutil.Error):
            child.kill()
    if process.poll() is None:
        process.kill()
    code = process.wait()
    psutil.wait_procs(family, timeout=1.0)
    return code


def _text(data: bytes) -> str:
    """A log as text; PowerShell writes UTF-16."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _problem(code: str, message: str, path: Path) -> Problem:
    return Problem(code, message, where=str(path))
