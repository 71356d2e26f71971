"""A plan as it was when a run was made: all that the run is held against later.

Formulas and catalogues improve; what a run was expected to do then stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from core.machine.machine import Device, DeviceKind
from core.model import fingerprint
from core.plan import resolve
from core.plan.plan import DepthPoint, DevicePlan, PartKind, Plan, Settings
from core.plan.speed.own_runs import configuration
from core.provenance import Rank

# Points of the curve that are kept, for drawing.
_POINTS = 33


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """What was expected at one depth: bytes read for a token, and tok/s. None is not known.

    ``uncorrected`` is ``mid`` without the user's own runs, ``prefill`` the rate at which a prompt
    of this length is read.
    """

    depth: int
    bytes: int | None = None
    ceiling: float | None = None
    low: float | None = None
    mid: float | None = None
    high: float | None = None
    uncorrected: float | None = None
    prefill: float | None = None


_COUNTS = frozenset(each.name for each in fields(Settings) if str(each.type).startswith("int"))


@dataclass(frozen=True, slots=True)
class PlanSnapshot:
    """Sizes are bytes. ``settings`` are the resolved options by their names. ``curve`` ascends from
    depth 0 to the context; ``at`` has the depths that were to be measured, each by itself.
    ``bandwidth`` is that of the memory which holds most of it, in bytes per second;
    ``several_channels`` says that it is RAM whose sticks share the work. ``planned_gpus`` are the
    names of those that hold weights. ``machine`` is for `core.machine.machine.spoken_name`.
    """

    model: str
    architecture: str
    label: str
    path: str
    file_bytes: int
    machine: str
    settings: dict[str, Any] = field(default_factory=dict)
    parameters: int | None = None
    weights: int | None = None
    cache: int | None = None
    total: int | None = None
    verdict: str = ""
    basis: str = ""
    curve: tuple[DepthFigures, ...] = ()
    at: tuple[DepthFigures, ...] = ()
    fingerprint: str = ""
    configuration: str = ""
    backend: str = ""
    unified: bool = False
    bandwidth: float | None = None
    bandwidth_measured: bool = False
    several_channels: bool = False
    planned_gpus: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """What is read from a file may hold anything where a count belongs: that is not known."""
        settings = {
            name: value
            for name, value in self.settings.items()
            if name not in _COUNTS or type(value) is int
        }
        object.__setattr__(self, "settings", settings)

    def figures(self, depth: float) -> DepthFigures | None:
        """What was expected at a depth; between two points of the curve where it lies between and
        nothing was worked out for it."""
        near = min(self.at, key=lambda kept: abs(kept.depth - depth), default=None)
        if near is not None and abs(near.depth - depth) < 1:
            return near
        after = next((n for n, p in enumerate(self.curve) if p.depth >= depth), None)
        if after is None:
            return None
        right = self.curve[after]
        if right.depth == depth or after == 0:
            return right
        return _between(self.curve[after - 1], right, depth)


def snapshot(
    plan: Plan, depths: Iterable[int] = (), *, tokens: int = 0, asked: Plan | None = None
) -> PlanSnapshot:
    """The plan now, with its figures at these depths, and where the middle of ``tokens`` lies that
    are written there: the cache grows meanwhile.

    ``plan`` is that of what the server really runs, and ``asked`` the one that the user had on the
    screen, where that is another: its settings are kept, to be held against the server's.
    """
    memory = plan.memory
    curve = plan.speed.curve
    step = max(1, (len(curve) - 1) // (_POINTS - 1))
    kept = sorted({*curve[::step], curve[-1]})
    wanted = {max(depth, 1) + (tokens - 1) // 2 if tokens else depth for depth in depths}
    wanted |= set(depths)
    at = tuple(_at(plan, depth) for depth in sorted(wanted) if depth <= plan.settings.context)
    gpus = plan.machine.gpus
    device = _most_read(plan)
    return PlanSnapshot(
        model=plan.model.name or plan.model.architecture,
        architecture=plan.model.architecture,
        label=plan.weights.label,
        path=str(plan.model.file.header.path),
        file_bytes=plan.weights.bytes,
        machine=plan.machine.name,
        settings=asdict((asked or plan).settings),
        parameters=plan.weights.parameters,
        weights=plan.weights.bytes,
        cache=memory.cache.value,
        total=memory.total.value,
        verdict=plan.verdict.value,
        basis=plan.speed.expected.basis,
        curve=tuple(map(_point, kept)),
        at=at,
        fingerprint=fingerprint(plan.model),
        configuration=configuration(plan.settings),
        backend=plan.settings.backend,
        unified=bool(gpus) and gpus[0].unified,
        bandwidth=device.bandwidth.value,
        bandwidth_measured=device.bandwidth.source.rank is Rank.MEASURED,
        several_channels=device.kind is DeviceKind.HOST,
        planned_gpus=tuple(
            d.device.name
            for d in plan.memory.devices
            if d.device.kind is DeviceKind.GPU and _weights(d)
        ),
    )


def _most_read(plan: Plan) -> Device:
    """The device with the most weights."""
    return max(plan.memory.devices, key=_weights).device


def _weights(held: DevicePlan) -> int:
    return sum(p.bytes.value or 0 for p in held.parts if p.kind is PartKind.WEIGHTS)


def _at(plan: Plan, depth: int) -> DepthFigures:
    there = resolve(plan.model, plan.machine, replace(plan.choice, depth=depth))
    point = next(p for p in there.speed.curve if p.depth == there.settings.depth)
    made = _point(point)
    return replace(
        made,
        uncorrected=there.speed.expected.uncorrected,
        prefill=there.speed.prefill.value,
    )


def _point(point: DepthPoint) -> DepthFigures:
    return DepthFigures(point.depth, point.bytes, point.tok_s, point.low, point.mid, point.high)


def _between(left: DepthFigures, right: DepthFigures, depth: float) -> DepthFigures:
    """Times grow evenly with depth, rates do not."""
    share = (depth - left.depth) / (right.depth - left.depth)

    def rate(a: float | None, b: float | None) -> float | None:
        return 1 / ((1 - share) / a + share / b) if a and b else None

    size = None
    if left.bytes is not None and right.bytes is not None:
        size = round(left.bytes + share * (right.bytes - left.bytes))
    return DepthFigures(
        round(depth),
        size,
        rate(left.ceiling, right.ceiling),
        rate(left.low, right.low),
        rate(left.mid, right.mid),
        rate(left.high, right.high),
        rate(left.uncorrected, right.uncorrected),
    )
