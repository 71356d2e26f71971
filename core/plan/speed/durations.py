"""How long things take with a plan: writing, reading a prompt, loading."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from core.language import mark, tr
from core.machine.machine import DeviceKind
from core.plan.plan import DepthPoint, PartKind, Plan, Span
from core.provenance import Input, Number, Rank, Source, Unit

_NOBODY = Source(Rank.REPORTED, mark("this computer"))


def decode_seconds(plan: Plan, start_depth: int, tokens: int) -> Span | None:
    """Seconds of writing so many tokens, the first of them with ``start_depth`` in the cache.

    Summed over the depths that the cache goes through on the way. None where there is no data for
    this plan, or where the cache would grow past the context.
    """
    curve = plan.speed.curve
    end = start_depth + max(tokens, 0)
    if start_depth < 0 or end > curve[-1].depth or curve[0].mid is None:
        return None
    if tokens <= 0:
        return Span(0.0, 0.0, 0.0)
    first = bisect_left(curve, start_depth, key=_depth)
    last = bisect_right(curve, end, key=_depth)
    stops = [start_depth, *(p.depth for p in curve[first:last] if start_depth < p.depth < end), end]
    times = [_seconds(curve, stop) for stop in stops]
    sums = [0.0, 0.0, 0.0]
    for n in range(len(stops) - 1):
        width = stops[n + 1] - stops[n]
        for each in range(3):
            sums[each] += width * (times[n][each] + times[n + 1][each]) / 2
    return Span(*sums)


def prefill_seconds(plan: Plan, history: int, new_tokens: int) -> Span | None:
    """Seconds until the first token of an answer: ``new_tokens`` are read while ``history`` tokens
    are in the cache already. None where there is no data for this plan, or where both together are
    more than the context."""
    cost = plan.speed.prompt
    if cost is None or history < 0 or history + max(new_tokens, 0) > plan.settings.context:
        return None
    seconds = cost.seconds(history, new_tokens)
    return Span(seconds / cost.high, seconds, seconds / cost.low)


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """Seconds of loading: ``cold`` from the disk, ``warm`` where the system still has the file in
    RAM, which then is copied to the cards alone."""

    cold: Number[float]
    warm: Number[float]


def load_times(plan: Plan, disk: Number[float] | None = None) -> LoadTimes:
    """How long loading takes at least, by the rate of ``disk`` (bytes per second); without one, by
    the machine's own."""
    size = max(plan.weights.file_bytes or 0, plan.weights.bytes)  # a header may be open alone
    if disk is None and plan.machine.disk is not None:
        disk = plan.machine.disk.read
    to_cards = 0.0
    slow = ""
    for each in plan.memory.devices:
        device = each.device
        if device.kind is not DeviceKind.GPU or device.unified:
            continue
        weights = sum(p.bytes.value or 0 for p in each.parts if p.kind is PartKind.WEIGHTS)
        link = device.link.most.value if device.link is not None else None
        if weights and not link:
            slow = tr(
                "How fast {device} is joined to the RAM is not known.", device=tr(device.name)
            )
        elif weights and link:
            to_cards += weights / link
    rate = None if disk is None else disk.value
    return LoadTimes(
        Number(
            size / rate if rate else None,
            Unit.SECONDS,
            disk.source if disk is not None else _NOBODY,
            mark("size of the files / rate of the disk"),
            (
                Input(mark("files"), size, Unit.BYTES),
                Input(mark("disk"), rate, Unit.BYTES_PER_SECOND),
            ),
            ""
            if rate
            else (disk.note if disk is not None else "") or mark("The disk was not timed."),
        ),
        Number(
            None if slow else to_cards,
            Unit.SECONDS,
            Source(Rank.DERIVED, mark("what lies on the cards and their links")),
            mark("weights on the cards / PCI Express"),
            note=slow
            or mark("Where the system still has the file in RAM; elsewhere it is mapped."),
        ),
    )


def _depth(point: DepthPoint) -> int:
    return point.depth


def _seconds(curve: Sequence[DepthPoint], depth: int) -> tuple[float, float, float]:
    """Seconds of one token at a depth: fast end, middle, slow end. Time is a straight line from
    one point of the curve to the next."""
    after = max(bisect_left(curve, depth, key=_depth), 1)
    left, right = curve[after - 1], curve[min(after, len(curve) - 1)]
    share = (depth - left.depth) / max(right.depth - left.depth, 1)
    return (
        _between(left.high, right.high, share),
        _between(left.mid, right.mid, share),
        _between(left.low, right.low, share),
    )


def _between(first: float | None, second: float | None, share: float) -> float:
    assert first is not None
    assert second is not None
    return (1 - share) / first + share / second
