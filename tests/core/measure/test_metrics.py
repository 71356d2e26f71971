"""Figures of samples and cells: definitions, and what n allows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.language import speak
from core.measure import metrics
from core.measure.checks import checked, oddities, said
from core.measure.export import text
from core.measure.order import median_rank, summary
from core.measure.run import (
    Cell,
    Run,
    RunPlan,
    Sample,
    SampleKind,
    ServerKind,
    Target,
    TokenSource,
)
from core.problems import Problem, Severity
from tests.support import runs

BASE = Sample(
    SampleKind.RUN,
    0,
    tuple(100_000_000 + 20_000_000 * n for n in range(64)),
    tokens=64,
    token_source=TokenSource.TIMINGS,
    prompt_tokens=4096,
    cached_tokens=4095,
    finish="limit",
    server_timings={"predicted_n": 64, "predicted_ms": 1260.0, "prompt_n": 1, "prompt_ms": 20.0},
)


def at_rate(rate: float, **changes: Any) -> Sample:
    """64 tokens at this many a second, by the stamps and by the server."""
    timings = {"predicted_n": 64, "predicted_ms": 63_000 / rate}
    stamps = tuple(round(1e8 + n * 1e9 / rate) for n in range(64))
    return replace(BASE, arrivals_ns=stamps, server_timings=timings, **changes)


def cell_of(*samples: Sample, concurrency: int = 1) -> Cell:
    return Cell(4096, concurrency, samples, finished=True)


@pytest.mark.parametrize(
    ("n", "rank"),
    # Published tables of the sign test: the interval for a median at 95 %.
    [(1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8), (30, 10)],
)
def test_the_interval_of_a_median_is_that_of_the_sign_test(n: int, rank: int) -> None:
    assert median_rank(n) == rank


@pytest.mark.parametrize(("n", "covered"), [(6, 0.96875), (9, 0.9609375)])
def test_the_interval_covers_as_often_as_it_says(n: int, covered: float) -> None:
    """Every way in which n values can lie about the median, each as likely as the others."""
    rank = median_rank(n)
    ways = [sum(signs) for signs in product((0, 1), repeat=n)]
    assert sum(rank <= below <= n - rank for below in ways) / len(ways) == covered


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=60))
def test_a_summary_holds_what_its_number_of_values_allows(values: list[float]) -> None:
    found = summary(values)
    assert found is not None
    assert found.median == median(values)
    assert (found.low is None) == (len(values) < 6)
    assert (found.p5 is None) == (found.p95 is None) == (len(values) < 20)
    if found.low is not None and found.high is not None:
        assert found.least <= found.low <= found.median <= found.high <= found.most
    if found.p5 is not None and found.p95 is not None:
        assert found.p5 in values
        assert found.p95 in values
        assert found.least <= found.p5 <= found.median <= found.p95 <= found.most


def test_a_summary_of_nothing_is_nothing() -> None:
    assert summary([None, None]) is None
    assert metrics.decode(Cell(0)) is None


def test_decode_is_one_over_the_time_per_token_and_the_first_token_is_no_part_of_it() -> None:
    assert metrics.ttft(BASE) == 0.1
    assert metrics.tpot(BASE) == pytest.approx(0.02, abs=1e-12)
    assert metrics.decode_rate(BASE) == pytest.approx(50, rel=1e-12)
    assert metrics.server_decode_rate(BASE) == pytest.approx(50, rel=1e-12)


def test_a_server_that_counts_n_over_the_time_is_read_as_n_less_one() -> None:
    """Ollama's documentation divides eval_count by eval_duration: too high by n / (n - 1)."""
    timings = {"eval_count": 2, "eval_duration": 20_000_000}
    assert metrics.server_decode_rate(replace(BASE, server_timings=timings)) == 50


@pytest.mark.parametrize(
    "timings",
    [
        {},
        {"predicted_n": 1, "predicted_ms": 0.001},
        {"predicted_n": "many", "predicted_ms": 5},
        {"predicted_n": 5, "predicted_ms": 0},
        {"eval_count": True, "eval_duration": 5},
    ],
)
def test_timings_that_say_nothing_are_no_rate(timings: dict[str, Any]) -> None:
    assert metrics.server_decode_rate(replace(BASE, server_timings=timings)) is None


@pytest.mark.parametrize(
    ("prompt", "first", "trip", "rate"),
    [(2000, 1.0, 0.0, 2000.0), (255, 1.0, 0.0, None), (2000, 0.04, 0.01, None)],
    ids=["long enough", "too few tokens", "no longer than the way there"],
)
def test_prefill_by_the_first_token_needs_tokens_and_time(
    prompt: int, first: float, trip: float, rate: float | None
) -> None:
    sample = Sample(
        SampleKind.COLD,
        0,
        (int(first * 1e9),),
        round_trip_ns=int(trip * 1e9),
        tokens=1,
        prompt_tokens=prompt,
        cached_tokens=0,
    )
    assert metrics.prefill_rate(sample) == rate


def test_the_depth_of_a_point_lies_in_the_middle_of_what_was_written() -> None:
    cell = cell_of(*[BASE] * 6)
    assert metrics.exact_depth(cell) == 4096
    assert metrics.point_depth(cell) == 4096 + 63 / 2


def test_a_server_that_counts_only_what_it_read_has_the_depth_of_the_fill_before() -> None:
    """Older Ollama: one token of the prompt is read for each warm request, or none is counted."""
    cold = replace(BASE, kind=SampleKind.COLD, cached_tokens=None)
    for counted in (1, None):
        warm = replace(BASE, prompt_tokens=counted, cached_tokens=None)
        assert metrics.exact_depth(cell_of(cold, *[warm] * 6)) == 4096
        assert checked(warm, 4096, 64, exact=False).problems == ()


def test_a_prompt_that_first_missed_its_depth_says_nothing_about_it() -> None:
    missed = replace(BASE, kind=SampleKind.COLD, prompt_tokens=4500, arrivals_ns=(9_000_000_000,))
    right = replace(BASE, kind=SampleKind.COLD, cached_tokens=0)
    first = metrics.time_to_first(cell_of(missed, right, *[BASE] * 6))
    assert first is not None
    assert (first.n, first.median) == (1, 0.1)


def test_samples_that_went_wrong_and_warm_ups_do_not_count() -> None:
    broken = replace(BASE, problems=(Problem("stall", "It said nothing."),))
    noted = replace(BASE, problems=(Problem("busy", "Busy.", Severity.WARNING),))
    warm = replace(BASE, kind=SampleKind.WARM_UP)
    assert cell_of(broken, noted, warm, BASE).measured == (noted, BASE)


def test_cold_requests_are_apart_from_those_that_found_the_prompt_in_the_cache() -> None:
    """Report B03: cold and warm are never mixed."""
    cold = replace(
        BASE,
        kind=SampleKind.COLD,
        cached_tokens=0,
        arrivals_ns=(2_000_000_000,),
        server_timings={"prompt_n": 4096, "prompt_ms": 1990.0},
    )
    cell = cell_of(cold, *[BASE] * 6)
    first, prefill = metrics.time_to_first(cell), metrics.prefill(cell)
    assert first is not None
    assert prefill is not None
    assert (first.n, first.median) == (1, 2.0)
    assert prefill.median == pytest.approx(4096 / 1.99)
    assert (prefill.low, prefill.p5) == (None, None)


def test_thinking_before_an_answer_is_told_apart() -> None:
    """Report B04: the first token is the first of any kind, the answer comes after 3 s."""
    cold = replace(
        BASE,
        kind=SampleKind.COLD,
        cached_tokens=0,
        arrivals_ns=(500_000_000, 3_000_000_000),
        first_answer_ns=3_000_000_000,
    )
    cell = cell_of(cold, *[BASE] * 6)
    first, answer = metrics.time_to_first(cell), metrics.time_to_answer(cell)
    assert first is not None
    assert answer is not None
    assert (first.median, answer.median) == (0.5, 3.0)
    target = Target(ServerKind.OPENAI, "http://127.0.0.1:1", "m")
    run = Run("1", "", target, RunPlan((4096,)), cells=(cell,))
    assert "the answer began after 3.00 s" in text(run, lambda depth: None)


def test_without_cold_requests_prefill_is_what_the_fill_added() -> None:
    fill = replace(
        BASE,
        kind=SampleKind.FILL,
        cached_tokens=1024,
        server_timings={"prompt_n": 3072, "prompt_ms": 1536.0},
    )
    prefill = metrics.prefill(cell_of(fill, *[BASE] * 6))
    assert prefill is not None
    assert prefill.median == 2000
    assert metrics.time_to_first(cell_of(fill)) is None


def test_requests_at_the_same_time_are_summed_over_the_time_in_which_any_wrote() -> None:
    """Two requests of 64 tokens, the second 100 ms later: 126 tokens in 1.36 s."""
    later = replace(BASE, started_ns=100_000_000, user=1)
    total = metrics.total_rate(cell_of(BASE, later, concurrency=2))
    assert total is not None
    assert total.median == pytest.approx(126 / 1.36)
    each = metrics.decode(cell_of(BASE, later, concurrency=2))
    assert each is not None
    assert each.median == pytest.approx(50)


def test_a_round_in_which_one_request_failed_has_no_total() -> None:
    assert metrics.total_rate(cell_of(BASE, concurrency=2)) is None


def test_gaps_are_pooled_for_their_tail_from_a_hundred_on() -> None:
    assert metrics.longest_gaps(cell_of(BASE)) is None
    assert metrics.longest_gaps(cell_of(BASE, BASE)) == pytest.approx(0.02)


def test_a_slow_end_is_drift_and_disorder_is_not() -> None:
    falling = cell_of(*(at_rate(50 - 2 * n) for n in range(6)))
    assert metrics.drift(falling) == pytest.approx(41 / 49 - 1)
    assert "not_steady" in [problem.code for problem in oddities(falling)]
    mixed = cell_of(*(at_rate(50 + 5 * (-1) ** n) for n in range(6)))
    assert metrics.drift(mixed) is None
    assert metrics.drift(cell_of(*[BASE] * 5)) is None


def test_a_request_far_from_the_rest_is_shown_and_stays_in() -> None:
    samples = [at_rate(50 + 0.1 * n) for n in range(6)]
    far = at_rate(20)
    cell = cell_of(*samples, far)
    assert metrics.outliers(cell) == (far,)
    assert len(cell.measured) == 7
    assert "outliers" in [problem.code for problem in oddities(cell)]


def test_what_is_odd_about_a_depth_is_said_in_the_language_of_now() -> None:
    cell = cell_of(*(at_rate(50 - 2 * n) for n in range(6)))
    cell = replace(cell, finished=True)
    cell = replace(cell, problems=oddities(cell))
    run = runs.run(cells=(cell, runs.cell(8192, [40.0])))
    assert "It became" in said(run)[0].message
    speak("es")
    (problem,) = said(run)
    assert problem.message.startswith("A la profundidad") and "It became" not in problem.message
    assert problem.code == "not_steady"


def test_text_that_arrives_slower_than_it_was_written_is_told() -> None:
    late = replace(BASE, arrivals_ns=tuple(at * 2 for at in BASE.arrivals_ns))
    cell = cell_of(*[late] * 6)
    assert metrics.disagreement(cell) == pytest.approx(-0.5)
    (problem,) = oddities(cell)
    assert problem.code == "delivery"
    assert "slower" in problem.message


def test_text_that_is_collected_on_its_way_is_told_unless_a_draft_brought_it() -> None:
    """Sixteen tokens at a time, 20 ms each: a proxy, or speculation."""
    stamps = tuple(100_000_000 + 320_000_000 * (n // 16) for n in range(64))
    collected = replace(BASE, arrivals_ns=stamps)
    codes = [problem.code for problem in oddities(cell_of(*[collected] * 6))]
    assert "held_back" in codes
    timings = {**BASE.server_timings, "draft_n": 60, "draft_n_accepted": 60}
    drafted = replace(collected, server_timings=timings)
    assert "held_back" not in [p.code for p in oddities(cell_of(*[drafted] * 6))]
    assert oddities(cell_of(*[BASE] * 6)) == ()


def test_a_difference_shorter_than_a_hand_over_is_none() -> None:
    quick = at_rate(10_000)
    stamps = tuple(round(at * 1.05) for at in quick.arrivals_ns)
    cell = cell_of(*[replace(quick, arrivals_ns=stamps)] * 6)
    assert metrics.disagreement(cell) is None


def test_the_headline_is_the_servers_figure_only_where_each_request_has_one() -> None:
    silent = replace(at_rate(40), server_timings={})
    both = metrics.best_decode(cell_of(at_rate(50), at_rate(50)))
    mixed = metrics.best_decode(cell_of(at_rate(50), silent, silent))
    assert both is not None
    assert mixed is not None
    assert both.median == pytest.approx(50)
    assert mixed.median == pytest.approx(40, rel=1e-6)


def test_without_a_draft_every_token_is_a_step() -> None:
    assert metrics.step_rate(BASE) == pytest.approx(50)
    assert metrics.drafted(BASE) is None


def test_what_concerns_one_depth_says_which_and_what_concerns_all_does_not() -> None:
    drifting = Problem("not_steady", "It became 11 % slower.", Severity.WARNING)
    counted = Problem("only_arrivals", "Arrivals were counted.", Severity.NOTE)
    first, second = runs.cell(256, [50.0]), runs.cell(1792, [40.0])
    run = runs.run(
        cells=(
            replace(first, problems=(counted, drifting)),
            replace(second, problems=(counted,)),
        ),
    )
    assert [p.message for p in said(run)] == [
        "At depth 256: It became 11 % slower.",
        "Arrivals were counted.",
    ]


def test_only_a_computer_that_slowed_down_is_told_to_cool() -> None:
    def advice(step: int) -> str:
        cell = cell_of(*(at_rate(50 + step * n) for n in range(6)))
        return next(p.advice for p in oddities(cell) if p.code == "not_steady")

    assert "cool down" in advice(-2)
    assert "cool down" not in advice(2)


def silent(ttft: float) -> Cell:
    """A server that says nothing of its cache, as LM Studio: a new prompt of 2,000 tokens takes
    1.05 s until its first text, each token after it 50 ms."""
    blank: dict[str, Any] = {"depth": 2000, "timings": False, "cached_tokens": None}
    cold = runs.sample(20.0, kind=SampleKind.COLD, ttft=1.05, **blank)
    again = [runs.sample(20.0, ttft=ttft, round=n, **blank) for n in range(6)]
    return Cell(2000, samples=(cold, *again), finished=True)


@pytest.mark.parametrize(
    ("first", "expected"), [(1.02, True), (0.6, True), (0.5, False), (0.06, False)]
)
def test_whether_a_prompt_was_kept_is_seen_by_the_time_to_the_first_token(
    first: float, expected: bool
) -> None:
    """Of 1.05 s one token takes 0.05 s and reading 1 s: half of it is the limit."""
    cell = silent(first)
    assert metrics.reads_again(cell) is expected
    assert ("read_again" in [p.code for p in oddities(cell)]) is expected


def test_where_nothing_tells_whether_a_prompt_was_kept_nothing_is_said() -> None:
    cell = silent(1.0)
    assert metrics.reads_again(replace(cell, depth=100)) is None
    assert metrics.reads_again(replace(cell, samples=cell.samples[1:])) is None
    # What the server says goes before what its times look like.
    told = tuple(replace(s, cached_tokens=1999) for s in cell.measured)
    assert metrics.reads_again(replace(cell, samples=told)) is False
