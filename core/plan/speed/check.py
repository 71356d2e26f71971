"""How well the speed model predicts measured runs: one prediction per row, no file needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from core.plan.speed.calibration import rates
from core.plan.speed.published import PublishedRun


@dataclass(frozen=True, slots=True)
class Fit:
    """Of so many predictions; errors are |predicted / measured - 1|, all fractions."""

    n: int
    median_error: float | None
    p90_error: float | None
    within_20: float | None


def predicted(run: PublishedRun) -> float | None:
    """Decode speed, tok/s, from the row's own columns and what the catalogue knows of its machine;
    None where no bandwidth is known."""
    hardware = run.hardware
    if hardware is None:
        return None
    found = rates(hardware, run.format_class, run.family, run.old, run.flash)
    seconds = run.weights * found.read
    seconds += run.cache * (found.packed if run.packed else found.cache)
    seconds += run.layers * (found.layer + (found.experts if run.experts else 0.0))
    return 1 / (seconds + found.token)


def fit_of(runs: Sequence[PublishedRun]) -> Fit:
    """Over all rows that can be predicted and carry no flag."""
    errors = sorted(
        abs(speed / run.decode - 1)
        for run in runs
        if not run.flag and (speed := predicted(run)) is not None
    )
    if not errors:
        return Fit(0, None, None, None)
    place = 0.9 * (len(errors) - 1)
    below = int(place)
    above = min(below + 1, len(errors) - 1)
    p90 = errors[below] + (place - below) * (errors[above] - errors[below])
    within = sum(error <= 0.2 for error in errors) / len(errors)
    return Fit(len(errors), median(errors), p90, within)


def fits_by_backend(runs: Sequence[PublishedRun]) -> dict[str, Fit]:
    """The same per backend, in the order of the rows."""
    backends = dict.fromkeys(run.backend for run in runs if not run.flag)
    return {b.value: fit_of([run for run in runs if run.backend is b]) for b in backends}
