"""What it costs where a driver moves to RAM what the card cannot hold, without a word.

Windows drivers do that: loading succeeds, and every token fetches the rest over PCI Express. Nobody
tells what is moved, so it is taken to be like the whole: of a dense model a token reads nearly all,
of a mixture of experts the share that it reads of what lies on the card.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.language import mark
from core.machine.machine import Device, DeviceKind
from core.plan.plan import DepthPoint, DevicePlan, PartKind, Plan
from core.plan.speed.anatomy import placed
from core.provenance import Input, Number, Source, Unit

_FORMULA = mark("1 / (time of what stays + what a token reads of the spilled bytes / PCI Express)")
_ADDED = mark(
    "what a token reads of the spilled bytes x (1 / PCI Express - 1 / bandwidth of the card)"
)


@dataclass(frozen=True, slots=True)
class Spill:
    """``bytes`` too much on the cards, the ``seconds`` that they add to a token at the chosen
    depth, and the ceiling (``tok_s``) with them."""

    bytes: Number[int]
    seconds: Number[float]
    tok_s: Number[float]


def spilled_seconds(spilled: float, path: float, bandwidth: float) -> float:
    """Seconds that bytes take over a slower path, more than where they belong."""
    return spilled / path - spilled / bandwidth


def spill(plan: Plan) -> Spill | None:
    """Where a card with a known link holds too little; None where everything fits, where the
    capacity or the link is not known, and for memory that is RAM anyway."""
    over = _overflow(plan)
    if not over or not plan.speed.ceiling.value:
        return None
    placement, found = placed(plan)
    seconds = sum(
        _added(placement.devices[d], size, _held(plan, d), found.at(d, plan.settings.depth))
        for d, size in over.items()
    )
    total = sum(over.values())
    first = plan.memory.devices[next(iter(over))].device
    assert first.link is not None
    source: Source = first.link.most.source
    inputs = (
        Input(mark("spilled bytes"), total, Unit.BYTES),
        Input(mark("PCI Express"), first.link.most.value, Unit.BYTES_PER_SECOND),
    )
    note = mark("If the driver spills silently, as on Windows; elsewhere loading fails instead.")
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
    curve = whole.speed.curve
    between = [max(p.depth - start, 0) / (end - start) if end > start else 0.0 for p in curve]
    seconds = [0.0] * len(curve)
    for d in cards:
        more = [share * (far[d] - near[d]) for share in between]
        short = [n for n, size in enumerate(more) if near[d] + size < 0]
        held = _held(whole, d) + near[d]
        for n, read in zip(short, found.over(d, [curve[n].depth for n in short]), strict=True):
            over, here = -(near[d] + more[n]), held + more[n] - far[d]
            seconds[n] += _added(placement.devices[d], over, here, read)
    return tuple(
        DepthPoint(p.depth, p.bytes, 1 / (1 / p.tok_s + longer))
        for p, longer in zip(curve, seconds, strict=True)
        if p.tok_s is not None and longer > 0
    )


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


def _held(plan: Plan, device: int) -> int:
    """Bytes of the model and its buffers on a card."""
    parts = plan.memory.devices[device].parts
    return sum(part.bytes.value or 0 for part in parts if part.kind is not PartKind.OTHERS)


def _added(device: Device, over: float, held: float, read: float) -> float:
    """Seconds that a token takes longer where so many bytes of what a card holds lie in RAM."""
    assert device.link is not None
    assert device.link.most.value
    assert device.bandwidth.value
    spilled = min(over * min(read / held, 1.0) if held > 0 else 0.0, read)
    return spilled_seconds(spilled, device.link.most.value, device.bandwidth.value)
