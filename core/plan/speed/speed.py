"""Every figure of speed in a plan."""

from __future__ import annotations

from core.model.model import Model, Weights
from core.plan.placement import Placement, WeightTable
from core.plan.plan import Band, Settings, SpeedPlan
from core.plan.speed.ceiling import POINTS, ceiling_curve
from core.provenance import Number, Rank, Source, Unit

_RUNS = Source(Rank.ESTIMATED, "published runs")
_NO_DATA = "There is no data for such a plan."


def speed(
    model: Model,
    weights: Weights,
    table: WeightTable,
    placement: Placement,
    settings: Settings,
    points: int = POINTS,
) -> SpeedPlan:
    """Bytes per token, the ceiling and what to expect, at the chosen depth and over all depths:
    so many ``points`` of a curve, besides its ends and the chosen depth."""
    found = ceiling_curve(model, weights, table, placement, settings, points)
    none: Number[float] = Number(None, Unit.TOKENS_PER_SECOND, _RUNS, note=_NO_DATA)
    return SpeedPlan(
        bytes_per_token=found.bytes_per_token,
        ceiling=found.ceiling,
        expected=Band(none, none, none),
        prefill=none,
        ttft=Number(None, Unit.SECONDS, _RUNS, note=_NO_DATA),
        curve=found.points,
    )
