"""How wide the bands must be, from runs that the fit has not seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from bench.fitting.decode import Row, is_main

INSIDE = 0.84  # of runs of unseen sources
_ROWS, _MACHINES = 30, 8  # what a group needs for a band of its own


@dataclass(frozen=True, slots=True)
class Errors:
    """Of predictions: shares, errors as |predicted / measured - 1|."""

    rows: int
    median: float
    p90: float
    within_20: float
    machines: int
    median_by_machine: float

    def __str__(self) -> str:
        return (
            f"{self.rows:4} rows of {self.machines:3} machines  median {self.median:6.1%}  "
            f"p90 {self.p90:6.1%}  within 20 % {self.within_20:4.0%}  "
            f"median of machines {self.median_by_machine:6.1%}"
        )


def errors(of: Sequence[Row], ratios: Sequence[float]) -> Errors:
    """Of these rows, by their measured over predicted rates."""
    each = [abs(1 / ratio - 1) for ratio in ratios]
    machines: dict[str, list[float]] = {}
    for row, error in zip(of, each, strict=True):
        machines.setdefault(row.machine, []).append(error)
    return Errors(
        rows=len(each),
        median=median(each),
        p90=quantile(each, 0.9),
        within_20=sum(error <= 0.2 for error in each) / len(each),
        machines=len(machines),
        median_by_machine=median(median(some) for some in machines.values()),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """By straight lines between the order statistics."""
    return quantiles(values, n=1000, method="inclusive")[round(1000 * share) - 1]


def bands(
    of: Sequence[Row], machine: Sequence[float], source: Sequence[float]
) -> tuple[dict[str, Any], float]:
    """Groups by name with their rows, machines and band (of measured over predicted), and the
    share of rows of unseen sources that lie inside.

    A band spans what was left out by machine and by source, alike; a thin group has at least the
    width of all. Then all are widened until enough rows of unseen sources are inside.
    """
    cut = (1 - INSIDE) / 2
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(of):
        if is_main(row):
            groups.setdefault(row.hardware.group, []).append(number)
    logs = [(math.log(m), math.log(s)) for m, s in zip(machine, source, strict=True)]
    everywhere = [n for name, some in groups.items() if name != "cpu" for n in some]
    wide = _ends(logs, everywhere, cut)
    ends = {}
    for name, some in groups.items():
        low, high = _ends(logs, some, cut)
        if len(some) < _ROWS or len({of[n].machine for n in some}) < _MACHINES:
            low, high = min(low, wide[0]), max(high, wide[1])
        ends[name] = (min(low, -0.02), max(high, 0.02))
    wider = 1.0
    while (inside := _inside(groups, ends, logs, wider)) < INSIDE:
        wider += 0.02
    made = {
        name: {
            "runs": len(some),
            "machines": len({of[n].machine for n in some}),
            "architectures": sorted({of[n].hardware.architecture for n in some} - {""}),
            "low": round(math.exp(wider * ends[name][0]), 3),
            "high": round(math.exp(wider * ends[name][1]), 3),
        }
        for name, some in sorted(groups.items())
    }
    return made, inside


def _ends(
    logs: Sequence[tuple[float, float]], some: Sequence[int], cut: float
) -> tuple[float, float]:
    both = [value for n in some for value in logs[n]]
    return quantile(both, cut), quantile(both, 1 - cut)


def _inside(
    groups: dict[str, list[int]],
    ends: dict[str, tuple[float, float]],
    logs: Sequence[tuple[float, float]],
    wider: float,
) -> float:
    found = [
        wider * ends[name][0] <= logs[n][1] <= wider * ends[name][1]
        for name, some in groups.items()
        if name != "cpu"
        for n in some
    ]
    return sum(found) / len(found)


def corrected(of: Sequence[Row], ratios: Sequence[float], *, same: bool) -> list[float]:
    """Measured over predicted once other runs on the same machine have corrected it: in full by
    the same model at other depths, else half-way by other models."""
    logs = [math.log(ratio) for ratio in ratios]
    found = []
    for number, row in enumerate(of):
        others = [
            logs[n]
            for n, other in enumerate(of)
            if is_main(other) and is_main(row) and _corrects(other, row, same=same)
        ]
        if others:
            share = 1.0 if same else 0.5
            found.append(math.exp(logs[number] - share * median(others)))
    return found


def _corrects(other: Row, row: Row, *, same: bool) -> bool:
    one, two = other.run, row.run
    if other.machine != row.machine or one.backend is not two.backend:
        return False
    if not same:
        return one.model != two.model
    alike = (one.model, one.quantization, other.source) == (two.model, two.quantization, row.source)
    return alike and one.depth != two.depth
