"""Processors, memory, battery and the server's own process, through psutil and Linux's files.

Nothing here raises and nothing is guessed: what a system does not tell is None.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from core.measure.readings import Reading

T = TypeVar("T")
_FAMILY_SECONDS = 10.0
_PAGES = 12  # the field of /proc/PID/stat that counts major faults, from 1


class System:
    """Read it about once a second; shares are of the time since the last reading."""

    def __init__(
        self,
        pid: int | None,
        *,
        root: Path = Path("/"),
        psutil: Any = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if psutil is None:
            import psutil
        self._psutil: Any = psutil
        self._root = root
        self._clock = clock
        self._pid = pid
        self._server: dict[int, float] = {}
        self._known: list[Any] = []
        self._next_look = clock()
        self._own: float | None = None
        self._last = clock()
        self._ask(lambda: psutil.cpu_percent(None))  # the first one has nothing to compare with
        self._cores = self._ask(lambda: psutil.cpu_count()) or 1

    def read(self, at_ns: int) -> Reading:
        """One reading, without GPUs."""
        psutil = self._psutil
        now = self._clock()
        passed = max(1e-6, now - self._last)
        self._last = now
        used = self._ask(lambda: psutil.cpu_percent(None))
        cpu = None if used is None else used / 100
        memory = self._ask(psutil.virtual_memory)
        swap = self._ask(psutil.swap_memory)
        clock = self._ask(psutil.cpu_freq)
        battery = self._ask(psutil.sensors_battery) if hasattr(psutil, "sensors_battery") else None
        reading = Reading(
            at_ns,
            cpu=cpu,
            cpu_clock=clock.current if clock else None,
            cpu_pressure=self._pressure("cpu"),
            memory_pressure=self._pressure("memory"),
            memory_available=None if memory is None else int(memory.available),
            swap_used=None if swap is None else int(swap.used),
            battery=None if battery is None else battery.percent / 100,
            on_battery=None if battery is None else not battery.power_plugged,
        )
        reading = self._with_server(reading, passed)
        own = self._own_share(passed)
        if cpu is None or own is None:
            return reading
        theirs = (reading.server_cpu or 0.0) / self._cores
        return replace(reading, other_cpu=max(0.0, cpu - own - theirs))

    def _with_server(self, reading: Reading, passed: float) -> Reading:
        """What the server's process and its children do; None where it may not be looked at."""
        if self._pid is None:
            return reading
        if self._clock() >= self._next_look:
            # Looking through all processes for its children costs more than all else together.
            self._next_look = self._clock() + _FAMILY_SECONDS
            self._known = self._ask(self._family) or []
        seconds: dict[int, float] = {}
        memory = faults = read = 0
        known_faults = known_reads = False
        for process in self._known:
            with suppress(self._psutil.Error, OSError):
                times = process.cpu_times()
                seconds[process.pid] = times.user + times.system
                memory += int(process.memory_info().rss)
            count = self._major_faults(process.pid)
            if count is not None:
                faults, known_faults = faults + count, True
            with suppress(self._psutil.Error, OSError, AttributeError):
                read += int(process.io_counters().read_bytes)
                known_reads = True
        if not seconds:
            return reading
        before, self._server = self._server, seconds
        spent = [seconds[pid] - before[pid] for pid in seconds if pid in before]
        return replace(
            reading,
            server_cpu=max(0.0, sum(spent)) / passed if spent else None,
            server_memory=memory,
            major_faults=faults if known_faults else None,
            read_bytes=read if known_reads else None,
        )

    def _family(self) -> list[Any]:
        server = self._psutil.Process(self._pid)
        return [server, *server.children(recursive=True)]

    def _own_share(self, passed: float) -> float | None:
        """The measurement's own part of all processors."""
        times = self._ask(lambda: self._psutil.Process().cpu_times())
        if times is None:
            return None
        spent = times.user + times.system
        before, self._own = self._own, spent
        return None if before is None else max(0.0, spent - before) / passed / self._cores

    def _pressure(self, what: str) -> float | None:
        """The share of the last ten seconds in which some task waited for it."""
        text = self._text(f"proc/pressure/{what}")
        for word in text.partition("\n")[0].split():
            if word.startswith("avg10="):
                with suppress(ValueError):
                    return float(word[6:]) / 100
        return None

    def _major_faults(self, pid: int) -> int | None:
        """Pages that had to be read from the disk since it started (proc(5), stat, majflt)."""
        _, mark, rest = self._text(f"proc/{pid}/stat").rpartition(")")
        fields = rest.split()
        if not mark or len(fields) < _PAGES - 2:
            return None
        word = fields[_PAGES - 3]
        return int(word) if word.isdecimal() else None

    def _text(self, name: str) -> str:
        try:
            return (self._root / name).read_text("utf-8", "replace")
        except OSError:
            return ""

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except (self._psutil.Error, OSError, RuntimeError, NotImplementedError, AttributeError):
            return None
