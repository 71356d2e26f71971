"""What decoding one token reads, device by device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.language import mark
from core.model.cache_size import row_bytes
from core.model.model import CacheGroup, Model
from core.plan.choice import UNPACKED
from core.plan.placement import Placement, WeightTable, reads_by_device
from core.plan.plan import Settings

POINTS = 128  # of the curve, besides its ends and the chosen depth
UNLIMITED = 1 << 62  # rows
# Why no rate is known, where no device says so itself.
NO_BANDWIDTH = mark("A bandwidth is not known.")
NOTHING_READ = mark("No tensor of this file is read to write a token.")


class CacheRows:
    """What decoding reads of one cache group, and how many layers of it each device has.

    ``packed`` says that K or V is quantized; ``plain`` is then how many times larger its rows
    would be in f16.
    """

    __slots__ = ("count", "layers", "most", "packed", "part", "plain", "row", "stride", "whole")

    def __init__(
        self, group: CacheGroup, settings: Settings, placement: Placement, devices: int
    ) -> None:
        k_row = row_bytes(settings.cache_k, group.k_width)
        v_row = row_bytes(settings.cache_v, group.v_width) if group.v_read else 0
        self.row = k_row + v_row
        self.packed = not (settings.cache_k in UNPACKED and settings.cache_v in UNPACKED)
        plain = 2 * (group.k_width + (group.v_width if group.v_read else 0))
        self.plain = max(plain / self.row, 1.0) if self.packed and self.row else 1.0
        self.layers = [0] * devices
        for layer in group.layers:
            self.layers[placement.layers[layer]] += 1
        if group.layers:  # layers that read another one's cache come after all others
            self.layers[placement.layers[group.layers[-1]]] += group.sharers
        self.count = sum(self.layers)
        self.stride = group.stride
        self.part, self.whole = group.read_share
        limits = [limit for limit in (group.window, group.read_limit) if limit is not None]
        self.most = min(limits) if limits else UNLIMITED

    def bytes_at(self, depths: Sequence[int]) -> list[int]:
        """Bytes of one layer that a token reads with so many tokens before it."""
        stride, most, row, part, whole = self.stride, self.most, self.row, self.part, self.whole
        return [
            (rows if (rows := depth // stride) < most else most) * row * part // whole
            for depth in depths
        ]

    def seconds_per_byte(self, by_device: Sequence[float | None]) -> float:
        """Of all its layers together, by what a byte of one costs on each device."""
        return sum(layers * (by_device[device] or 0.0) for device, layers in enumerate(self.layers))


@dataclass(slots=True)
class Reads:
    """Bytes by device: ``weights`` and ``states`` at any depth (a state is read and written),
    ``rows`` of each cache group. ``layers`` and ``expert_layers`` are how many a device computes;
    ``expert_reads`` is the part of ``weights`` that is experts, ``expert_bytes`` all of them.
    ``used`` are the devices that read anything."""

    weights: list[int]
    states: list[int]
    rows: list[CacheRows]
    layers: list[int]
    expert_layers: list[int]
    expert_reads: list[int]
    expert_bytes: list[int]
    used: list[int]

    def at(self, device: int, depth: int) -> int:
        """Bytes that one device reads with so many tokens in the cache."""
        return self.over(device, [depth])[0]

    def over(self, device: int, depths: Sequence[int]) -> list[int]:
        """The same at each of several depths."""
        found = [self.weights[device] + self.states[device]] * len(depths)
        for r in self.rows:
            layers = r.layers[device]
            found = [
                size + layers * row for size, row in zip(found, r.bytes_at(depths), strict=True)
            ]
        return found


def reads(model: Model, table: WeightTable, placement: Placement, settings: Settings) -> Reads:
    """Everything of one token. The cache rule must be known for rows and states."""
    facts = model.cache
    count = len(placement.devices)
    states = [0] * count
    for group in facts.states:
        each = 2 * group.bytes_per_layer
        for layer in group.layers:
            states[placement.layers[layer]] += each
    rows = [CacheRows(group, settings, placement, count) for group in facts.groups]
    weights = reads_by_device(table, placement)
    layers = [0] * count
    experts = [0] * count
    expert_reads = [0] * count
    expert_bytes = [0] * count
    trunk = len(placement.layers) - model.shape.draft_layers
    for number, device in enumerate(placement.layers[:trunk]):
        layers[device] += 1
        row = table.layers[number]
        if row.read_experts:
            away = number < placement.experts_on_host and device != placement.host
            owner = placement.host if away else device
            experts[owner] += 1
            expert_reads[owner] += row.read_experts
            expert_bytes[owner] += row.host_experts
            layers[placement.host] += away  # the token goes there and comes back
    growing = {device for r in rows for device, held in enumerate(r.layers) if held}
    used = [d for d in range(count) if weights[d] or states[d] or d in growing]
    return Reads(weights, states, rows, layers, experts, expert_reads, expert_bytes, used)


def depths_of(settings: Settings, points: int = POINTS) -> list[int]:
    """From 0 to the context in even steps, both ends and the chosen depth among them."""
    context = settings.context
    depths = {context * step // points for step in range(points + 1)}
    depths.add(settings.depth)
    return sorted(depths)
