"""What sorted values say: a median with its interval, and tails where there are values enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, comb
from statistics import median as middle

LEAST_RUNS_FOR_TAIL = 20  # below it the 95th percentile is just the maximum
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a cell. ``low`` and ``high`` bound the median with 95 % confidence (order
    statistics, at least 6 values), ``p5`` and ``p95`` need 20; None is what n does not allow."""

    n: int
    median: float
    low: float | None
    high: float | None
    p5: float | None
    p95: float | None
    least: float
    most: float


def summary(values: Iterable[float | None]) -> Summary | None:
    """The summary of those values that are known; None where there are none."""
    ordered = sorted(value for value in values if value is not None)
    n = len(ordered)
    if not n:
        return None
    rank = median_rank(n)
    tails = n >= LEAST_RUNS_FOR_TAIL
    return Summary(
        n=n,
        median=middle(ordered),
        low=ordered[rank - 1] if rank else None,
        high=ordered[n - rank] if rank else None,
        p5=percentile(ordered, 0.05) if tails else None,
        p95=percentile(ordered, 0.95) if tails else None,
        least=ordered[0],
        most=ordered[-1],
    )


def median_rank(n: int) -> int:
    """The largest rank k for which the k-th smallest and k-th largest of n values enclose the
    median with 95 % confidence; 0 where none does (fewer than 6 values).

    Each value lies below the median with probability 1/2, whatever the distribution is.
    """
    below, rank = 0, 0
    for k in range(1, n // 2 + 1):
        below += comb(n, k - 1)
        if 1 - 2 * below / 2**n < _CONFIDENCE:
            break
        rank = k
    return rank


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of sorted values: one of them, never one in between."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
