"""What decoding one token reads, and the ceiling that bandwidth sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.language import mark
from core.plan.placement import Placement
from core.plan.plan import Settings
from core.plan.speed.reads import NOTHING_READ, Reads
from core.provenance import Input, Number, Rank, Source, Unit

_BYTES_SOURCE = Source(Rank.DERIVED, mark("the file's tensor table and the cache rule"))
_UNKNOWN_CACHE = mark("What this architecture keeps per token is not known.")
_BYTES_FORMULA = mark("weights read + cache read + state read and written")
_ONE_DEVICE = mark("bandwidth / bytes per token")
_MANY_DEVICES = mark("1 / sum of (bytes / bandwidth) over the devices")
_CEILING_NOTE = mark(
    "No program can be faster; real ones reach a share of it. Even a bare read of all memory "
    "reached 91 % of a card's rated bandwidth (854 of 936 GB/s on an RTX 3090)."
)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """At the chosen depth; ``sizes`` (bytes of a token) and ``rates`` (tok/s, None where a
    bandwidth is not known) are at all depths."""

    bytes_per_token: Number[int]
    ceiling: Number[float]
    sizes: list[int]
    rates: list[float | None]


def unknown_bytes_per_token() -> Number[int]:
    """Where the cache rule is not known."""
    return Number(None, Unit.BYTES, _BYTES_SOURCE, _BYTES_FORMULA, note=_UNKNOWN_CACHE)


def unknown_ceiling() -> Number[float]:
    """Where the cache rule is not known."""
    return Number(None, Unit.TOKENS_PER_SECOND, _BYTES_SOURCE, note=_UNKNOWN_CACHE)


def ceiling_at(
    found: Reads, placement: Placement, settings: Settings, depths: Sequence[int]
) -> Ceiling:
    """Bytes per token and the ceiling at the chosen depth, and over all depths.

    Times on several devices add up: one token goes through them one after the other.
    """
    speeds = [device.bandwidth.value for device in placement.devices]
    known = all(speeds[d] for d in found.used)
    weights, state = sum(found.weights), sum(found.states)
    sizes: list[int] = [weights + state] * len(depths)
    base = sum((found.weights[d] + found.states[d]) / (speeds[d] or 1) for d in found.used)
    times = [base] * len(depths)
    each = [1 / speed if speed else None for speed in speeds]
    for r in found.rows:
        layer_bytes = r.bytes_at(depths)
        per_byte = r.seconds_per_byte(each)
        sizes = [size + b * r.count for size, b in zip(sizes, layer_bytes, strict=True)]
        times = [time + b * per_byte for time, b in zip(times, layer_bytes, strict=True)]
    rates = [1 / time if known and time else None for time in times]
    chosen = depths.index(settings.depth)
    total = sizes[chosen]
    bytes_per_token = Number(
        total,
        Unit.BYTES,
        _BYTES_SOURCE,
        _BYTES_FORMULA,
        (
            Input(mark("weights read"), weights, Unit.BYTES),
            Input(mark("cache read"), total - weights - state, Unit.BYTES),
            Input(mark("state read and written"), state, Unit.BYTES),
            Input(mark("depth"), settings.depth, Unit.TOKENS),
        ),
    )
    ceiling = _ceiling(rates[chosen], placement, found, settings, total)
    return Ceiling(bytes_per_token, ceiling, sizes, rates)


def _ceiling(
    value: float | None,
    placement: Placement,
    found: Reads,
    settings: Settings,
    total: int,
) -> Number[float]:
    used = found.used
    inputs: tuple[Input, ...]
    if len(used) == 1:
        only = placement.devices[used[0]]
        formula = _ONE_DEVICE
        inputs = (
            Input(mark("bandwidth"), only.bandwidth.value, Unit.BYTES_PER_SECOND),
            Input(mark("bytes per token"), total, Unit.BYTES),
        )
        source = only.bandwidth.source
    else:
        formula = _MANY_DEVICES
        inputs = tuple(
            part
            for d in used
            for part in (
                Input(placement.devices[d].name, found.at(d, settings.depth), Unit.BYTES),
                Input(
                    mark("its bandwidth"),
                    placement.devices[d].bandwidth.value,
                    Unit.BYTES_PER_SECOND,
                ),
            )
        )
        source = _weakest([placement.devices[d].bandwidth.source for d in used])
    note = _CEILING_NOTE
    if value is None:
        missing = next(
            (placement.devices[d] for d in used if not placement.devices[d].bandwidth.value), None
        )
        note = missing.bandwidth.note if missing is not None else NOTHING_READ
    return Number(value, Unit.TOKENS_PER_SECOND, source, formula, inputs, note)


_TRUST = {rank: order for order, rank in enumerate(Rank)}


def _weakest(sources: list[Source]) -> Source:
    """A sum is as good as its worst part; that nothing is read is what the file says."""
    return max(sources, key=lambda source: _TRUST[source.rank], default=_BYTES_SOURCE)
