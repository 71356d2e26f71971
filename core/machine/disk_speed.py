"""How fast a disk reads a large file, timed past the system's file cache.

A model is loaded from its beginning to its end, so that is what is read. Asking the disk directly
leaves the file cache as it was: nothing is pushed out, and what lies there does not flatter the
disk.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from core.language import mark, tr
from core.machine.machine import unknown_bandwidth
from core.provenance import Input, Number, Rank, Source, Unit

ORIGIN = mark("file read by this program")
LEAST = 128 * 2**20  # bytes; less is over before a disk is at its speed
_MOST = 4 * 2**30
_CHUNK = 8 * 2**20  # a multiple of every disk's block
_F_NOCACHE = 48  # macOS: <sys/fcntl.h>


def measure_disk(
    path: Path, seconds: float = 2.0, cancelled: Callable[[], bool] | None = None
) -> Number[float]:
    """Bytes per second at which ``path`` is read from its disk, for ``seconds`` at most.

    Only reads, and reads nothing into the file cache. Unknown where the system cannot be asked to
    pass it by, where the file is too small, or where it was stopped. Never raises.
    """
    try:
        handle = _open(path)
    except (OSError, ValueError) as error:
        return _none(_unreadable(error))
    if handle is None:
        return _none(mark("This system has no simple way to read past its file cache."))
    try:
        size = os.fstat(handle).st_size
        if size < LEAST:
            return _none(mark("The file is too small to tell."))
        with mmap.mmap(-1, _CHUNK) as buffer:  # its address is that of a page, as disks want it
            return _timed(handle, size, buffer, seconds, cancelled or (lambda: False))
    except (OSError, ValueError) as error:
        return _none(_unreadable(error))
    finally:
        os.close(handle)


def _open(path: Path) -> int | None:
    """A handle past the file cache; None where there is no such thing."""
    if sys.platform == "linux":
        return os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    if sys.platform == "darwin":
        import fcntl

        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.fcntl(handle, _F_NOCACHE, 1)
        return handle
    return None


def _timed(
    handle: int, size: int, buffer: mmap.mmap, seconds: float, stop: Callable[[], bool]
) -> Number[float]:
    end = min(size, _MOST) // _CHUNK * _CHUNK
    start = time.perf_counter()
    done = 0
    while done < end and time.perf_counter() - start < seconds:
        if stop():
            return _none(mark("It was stopped."))
        count = os.preadv(handle, [buffer], done)
        if count <= 0:
            break
        done += count
    taken = time.perf_counter() - start
    if done < LEAST and taken < seconds:
        return _none(mark("The file ended before it could be timed."))
    return Number(
        done / taken,
        Unit.BYTES_PER_SECOND,
        Source(Rank.MEASURED, ORIGIN, date.today().isoformat()),
        formula=mark("bytes read / seconds"),
        inputs=(
            Input(mark("bytes read"), done, Unit.BYTES),
            Input(mark("seconds"), taken, Unit.SECONDS),
        ),
    )


def _none(note: str) -> Number[float]:
    return unknown_bandwidth(ORIGIN, note)


def _unreadable(error: Exception) -> str:
    why = getattr(error, "strerror", None) or str(error)
    return tr("The file could not be read past the file cache: {why}.", why=why)
