"""Files that are written whole or not at all, and read without waiting for anybody."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from core.language import tr


def open_file(path: Path) -> BinaryIO:
    """A file, open for reading. Raises OSError, also for what is no file: a pipe would keep its
    reader waiting for somebody who writes."""
    require_file(path)
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    file = open(path, "rb", opener=lambda name, _: os.open(name, flags))  # noqa: SIM115
    try:
        _require_regular(path, os.fstat(file.fileno()))  # it may have been replaced
    except OSError:
        file.close()
        raise
    return file


def require_file(path: Path) -> None:
    """Raise OSError where there is nothing, or something that is no file."""
    _require_regular(path, path.stat())


def _require_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, tr("it is no file"), str(path))


def write_whole(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of a file; whatever happens, the old one or the new one is there.

    A link stays one: the file that it leads to is replaced. The folder must exist. Raises OSError.
    """
    led_to = Path(os.path.realpath(path))
    path = led_to if led_to.is_file() else path
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise
