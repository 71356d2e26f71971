"""A run as pictures: decode speed, prefill and time to the first token over depth, and the gaps
between tokens over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from core.language import mark, tr, written
from core.measure import metrics
from core.measure.diagnosis import Point, point_of
from core.measure.history import PlanSnapshot
from core.measure.order import Summary
from core.measure.run import Cell, Run, Sample
from core.units import format_rate, format_rates, format_seconds, format_share
from gui.widgets.chart import Chart, Dot, Ink, Series

_DEPTH = mark("depth, tokens in the cache")
_PROMPT = mark("prompt, tokens")
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
        name = tr("measured, passes/s") if speculates else tr("measured")
        dots = tuple(Dot(p.depth, p.steps.median, *_ends(p.steps), _tip(p)) for p in points)
        series.append(Series(name, Ink.POINTS, dots))
    if speculates:
        dots = tuple(Dot(p.depth, p.tok_s.median, *_ends(p.tok_s), _tip(p)) for p in points)
        series.append(Series(tr("written, tok/s"), Ink.OTHER, dots))
    return Chart(tr(_DEPTH), "tok/s", tuple(series), last_depth(run, plan), _decode_words(points))


def preview_chart(plan: PlanSnapshot, depths: Sequence[int]) -> Chart:
    """The plan alone; points will come at these depths."""
    last = max(plan.curve[-1].depth if plan.curve else 0, *depths, 1)
    return Chart(tr(_DEPTH), "tok/s", tuple(_curve(plan)), last, tr("Nothing was measured yet."))


def _curve(plan: PlanSnapshot | None) -> list[Series]:
    series = []
    curve = plan.curve if plan is not None else ()
    band = [
        Dot(p.depth, p.mid or p.low, p.low, p.high)
        for p in curve
        if p.low is not None and p.high is not None
    ]
    if band:
        series.append(Series(tr("expected"), Ink.BAND, tuple(band)))
    ceiling = [Dot(p.depth, p.ceiling) for p in curve if p.ceiling is not None]
    if ceiling:
        series.append(Series(tr("ceiling"), Ink.CEILING, tuple(ceiling)))
    return series


def prefill_chart(run: Run, plan: PlanSnapshot | None) -> Chart:
    """How fast prompts were read."""
    dots = []
    for cell in _single(run):
        rate = metrics.prefill(cell)
        if rate is not None and cell.depth > 1:
            tip = _prompt_tip(format_rate(rate.median), cell.depth, rate.n)
            dots.append(Dot(cell.depth, rate.median, *_ends(rate), tip))
    words = "; ".join(d.tip for d in dots) or tr("No prompt was read.")
    series: tuple[Series, ...] = ()
    if dots:
        series = (Series(tr("prefill"), Ink.POINTS, tuple(dots)),)
        series += _expected(run, plan, lambda depth, rate: rate, format_rate)
    return Chart(tr(_PROMPT), "tok/s", series, last_depth(run, plan), words)


def first_token_chart(run: Run, plan: PlanSnapshot | None) -> Chart:
    """How long a new prompt takes until its first token."""
    dots = []
    for cell in _single(run):
        first = metrics.time_to_first(cell)
        if first is not None:
            tip = _prompt_tip(format_seconds(first.median), cell.depth, first.n)
            dots.append(Dot(cell.depth, first.median, *_ends(first), tip))
    words = "; ".join(d.tip for d in dots) or tr("No new prompt was sent.")
    series: tuple[Series, ...] = ()
    if dots:
        series = (Series(tr("time to first token"), Ink.POINTS, tuple(dots)),)
        series += _expected(run, plan, lambda depth, rate: depth / rate, format_seconds)
    return Chart(tr(_PROMPT), "s", series, last_depth(run, plan), words)


def _prompt_tip(figure: str, depth: int, n: int) -> str:
    return tr("{figure} for {tokens:,} tokens, n = {n}", figure=figure, tokens=depth, n=n)


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
        Dot(
            depth,
            y,
            tip=tr("expected: {figure} for {tokens:,} tokens", figure=words(y), tokens=depth),
        )
        for depth, rate in rates
        if depth in run.plan.depths and (y := value(depth, rate))
    ]
    return (Series(tr("expected"), Ink.OTHER, tuple(dots)),) if dots else ()


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
    series = (Series(tr("time before each step"), Ink.STEMS, shown),) if shown else ()
    words = _gap_words(dots, merged)
    return Chart(tr("s of writing"), "ms", series, offset or 1.0, words, depths=False)


def _gap_words(dots: Sequence[Dot], merged: int) -> str:
    if not dots:
        return tr("No gaps were seen.")
    middle = sorted(d.y for d in dots)[len(dots) // 2]
    most = max(d.y for d in dots)
    if not merged:
        return tr(
            "Half of the gaps are below {middle:,.3g} ms, the longest is {most:,.3g} ms.",
            middle=middle,
            most=most,
        )
    return tr(
        "Half of the gaps are below {middle:,.3g} ms, the longest is {most:,.3g} ms; {merged:,} "
        "arrivals came together with the one before.",
        middle=middle,
        most=most,
        merged=merged,
    )


def _stems(sample: Sample, offset: float) -> Iterable[Dot]:
    steps = metrics.bursts(sample)
    for (before, _), (at, count) in pairwise(steps):
        gap = (at - before) / 1e6
        tip = f"{written(gap, ',.3g')} ms"
        if count > 1:
            tip = tr("{gap:,.3g} ms, {count} arrivals together", gap=gap, count=count)
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
    text = tr(
        "{rate} at {depth:,.0f} tokens, n = {n}",
        rate=format_rate(s.median),
        depth=point.depth,
        n=s.n,
    )
    if s.low is not None and s.high is not None:
        text += f", 95 %: {format_rates(s.low, s.high)}"
    if point.share is not None:
        text += "\n" + tr("{share} of the ceiling", share=format_share(point.share))
    if point.bandwidth is not None:
        text += f", {written(point.bandwidth / 1e9, ',.0f')} GB/s"
    return text


def _decode_words(points: Sequence[Point]) -> str:
    if not points:
        return tr("Nothing was measured yet.")
    return tr("Measured: {points}", points="; ".join(map(_point_words, points)))


def _point_words(point: Point) -> str:
    rate = format_rate(point.tok_s.median)
    if point.share is None:
        return tr("{rate} at {depth:,.0f}", rate=rate, depth=point.depth)
    return tr(
        "{rate} at {depth:,.0f} ({share} of the ceiling)",
        rate=rate,
        depth=point.depth,
        share=format_share(point.share),
    )
