"""A thread that reads the computer's state about once a second until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, Thread
from time import perf_counter_ns
from typing import Protocol

from core.measure.readings import GpuReading, Reading


class SystemSource(Protocol):
    def read(self, at_ns: int) -> Reading: ...


class GpuSource(Protocol):
    def read(self) -> tuple[GpuReading, ...]: ...


class Sampler:
    """Calls ``say`` with each reading, from its own thread; ``zero_ns`` is the run's beginning.

    What a source raises ends that source, not the measurement.
    """

    def __init__(
        self,
        say: Callable[[Reading], None],
        system: SystemSource,
        gpus: Sequence[GpuSource],
        *,
        zero_ns: int,
        seconds: float = 1.0,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        self._say = say
        self._system = system
        self._gpus = list(gpus)
        self._zero = zero_ns
        self._seconds = seconds
        self._clock = clock
        self._over = Event()
        self._thread = Thread(target=self._run, name="telemetry", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float = 2.0) -> bool:
        """End the thread; False where a driver hangs."""
        self._over.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def read(self) -> Reading:
        """One reading, now."""
        reading = self._system.read(self._clock() - self._zero)
        found: list[GpuReading] = []
        for source in list(self._gpus):
            try:
                found += source.read()
            except Exception:  # a driver may fail in any way at any time
                self._gpus.remove(source)
        return replace(reading, gpus=tuple(found))

    def _run(self) -> None:
        while not self._over.wait(self._seconds):
            self._say(self.read())
