"""What decoding one token reads, and the ceiling that bandwidth sets."""

from __future__ import annotations

from core.model.cache_size import row_bytes, state_moved
from core.model.model import CacheGroup, Model, Weights
from core.plan.placement import Placement, WeightTable, reads_by_device
from core.plan.plan import DepthPoint, Settings, SpeedPlan
from core.provenance import Input, Number, Rank, Source, Unit

POINTS = 128  # of the curve, besides its ends and the chosen depth

_BYTES_SOURCE = Source(Rank.DERIVED, "the file's tensor table and the cache rule")
_UNKNOWN_CACHE = "What this architecture keeps per token is not known."
_BYTES_FORMULA = "weights read + cache read + state read and written"
_ONE_DEVICE = "bandwidth / bytes per token"
_MANY_DEVICES = "1 / sum of (bytes / bandwidth) over the devices"
_CEILING_NOTE = "No program can be faster; real ones reach a share of it."


def speed(
    model: Model,
    weights: Weights,
    table: WeightTable,
    placement: Placement,
    settings: Settings,
) -> SpeedPlan:
    """Bytes per token and the ceiling at the chosen depth, and over all depths.

    Times on several devices add up: one token goes through them one after the other.
    """
    facts = model.cache
    count = len(placement.devices)
    fixed = reads_by_device(table, placement)
    weights_read = sum(fixed)
    if not facts.known:
        unknown = Number[int](None, Unit.BYTES, _BYTES_SOURCE, _BYTES_FORMULA, (), _UNKNOWN_CACHE)
        curve = tuple(DepthPoint(d, None, None) for d in _depths(settings))
        ceiling = Number[float](
            None, Unit.TOKENS_PER_SECOND, _BYTES_SOURCE, _ONE_DEVICE, (), _UNKNOWN_CACHE
        )
        return SpeedPlan(unknown, ceiling, curve)

    state = state_moved(facts)
    for group in facts.states:
        each = 2 * group.bytes_per_layer
        for layer in group.layers:
            fixed[placement.layers[layer]] += each
    rows = [_Rows(group, settings, placement, count) for group in facts.groups]

    speeds = [device.bandwidth.value for device in placement.devices]
    growing = {d for r in rows for d, size in enumerate(r.by_device) if size}
    used = [d for d in range(count) if fixed[d] or d in growing]
    known = all(speeds[d] for d in used)
    # Seconds of what depth does not change, then seconds per row of every group.
    base_bytes = sum(fixed)
    base_time = 0.0
    slopes: list[tuple[int, int, int, float]] = []
    if known:
        base_time = sum(fixed[d] / (speeds[d] or 1) for d in used)
    for r in rows:
        time = sum(size / (speeds[d] or 1) for d, size in enumerate(r.by_device)) if known else 0.0
        slopes.append((r.stride, r.most, r.bytes, time))

    points = []
    chosen_bytes = base_bytes
    chosen_speed: float | None = None
    for depth in _depths(settings):
        read, time = base_bytes, base_time
        for stride, most, size, seconds in slopes:
            count_rows = min(depth // stride, most)
            read += count_rows * size
            time += count_rows * seconds
        tok_s = 1 / time if known and time else None
        points.append(DepthPoint(depth, read, tok_s))
        if depth == settings.depth:
            chosen_bytes, chosen_speed = read, tok_s

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
    return SpeedPlan(bytes_per_token, ceiling, tuple(points))


class _Rows:
    """What one more row of a cache group costs, by device."""

    __slots__ = ("by_device", "bytes", "most", "stride")

    def __init__(
        self, group: CacheGroup, settings: Settings, placement: Placement, devices: int
    ) -> None:
        row = row_bytes(settings.cache_k, group.k_width)
        if group.v_read:
            row += row_bytes(settings.cache_v, group.v_width)
        self.by_device = [0] * devices
        for layer in group.layers:
            self.by_device[placement.layers[layer]] += row
        if group.layers and group.sharers:
            # Layers that read another one's cache come after all others.
            self.by_device[placement.layers[group.layers[-1]]] += row * group.sharers
        self.bytes = sum(self.by_device)
        self.stride = group.stride
        limits = [limit for limit in (group.window, group.read_limit) if limit is not None]
        self.most = min(limits) if limits else 1 << 62


def _depths(settings: Settings) -> list[int]:
    """From 0 to the context in even steps, both ends and the chosen depth among them."""
    context = settings.context
    depths = {context * step // POINTS for step in range(POINTS + 1)}
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
        count_rows = min(settings.depth // r.stride, r.most)
        for device, size in enumerate(r.by_device):
            sizes[device] += count_rows * size
    inputs: tuple[Input, ...]
    if len(used) == 1:
        device = placement.devices[used[0]]
        formula = _ONE_DEVICE
        inputs = (
            Input("bandwidth", device.bandwidth.value, Unit.BYTES_PER_SECOND),
            Input("bytes per token", total, Unit.BYTES),
        )
        source = device.bandwidth.source
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
    """A sum is as good as its worst part."""
    return max(sources, key=lambda source: _TRUST[source.rank])
