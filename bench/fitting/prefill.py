"""What reading a prompt costs, fitted on the runs that tell it (512 tokens at once)."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

from bench.fitting.decode import Row
from bench.fitting.solve import Case, Term, seconds, solve
from core.plan.speed.features import LLAMA_CPP, prefill_names

CHUNK = 512
_WEIGHT = 0.5


def prior(name: str) -> tuple[float, float]:
    """Mean and width of a coefficient: two fifths of the peak, and so on."""
    means = {
        "prefill": (0.9, 1.0),
        "prefill 32": (0.0, 1.0),
        "prefill cores": (1.4, 1.0),
        "prefill read": (0.22, 0.2),
        "prefill experts": (0.4, 0.5),
    }
    if name in means:
        return means[name]
    if name.startswith(("prefill whole", "prefill old")):
        return 0.0, 0.3
    words = name.removeprefix("prefill").removeprefix(" 32").removeprefix(" cores").split()
    return 0.0, (0.4 if len(words) == 1 else 0.5)


def rows(of: Sequence[Row]) -> list[Row]:
    """Those that tell how fast they read a prompt on a device whose arithmetic is known."""
    return [
        row
        for row in of
        if row.run.prefill
        and row.run.family == LLAMA_CPP
        and prefill_names(row.hardware, experts=row.run.experts) is not None
    ]


def terms(row: Row) -> tuple[Term, ...]:
    """What the time of one token is made of."""
    run, hardware = row.run, row.hardware
    found = prefill_names(hardware, experts=run.experts, whole=run.whole, old=run.old)
    assert found is not None
    per_weight = run.weights / run.active_parameters
    return (
        (2 * run.active_parameters / found.rate, found.compute),
        (run.parameters * per_weight / CHUNK / hardware.bandwidth, found.read),
    )


def fit(of: Sequence[Row]) -> dict[str, float]:
    """Coefficients from these rows; many rows of one machine count less each."""
    count = Counter(row.machine for row in of)
    weights = [1 / math.sqrt(count[row.machine]) for row in of]
    mean = sum(weights) / len(weights)
    cases = [
        Case(terms(row), 1 / (row.run.prefill or 1.0), _WEIGHT * weight / mean)
        for row, weight in zip(of, weights, strict=True)
    ]
    return solve(cases, prior)


def by_machine(of: Sequence[Row], folds: int = 10, seed: int = 0) -> list[float]:
    """Measured over predicted rate, whole machines left out."""
    groups = sorted({row.machine for row in of})
    random.Random(seed).shuffle(groups)
    fold = {group: number % folds for number, group in enumerate(groups)}
    ratios = [0.0] * len(of)
    for number in range(folds):
        fitted = fit([row for row in of if fold[row.machine] != number])
        for place, row in enumerate(of):
            if fold[row.machine] == number:
                ratios[place] = (row.run.prefill or 0.0) * seconds(terms(row), fitted, prior)
    return ratios
