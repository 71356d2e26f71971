"""The memory in use on the GPUs of this computer, once."""

from __future__ import annotations

from core.measure.telemetry.amd import AmdGpus
from core.measure.telemetry.nvidia import open_gpus


def memory_used() -> tuple[tuple[str, int], ...]:
    """Each GPU whose driver tells, with the bytes in use on it by all programs. Never raises."""
    found = AmdGpus().read()
    nvidia = open_gpus()
    if nvidia is not None:
        found += nvidia.read()
        nvidia.close()
    return tuple((g.name, g.memory_used) for g in found if g.memory_used is not None)
