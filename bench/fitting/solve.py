"""Least squares on logarithms, robust and shrunk: what the calibration is fitted with.

A row's time is a sum of terms, each an amount times exp(sum of named coefficients). Every
coefficient has a prior: a mean and how far from it it may go. Coefficients without data stay at
their mean, those with few rows move little, and so thin groups fall back to wider ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Term: TypeAlias = tuple[float, tuple[str, ...]]
Prior: TypeAlias = Callable[[str], tuple[float, float]]
Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

SPREAD = 0.12  # of log residuals; beyond a few of it a row pulls no harder
_NOTHING = 1e-30


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement: its terms, the time measured (any unit that the amounts are in), and how
    much it counts."""

    terms: tuple[Term, ...]
    time: float
    weight: float = 1.0


def seconds(terms: Sequence[Term], coefficients: Mapping[str, float], prior: Prior) -> float:
    """The time of a row; a coefficient that was not fitted is at its mean."""
    return sum(
        amount * math.exp(sum(coefficients.get(name, prior(name)[0]) for name in names))
        for amount, names in terms
    )


def solve(cases: Sequence[Case], prior: Prior, steps: int = 60) -> dict[str, float]:
    """The coefficients that explain the cases best, by Levenberg and Marquardt."""
    names = sorted({name for case in cases for _, group in case.terms for name in group})
    index = {name: number for number, name in enumerate(names)}
    most = max(len(case.terms) for case in cases)
    amounts = np.full((len(cases), most), math.log(_NOTHING))
    used = np.zeros((len(cases), most, len(names)))
    for row, case in enumerate(cases):
        for column, (amount, group) in enumerate(case.terms):
            amounts[row, column] = math.log(max(amount, _NOTHING))
            for name in group:
                used[row, column, index[name]] += 1
    means = np.array([prior(name)[0] for name in names])
    widths = np.array([prior(name)[1] for name in names])
    measured = np.log(np.array([case.time for case in cases]))
    weights = np.array([case.weight for case in cases])

    def predicted(values: Array) -> tuple[Array, Array]:
        logs = amounts + used @ values
        top = logs.max(1, keepdims=True)
        parts = np.exp(logs - top)
        total = parts.sum(1)
        slopes = ((parts / total[:, None])[:, :, None] * used).sum(1)
        return top[:, 0] + np.log(total), slopes

    def cost(values: Array) -> float:
        away = (measured - predicted(values)[0]) / SPREAD
        robust = 2 * (np.sqrt(1 + away * away) - 1)
        return float((weights * robust).sum() + (((values - means) / widths) ** 2).sum())

    values = means.copy()
    now, damping = cost(values), 1e-3
    for _ in range(steps):
        guess, slopes = predicted(values)
        away = measured - guess
        pull = weights / np.sqrt(1 + (away / SPREAD) ** 2) / SPREAD**2
        normal = slopes.T @ (pull[:, None] * slopes) + np.diag(1 / widths**2)
        right = slopes.T @ (pull * away) - (values - means) / widths**2
        while damping < 1e9:
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), right)
            then = cost(values + step)
            if then <= now:
                break
            damping *= 4
        else:
            break
        gained, values, now = now - then, values + step, then
        damping = max(damping / 5, 1e-9)
        if gained < 1e-6:
            break
    return dict(zip(names, (round(float(value), 5) for value in values), strict=True))
