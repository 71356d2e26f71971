"""Timing a disk: what it needs, what it refuses, and where the figure goes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.machine import Disk, DiskKind, custom, disk_speed, facts, measure_disk
from core.machine.detect.disk import unknown
from core.provenance import Number, Rank, Source, Unit

MIB = 2**20
HERE = replace(custom(2**36, 5e10, gpu=False), disk=unknown(DiskKind.NVME, "Samsung SSD 980 PRO"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few MiB are enough to see how it goes."""
    monkeypatch.setattr(disk_speed, "LEAST", MIB)
    monkeypatch.setattr(disk_speed, "_CHUNK", MIB // 2)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(os.urandom(MIB) * 4 + b"the end")
    return path


@pytest.mark.usefixtures("small")
def test_a_file_is_read_past_the_cache_or_it_is_said_why_not(model: Path) -> None:
    before = model.read_bytes()
    rate = measure_disk(model)
    assert model.read_bytes() == before
    if rate.value is None:  # a file system in RAM cannot be passed by
        assert rate.note
        return
    assert rate.value > 0
    assert rate.source.rank is Rank.MEASURED
    assert {i.name: i.value for i in rate.inputs}["bytes read"] == 4 * MIB


@pytest.mark.usefixtures("small")
def test_stopping_gives_no_figure(model: Path) -> None:
    rate = measure_disk(model, cancelled=lambda: True)
    assert rate.value is None
    assert rate.note


def test_a_small_missing_or_strange_file_gives_a_reason_and_no_figure(
    model: Path, tmp_path: Path
) -> None:
    for path in (model, tmp_path / "missing", tmp_path, Path("nul\0byte"), Path("/dev/null")):
        rate = measure_disk(path)
        assert rate.value is None
        assert rate.note.endswith(".")


def test_a_system_without_a_way_past_its_cache_is_not_measured(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert "file cache" in measure_disk(model).note


def test_the_rate_counts_for_that_disk_alone() -> None:
    rate = Number(3.1e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "timed", "2026-11-30"))
    assert HERE.disk is not None
    rates = facts.remembered((), HERE, facts.name_of_disk(HERE.disk), rate)
    disk = facts.applied(HERE, rates).disk
    assert disk is not None
    assert disk.read == rate
    other = unknown(DiskKind.HARD_DISK, "WDC WD40EFRX")
    assert facts.with_rate(other, HERE, rates) == other
    moved = Disk(DiskKind.NVME, "Samsung SSD 980 PRO", other.read)
    assert facts.with_rate(moved, HERE, rates).read.value == 3.1e9
