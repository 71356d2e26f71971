"""What a plan amounts to: its requests in order, and how long they will take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from core.measure.run import RunPlan, SampleKind

COLD_TOKENS = 4  # written after a cold prefill: the first may be half a character without text
PROBE_PROMPT = 256
PROBE_TOKENS = 16
DEEPEST = 32_768  # that is measured where nobody names depths
LEAST_CONTEXT = 4096  # of a server that does not tell
ROOM = 64  # tokens that stay free at the end of a context
OVERHEAD_SECONDS = 0.05  # to connect, to wait for an idle server and to open a request


@dataclass(frozen=True, slots=True)
class Step:
    """One round of requests: ``prompt`` tokens to be read by each, ``tokens`` to be written."""

    depth: int
    concurrency: int
    kind: SampleKind
    prompt: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens per second, as planned or as measured so far.

    ``decode`` are pairs of a depth and a rate, ascending; between them seconds per token are
    interpolated, beyond them the nearest holds.
    """

    prefill: float | None = None
    decode: tuple[tuple[int, float], ...] = ()

    def decode_at(self, depth: int) -> float | None:
        """The rate at a depth; None where none is known."""
        known = [(d, 1 / rate) for d, rate in self.decode if rate > 0]
        if not known:
            return None
        if depth <= known[0][0]:
            return 1 / known[0][1]
        for (left, a), (right, b) in pairwise(known):
            if depth <= right:
                return 1 / (a + (b - a) * (depth - left) / max(1, right - left))
        return 1 / known[-1][1]


def default_depths(context: int | None, tokens: int) -> tuple[int, ...]:
    """From nothing to what fits into the context of a request, or to a depth that ends within
    minutes; where the context is not known, to what every server takes."""
    deepest = max(0, min(DEEPEST, (context or LEAST_CONTEXT) - tokens - ROOM))
    return tuple(sorted({0, *(deepest * part // 8 // 256 * 256 for part in (1, 2, 4, 8))}))


def repeats(depths: Iterable[int]) -> int:
    """Runs of the least depth after the deepest, to see what a long prompt leaves behind."""
    return 3 if len(set(depths)) > 1 else 0


def cells_of(plan: RunPlan) -> Iterator[tuple[int, int]]:
    """Depth and number of requests at the same time, in the order of measuring."""
    for depth in sorted(set(plan.depths)):
        for level in sorted(set(plan.concurrency)):
            yield depth, level


def steps(plan: RunPlan, skip: Iterable[tuple[int, int]] = ()) -> tuple[Step, ...]:
    """Every round of requests that the plan asks for, without the cells to skip."""
    done = frozenset(skip)
    found: list[Step] = []
    filled = 0
    for depth, level in cells_of(plan):
        if (depth, level) in done:
            continue
        found += [Step(depth, level, SampleKind.COLD, depth, COLD_TOKENS)] * plan.cold
        if not plan.cold:
            found.append(Step(depth, level, SampleKind.FILL, max(1, depth - filled), 1))
            filled = depth
        for kind, count in ((SampleKind.WARM_UP, plan.warm_ups), (SampleKind.RUN, plan.runs)):
            found += [Step(depth, level, kind, 1, plan.tokens)] * count
    return tuple(found)


def expected_seconds(remaining: Iterable[Step], rates: Rates) -> float | None:
    """How long these rounds take; None where the rates are not known.

    Requests at the same time share the reading of prompts and, this being the worse case, the
    writing as well.
    """
    total = 0.0
    for step in remaining:
        decode = rates.decode_at(step.depth)
        if decode is None:
            return None
        if step.prompt > PROBE_PROMPT // 4:
            if not rates.prefill:
                return None
            total += step.prompt * step.concurrency / rates.prefill
        total += step.tokens * step.concurrency / decode + OVERHEAD_SECONDS
    return total
