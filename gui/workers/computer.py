"""Looking at this computer, as functions for a runner."""

from __future__ import annotations

from core import machine
from core.machine.machine import Machine
from gui.workers.runner import Handle


def detecting(handle: Handle) -> Machine:
    """What this computer has. Queries of drivers may take seconds."""
    return machine.detect()
