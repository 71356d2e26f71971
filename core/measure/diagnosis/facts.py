"""What the rules look at: a run's figures held against the plan of its moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from core.measure import metrics
from core.measure.history.snapshot import DepthFigures, PlanSnapshot
from core.measure.order import Summary
from core.measure.readings import GpuReading, Reading
from core.measure.run import Cell, Run


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that can be said about a run. ``code`` is a stable word for programs, ``message``
    a sentence, ``evidence`` the figures that speak for it, ``advice`` what to try.

    ``amber`` marks what may be wrong; the others only explain.
    """

    code: str
    message: str
    evidence: str = ""
    advice: str = ""
    amber: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """A cell with one request at a time: passes of the model per second at their true depth, and
    what the plan says about that depth."""

    cell: Cell
    depth: float
    steps: Summary
    tok_s: Summary
    figures: DepthFigures | None

    @property
    def share(self) -> float | None:
        """Of the ceiling; None where that is not known."""
        ceiling = self.figures.ceiling if self.figures is not None else None
        return self.steps.median / ceiling if ceiling else None

    @property
    def bandwidth(self) -> float | None:
        """Bytes that were read per second."""
        size = self.figures.bytes if self.figures is not None else None
        return self.steps.median * size if size else None


def point_of(cell: Cell, plan: PlanSnapshot | None) -> Point | None:
    """A cell as a point of the picture; None while it has no figure."""
    steps, tok_s = metrics.steps(cell), metrics.best_decode(cell)
    if steps is None or tok_s is None:
        return None
    depth = metrics.point_depth(cell)
    place = float(cell.depth) if depth is None else depth
    return Point(cell, place, steps, tok_s, plan.figures(place) if plan is not None else None)


class Facts:
    """A run and its plan, with what several rules need."""

    def __init__(self, run: Run, plan: PlanSnapshot | None) -> None:
        self.run = run
        self.plan = plan
        self.target = run.target
        found = (point_of(cell, plan) for cell in run.cells if cell.concurrency == 1)
        self.points = tuple(
            sorted((p for p in found if p is not None), key=lambda point: point.depth)
        )

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """Shares of the ceiling by ascending depth, where they are known."""
        return tuple(p.share for p in self.points if p.share is not None)

    @cached_property
    def slow(self) -> bool | None:
        """Whether it is slower than the band at most depths; None where there is no band."""
        told = [
            p.steps.median < p.figures.low
            for p in self.points
            if p.figures is not None and p.figures.low is not None
        ]
        return sum(told) * 2 > len(told) if told else None

    @property
    def on_gpu(self) -> bool:
        """Whether the plan has layers on a GPU."""
        return self.plan is not None and bool(self.plan.settings.get("gpu_layers"))

    # Telemetry.

    @property
    def readings(self) -> tuple[Reading, ...]:
        """In the order of time."""
        return self.run.telemetry

    def typical(self, read: Callable[[Reading], float | None]) -> float | None:
        """The median of one figure over the run."""
        return middle(map(read, self.readings))

    def gained(self, read: Callable[[Reading], float | None]) -> float | None:
        """How much a figure that counts grew over the run."""
        values = [v for v in map(read, self.readings) if v is not None]
        return values[-1] - values[0] if len(values) > 1 else None

    @cached_property
    def gpus(self) -> tuple[GpuSeries, ...]:
        """What each GPU did, in the order of the driver."""
        count = max((len(reading.gpus) for reading in self.readings), default=0)
        return tuple(
            GpuSeries(tuple(r.gpus[n] for r in self.readings if n < len(r.gpus)))
            for n in range(count)
        )


@dataclass(frozen=True, slots=True)
class GpuSeries:
    """The readings of one GPU."""

    readings: tuple[GpuReading, ...]

    @property
    def name(self) -> str:
        """As its driver calls it."""
        return self.readings[0].name

    def values(self, read: Callable[[GpuReading], float | None]) -> list[float]:
        """Those that are known."""
        return [value for value in map(read, self.readings) if value is not None]

    def typical(self, read: Callable[[GpuReading], float | None]) -> float | None:
        """The median over the run."""
        return middle(self.values(read))

    def thirds(self, read: Callable[[GpuReading], float | None]) -> tuple[float, float] | None:
        """The medians of the first and of the last third; None below six readings."""
        values = self.values(read)
        third = len(values) // 3
        if third < 2:
            return None
        return median(values[:third]), median(values[-third:])

    def reasons(self) -> tuple[tuple[str, float], ...]:
        """Why its clocks were held back, with the share of the readings that say so."""
        told = [r.limits for r in self.readings if r.limits is not None]
        names = sorted({reason for limits in told for reason in limits})
        return tuple((name, sum(name in limits for limits in told) / len(told)) for name in names)


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known; None of none."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def spread_of(values: Sequence[float]) -> float:
    """How far apart they are, as a share of the largest."""
    return 1 - min(values) / max(values) if values and max(values) > 0 else 0.0
