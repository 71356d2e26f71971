"""What a process holds: memory, objects, widgets, threads, handles."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass

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
    process = psutil.Process()
    with process.oneshot():
        return Weight(
            memory=process.memory_full_info().uss,
            objects=len(gc.get_objects()),
            widgets=len(QApplication.allWidgets()),
            threads=process.num_threads(),
            handles=_handles(process),
        )


def _handles(process: psutil.Process) -> int:
    if sys.platform == "win32":
        return process.num_handles()
    return process.num_fds()


def each_thousand(before: Weight, after: Weight, count: int) -> str:
    """How much came in ``count`` steps, for a thousand of them, in words."""
    grown = (after.memory - before.memory) / 1e3 / count * 1000
    objects = (after.objects - before.objects) / count * 1000
    return f"{grown:+.1f} kB and {objects:+.1f} objects"
