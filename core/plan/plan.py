"""A plan: every number that any view shows, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from core.language import mark
from core.machine.machine import Device, Machine
from core.model.model import Model, Weights
from core.plan.choice import Choice
from core.plan.prompt_cost import PromptCost
from core.problems import Problem
from core.provenance import Number


class Verdict(StrEnum):
    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does_not_fit"
    UNKNOWN = "unknown"


class PartKind(StrEnum):
    """The parts of a memory budget, in the words of the command line's JSON."""

    OTHERS = mark("others")  # the system and other programs
    WEIGHTS = mark("weights")
    CACHE = mark("cache")
    STATE = mark("state")
    COMPUTE = mark("compute")
    OUTPUT = mark("output")
    PROJECTOR = mark("projector")
    DRAFT = mark("draft")
    OVERHEAD = mark("overhead")


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
    is in no total and decides no verdict. ``works`` says that layers, or what is loaded beside the
    model, lie here: such a device decides whether it fits."""

    device: Device
    parts: tuple[Part, ...]
    total: Number[int]
    free: Number[int]
    verdict: Verdict
    growth: tuple[Growth, ...] = ()
    works: bool = True


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
    """Decode speed at one depth, tok/s: the ceiling, and the band that published runs lead to
    expect. Each is None where it is not known."""

    depth: int
    bytes: int | None
    tok_s: float | None
    low: float | None = None
    mid: float | None = None
    high: float | None = None


class Span(NamedTuple):
    """A duration in seconds and its likely range: ``low`` is the fast end."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True, slots=True)
class Band:
    """The decode speed to expect, tok/s at the chosen depth.

    About five of six runs of unseen sources lie between ``low`` and ``high``. ``basis`` says in
    words what the band is made from ("CUDA, 268 runs on 55 cards"). Where there is no data all
    three are None with a note, and ``basis`` is empty. ``uncorrected`` is ``mid`` as it would be
    without the user's own runs. ``layers`` are the seconds of a token that its layers cost whatever
    they read.
    """

    low: Number[float]
    mid: Number[float]
    high: Number[float]
    basis: str = ""
    uncorrected: float | None = None
    layers: float | None = None

    @property
    def known(self) -> bool:
        """Whether there is data for such a plan."""
        return self.mid.value is not None


@dataclass(frozen=True, slots=True)
class SpeedPlan:
    """Decode and prefill speed.

    ``ceiling``, ``bytes_per_token`` and ``expected`` are at the chosen depth; ``curve`` runs from
    depth 0 to the context and includes both ends and the chosen depth. ``prefill`` (tok/s) and
    ``ttft`` (s) are for a prompt that fills the chosen depth from nothing, and None at depth 0.
    Other prompts, and what is written after them: ``core.plan.speed.prefill_seconds`` and
    ``decode_seconds``. ``prompt`` is what prefill is computed from, None where it is not known.
    """

    bytes_per_token: Number[int]
    ceiling: Number[float]
    expected: Band
    prefill: Number[float]
    ttft: Number[float]
    curve: tuple[DepthPoint, ...]
    prompt: PromptCost | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The choice with every default filled in, as the engine would run it.

    ``context`` is what the engine reserves after its own padding; ``requested_context`` what was
    asked for. ``gpu_layers`` counts the output layer, as -ngl does.

    ``projector`` and ``draft`` are the paths of what is loaded beside the model; ``drafted`` is 0
    where nothing drafts.
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
    projector: str | None = None
    projector_on_gpu: bool = False
    draft: str | None = None
    draft_head: bool = False
    draft_gpu_layers: int = 0
    draft_cache_k: str | None = None
    draft_cache_v: str | None = None
    drafted: int = 0


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
    problems: tuple[Problem, ...] = ()
