"""What a process holds: memory, objects, widgets, threads, handles."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import psutil


@dataclass(frozen=True, slots=True)
class Weight:
    """``memory`` is what would come free if the process ended (USS), in bytes; ``objects`` are
    those that Python's collector looks at, ``handles`` open files and the like (on Windows)."""

    memory: int
    objects: int
    widgets: int
    threads: int
    handles: int

    @property
    def megabytes(self) -> str:
        """The memory in words."""
        return f"{self.memory / 1e6:.2f} MB"

    @property
    def counts(self) -> str:
        """All but the memory, in words."""
        return (
            f"{self.objects:,} objects, {self.widgets:,} widgets, {self.threads} threads, "
            f"{self.handles} handles"
        )


def weigh() -> Weight:
    """What this process holds now, once what is garbage has gone."""
    from PySide6.QtWidgets import QApplication

    gc.collect()
    _give_back()
    process = psutil.Process()
    with process.oneshot():
        return Weight(
            memory=process.memory_full_info().uss,
            objects=len(gc.get_objects()),
            widgets=len(QApplication.allWidgets()),
            threads=process.num_threads(),
            handles=_handles(process),
        )


def _give_back() -> None:
    """What the C library keeps for later is not held: it comes and goes by tens of megabytes."""
    with suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _handles(process: psutil.Process) -> int:
    if sys.platform == "win32":
        return process.num_handles()
    return process.num_fds()


def slope(seen: Sequence[tuple[int, Weight]]) -> tuple[float, float]:
    """Bytes and objects that came with every step, where the weight was seen after so many steps:
    the median of the slopes between any two."""
    pairs = [(b[0] - a[0], a[1], b[1]) for a, b in combinations(seen, 2)]
    memory = median((after.memory - before.memory) / steps for steps, before, after in pairs)
    objects = median((after.objects - before.objects) / steps for steps, before, after in pairs)
    return memory, objects
