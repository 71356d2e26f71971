"""A plan: every number that any view shows, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from core.machine.machine import Device, Machine
from core.model.model import Model, Weights
from core.plan.choice import Choice
from core.problems import Problem
from core.provenance import Number


class Verdict(StrEnum):
    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does_not_fit"
    UNKNOWN = "unknown"


class PartKind(StrEnum):
    """The parts of a memory budget, in the words of the command line's JSON."""

    OTHERS = "others"  # the system and other programs
    WEIGHTS = "weights"
    CACHE = "cache"
    STATE = "state"
    COMPUTE = "compute"
    OUTPUT = "output"
    PROJECTOR = "projector"
    DRAFT = "draft"
    OVERHEAD = "overhead"


@dataclass(frozen=True, slots=True)
class Part:
    kind: PartKind
    bytes: Number[int]


@dataclass(frozen=True, slots=True)
class Growth:
    """What an engine adds with use: at most so many bytes, and nothing when it has just loaded."""

    name: str
    bytes: Number[int]


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """What lies on one device. ``total`` is the sum of ``parts``; ``free`` is negative where it
    does not fit, None where a part or the capacity is unknown. ``growth`` comes on top with use: it
    is in no total and decides no verdict."""

    device: Device
    parts: tuple[Part, ...]
    total: Number[int]
    free: Number[int]
    verdict: Verdict
    growth: tuple[Growth, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Sums over all devices, the host included, and where each part lies.

    ``cache_per_token`` is what one more token of context costs at the chosen cache types, windows
    not yet full.
    """

    cache: Number[int]
    cache_k: Number[int]
    cache_v: Number[int]
    cache_per_token: Number[int]
    state: Number[int]
    compute: Number[int]
    output: Number[int]
    total: Number[int]
    devices: tuple[DevicePlan, ...]
    verdict: Verdict


class DepthPoint(NamedTuple):
    """The ceiling at one depth. ``tok_s`` is None where it is not known."""

    depth: int
    bytes: int | None
    tok_s: float | None


@dataclass(frozen=True, slots=True)
class SpeedPlan:
    """Decode speed. ``ceiling`` and ``bytes_per_token`` are at the chosen depth; ``curve`` runs
    from depth 0 to the context and includes both ends and the chosen depth."""

    bytes_per_token: Number[int]
    ceiling: Number[float]
    curve: tuple[DepthPoint, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """The choice with every default filled in, as the engine would run it.

    ``context`` is what the engine reserves after its own padding; ``requested_context`` what was
    asked for. ``gpu_layers`` counts the output layer, as -ngl does.
    """

    requested_context: int
    context: int
    depth: int
    cache_k: str
    cache_v: str
    flash_attention: bool
    ubatch: int
    batch: int
    slots: int
    unified_cache: bool
    swa_full: bool
    engine: str
    requantize: str | None
    gpu_layers: int
    cpu_moe: int
    backend: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A model on a machine with a choice. Two plans that compare equal draw alike."""

    model: Model
    machine: Machine
    choice: Choice
    settings: Settings
    weights: Weights
    memory: MemoryPlan
    speed: SpeedPlan
    verdict: Verdict
    reason: str
    problems: tuple[Problem, ...] = ()
