"""Where the marks of an axis stand."""

from __future__ import annotations

import math


def round_above(value: float) -> tuple[float, float]:
    """A step of 1, 2, 2.5 or 5 times a power of ten, and the multiple of it above a value."""
    rough = max(value, 1e-9) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 2.5, 5, 10) if power * n >= rough)
    return step, step * math.ceil(value / step + 1e-9)


def depth_ticks(last: int) -> list[int]:
    """0, about four even steps, and the end itself."""
    step = 2 ** max(round(math.log2(max(last, 4) / 4)), 0)
    return [*range(0, last - step // 2, step), last]


def doublings(low: float, high: float) -> list[float]:
    """Powers of two, from the one at or below ``low`` to the one at or above ``high``."""
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    return [2.0**n for n in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten, from the one at or below ``low`` to the one at or above
    ``high``."""
    start = math.floor(math.log10(low))
    end = math.ceil(math.log10(high))
    marks = [m * 10.0**n for n in range(start, end + 1) for m in (1, 2, 5)]
    below = max((mark for mark in marks if mark <= low * (1 + 1e-9)), default=marks[0])
    above = min((mark for mark in marks if mark >= high * (1 - 1e-9)), default=marks[-1])
    return [mark for mark in marks if below <= mark <= above]
