"""Runs made up from rates: samples with the stamps that a server of such a speed would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.measure.readings import Reading
from core.measure.run import (
    Cell,
    Run,
    RunPlan,
    RunStatus,
    Sample,
    SampleKind,
    ServerKind,
    Target,
    TokenSource,
)

TARGET = Target(
    kind=ServerKind.LLAMA_SERVER,
    url="http://127.0.0.1:8080",
    model="tiny",
    version="b11434-abcdef0",
    context=16_384,
    slots=1,
    cache_k="f16",
    cache_v="f16",
)
TOKENS = 64
_NS = 10**9


def sample(
    tok_s: float,
    *,
    depth: int = 0,
    kind: SampleKind = SampleKind.RUN,
    ttft: float = 0.05,
    tokens: int = TOKENS,
    round: int = 0,
    cached: int | None = None,
    timings: bool = True,
    **changes: Any,
) -> Sample:
    """One request that was answered with so many tokens at this rate, evenly."""
    first = round_ns(ttft)
    arrivals = tuple(first + round_ns(n / tok_s) for n in range(tokens))
    prompt = max(depth, 1)
    held = (max(prompt - 1, 0) if kind is SampleKind.RUN else 0) if cached is None else cached
    told: dict[str, Any] = {}
    if timings:
        told = {
            "prompt_n": prompt - held,
            "prompt_ms": ttft * 1000,
            "cache_n": held,
            "predicted_n": tokens,
            "predicted_ms": (tokens - 1) / tok_s * 1000,
        }
    made = Sample(
        kind=kind,
        started_ns=round * 2 * _NS,
        arrivals_ns=arrivals,
        first_byte_ns=first - 1000,
        first_answer_ns=first,
        ended_ns=arrivals[-1] + 1000,
        tokens=tokens,
        token_source=TokenSource.TIMINGS if timings else TokenSource.USAGE,
        counts=tuple(range(1, tokens + 1)),
        prompt_tokens=prompt,
        cached_tokens=held,
        finish="length",
        round=round,
        server_timings=told,
    )
    return replace(made, **changes)


def round_ns(seconds: float) -> int:
    return round(seconds * _NS)


def cell(
    depth: int, rates: Sequence[float], *, prefill: float = 1000.0, finished: bool = True
) -> Cell:
    """A depth that was measured at these rates, after one cold prefill at ``prefill`` tok/s."""
    cold = sample(
        rates[0] if rates else 10.0,
        depth=depth,
        kind=SampleKind.COLD,
        ttft=max(depth, 1) / prefill,
        tokens=1,
    )
    runs = [sample(rate, depth=depth, round=n) for n, rate in enumerate(rates)]
    return Cell(depth, samples=(cold, *runs), finished=finished)


def run(
    rates: Mapping[int, Sequence[float]] | None = None,
    *,
    id: str = "20260101-000000-0001",
    telemetry: Sequence[Reading] = (),
    status: RunStatus = RunStatus.DONE,
    target: Target = TARGET,
    **changes: Any,
) -> Run:
    """A sweep: rates by depth."""
    rates = {0: [50.0] * 6, 4096: [40.0] * 6} if rates is None else rates
    made = Run(
        id=id,
        started="2026-01-01T00:00:00Z",
        ended="2026-01-01T00:05:00Z" if status is not RunStatus.RUNNING else "",
        target=target,
        plan=RunPlan(depths=tuple(rates) or (0,)),
        status=status,
        cells=tuple(cell(depth, each) for depth, each in rates.items()),
        telemetry=tuple(telemetry),
        versions={"weighbridge": "0.1.0", "python": "3.11.7"},
    )
    return replace(made, **changes)
