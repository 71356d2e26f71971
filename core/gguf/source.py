"""Where the bytes of a header come from.

A ``Place`` is the one seam between the reader and where a file lies: on this computer here, behind
a link in ``core.remote``. Files are read by explicit reads and not by a memory map: a map would
kill the program with SIGBUS when the file shrinks or its disk fails, and would hold the interpreter
lock while a slow disk is waited for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from core.gguf.text import display
from core.language import tr
from core.problems import Problem
from core.whole_file import NotAFileError, open_file

CancelledCheck: TypeAlias = Callable[[], bool]


class Cancelled(Exception):  # noqa: N818 - it is no error
    """The caller's ``cancelled`` said yes. The only exception that reading raises."""


class Source(Protocol):
    """Random access to bytes whose number is known. Errors of the place are OSError."""

    size: int
    modified_ns: int

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at ``offset``: fewer than ``length`` only at the end."""
        ...


class OpenSource(Source, Protocol):
    """A source that is open inside ``with``."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...

    def changed(self) -> bool:
        """Whether the file is another one than when it was opened. Raises OSError."""
        ...


class Place(Protocol):
    """Where a file lies."""

    @property
    def path(self) -> Path:
        """Its path on this computer; of a file elsewhere its name alone."""
        ...

    @property
    def address(self) -> str:
        """What people and programs call it: the path, or the link."""
        ...

    @property
    def local(self) -> bool:
        """Whether it lies on this computer."""
        ...

    def beside(self, name: str) -> Place:
        """The file of another name in the same folder."""
        ...

    def open(self, cancelled: CancelledCheck | None = None) -> OpenSource:
        """Its bytes, for ``with``. Raises OSError, ValueError and Cancelled."""
        ...

    def unreadable(self, error: OSError | ValueError) -> Problem:
        """What an error of opening or reading means for the one who opened it."""
        ...


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file on this computer."""

    path: Path

    @property
    def address(self) -> str:
        """The path as text."""
        return str(self.path)

    @property
    def local(self) -> bool:
        """Always."""
        return True

    def beside(self, name: str) -> FilePlace:
        """In the same folder."""
        return FilePlace(self.path.with_name(name))

    def open(self, cancelled: CancelledCheck | None = None) -> FileSource:
        """Open it for reading only. ``cancelled`` is asked by the reader between its reads."""
        return FileSource(self.path)

    def unreadable(self, error: OSError | ValueError) -> Problem:
        """In the words of a file system."""
        return _unreadable(self.path, error)


class FileSource:
    """A local file, open for reading only and only inside ``with``."""

    def __init__(self, path: Path) -> None:
        self._file = open_file(path, buffering=0)  # closed by __exit__
        status = os.fstat(self._file.fileno())
        self.size = status.st_size
        self.modified_ns = status.st_mtime_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(length)
        while len(data) < length:  # a read may stop early on a network file system
            more = self._file.read(length - len(data))
            if not more:
                break
            data += more
        return data

    def changed(self) -> bool:
        """Whether the file has another size or time than when it was opened."""
        status = os.fstat(self._file.fileno())
        return (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns)


def _no_file(name: str, mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return tr("{name} is a pipe, not a file.", name=name)
    if stat.S_ISSOCK(mode):
        return tr("{name} is a socket, not a file.", name=name)
    return tr("{name} is a device, not a file.", name=name)


def _unreadable(path: Path, error: OSError | ValueError) -> Problem:
    """What an error of the file system means for the one who opened ``path``."""
    where = display(str(path))
    name = display(path.name) or where
    match error:
        case IsADirectoryError():
            return Problem(
                "not-a-file",
                tr("{name} is a folder.", name=name),
                advice=tr("Open one of the .gguf files inside it."),
                where=where,
            )
        case NotAFileError():
            return Problem(
                "not-a-file",
                _no_file(name, error.mode),
                advice=tr("Open the .gguf file itself."),
                where=where,
            )
        case FileNotFoundError() | NotADirectoryError():
            return Problem(
                "not-found",
                tr("There is no file {name}.", name=name),
                advice=tr("It may have been moved or deleted, or its disk is not connected."),
                where=where,
            )
        case PermissionError():
            return Problem(
                "no-permission",
                tr("{name} may not be read by this user.", name=name),
                advice=tr("Change the file's permissions, or copy it to a folder of your own."),
                where=where,
            )
        case OSError():
            reason = error.strerror or str(error) or type(error).__name__
            return Problem(
                "read-error",
                tr("{name} could not be read: {reason}.", name=name, reason=display(reason)),
                advice=tr("Check the disk or the network share, then try again."),
                where=where,
            )
        case _:  # open() refuses a path with a zero byte in it
            return Problem(
                "bad-path",
                tr(
                    "{name} is no possible file name: {reason}.",
                    name=name,
                    reason=display(str(error)),
                ),
                advice=tr("Check how the path was typed."),
                where=where,
            )
