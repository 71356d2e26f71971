"""Timing RAM: sizes, doubts, stopping, and one short real run."""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.machine import measure_bandwidth, measurement_as_dict
from core.machine.detect.memory import read_ram
from core.provenance import Rank

BANDWIDTH = sys.modules["core.machine.bandwidth"]
MIB = 2**20
GIB = 2**30


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """No known cache, so that a test reads 64 MiB per thread."""
    monkeypatch.setattr(BANDWIDTH, "last_level_cache", lambda: None)


@pytest.mark.usefixtures("small")
def test_a_short_run_gives_a_figure_with_its_conditions() -> None:
    before = date.today().isoformat()
    measured = measure_bandwidth(threads=2, seconds=0.05, repeats=3)
    assert len(measured.runs) == 3
    assert measured.bandwidth.value == max(measured.runs)
    # Slower than an SD card or faster than any socket sold would be a bug in the counting.
    assert 0.2e9 < max(measured.runs) < 2000e9
    assert measured.bandwidth.source.rank is Rank.MEASURED
    assert before <= measured.bandwidth.source.date <= date.today().isoformat()
    assert measured.threads == 2
    assert measured.bytes_per_thread == 64 * MIB
    assert measured.busy_during is not None
    assert 0 <= measured.busy_during <= 1
    assert not measured.stopped
    assert measured.reliable == (not measured.reasons)
    assert measured.reliable == (not measured.bandwidth.note)
    assert json.dumps(measurement_as_dict(measured))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("threads", [1, 2])
def test_the_rate_is_what_all_threads_read_by_the_time_it_took(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that ticks a millisecond per look, and 8 MiB are read between two looks."""
    ticks = threading.local()

    def look() -> float:
        ticks.now = getattr(ticks, "now", 0) + 1
        return float(ticks.now) / 1000

    clock = SimpleNamespace(
        perf_counter=look,
        monotonic=time.monotonic,
        sleep=time.sleep,
        process_time=time.process_time,
    )
    monkeypatch.setattr(BANDWIDTH, "time", clock)
    measured = measure_bandwidth(threads=threads, seconds=0.05, repeats=2)
    expected = threads * 8 * MIB / 0.001
    assert list(measured.runs) == pytest.approx([expected, expected])


@pytest.mark.usefixtures("small")
def test_a_cancelled_measurement_ends_at_once_and_says_so() -> None:
    start = time.perf_counter()
    measured = measure_bandwidth(threads=2, seconds=30, repeats=5, cancelled=lambda: True)
    assert time.perf_counter() - start < 30
    assert measured.stopped
    assert measured.bandwidth.value is None
    assert "stopped" in measured.bandwidth.note


@pytest.mark.usefixtures("small")
def test_a_measurement_stopped_half_way_keeps_the_runs_it_finished() -> None:
    start = time.perf_counter()
    measured = measure_bandwidth(
        threads=2,
        seconds=0.2,
        repeats=1000,
        cancelled=lambda: time.perf_counter() - start > 2.5,
    )
    assert measured.stopped
    assert 1 <= len(measured.runs) < 20
    assert measured.bandwidth.value == max(measured.runs)


def test_the_arrays_are_four_caches_together_and_a_quarter_of_what_is_free() -> None:
    size = BANDWIDTH.array_bytes
    assert size(8, 32 * MIB, 64 * GIB) == 64 * MIB  # 64 MiB is the least
    assert size(2, 300 * MIB, 64 * GIB) == 600 * MIB  # 4 x 300 / 2
    assert size(8, None, 64 * GIB) == 64 * MIB
    assert size(4, 300 * MIB, 1 * GIB) == 64 * MIB  # 256 MiB in all
    assert size(96, 1152 * MIB, 2 * GIB) == 0  # nothing sensible fits


@pytest.mark.usefixtures("small")
def test_too_little_memory_is_said_and_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BANDWIDTH, "ram", lambda: read_ram(GIB, 16 * MIB))
    measured = measure_bandwidth(threads=2)
    assert measured.bandwidth.value is None
    assert "memory" in measured.bandwidth.note
    assert not measured.reliable


def test_a_busy_computer_or_scattered_runs_make_a_figure_doubtful() -> None:
    doubts = BANDWIDTH.doubts
    assert doubts((50e9, 49e9), 0.02, 0.03, 1 * GIB, 32 * MIB) == ()
    (busy,) = doubts((50e9, 49e9), 0.02, 0.62, 1 * GIB, 32 * MIB)
    assert "62 %" in busy
    (before,) = doubts((50e9, 49e9), 0.4, None, 1 * GIB, 32 * MIB)
    assert "40 %" in before
    (scattered,) = doubts((50e9, 30e9), 0.0, 0.0, 1 * GIB, None)
    assert "40 %" in scattered
    (cached,) = doubts((50e9, 50e9), 0.0, 0.0, 256 * MIB, 300 * MIB)
    assert "cache" in cached


def test_every_cache_is_counted_once(tmp_path: Path) -> None:
    # Two core complexes of 32 MiB, seen from four processors.
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        folder = tmp_path / f"cpu{cpu}" / "cache" / "index3"
        folder.mkdir(parents=True)
        (folder / "size").write_text("32768K\n")
        (folder / "shared_cpu_list").write_text(f"{shared}\n")
    assert BANDWIDTH.last_level_cache(tmp_path) == 64 * MIB
    assert BANDWIDTH.last_level_cache(tmp_path / "none") is None
