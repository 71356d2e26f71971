"""Published runs and the user's own in one form, as they are drawn and listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from core.explain.addresses import address
from core.explain.published import runs_with_a_share
from core.language import mark, tr, written
from core.machine.machine import Machine, OwnRun
from core.plan.speed.calibration import BACKEND_NAMES
from core.plan.speed.published import PublishedRun
from core.units import format_bandwidth, format_rate, format_share, format_tokens

# Why a run is not compared with others.
REMARKS = {
    "ollama": mark("by Ollama's own clock, at a depth that is not told"),
    "multi": mark("several cards at the same time, held against the bandwidth of all"),
    "numa": mark("two processors, each with half of the memory"),
}
_OWN = mark("measured with this program")
_NAMES = {backend.value: name for backend, name in BACKEND_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """One run. ``bytes`` are read for a token, ``decode`` is tokens per second, ``share`` is of
    the peak bandwidth (bytes per second; None where only the ceiling is known, tok/s). ``run`` is
    the published one, None for the user's own. ``kind``, ``remark`` and ``source`` are marked for
    translation, ``machine`` is for `core.machine.machine.spoken_name`."""

    id: str
    machine: str
    backend: str
    program: str
    model: str
    quantization: str
    kind: str
    depth: int
    bytes: float
    decode: float
    share: float
    bandwidth: float | None
    remark: str
    date: str
    source: str
    ceiling: float | None = None
    run: PublishedRun | None = None

    @property
    def address(self) -> str:
        """Where it can be read again; "" where nobody can tell."""
        return address(self.source) if self.run is not None else ""

    @property
    def told(self) -> str:
        """All about it, in lines."""
        return "\n".join(_published_lines(self) if self.run is not None else _own_lines(self))


@cache
def published_entries() -> tuple[Entry, ...]:
    """All published runs that have a place in the picture."""
    return tuple(_published(n, run) for n, run in enumerate(runs_with_a_share()))


def own_entries(machine: Machine | None) -> tuple[Entry, ...]:
    """The user's own runs on a machine, where the ceiling of that moment was known."""
    if machine is None:
        return ()
    return tuple(
        _own(f"own {n}", run, machine, run.ceiling, run.bytes)
        for n, run in enumerate(machine.runs)
        if run.ceiling and run.bytes
    )


def _published(number: int, run: PublishedRun) -> Entry:
    share, hardware = run.share_of_peak, run.hardware
    assert share is not None
    assert hardware is not None
    name = _NAMES[run.backend.value]
    return Entry(
        f"run {number}",
        run.machine,
        name,
        run.engine,
        run.model,
        run.quantization,
        mark("mixture") if run.experts else mark("dense"),
        run.depth,
        run.bytes_per_token,
        run.decode,
        share,
        hardware.bandwidth,
        REMARKS.get(run.flag, run.flag),
        run.date,
        run.source,
        run=run,
    )


def _own(id: str, run: OwnRun, machine: Machine, ceiling: float, size: int) -> Entry:
    name = _NAMES.get(run.backend, run.backend)
    return Entry(
        id,
        machine.name,
        name,
        "",
        run.title,
        run.label,
        "",
        run.depth,
        size,
        run.tok_s,
        run.tok_s / ceiling,
        None,
        "",
        run.date,
        _OWN,
        ceiling,
    )


def _published_lines(entry: Entry) -> Iterator[str]:
    yield f"{entry.machine}, {entry.backend}, {entry.program}"
    yield tr(
        "{model} ({kind}), from depth {depth}",
        model=f"{entry.model} {entry.quantization}",
        kind=tr(entry.kind),
        depth=format_tokens(entry.depth),
    )
    yield tr(
        "{rate} x {size} = {share} of {bandwidth}",
        rate=format_rate(entry.decode),
        size=_gigabytes(entry.bytes),
        share=format_share(entry.share),
        bandwidth=format_bandwidth(entry.bandwidth or 0.0),
    )
    if entry.remark:
        yield tr("not compared: {why}", why=tr(entry.remark))
    yield f"{entry.date or tr('no date')}: {entry.source or tr('no source')}"


def _own_lines(entry: Entry) -> Iterator[str]:
    yield tr("Your own run, {backend}", backend=entry.backend)
    yield tr(
        "{model}, from depth {depth}",
        model=f"{entry.model or tr('a model')} {entry.quantization}".rstrip(),
        depth=format_tokens(entry.depth),
    )
    yield tr(
        "{rate} x {size} = {share} of the ceiling, {ceiling}",
        rate=format_rate(entry.decode),
        size=_gigabytes(entry.bytes),
        share=format_share(entry.share),
        ceiling=format_rate(entry.ceiling or 0.0),
    )
    yield f"{entry.date or tr('no date')}: {tr(entry.source)}"


def _gigabytes(size: float) -> str:
    return f"{written(size / 1e9, ',.3g')} GB"
