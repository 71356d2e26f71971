"""A run as pictures: decode speed, prefill and time to the first token over depth, and the gaps
between tokens over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from core.measure import metrics
from core.measure.diagnosis import Point, point_of
from core.measure.history import PlanSnapshot
from core.measure.order import Summary
from core.measure.run import Cell, Run, Sample
from core.units import format_rate, format_seconds, format_share, format_tokens
from gui.widgets.chart import Chart, Dot, Ink, Series

_DEPTH = "depth, tokens in the cache"
# More stems than this are not told apart; the longest are kept.
_STEMS = 4000


def points_of(run: Run, plan: PlanSnapshot | None) -> tuple[Point, ...]:
    """The cells with one request at a time that have a figure, by depth."""
    found = (point_of(cell, plan) for cell in run.cells if cell.concurrency == 1)
    return tuple(sorted((p for p in found if p is not None), key=lambda p: p.depth))


def last_depth(run: Run, plan: PlanSnapshot | None) -> float:
    """Where the axis ends: the context, or the deepest depth where no plan is known."""
    deepest = max((*run.plan.depths, *(cell.depth for cell in run.cells)), default=0)
    context = plan.curve[-1].depth if plan is not None and plan.curve else 0
    return max(deepest + run.plan.tokens, context, 1)


def decode_chart(run: Run, plan: PlanSnapshot | None) -> Chart:
    """Measured points with their spread over the ceiling and the band that was expected."""
    series = _curve(plan)
    points = points_of(run, plan)
    speculates = any(p.steps.median != p.tok_s.median for p in points)
    if points:
        name = "measured, passes/s" if speculates else "measured"
        dots = tuple(Dot(p.depth, p.steps.median, *_ends(p.steps), _tip(p)) for p in points)
        series.append(Series(name, Ink.POINTS, dots))
    if speculates:
        written = tuple(Dot(p.depth, p.tok_s.median, *_ends(p.tok_s), _tip(p)) for p in points)
        series.append(Series("written, tok/s", Ink.OTHER, written))
    return Chart(_DEPTH, "tok/s", tuple(series), last_depth(run, plan), _decode_words(points))


def preview_chart(plan: PlanSnapshot, depths: Sequence[int]) -> Chart:
    """The plan alone; points will come at these depths."""
    last = max(plan.curve[-1].depth if plan.curve else 0, *depths, 1)
    return Chart(_DEPTH, "tok/s", tuple(_curve(plan)), last, "Nothing was measured yet.")


def _curve(plan: PlanSnapshot | None) -> list[Series]:
    series = []
    curve = plan.curve if plan is not None else ()
    band = [
        Dot(p.depth, p.mid or p.low, p.low, p.high)
        for p in curve
        if p.low is not None and p.high is not None
    ]
    if band:
        series.append(Series("expected", Ink.BAND, tuple(band)))
    ceiling = [Dot(p.depth, p.ceiling) for p in curve if p.ceiling is not None]
    if ceiling:
        series.append(Series("ceiling", Ink.CEILING, tuple(ceiling)))
    return series


def prefill_chart(run: Run, plan: PlanSnapshot | None) -> Chart:
    """How fast prompts were read."""
    dots = []
    for cell in _single(run):
        rate = metrics.prefill(cell)
        if rate is not None and cell.depth > 1:
            tip = f"{format_rate(rate.median)} for {format_tokens(cell.depth)} tokens, n = {rate.n}"
            dots.append(Dot(cell.depth, rate.median, *_ends(rate), tip))
    words = "; ".join(d.tip for d in dots) or "No prompt was read."
    series: tuple[Series, ...] = ()
    if dots:
        series = (Series("prefill", Ink.POINTS, tuple(dots)),)
        series += _expected(run, plan, lambda depth, rate: rate, format_rate)
    return Chart("prompt, tokens", "tok/s", series, last_depth(run, plan), words)


def first_token_chart(run: Run, plan: PlanSnapshot | None) -> Chart:
    """How long a new prompt takes until its first token."""
    dots = []
    for cell in _single(run):
        first = metrics.time_to_first(cell)
        if first is not None:
            tip = (
                f"{format_seconds(first.median)} for {format_tokens(cell.depth)} tokens, "
                f"n = {first.n}"
            )
            dots.append(Dot(cell.depth, first.median, *_ends(first), tip))
    words = "; ".join(d.tip for d in dots) or "No new prompt was sent."
    series: tuple[Series, ...] = ()
    if dots:
        series = (Series("time to first token", Ink.POINTS, tuple(dots)),)
        series += _expected(run, plan, lambda depth, rate: depth / rate, format_seconds)
    return Chart("prompt, tokens", "s", series, last_depth(run, plan), words)


def _expected(
    run: Run,
    plan: PlanSnapshot | None,
    value: Callable[[int, float], float],
    words: Callable[[float], str],
) -> tuple[Series, ...]:
    """What the plan expected of prompts of the lengths that were measured; nothing where it did
    not know."""
    rates = [(f.depth, f.prefill) for f in plan.at if f.prefill] if plan is not None else []
    dots = [
        Dot(depth, y, tip=f"expected: {words(y)} for {format_tokens(depth)} tokens")
        for depth, rate in rates
        if depth in run.plan.depths and (y := value(depth, rate))
    ]
    return (Series("expected", Ink.OTHER, tuple(dots)),) if dots else ()


def gaps_chart(cell: Cell) -> Chart:
    """The time before each token of a cell's requests, one after the other; arrivals of one step
    of the engine count as one."""
    dots: list[Dot] = []
    offset = 0.0
    merged = 0
    for sample in cell.measured:
        steps = metrics.bursts(sample)
        merged += sum(count - 1 for _, count in steps)
        dots += _stems(sample, offset)
        offset += steps[-1][0] / 1e9 if steps else 0.0
    longest = sorted(dots, key=lambda d: -d.y)[:_STEMS]
    shown = tuple(sorted(longest))
    words = "No gaps were seen."
    if dots:
        middle = sorted(d.y for d in dots)[len(dots) // 2]
        most = max(d.y for d in dots)
        words = f"Half of the gaps are below {middle:,.3g} ms, the longest is {most:,.3g} ms"
        words += f"; {merged:,} arrivals came together with the one before." if merged else "."
    series = (Series("time before each step", Ink.STEMS, shown),) if shown else ()
    return Chart("s of writing", "ms", series, offset or 1.0, words, depths=False)


def _stems(sample: Sample, offset: float) -> Iterable[Dot]:
    steps = metrics.bursts(sample)
    for (before, _), (at, count) in pairwise(steps):
        gap = (at - before) / 1e6
        tip = f"{gap:,.3g} ms" + (f", {count} arrivals together" if count > 1 else "")
        yield Dot(offset + at / 1e9, gap, tip=tip)


def _single(run: Run) -> Sequence[Cell]:
    return [cell for cell in run.cells if cell.concurrency == 1]


def _ends(summary: Summary) -> tuple[float, float]:
    """The interval of the median; where n does not allow one, the least and the most."""
    if summary.low is None or summary.high is None:
        return summary.least, summary.most
    return summary.low, summary.high


def _tip(point: Point) -> str:
    s = point.tok_s
    text = f"{format_rate(s.median)} at {point.depth:,.0f} tokens, n = {s.n}"
    if s.low is not None and s.high is not None:
        text += f", 95 %: {s.low:,.1f} to {s.high:,.1f}"
    if point.share is not None:
        text += f"\n{format_share(point.share)} of the ceiling"
    if point.bandwidth is not None:
        text += f", {point.bandwidth / 1e9:,.0f} GB/s"
    return text


def _decode_words(points: Sequence[Point]) -> str:
    if not points:
        return "Nothing was measured yet."
    return "Measured: " + "; ".join(
        f"{format_rate(p.tok_s.median)} at {p.depth:,.0f}"
        + (f" ({format_share(p.share)} of the ceiling)" if p.share is not None else "")
        for p in points
    )
