"""How certain a ratio of medians is, by drawing the same runs again and again (percentile
bootstrap). The draws are the same every time, so that a figure never changes by being looked at."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

DRAWS = 10_000
LEAST = 6  # below it the middle of what was drawn says little
_TAIL = 0.025


def ratio_interval(over: Sequence[float], under: Sequence[float]) -> tuple[float, float] | None:
    """Between which ratios median(over) / median(under) lies with 95 % confidence; None where one
    side has fewer than `LEAST` values, or one of them is not above 0."""
    if min(len(over), len(under)) < LEAST or min(*over, *under) <= 0:
        return None
    random = Random(1)
    above, below = _medians(over, random), _medians(under, random)
    return _middle([a / b for a, b in zip(above, below, strict=True)])


def _medians(values: Sequence[float], random: Random) -> list[float]:
    n = len(values)
    low, high = (n - 1) // 2, n // 2
    drawn = (sorted(random.choices(values, k=n)) for _ in range(DRAWS))
    return [(each[low] + each[high]) / 2 for each in drawn]


def _middle(drawn: list[float]) -> tuple[float, float]:
    drawn.sort()
    cut = int(_TAIL * len(drawn))
    return drawn[cut], drawn[-1 - cut]
