"""Looking at this computer, as functions for a runner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core import machine
from core.machine import BandwidthMeasurement, Disk, Machine
from core.provenance import Number
from gui.workers.runner import Handle


def detecting(handle: Handle) -> Machine:
    """What this computer has, sleeping GPUs by their names. Queries of drivers may take seconds."""
    return machine.detect()


def waking(handle: Handle) -> Machine:
    """What this computer has, its sleeping GPUs woken and asked."""
    return machine.detect(wake=True)


def measuring(handle: Handle) -> BandwidthMeasurement:
    """How fast its RAM is read; takes a few seconds, and all processors."""
    return machine.measure_bandwidth(cancelled=handle.cancelled)


def timing_disk(path: Path) -> Callable[[Handle], tuple[Disk, Number[float]]]:
    """The disk of a file, and how fast it reads that file; takes two seconds."""

    def time(handle: Handle) -> tuple[Disk, Number[float]]:
        return machine.disk_of(path), machine.measure_disk(path, cancelled=handle.cancelled)

    return time
