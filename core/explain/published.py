"""How fast others were: published runs chosen by what they ran on, and what they say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from statistics import median

from core.language import mark, tr, trn
from core.machine.machine import Backend, Machine
from core.plan.plan import Plan
from core.plan.speed.calibration import BACKEND_NAMES, counted_parts, counted_runs
from core.plan.speed.features import IPEX, LLAMA_CPP, LLAMAFILE
from core.plan.speed.published import PublishedRun, published_runs
from core.units import format_share

# In the order in which they are listed.
BACKENDS = (
    Backend.CUDA,
    Backend.METAL,
    Backend.VULKAN,
    Backend.ROCM,
    Backend.SYCL,
    Backend.CPU,
)
PROGRAMS = (LLAMA_CPP, LLAMAFILE, IPEX)


class MemoryKind(StrEnum):
    """What the weights were read from, marked for translation."""

    CARD = mark("a card's own memory (GDDR)")
    STACKED = mark("stacked memory (HBM)")
    SHARED = mark("memory shared with the processor")
    RAM = mark("RAM, on the processor")


def memory_kind(run: PublishedRun) -> MemoryKind:
    """By the backend, and the type of memory that the catalogue knows."""
    if run.backend is Backend.CPU:
        return MemoryKind.RAM
    kind = "" if run.hardware is None else run.hardware.memory_type
    if kind.startswith("HBM"):
        return MemoryKind.STACKED
    return MemoryKind.CARD if kind.startswith("GDDR") else MemoryKind.SHARED


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs are looked at. None stands for all; ``parts`` are catalogue ids."""

    backends: frozenset[Backend] | None = None
    memory: MemoryKind | None = None
    experts: bool | None = None
    program: str | None = None
    parts: frozenset[str] | None = None
    remarked: bool = True

    def takes(self, run: PublishedRun) -> bool:
        """Whether this is one of them."""
        return (
            (self.backends is None or run.backend in self.backends)
            and (self.memory is None or memory_kind(run) is self.memory)
            and (self.experts is None or run.experts is self.experts)
            and (self.program is None or run.family == self.program)
            and (self.parts is None or run.machine_id in self.parts)
            and (self.remarked or not run.flag)
        )


@cache
def runs_with_a_share() -> tuple[PublishedRun, ...]:
    """All that ship and have a known bandwidth, so that they have a place in the picture."""
    return tuple(run for run in published_runs() if run.share_of_peak is not None)


def parts_of(machine: Machine) -> tuple[str, ...]:
    """The parts of a machine that published runs are of, by their catalogue ids; its own order."""
    known = {run.machine_id for run in runs_with_a_share()}
    ids = dict.fromkeys(device.catalogue_id for device in machine.devices)
    return tuple(part for part in ids if part and part in known)


@dataclass(frozen=True, slots=True)
class Summary:
    """So many runs on so many machines: the median share of the peak, and where the middle half
    lies. Shares are None where there is no run. Runs with a remark are not among them; they are
    counted in ``remarked``."""

    runs: int
    machines: int
    median: float | None
    low: float | None
    high: float | None
    remarked: int = 0


def summary(runs: Iterable[PublishedRun]) -> Summary:
    """What these runs say together."""
    given = list(runs)
    kept = [run for run in given if not run.flag]
    shares = sorted(share for run in kept if (share := run.share_of_peak) is not None)
    remarked = len(given) - len(kept)
    if not shares:
        return Summary(0, 0, None, None, None, remarked)
    machines = len({run.machine_id or run.machine for run in kept})
    return Summary(
        len(shares), machines, median(shares), _at(shares, 0.25), _at(shares, 0.75), remarked
    )


def _at(ascending: Sequence[float], share: float) -> float:
    """The quantile, between two values where it lies between."""
    place = share * (len(ascending) - 1)
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (place - below) * (ascending[above] - ascending[below])


def peers_of(plan: Plan) -> Wanted:
    """Runs that are like a plan: the same backend and program, dense or a mixture as it is."""
    return Wanted(
        backends=frozenset((Backend(plan.settings.backend),)),
        experts=plan.model.shape.experts > 0,
        program=LLAMA_CPP,
        remarked=False,
    )


def peer_words(plan: Plan) -> str:
    """ "CUDA, dense: median 68 % of the peak over 93 runs on 38 cards"."""
    wanted = peers_of(plan)
    found = summary(filter(wanted.takes, runs_with_a_share()))
    backend = Backend(plan.settings.backend)
    kind = tr("mixtures of experts") if wanted.experts else tr("dense")
    peers = f"{BACKEND_NAMES[backend]}, {kind}"
    if found.median is None:
        return tr("{peers}: no published run", peers=peers)
    return tr(
        "{peers}: median {median} of the peak over {runs} on {parts}",
        peers=peers,
        median=format_share(found.median),
        runs=counted_runs(found.runs),
        parts=counted_parts(backend, found.machines),
    )


def shown_words(found: Summary) -> str:
    """What is chosen now, in one sentence."""
    if found.median is None or found.low is None or found.high is None:
        if not found.remarked:
            return tr("No run that can be compared is shown.")
        return tr(
            "No run that can be compared is shown; {runs} with a remark.",
            runs=counted_runs(found.remarked),
        )
    words = tr(
        "{runs} on {machines}, median {median}, the middle half from {low} to {high}",
        runs=counted_runs(found.runs),
        machines=trn("{count:,} machine", "{count:,} machines", found.machines),
        median=format_share(found.median),
        low=format_share(found.low),
        high=format_share(found.high),
    )
    if not found.remarked:
        return tr("Shown: {words}.", words=words)
    return trn(
        "Shown: {words}; {count} more with a remark are hollow and not counted.",
        "Shown: {words}; {count} more with a remark are hollow and not counted.",
        found.remarked,
        words=words,
    )
