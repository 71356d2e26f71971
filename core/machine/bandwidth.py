"""How fast the processor reads its RAM, timed with numpy.

Decoding only reads, so the kernel only reads: the maximum of an int32 array, which numpy computes
with vector instructions on every processor, without the GIL, and about twice as fast as memory
delivers (a sum would be limited by arithmetic, a copy counts bytes that it does not move). Every
thread reads an array of its own, far larger than the last cache (STREAM's rule: four times).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from core import units
from core.language import mark, tr
from core.machine.detect import ram
from core.machine.detect.limits import text_of, whole
from core.machine.machine import unknown_bandwidth
from core.provenance import Input, Number, Rank, Source, Unit

ORIGIN = mark("memory read by this program")
_CHUNK = 8 * 2**20  # bytes read between two looks at the clock; a fraction of a millisecond
_LEAST = 64 * 2**20  # bytes per thread, where the cache is not known
_SHARE_OF_RAM = 0.25  # of what is available: measuring must not push anything out
_BUSY = 0.10  # share of all processors that others may use before the figure is doubtful
_SPREAD = 0.15  # between the best and the worst run
_NO_ROOM = mark("There is too little free memory for it.")
_STOPPED = mark("It was stopped.")
_LOOK = 0.2  # seconds of looking at the load before the start


@dataclass(frozen=True, slots=True)
class BandwidthMeasurement:
    """A measured read bandwidth and what it was worth.

    ``bandwidth`` is the best of ``runs`` (bytes per second); the note of an unreliable one says
    why. ``busy_before`` and ``busy_during`` are the shares of all processors that other programs
    used (0..1), ``load_before`` and ``load_after`` the load averages where there are any.
    ``stopped`` is True where the caller cancelled it; ``runs`` then hold what was finished.
    """

    bandwidth: Number[float]
    runs: tuple[float, ...]
    threads: int
    bytes_per_thread: int
    busy_before: float | None = None
    busy_during: float | None = None
    load_before: float | None = None
    load_after: float | None = None
    reasons: tuple[str, ...] = ()
    stopped: bool = False

    @property
    def spread(self) -> float | None:
        """(best - worst) / best of the runs; None without a run."""
        return (max(self.runs) - min(self.runs)) / max(self.runs) if self.runs else None

    @property
    def reliable(self) -> bool:
        """Whether there is a figure and nothing speaks against it."""
        return self.bandwidth.known and not self.reasons


def measure_bandwidth(
    threads: int | None = None,
    seconds: float = 0.5,
    repeats: int = 5,
    cancelled: Callable[[], bool] | None = None,
) -> BandwidthMeasurement:
    """Read RAM with ``threads`` threads (the physical cores) for ``repeats`` x ``seconds``.

    Takes at most a quarter of the available RAM while it runs. ``cancelled`` is asked about
    twenty times a second. Never raises: what went wrong is in the note.
    """
    count = max(1, threads if threads is not None else physical_cores())
    cache = last_level_cache()
    size = array_bytes(count, cache, ram().available)
    if size < _CHUNK:
        return _none(_NO_ROOM, count, size)
    try:
        import numpy  # noqa: F401  (only to know that it is there)
        import psutil
    except ImportError:
        return _none(mark("numpy or psutil is missing."), count, size)
    stop = cancelled or (lambda: False)
    load_before = _load()
    before = _Busy(psutil)
    if _wait(_LOOK, stop):
        return _none(_STOPPED, count, size, stopped=True)
    busy_before = before.share()
    during = _Busy(psutil)
    try:
        runs, finished = _run(count, size, seconds, repeats, stop)
    except MemoryError:
        return _none(_NO_ROOM, count, size)
    busy_during = during.share()
    if not runs:
        return _none(_STOPPED, count, size, stopped=True)
    reasons = doubts(runs, busy_before, busy_during, size * count, cache)
    return BandwidthMeasurement(
        _figure(runs, count, size, reasons),
        runs,
        count,
        size,
        busy_before,
        busy_during,
        load_before,
        _load(),
        reasons,
        stopped=not finished,
    )


def physical_cores() -> int:
    """Physical cores that this process may use, at least 1."""
    try:
        import psutil

        count = psutil.cpu_count(logical=False)
    except (ImportError, OSError, RuntimeError):
        count = None
    count = count or os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        count = min(count, len(os.sched_getaffinity(0)))
    return max(1, count)


def last_level_cache(cpus: Path = Path("/sys/devices/system/cpu")) -> int | None:
    """Bytes of all level 3 caches together, as Linux shows them; None where it does not."""
    sizes: dict[str, int] = {}
    for folder in cpus.glob("cpu[0-9]*/cache/index3"):
        size = whole(text_of(folder / "size").removesuffix("K"))
        if size is not None:
            sizes[text_of(folder / "shared_cpu_list")] = size * 1024
    return sum(sizes.values()) or None


def array_bytes(threads: int, cache: int | None, available: int | None) -> int:
    """Bytes that each thread reads: four times its share of the cache, within a quarter of the
    available RAM, in whole chunks."""
    wanted = max(_LEAST, 4 * (cache or 0) // threads)
    if available is not None:
        wanted = min(wanted, int(available * _SHARE_OF_RAM) // threads)
    return wanted // _CHUNK * _CHUNK


def doubts(
    runs: tuple[float, ...],
    busy_before: float | None,
    busy_during: float | None,
    total_bytes: int,
    cache: int | None,
) -> tuple[str, ...]:
    """Why a figure is not to be trusted, in sentences; empty where it is."""
    found = []
    busy = max(busy_before or 0.0, busy_during or 0.0)
    if busy > _BUSY:
        share = units.format_share(busy)
        found.append(tr("Other programs used {share} of the processors.", share=share))
    best = max(runs)
    if best and (best - min(runs)) / best > _SPREAD:
        share = units.format_share((best - min(runs)) / best)
        found.append(tr("The runs differ by {share}.", share=share))
    if cache is not None and total_bytes < 2 * cache:
        found.append(
            tr(
                "The {size} read is not far beyond the {cache} cache.",
                size=units.format_bytes(total_bytes),
                cache=units.format_bytes(cache),
            )
        )
    return tuple(found)


def _run(
    count: int, size: int, seconds: float, repeats: int, stop: Callable[[], bool]
) -> tuple[tuple[float, ...], bool]:
    """Rates of the finished runs in bytes per second, and whether all were finished."""
    readers = _Readers(count, size, seconds, repeats)
    threads = [
        threading.Thread(target=readers.read, args=(index,), name=f"bandwidth-{index}")
        for index in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.05)
            if stop():
                readers.halt()
    if readers.out_of_memory:
        raise MemoryError
    return readers.rates(), not readers.halted.is_set()


class _Readers:
    """The threads' common state: they start each run together and note what they read."""

    def __init__(self, count: int, size: int, seconds: float, repeats: int) -> None:
        self.halted = threading.Event()
        self.out_of_memory = False
        self._size, self._seconds, self._repeats = size, seconds, repeats
        self._start = threading.Barrier(count)
        # per run and thread: bytes, start, end
        self._notes: list[list[tuple[int, float, float]]] = [[] for _ in range(repeats)]
        self._count = count

    def halt(self) -> None:
        """Make every thread end at its next look."""
        self.halted.set()
        self._start.abort()

    def read(self, index: int) -> None:
        """One thread's work."""
        import numpy as np

        try:
            # Filled here, so that the memory lies beside the core that reads it.
            array = np.empty(self._size // 4, np.int32)
            array.fill(index + 1)
        except MemoryError:
            self.out_of_memory = True
            self.halt()
            return
        chunks = array.reshape(-1, _CHUNK // 4)
        position = 0
        for run in range(self._repeats):
            with contextlib.suppress(threading.BrokenBarrierError):
                self._start.wait()
            if self.halted.is_set():
                return
            done, start = 0, time.perf_counter()
            end = start
            while end - start < self._seconds and not self.halted.is_set():
                chunks[position].max()
                position = (position + 1) % len(chunks)
                done += _CHUNK
                end = time.perf_counter()
            if self.halted.is_set():
                return
            self._notes[run].append((done, start, end))

    def rates(self) -> tuple[float, ...]:
        """Bytes per second of every run that all threads finished."""
        rates = []
        for notes in self._notes:
            if len(notes) == self._count:
                first = min(start for _, start, _ in notes)
                last = max(end for _, _, end in notes)
                rates.append(sum(done for done, _, _ in notes) / (last - first))
        return tuple(rates)


class _Busy:
    """The share of all processors that others use, from now until asked."""

    def __init__(self, psutil: object) -> None:
        self._psutil = psutil
        self._times = self._now()
        self._own = time.process_time()

    def share(self) -> float | None:
        """0..1 since the start; what this process used itself is left out."""
        then, now = self._times, self._now()
        if then is None or now is None:
            return None
        total, idle = now[0] - then[0], now[1] - then[1]
        if total <= 0:
            return None
        own = (time.process_time() - self._own) / total
        return min(1.0, max(0.0, 1 - idle / total - own))

    def _now(self) -> tuple[float, float] | None:
        """Processor seconds so far: all, and idle ones."""
        try:
            times = self._psutil.cpu_times()._asdict()  # type: ignore[attr-defined]
        except (OSError, RuntimeError):
            return None
        # guest time is counted in user time as well
        total = sum(v for k, v in times.items() if not k.startswith("guest"))
        return total, times.get("idle", 0.0) + times.get("iowait", 0.0)


def _figure(
    runs: tuple[float, ...], count: int, size: int, reasons: tuple[str, ...]
) -> Number[float]:
    note = ""  # nothing speaks against it
    if reasons:
        note = tr(
            "Doubtful, measure again when the computer is idle. {reasons}",
            reasons=" ".join(reasons),
        )
    return Number(
        max(runs),
        Unit.BYTES_PER_SECOND,
        Source(Rank.MEASURED, ORIGIN, date.today().isoformat()),
        formula=mark("bytes read / seconds, best of the runs"),
        inputs=(
            Input(mark("runs"), len(runs)),
            Input(mark("threads"), count),
            Input(mark("array of each"), size, Unit.BYTES),
            Input(mark("slowest run"), min(runs), Unit.BYTES_PER_SECOND),
        ),
        note=note,
    )


def _none(note: str, count: int, size: int, stopped: bool = False) -> BandwidthMeasurement:
    return BandwidthMeasurement(
        unknown_bandwidth(ORIGIN, note), (), count, size, reasons=(note,), stopped=stopped
    )


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def _wait(seconds: float, stop: Callable[[], bool]) -> bool:
    """Wait, looking often; True if it was stopped."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if stop():
            return True
        time.sleep(0.05)
    return False
