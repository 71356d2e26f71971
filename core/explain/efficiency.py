"""The share of the peak that a plan is expected to reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.language import tr
from core.plan.plan import Plan
from core.units import format_share


class Share(NamedTuple):
    """Shares of the ceiling that are expected where a token reads so many ``bytes``."""

    bytes: float
    low: float
    mid: float
    high: float


def expected_share(plan: Plan) -> Share | None:
    """At the chosen depth; None where nothing is expected or the ceiling is not known."""
    speed = plan.speed
    ceiling, size, band = speed.ceiling.value, speed.bytes_per_token.value, speed.expected
    low, mid, high = band.low.value, band.mid.value, band.high.value
    if not ceiling or not size or low is None or mid is None or high is None:
        return None
    return Share(size, low / ceiling, mid / ceiling, high / ceiling)


def expected_line(plan: Plan, sizes: Sequence[float]) -> tuple[Share, ...]:
    """The same for other sizes: what a model of as many layers is expected to reach here, were it
    to read so many bytes for a token. Empty where nothing is expected.

    The time of a token is that of its bytes, which grows with them, and that of its layers, which
    does not; so a small model reaches less of the peak.
    """
    here, band = expected_share(plan), plan.speed.expected
    ceiling = plan.speed.ceiling.value
    if here is None or not ceiling or not band.uncorrected or band.layers is None:
        return ()
    least = 1 / ceiling
    reading = max(1 / band.uncorrected - band.layers, least)
    corrected = here.mid * ceiling / band.uncorrected
    found = []
    for size in sizes:
        times = size / here.bytes
        mid = min(corrected * least * times / (reading * times + band.layers), 1.0)
        high = min(mid * here.high / here.mid, 1.0)
        found.append(Share(size, mid * here.low / here.mid, mid, high))
    return tuple(found)


def expected_words(plan: Plan) -> str:
    """ "this plan is expected to reach 62 to 74 %", or why nothing is expected."""
    here = expected_share(plan)
    if here is None:
        note = plan.speed.expected.mid.note or plan.speed.ceiling.note
        return f"{tr('what this plan reaches cannot be told.')} {tr(note)}".strip()
    return tr(
        "this plan is expected to reach {low} to {high}.",
        low=format_share(here.low).removesuffix(" %"),
        high=format_share(here.high),
    )
