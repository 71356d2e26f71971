"""How far a sweep is and how long the rest takes, by the rates that it has seen so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.measure import metrics
from core.measure.events import Progress
from core.measure.run import RunPlan, Sample, SampleKind
from core.measure.work import PROBE_PROMPT, PROBE_TOKENS, Rates, expected_seconds, steps

_LEAST_READ = PROBE_PROMPT // 4  # a shorter prompt says little about the rate of reading
_LEAST_WRITTEN = PROBE_TOKENS // 2


class Pace:
    """Takes finished requests in and gives `Progress`. Cells in ``skip`` are behind us already."""

    def __init__(self, plan: RunPlan, skip: Iterable[tuple[int, int]], rates: Rates) -> None:
        self.rates = rates
        self._all = steps(plan, skip)
        self._remaining = list(self._all)
        # Asked for while a request is timed, so that it is worked out before.
        self._left: float | None = None
        self._whole: float | None = None
        self._refresh()

    def learn(self, sample: Sample) -> None:
        """The rates of one request."""
        rates = self.rates
        prefill = metrics.prefill_rate(sample)
        if prefill and (metrics.uncached(sample) or 0) >= _LEAST_READ:
            rates = replace(rates, prefill=prefill)
        rate, depth = metrics.best_decode_rate(sample), sample.prompt_tokens
        if rate and depth is not None and (sample.tokens or 0) >= _LEAST_WRITTEN:
            others = [(d, r) for d, r in rates.decode if d != depth]
            rates = replace(rates, decode=tuple(sorted([*others, (depth, rate)])))
        if rates != self.rates:
            self.rates = rates
            self._refresh()

    def step_done(self, depth: int, concurrency: int, kind: SampleKind) -> None:
        """One planned round of requests is behind us; others were repetitions."""
        for number, step in enumerate(self._remaining):
            if (step.depth, step.concurrency, step.kind) == (depth, concurrency, kind):
                del self._remaining[number]
                self._refresh()
                return

    def cell_done(self, depth: int, concurrency: int) -> None:
        """Nothing more of this cell will come."""
        key = (depth, concurrency)
        self._remaining = [s for s in self._remaining if (s.depth, s.concurrency) != key]
        self._refresh()

    def seconds_left(self) -> float | None:
        """For what is planned; None where the rates are not known."""
        return self._left

    def _refresh(self) -> None:
        self._left = expected_seconds(self._remaining, self.rates)
        self._whole = expected_seconds(self._all, self.rates)

    def progress(
        self,
        depth: int,
        concurrency: int,
        phase: str,
        tokens: int = 0,
        prompt_done: int | None = None,
        tok_s: float | None = None,
        share: float = 0.0,
    ) -> Progress:
        """Where it is; ``share`` is how much of the request that is under way has been written."""
        left, whole = self._left, self._whole
        done = 0.0
        if left is not None and whole:
            key = (depth, concurrency, phase)
            now = [s for s in self._remaining if (s.depth, s.concurrency, s.kind.value) == key]
            left -= share * (expected_seconds(now[:1], self.rates) or 0.0)
            done = min(1.0, max(0.0, 1 - left / whole))
        return Progress(depth, concurrency, phase, done, tokens, prompt_done, tok_s, left)
