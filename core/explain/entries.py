"""Published runs and the user's own in one form, as they are drawn and listed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from core.explain.addresses import address
from core.explain.published import runs_with_a_share
from core.machine.machine import Machine, OwnRun
from core.plan.speed.calibration import BACKEND_WORDS
from core.plan.speed.published import PublishedRun
from core.units import format_bandwidth, format_rate, format_share, format_tokens

# Why a run is not compared with others.
REMARKS = {
    "ollama": "by Ollama's own clock, at a depth that is not told",
    "multi": "several cards at the same time, held against the bandwidth of all",
    "numa": "two processors, each with half of the memory",
}
_OWN = "measured with this program"
_NAMES = {backend.value: words[0] for backend, words in BACKEND_WORDS.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """One run. ``bytes`` are read for a token, ``decode`` is tokens per second, ``share`` is of
    the peak bandwidth (bytes per second; None where only the ceiling is known). ``run`` is the
    published one, None for the user's own. ``told`` says all about it in lines."""

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
    told: str
    run: PublishedRun | None = None

    @property
    def address(self) -> str:
        """Where it can be read again; "" where nobody can tell."""
        return address(self.source) if self.run is not None else ""


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
    kind = "mixture" if run.experts else "dense"
    lines = [
        f"{run.machine}, {name}, {run.engine}",
        f"{run.model} {run.quantization} ({kind}), {_at(run.depth)}",
        f"{format_rate(run.decode)} x {_gigabytes(run.bytes_per_token)} = "
        f"{format_share(share)} of {format_bandwidth(hardware.bandwidth)}",
    ]
    remark = REMARKS.get(run.flag, run.flag)
    if remark:
        lines.append(f"not compared: {remark}")
    lines.append(f"{run.date or 'no date'}: {run.source or 'no source'}")
    return Entry(
        f"run {number}",
        run.machine,
        name,
        run.engine,
        run.model,
        run.quantization,
        kind,
        run.depth,
        run.bytes_per_token,
        run.decode,
        share,
        hardware.bandwidth,
        remark,
        run.date,
        run.source,
        "\n".join(lines),
        run,
    )


def _own(id: str, run: OwnRun, machine: Machine, ceiling: float, size: int) -> Entry:
    name = _NAMES.get(run.backend, run.backend)
    share = run.tok_s / ceiling
    told = (
        f"Your own run, {name}",
        f"{run.title or 'a model'} {run.label}".rstrip() + f", {_at(run.depth)}",
        f"{format_rate(run.tok_s)} x {_gigabytes(size)} = {format_share(share)} of the ceiling, "
        f"{format_rate(ceiling)}",
        f"{run.date or 'no date'}: {_OWN}",
    )
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
        share,
        None,
        "",
        run.date,
        _OWN,
        "\n".join(told),
    )


def _at(depth: int) -> str:
    return f"from depth {format_tokens(depth)}"


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.3g} GB"
