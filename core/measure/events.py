"""What a running measurement says, one JSON object a line, and how a run grows from it.

``{"event": "sample", ...}``: the name says which of the values below it is. A line that is no
event, or one of a newer version, is None: whoever listens goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TypeAlias

from core.measure.codec import BadValueError, from_json, to_json
from core.measure.readings import Reading
from core.measure.run import Cell, Run, RunStatus, Sample, with_cell
from core.problems import Problem


@dataclass(frozen=True, slots=True)
class Started:
    """The run as it begins. ``expected_seconds`` is None until rates are known."""

    run: Run
    expected_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Where it is: at most ten times a second.

    ``phase`` is a sample's kind, "waiting" (for the server to load or to be idle) or "paused".
    ``prompt_done`` are prompt tokens read so far where the server tells.
    """

    depth: int
    concurrency: int
    phase: str
    done: float  # share of the whole run, 0..1
    tokens: int = 0  # written so far by this request
    prompt_done: int | None = None
    tok_s: float | None = None
    left_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SampleDone:
    """One more request of the cell with this depth and concurrency."""

    depth: int
    concurrency: int
    sample: Sample


@dataclass(frozen=True, slots=True)
class CellDone:
    """A cell with all its samples: from now on it is safe."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class TelemetryRead:
    reading: Reading


@dataclass(frozen=True, slots=True)
class ProblemFound:
    """Something to be said about the whole run, the moment it is known."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Ended:
    status: RunStatus
    ended: str
    problems: tuple[Problem, ...] = ()


Event: TypeAlias = Started | Progress | SampleDone | CellDone | TelemetryRead | ProblemFound | Ended

_NAMES: dict[str, type[Event]] = {
    "started": Started,
    "progress": Progress,
    "sample": SampleDone,
    "cell": CellDone,
    "telemetry": TelemetryRead,
    "problem": ProblemFound,
    "ended": Ended,
}
_BY_TYPE = {kind: name for name, kind in _NAMES.items()}


def to_line(event: Event) -> str:
    """The event as one line of JSON, without the line's end."""
    return json.dumps({"event": _BY_TYPE[type(event)], **to_json(event)}, separators=(",", ":"))


def from_line(line: str | bytes) -> Event | None:
    """The event in a line; None where it holds none that this version knows."""
    try:
        values = json.loads(line)
        return from_json(_NAMES[values["event"]], values)
    except (ValueError, KeyError, TypeError, BadValueError):
        return None


def grown(run: Run, event: Event) -> Run:
    """The run after this event; `Started` gives the run itself."""
    match event:
        case Started(run=begun):
            return begun
        case SampleDone(depth=depth, concurrency=concurrency, sample=sample):
            cell = next(
                (c for c in run.cells if c.key == (depth, concurrency)), Cell(depth, concurrency)
            )
            return with_cell(run, replace(cell, samples=(*cell.samples, sample)))
        case CellDone(cell=cell):
            return with_cell(run, cell)
        case TelemetryRead(reading=reading):
            return replace(run, telemetry=(*run.telemetry, reading))
        case ProblemFound(problem=problem):
            return replace(run, problems=(*run.problems, problem))
        case Ended(status=status, ended=ended, problems=problems):
            new = tuple(p for p in problems if p not in run.problems)
            return replace(run, status=status, ended=ended, problems=(*run.problems, *new))
        case _:
            return run
