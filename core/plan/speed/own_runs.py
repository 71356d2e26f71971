"""The user's own measurements, which correct what published runs lead to expect.

In full for the same model and configuration, at whatever depth (straight lines between the depths
that were measured); half-way, in the logarithm, for another model on the same backend. On published
runs that took the median error from 9.0 % to 2.3 % and from 8.6 % to 7.9 %; in full, other models
would make it worse (``python -m bench.calibration``).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from core.language import trn
from core.machine.machine import OwnRun
from core.model import fingerprint
from core.model.model import Model
from core.plan.plan import Settings
from core.plan.speed.calibration import calibration

_HALF = 0.5


def configuration(settings: Settings) -> str:
    """What must be the same for a run at another depth to count in full: all that places or
    stores the model differently, in one line. It is kept and compared, never translated."""
    flash = "on" if settings.flash_attention else "off"
    words = [
        settings.engine,
        settings.backend,
        f"{settings.gpu_layers} layers on the GPU",
        f"{settings.cpu_moe} layers' experts in RAM",
        f"K {settings.cache_k}",
        f"V {settings.cache_v}",
        f"flash attention {flash}",
    ]
    if settings.requantize is not None:
        words.append(f"as {settings.requantize}")
    return ", ".join(words)


def measured(
    model: Model, settings: Settings, runs: Sequence[OwnRun]
) -> tuple[tuple[int, float], ...]:
    """Depths and rates (tok/s) of the user's own runs of this very plan, by depth; of several at
    one depth the first."""
    if not runs:
        return ()
    name, here = fingerprint(model), configuration(settings)
    found: dict[int, float] = {}
    for run in runs:
        if run.model == name and run.configuration == here:
            found.setdefault(run.depth, run.tok_s)
    return tuple(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Correction:
    """Logarithms of measured over expected speed: ``depths`` and ``logs`` of the same
    configuration, ascending, else ``other``, which holds at any depth."""

    depths: tuple[int, ...] = ()
    logs: tuple[float, ...] = ()
    other: float = 0.0
    words: str = ""

    def factor(self, depth: int) -> float:
        """On speed, at a depth."""
        if not self.depths:
            return math.exp(self.other) if self.other else 1.0
        after = bisect_left(self.depths, depth)
        if after == 0:
            return math.exp(self.logs[0])
        if after == len(self.depths):
            return math.exp(self.logs[-1])
        left, right = self.depths[after - 1], self.depths[after]
        share = (depth - left) / (right - left)
        return math.exp((1 - share) * self.logs[after - 1] + share * self.logs[after])

    def bounds(self, low: float, high: float) -> tuple[float, float]:
        """A band, narrower where the same configuration was measured."""
        if not self.depths:
            return low, high
        same = calibration().own["same"]
        return max(low, same["low"]), min(high, same["high"])


_NONE = Correction()


def correction(model: Model, settings: Settings, runs: Sequence[OwnRun]) -> Correction:
    """What these runs say about a plan; runs on another backend say nothing."""
    usable = [
        run
        for run in runs
        if run.backend == settings.backend and run.tok_s > 0 and run.expected > 0
    ]
    if not usable:
        return _NONE
    name, here = fingerprint(model), configuration(settings)
    same: dict[int, list[float]] = {}
    others: dict[str, list[float]] = {}
    for run in usable:
        log = math.log(run.tok_s / run.expected)
        if run.model == name and run.configuration == here:
            same.setdefault(run.depth, []).append(log)
        else:
            others.setdefault(run.model, []).append(log)
    if same:
        depths = tuple(sorted(same))
        count = sum(map(len, same.values()))
        return Correction(
            depths,
            tuple(median(same[depth]) for depth in depths),
            words=trn(
                "corrected by your own run of this model",
                "corrected by {count} of your own runs of this model",
                count,
            ),
        )
    middle = median(median(logs) for logs in others.values())
    count = sum(map(len, others.values()))
    words = trn(
        "corrected half-way by your own run of other models",
        "corrected half-way by your own runs of other models",
        count,
    )
    return Correction(other=_HALF * middle, words=words)
