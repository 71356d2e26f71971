"""Every figure of speed in a plan."""

from __future__ import annotations

from collections.abc import Sequence

from core.machine.machine import OwnRun
from core.model.model import Model, Weights
from core.plan.placement import Placement, WeightTable
from core.plan.plan import DepthPoint, Settings, SpeedPlan
from core.plan.speed.ceiling import ceiling_at, unknown_bytes_per_token, unknown_ceiling
from core.plan.speed.expectation import expect, unknown
from core.plan.speed.prefill import prefill_figures, prompt_cost
from core.plan.speed.reads import POINTS, depths_of, reads


def speed(
    model: Model,
    weights: Weights,
    table: WeightTable,
    placement: Placement,
    settings: Settings,
    points: int = POINTS,
    runs: Sequence[OwnRun] = (),
) -> SpeedPlan:
    """Bytes per token, the ceiling and what to expect, at the chosen depth and over all depths:
    so many ``points`` of a curve, besides its ends and the chosen depth. ``runs`` are the user's
    own on this machine."""
    depths = depths_of(settings, points)
    found = reads(model, table, placement, settings)
    if not model.cache.known:
        ceiling = unknown_ceiling()
        none = unknown(ceiling.note)
        prefill, ttft = prefill_figures(ceiling.note, settings)
        return SpeedPlan(
            unknown_bytes_per_token(),
            ceiling,
            none,
            prefill,
            ttft,
            tuple(DepthPoint(depth, None, None) for depth in depths),
        )
    top = ceiling_at(found, placement, settings, depths)
    likely = expect(model, weights, found, placement, settings, depths, top.rates, runs)
    cost = prompt_cost(model, weights, found, placement, settings)
    prefill, ttft = prefill_figures(cost, settings)
    bands = zip(*likely.points, strict=True)  # none where nothing can be expected
    return SpeedPlan(
        top.bytes_per_token,
        top.ceiling,
        likely.band,
        prefill,
        ttft,
        tuple(map(DepthPoint, depths, top.sizes, top.rates, *bands)),
        None if isinstance(cost, str) else cost,
    )
