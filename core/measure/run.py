"""A measurement as a value: the server, the plan, and every request with its raw stamps.

Nothing in it is a metric: those are functions of the samples (`core.measure.metrics`), so that
every figure of an old run can be worked out anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from core.measure.readings import Reading
from core.problems import Problem

SCHEMA = 1


class ServerKind(StrEnum):
    LLAMA_SERVER = "llama-server"
    OLLAMA = "ollama"
    LM_STUDIO = "lm-studio"
    VLLM = "vllm"
    OPENAI = "openai"  # answers /v1/models, and no more is known


@dataclass(frozen=True, slots=True)
class Target:
    """A server and the model that it runs, as it tells. Empty or None is what it does not tell.

    ``url`` has neither a key nor a user. ``model`` is the name for requests. ``context`` is the
    effective one of a single request (one slot), in tokens. ``model_bytes`` are the weights as the
    server counts them, ``loaded_bytes`` all that it has loaded and ``gpu_bytes`` the part of it on
    GPUs. ``gpu_layers`` and ``arguments`` come from the process's command line, without secrets.
    """

    kind: ServerKind
    url: str
    model: str = ""
    version: str = ""
    model_path: str = ""
    model_bytes: int | None = None
    parameters: int | None = None
    label: str = ""
    context: int | None = None
    trained_context: int | None = None
    slots: int | None = None
    cache_k: str = ""
    cache_v: str = ""
    gpu_layers: int | None = None
    loaded_bytes: int | None = None
    gpu_bytes: int | None = None
    speculative: bool | None = None
    pid: int | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What to measure.

    ``depths`` are tokens in the cache when writing begins, ascending; 0 means the least that a
    server takes, one token. Each depth is filled, warmed up ``warm_ups`` times (discarded) and
    measured ``runs`` times with ``tokens`` written each. ``cold`` whole prefills per depth, each on
    a prompt of its own; with 0 a depth is filled on top of the one before. ``concurrency`` are
    numbers of requests at the same time, each level a cell of its own. ``again`` runs of the least
    depth follow the deepest one, to see whether a long prompt left it slower. A request that says
    nothing for ``stall_seconds`` is given up.
    """

    depths: tuple[int, ...]
    runs: int = 6
    tokens: int = 64
    warm_ups: int = 1
    cold: int = 1
    concurrency: tuple[int, ...] = (1,)
    stall_seconds: float = 300.0
    again: int = 0


class SampleKind(StrEnum):
    COLD = "cold"  # a whole prefill on a fresh prompt: TTFT and the prefill rate
    FILL = "fill"  # what the depth before did not have yet
    WARM_UP = "warm_up"  # discarded
    RUN = "run"  # measured
    AGAIN = "again"  # the least depth once more, after the deepest: is it still as fast?


class TokenSource(StrEnum):
    """Who counted the written tokens, best first."""

    TIMINGS = "timings"  # the engine's own timings
    USAGE = "usage"  # the answer's usage
    EVENTS = "events"  # only arrivals could be counted: at least so many


@dataclass(frozen=True, slots=True)
class Sample:
    """One request. Times are ns of the monotonic clock.

    ``started_ns`` counts from the run's beginning to just before the request's bytes were handed
    over on an open connection (t0); ``round_trip_ns`` is what it took to connect before; all others
    count from t0. ``arrivals_ns`` has one stamp for
    each event with text (thinking counts), taken after the read that completed it and before
    parsing: events of one read share a stamp. ``first_answer_ns`` is the first text that is no
    thinking. ``counts`` has the tokens written up to each arrival where the server tells (an event
    may bring several, or text held back from earlier ones). ``server_timings`` is what the server
    said about times, as it said it.
    """

    kind: SampleKind
    started_ns: int
    arrivals_ns: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    round_trip_ns: int | None = None
    first_byte_ns: int | None = None
    first_answer_ns: int | None = None
    ended_ns: int | None = None
    tokens: int | None = None
    token_source: TokenSource = TokenSource.EVENTS
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    finish: str = ""
    truncated: bool = False
    user: int = 0  # which of the requests at the same time
    round: int = 0  # which repetition
    server_timings: dict[str, Any] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether its figures may be used: it ended as it should."""
        return not any(problem.severity == "error" for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Cell:
    """One depth at one number of requests at the same time. ``depth`` is what was asked for."""

    depth: int
    concurrency: int = 1
    samples: tuple[Sample, ...] = ()
    problems: tuple[Problem, ...] = ()
    finished: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """Depth and concurrency: unique in a run."""
        return self.depth, self.concurrency

    @property
    def measured(self) -> tuple[Sample, ...]:
        """The sound samples that count: neither warm-ups nor fills nor cold ones."""
        return tuple(s for s in self.samples if s.kind is SampleKind.RUN and s.sound)


class RunStatus(StrEnum):
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """A sweep, finished or not. ``started`` and ``ended`` are UTC ("2026-01-01T00:00:00Z").

    ``versions`` are those of this program, Python and the system; ``machine`` is this computer as
    `core.machine.as_dict` tells it; both may be empty.
    """

    id: str
    started: str
    target: Target
    plan: RunPlan
    status: RunStatus = RunStatus.RUNNING
    ended: str = ""
    cells: tuple[Cell, ...] = ()
    telemetry: tuple[Reading, ...] = ()
    problems: tuple[Problem, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def finished_cells(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.finished)


def with_cell(run: Run, cell: Cell) -> Run:
    """The run with this cell, in place of one of the same depth and concurrency."""
    others = tuple(c for c in run.cells if c.key != cell.key)
    if len(others) < len(run.cells):
        cells = tuple(cell if c.key == cell.key else c for c in run.cells)
    else:
        cells = (*run.cells, cell)
    return replace(run, cells=cells)
