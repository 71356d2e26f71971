"""What one model takes on every device: weights, cache, state and buffers.

The same for the model and for a draft model beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.model.cache_size import CacheSettings, CacheSize, cache_size
from core.model.model import Model
from core.plan.buffers import BufferSizes, buffer_sizes
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.placement import (
    Placement,
    WeightTable,
    cache_padding,
    is_cuda_like,
    weights_by_device,
)
from core.plan.plan import Settings


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes by device, as the machine numbers them. ``size`` is the cache over all devices; it and
    what follows from it are None where no rule covers the architecture."""

    weights: list[int]
    size: CacheSize | None
    cache: list[int] | None
    state: list[int] | None
    buffers: BufferSizes | None

    def cache_on(self, number: int) -> int:
        """Bytes of cache on a device, as far as they are known."""
        return self.cache[number] if self.cache else 0


def cache_settings(settings: Settings) -> CacheSettings:
    """The settings as the cache arithmetic wants them."""
    rules = RULES[Engine(settings.engine)]
    slots = settings.slots if rules.per_request else 1
    return CacheSettings(
        context=settings.requested_context * slots,
        slots=settings.slots,
        unified=settings.unified_cache,
        batch=settings.batch,
        ubatch=settings.ubatch,
        swa_full=settings.swa_full,
        type_k=settings.cache_k,
        type_v=settings.cache_v,
        flash_attention=settings.flash_attention,
        drafted=settings.drafted,
    )


def sizes_of(model: Model, table: WeightTable, placement: Placement, settings: Settings) -> Sizes:
    """What lies where."""
    weights = weights_by_device(table, placement)
    facts = model.cache
    if not facts.known:
        return Sizes(weights, None, None, None, None)
    size = cache_size(facts, cache_settings(settings))
    cache = by_device(size.cache_by_layer, placement)
    if is_cuda_like(settings.backend):
        k_more, v_more = cache_padding(
            facts.groups,
            size.groups,
            placement,
            settings.cache_k,
            settings.cache_v,
            settings.flash_attention,
        )
        cache = [sum(three) for three in zip(cache, k_more, v_more, strict=True)]
        size = replace(size, k_bytes=size.k_bytes + sum(k_more), v_bytes=size.v_bytes + sum(v_more))
    return Sizes(
        weights,
        size,
        cache,
        by_device(size.state_by_layer, placement),
        buffer_sizes(model, placement, settings, size),
    )


def by_device(by_layer: tuple[int, ...], placement: Placement) -> list[int]:
    """Sums over the layers of each device."""
    sizes = [0] * len(placement.devices)
    for device, size in zip(placement.layers, by_layer, strict=True):
        sizes[device] += size
    return sizes
