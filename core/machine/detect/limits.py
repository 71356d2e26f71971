"""Time limits: a driver that hangs or a command that never ends must not stop the program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class TookTooLongError(Exception):
    """The call was still running when its time was up, or an earlier one still is."""


class _Answer(Generic[T]):
    def __init__(self) -> None:
        self.values: list[T] = []
        self.errors: list[BaseException] = []


def call_within(seconds: float, name: str, function: Callable[[], T]) -> T:
    """What ``function`` returns or raises, or TookTooLongError.

    It runs in a daemon thread, because a driver that is stuck in the kernel cannot be stopped and
    must not keep the process alive. While a thread of this ``name`` is still stuck, no other one is
    started.
    """
    if any(thread.name == name for thread in threading.enumerate()):
        raise TookTooLongError(name)
    answer: _Answer[T] = _Answer()

    def run() -> None:
        try:
            answer.values.append(function())
        except BaseException as error:  # handed to the caller, whatever it is
            answer.errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    if answer.errors:
        raise answer.errors[0]
    if not answer.values:
        raise TookTooLongError(name)
    return answer.values[0]


def output_of(command: Sequence[str], seconds: float = 5.0) -> str | None:
    """What a command printed, whatever its exit status (sysctl fails for one unknown name among
    many), or None if it is missing or takes too long."""
    import subprocess

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            creationflags=flags,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def whole(text: str | None) -> int | None:
    """The whole number in a system file or a command's output; None for anything else."""
    return int(text) if text and text.isdecimal() and len(text) < 25 else None


def is_folder(path: Path) -> bool:
    """Whether a folder is there and may be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def text_of(path: Path, most: int = 1 << 20) -> str:
    """A small system file's text, at most so many characters, stripped; empty if it cannot be
    read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(most).strip("\0\n ")
    except OSError:
        return ""
