"""What it costs where a driver moves to RAM what the card cannot hold, without a word.

Windows drivers do that: loading succeeds, and every token fetches the rest over PCI Express. What
is moved is taken to be read for every token, as far as the card reads so much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.machine.machine import DeviceKind
from core.plan.plan import DepthPoint, DevicePlan, Plan
from core.plan.speed.anatomy import placed
from core.provenance import Input, Number, Source, Unit

_FORMULA = "1 / (time of what stays + spilled bytes / PCI Express)"
_ADDED = "spilled bytes / PCI Express - spilled bytes / bandwidth of the card"


@dataclass(frozen=True, slots=True)
class Spill:
    """``bytes`` too much on the cards, the ``seconds`` that they add to a token at the chosen
    depth, and the ceiling (``tok_s``) with them."""

    bytes: Number[int]
    seconds: Number[float]
    tok_s: Number[float]


def spilled_seconds(spilled: int, path: float, bandwidth: float) -> float:
    """Seconds that bytes take over a slower path, more than where they belong."""
    return spilled / path - spilled / bandwidth


def spill(plan: Plan) -> Spill | None:
    """Where a card with a known link holds too little; None where everything fits, where the
    capacity or the link is not known, and for memory that is RAM anyway."""
    over = _overflow(plan)
    if not over or not plan.speed.ceiling.value:
        return None
    seconds = _added(plan, over, plan.settings.depth)
    total = sum(over.values())
    first = plan.memory.devices[next(iter(over))].device
    assert first.link is not None
    source: Source = first.link.most.source
    inputs = (
        Input("spilled bytes", total, Unit.BYTES),
        Input("PCI Express", first.link.most.value, Unit.BYTES_PER_SECOND),
    )
    note = "If the driver spills silently, as on Windows; elsewhere loading fails instead."
    return Spill(
        Number(total, Unit.BYTES, source, note=note),
        Number(seconds, Unit.SECONDS, source, _ADDED, inputs, note),
        Number(
            1 / (1 / plan.speed.ceiling.value + seconds),
            Unit.TOKENS_PER_SECOND,
            source,
            _FORMULA,
            inputs,
            note,
        ),
    )


def cliff(plan: Plan, whole: Plan) -> tuple[DepthPoint, ...]:
    """The ceiling with spilling, at every depth of ``whole`` where something spills.

    ``whole`` is the same plan with all the context that the model was trained for. What a context
    between the two needs is on the straight line between them; up to the plan's own context it is
    what the plan reserves.
    """
    far, near = _free(whole), _free(plan)
    cards = [d for d in far if d in near and min(far[d], near[d]) < 0]
    if not cards:
        return ()
    start, end = plan.settings.context, whole.settings.context
    placement, found = placed(whole)
    points: list[DepthPoint] = []
    for point in whole.speed.curve:
        if point.tok_s is None:
            return ()
        share = max(point.depth - start, 0) / (end - start) if end > start else 0.0
        over = {d: round(-(near[d] + share * (far[d] - near[d]))) for d in cards}
        seconds = sum(
            spilled_seconds(
                min(size, found.at(d, point.depth)),
                _path(whole, d),
                placement.devices[d].bandwidth.value or 1.0,
            )
            for d, size in over.items()
            if size > 0
        )
        if seconds > 0:
            points.append(DepthPoint(point.depth, point.bytes, 1 / (1 / point.tok_s + seconds)))
    return tuple(points)


def _free(plan: Plan) -> dict[int, int]:
    """Bytes left on every card that could spill, by its place; negative where it is too little."""
    return {
        number: device.free.value
        for number, device in enumerate(plan.memory.devices)
        if device.free.value is not None and _can_spill(device)
    }


def _overflow(plan: Plan) -> dict[int, int]:
    return {number: -free for number, free in _free(plan).items() if free < 0}


def _can_spill(found: DevicePlan) -> bool:
    device = found.device
    card = device.kind is DeviceKind.GPU and not device.unified
    linked = device.link is not None and bool(device.link.most.value)
    return card and linked and bool(device.bandwidth.value)


def _path(plan: Plan, device: int) -> float:
    link = plan.memory.devices[device].device.link
    assert link is not None and link.most.value
    return link.most.value


def _added(plan: Plan, over: dict[int, int], depth: int) -> float:
    placement, found = placed(plan)
    read: Sequence[int] = [found.at(d, depth) for d in range(len(placement.devices))]
    return sum(
        spilled_seconds(
            min(size, read[d]), _path(plan, d), placement.devices[d].bandwidth.value or 1.0
        )
        for d, size in over.items()
    )
