"""Files that are written whole or not at all, and read without waiting for anybody."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from core.language import tr

_MODEL = b"GGUF"
_NAME_LENGTH = 40  # of a name that is only there for a moment; its end keeps two writers apart


class NotAFileError(OSError):
    """A pipe, a socket or a device in the place of a file; its ``mode`` tells which."""

    def __init__(self, path: Path, mode: int) -> None:
        super().__init__(errno.EINVAL, tr("it is no file"), str(path))
        self.mode = mode


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """A file, open for reading. Raises OSError, also for what is no file: a pipe would keep its
    reader waiting for somebody who writes."""
    require_file(path)
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    file = open(  # noqa: SIM115
        path, "rb", buffering, opener=lambda name, _: os.open(name, flags)
    )
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
        raise NotAFileError(path, status.st_mode)


def write_whole(path: Path, data: bytes, *, private: bool = True) -> None:
    """Put ``data`` in the place of a file; whatever happens, the old one or the new one is there.

    A link stays one: the file that it leads to is replaced. A file that is ``private`` can only be
    read by its user, where it is new. The folder must exist. Raises OSError.
    """
    led_to = Path(os.path.realpath(path))
    path = led_to if led_to.is_file() else path
    name = path.with_name(f".{path.name[:_NAME_LENGTH]}.{token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(name, flags, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(OSError):
                name.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        name.replace(path)
    except OSError:
        with suppress(OSError):
            name.unlink()
        raise


def set_aside(path: Path) -> None:
    """Keep what is there, as "settings.json.kept", from being written over. Where that is not
    possible it stays. Never raises."""
    with suppress(OSError):
        path.replace(path.with_suffix(".json.kept"))


def write_out(path: Path, content: str | bytes) -> None:
    """Write what somebody saves, for anybody to read: into a file whole or not at all, into a pipe
    or a device as it comes. No model is written over. Raises OSError."""
    data = content
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    try:
        with open_file(path) as file:
            if file.read(len(_MODEL)) == _MODEL:
                raise FileExistsError(errno.EEXIST, tr("it is a model"), str(path))
    except FileNotFoundError:
        pass
    except PermissionError:  # it may be written all the same
        pass
    except (IsADirectoryError, FileExistsError):
        raise
    except OSError:
        path.write_bytes(data)
        return
    try:
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError
        write_whole(path, data, private=False)
    except PermissionError:  # the folder is closed, where the file need not be; or the file itself
        path.write_bytes(data)
