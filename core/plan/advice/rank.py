"""The order of advice: what it brings against what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from core.plan.advice.advice import Advice, Aim, paces
from core.plan.plan import Plan

# What is faster by less than this is not worth a change.
LEAST_GAIN = 0.03
# A setting that brings so much is reason enough to speak of no other machine.
WORTH = 0.10


def ranked(found: Sequence[Advice], before: Plan, aim: Aim) -> list[Advice]:
    """The best first: doublings of speed, less what the change costs.

    Another machine is advised only where no setting does it.
    """
    scored = [(each, _doublings(each, before)) for each in _distinct(found)]
    if aim is Aim.SPEED:
        scored = [(each, up) for each, up in scored if up >= log2(1 + LEAST_GAIN)]
    settings = [
        (each, up)
        for each, up in scored
        if each.machine is None and (aim is not Aim.SPEED or up >= log2(1 + WORTH))
    ]
    if settings:
        scored = [(each, up) for each, up in scored if each.machine is None]
    scored.sort(key=lambda pair: pair[0].penalty - pair[1])
    return [each for each, _ in scored]


def _distinct(found: Sequence[Advice]) -> list[Advice]:
    """Of several ways to the same settings the first."""
    kept: list[Advice] = []
    for each in found:
        same = (each.plan.settings, each.machine)
        if same not in [(other.plan.settings, other.machine) for other in kept]:
            kept.append(each)
    return kept


def _doublings(advice: Advice, before: Plan) -> float:
    """Of decoding, and half of those of the first token. Less to read is no speed: where the
    context becomes smaller, decoding counts at the same depth, and the first token not at all."""
    depth = advice.plan.settings.depth
    if depth < before.settings.depth:
        old, new = _paces_at(depth, before, advice.plan)
        return log2(new / old) if old and new else 0.0
    old, new = paces(before, advice.plan)
    up = log2(new / old) if old and new else 0.0
    waited, waits = before.speed.ttft.value, advice.plan.speed.ttft.value
    return up + (log2(waited / waits) / 2 if waited and waits else 0.0)


def _paces_at(depth: int, before: Plan, after: Plan) -> tuple[float | None, float | None]:
    """As `paces`, with the former at the last point of its curve that is no deeper than this."""
    point = next((p for p in reversed(before.speed.curve) if p.depth <= depth), None)
    if point is None:
        return None, None
    expected = after.speed.expected.mid.value
    if point.mid and expected:
        return point.mid, expected
    return point.tok_s, after.speed.ceiling.value
