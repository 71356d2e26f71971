"""Time that passes, and time that the computer slept through."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime


def utc_now() -> str:
    """The wall clock, for people: "2026-01-01T00:00:00Z"."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def asleep_seconds() -> float:
    """Seconds that the computer has slept since it was started; only differences mean anything.

    The clock that counts sleep, less the one that does not; always 0 where a system has no two
    such clocks.
    """
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC) - time.clock_gettime(time.CLOCK_UPTIME_RAW)
    if sys.platform == "win32":
        import ctypes

        with_sleep, without = ctypes.c_ulonglong(), ctypes.c_ulonglong()
        ctypes.windll.kernelbase.QueryInterruptTime(ctypes.byref(with_sleep))
        ctypes.windll.kernel32.QueryUnbiasedInterruptTime(ctypes.byref(without))
        return (with_sleep.value - without.value) / 1e7
    return 0.0
