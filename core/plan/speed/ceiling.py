"""What decoding one token reads, and the ceiling that bandwidth sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.model.cache_size import row_bytes, state_moved
from core.model.model import CacheGroup, Model, Weights
from core.plan.placement import Placement, WeightTable, reads_by_device
from core.plan.plan import DepthPoint, Settings
from core.provenance import Input, Number, Rank, Source, Unit

POINTS = 128  # of the curve, besides its ends and the chosen depth

_BYTES_SOURCE = Source(Rank.DERIVED, "the file's tensor table and the cache rule")
_UNKNOWN_CACHE = "What this architecture keeps per token is not known."
_BYTES_FORMULA = "weights read + cache read + state read and written"
_ONE_DEVICE = "bandwidth / bytes per token"
_MANY_DEVICES = "1 / sum of (bytes / bandwidth) over the devices"
_CEILING_NOTE = "No program can be faster; real ones reach a share of it."


@dataclass(frozen=True, slots=True)
class Ceiling:
    """At the chosen depth, and over all depths."""

    bytes_per_token: Number[int]
    ceiling: Number[float]
    points: tuple[DepthPoint, ...]


def ceiling_curve(
    model: Model,
    weights: Weights,
    table: WeightTable,
    placement: Placement,
    settings: Settings,
    points: int = POINTS,
) -> Ceiling:
    """Bytes per token and the ceiling at the chosen depth, and over all depths.

    Times on several devices add up: one token goes through them one after the other.
    """
    facts = model.cache
    count = len(placement.devices)
    fixed = reads_by_device(table, placement)
    weights_read = sum(fixed)
    if not facts.known:
        curve = tuple(DepthPoint(d, None, None) for d in _depths(settings, points))
        return Ceiling(
            Number(None, Unit.BYTES, _BYTES_SOURCE, _BYTES_FORMULA, note=_UNKNOWN_CACHE),
            Number(None, Unit.TOKENS_PER_SECOND, _BYTES_SOURCE, note=_UNKNOWN_CACHE),
            curve,
        )

    state = state_moved(facts)
    for group in facts.states:
        each = 2 * group.bytes_per_layer
        for layer in group.layers:
            fixed[placement.layers[layer]] += each
    rows = [_Rows(group, settings, placement, count) for group in facts.groups]

    speeds = [device.bandwidth.value for device in placement.devices]
    growing = {device for r in rows for device, layers in enumerate(r.layers) if layers}
    used = [d for d in range(count) if fixed[d] or d in growing]
    known = all(speeds[d] for d in used)
    base_bytes = sum(fixed)
    base_time = 0.0
    if known:
        base_time = sum(fixed[d] / (speeds[d] or 1) for d in used)
        for r in rows:
            r.seconds_per_byte = sum(
                layers / (speeds[d] or 1) for d, layers in enumerate(r.layers) if layers
            )

    depths = _depths(settings, points)
    reads: list[int] = [base_bytes] * len(depths)
    times = [base_time] * len(depths)
    for r in rows:
        layer_bytes = r.bytes_at(depths)
        reads = [read + b * r.count for read, b in zip(reads, layer_bytes, strict=True)]
        times = [time + b * r.seconds_per_byte for time, b in zip(times, layer_bytes, strict=True)]
    rates = [1 / time if known and time else None for time in times]
    curve = tuple(map(DepthPoint, depths, reads, rates))
    chosen_bytes, chosen_speed = curve[depths.index(settings.depth)][1:3]
    assert chosen_bytes is not None

    cache_read = chosen_bytes - base_bytes
    bytes_per_token = Number(
        chosen_bytes,
        Unit.BYTES,
        _BYTES_SOURCE,
        _BYTES_FORMULA,
        (
            Input("weights read", weights_read, Unit.BYTES),
            Input("cache read", cache_read, Unit.BYTES),
            Input("state read and written", state, Unit.BYTES),
            Input("depth", settings.depth, Unit.TOKENS),
        ),
    )
    ceiling = _ceiling(chosen_speed, placement, fixed, rows, settings, chosen_bytes, used)
    return Ceiling(bytes_per_token, ceiling, curve)


class _Rows:
    """What decoding reads of one cache group, and how many layers of it each device has."""

    __slots__ = ("count", "layers", "most", "part", "row", "seconds_per_byte", "stride", "whole")

    def __init__(
        self, group: CacheGroup, settings: Settings, placement: Placement, devices: int
    ) -> None:
        self.row = row_bytes(settings.cache_k, group.k_width)
        if group.v_read:
            self.row += row_bytes(settings.cache_v, group.v_width)
        self.layers = [0] * devices
        for layer in group.layers:
            self.layers[placement.layers[layer]] += 1
        if group.layers:  # layers that read another one's cache come after all others
            self.layers[placement.layers[group.layers[-1]]] += group.sharers
        self.count = sum(self.layers)
        self.stride = group.stride
        self.part, self.whole = group.read_share
        limits = [limit for limit in (group.window, group.read_limit) if limit is not None]
        self.most = min(limits) if limits else 1 << 62
        self.seconds_per_byte = 0.0

    def bytes_at(self, depths: Sequence[int]) -> list[int]:
        """Bytes of one layer that a token reads with so many tokens before it."""
        stride, most, row, part, whole = self.stride, self.most, self.row, self.part, self.whole
        return [
            (rows if (rows := depth // stride) < most else most) * row * part // whole
            for depth in depths
        ]


def _depths(settings: Settings, points: int) -> list[int]:
    """From 0 to the context in even steps, both ends and the chosen depth among them."""
    context = settings.context
    depths = {context * step // points for step in range(points + 1)}
    depths.add(settings.depth)
    return sorted(depths)


def _ceiling(
    value: float | None,
    placement: Placement,
    fixed: list[int],
    rows: list[_Rows],
    settings: Settings,
    total: int,
    used: list[int],
) -> Number[float]:
    sizes = list(fixed)
    for r in rows:
        (layer_bytes,) = r.bytes_at([settings.depth])
        for number, layers in enumerate(r.layers):
            sizes[number] += layers * layer_bytes
    inputs: tuple[Input, ...]
    if len(used) == 1:
        only = placement.devices[used[0]]
        formula = _ONE_DEVICE
        inputs = (
            Input("bandwidth", only.bandwidth.value, Unit.BYTES_PER_SECOND),
            Input("bytes per token", total, Unit.BYTES),
        )
        source = only.bandwidth.source
    else:
        formula = _MANY_DEVICES
        inputs = tuple(
            part
            for d in used
            for part in (
                Input(placement.devices[d].name, sizes[d], Unit.BYTES),
                Input("its bandwidth", placement.devices[d].bandwidth.value, Unit.BYTES_PER_SECOND),
            )
        )
        source = _weakest([placement.devices[d].bandwidth.source for d in used])
    note = _CEILING_NOTE
    if value is None:
        missing = next(
            (placement.devices[d] for d in used if not placement.devices[d].bandwidth.value), None
        )
        note = missing.bandwidth.note if missing is not None else "Nothing is read."
    return Number(value, Unit.TOKENS_PER_SECOND, source, formula, inputs, note)


_TRUST = {rank: order for order, rank in enumerate(Rank)}


def _weakest(sources: list[Source]) -> Source:
    """A sum is as good as its worst part; that nothing is read is what the file says."""
    return max(sources, key=lambda source: _TRUST[source.rank], default=_BYTES_SOURCE)
