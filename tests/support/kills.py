"""How often things are killed (a few times by default; ``KILL_ROUNDS=50`` before a release), and
whether a process has gone."""

from __future__ import annotations

import os
from contextlib import suppress
from time import monotonic, sleep

import psutil

_SECONDS = 60.0


def kill_rounds(few: int) -> int:
    """So many, or as many as the environment asks for."""
    return int(os.environ.get("KILL_ROUNDS") or few)


def gone(pid: int) -> bool:
    """Whether a process has ended, reaped or not, or does so before long."""
    end = monotonic() + _SECONDS
    while monotonic() < end:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                sleep(0.02)
                continue
        return True
    return False
