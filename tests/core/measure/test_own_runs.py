"""Runs of one's own correct what is expected the next time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.machine import as_dict
from core.measure import metrics
from core.measure.history import History, Stored, snapshot
from core.measure.history.line import Line, line_of
from core.measure.history.own_runs import own_runs, own_runs_in
from core.measure.readings import GpuReading, Reading
from core.measure.run import Run
from core.plan import resolve
from core.plan.speed.own_runs import measured
from tests.support import runs
from tests.support.specimen_plans import RAM, on_a_3090, specimen_plan

HERE = replace(on_a_3090(), id="this", name="This computer")
PLAN = specimen_plan("Llama-3.1-8B", HERE, context=16_384)


def made(factor: float, **changes: Any) -> Stored:
    """A run at this factor of what is expected."""
    depths = (0, 4096)
    kept = snapshot(PLAN, depths, tokens=runs.TOKENS)
    rates = {}
    for depth in depths:
        there = next(f for f in kept.at if f.depth == max(depth, 1) + 31)
        assert there.uncorrected
        rates[depth] = [there.uncorrected * factor] * 6
    run = runs.run(rates, machine=as_dict(HERE), **changes)
    return Stored(run, kept)


def lines(*stored: Stored) -> list[Line]:
    return [line_of(entry.run, entry.plan) for entry in stored]


def with_runs(*stored: Stored) -> Any:
    machine = replace(HERE, runs=own_runs(lines(*stored), HERE))
    return resolve(PLAN.model, machine, PLAN.choice)


def test_the_next_plan_of_the_same_model_expects_what_was_measured() -> None:
    before = PLAN.speed.expected
    after = with_runs(made(0.8)).speed.expected
    assert before.mid.value is not None
    assert after.mid.value is not None
    assert after.mid.value / before.mid.value == pytest.approx(0.8, rel=0.02)
    assert after.uncorrected == pytest.approx(before.mid.value)


def test_a_run_on_top_of_a_correction_does_not_correct_twice() -> None:
    first = made(0.8)
    corrected = with_runs(first)
    kept = snapshot(corrected, (0, 4096), tokens=runs.TOKENS)
    again = replace(first, run=replace(first.run, id="again"), plan=kept)
    twice = with_runs(again, first).speed.expected
    assert twice.mid.value == pytest.approx(corrected.speed.expected.mid.value, rel=1e-6)


def test_the_plan_shows_the_latest_measured_points_at_their_true_depth() -> None:
    plan = with_runs(made(0.8), made(0.5, id="older"))
    points = measured(plan.model, plan.settings, plan.machine.runs)
    assert [depth for depth, _ in points] == [32, 4128]
    latest = [metrics.steps(cell) for cell in made(0.8).run.cells]
    assert [rate for _, rate in points] == [summary.median for summary in latest if summary]
    other = specimen_plan("Llama-3.1-8B", plan.machine, cache_k="q8_0", cache_v="q8_0")
    assert measured(other.model, other.settings, other.machine.runs) == ()


def test_an_own_run_says_what_it_was_of_and_what_was_possible() -> None:
    stored = made(0.8)
    first = own_runs(lines(stored), HERE)[0]
    assert (first.title, first.label) == (PLAN.model.name, PLAN.weights.label)
    assert first.date == stored.run.started[:10]
    assert stored.plan is not None
    figures = stored.plan.figures(first.depth)
    assert figures is not None
    assert (first.bytes, first.ceiling) == (figures.bytes, figures.ceiling)
    # 936.2 GB/s over the bytes of a token is the ceiling.
    assert first.bytes is not None
    assert first.ceiling == pytest.approx(936.2e9 / first.bytes, rel=1e-3)


def test_runs_of_another_computer_or_without_a_plan_say_nothing() -> None:
    elsewhere = made(0.8)
    elsewhere = replace(elsewhere, run=replace(elsewhere.run, machine=as_dict(RAM)))
    unknown = replace(elsewhere, run=replace(elsewhere.run, machine={}))
    others = (elsewhere, unknown, replace(made(0.8), plan=None))
    assert own_runs(lines(*others), HERE) == ()


@pytest.mark.parametrize("what", ["busy", "other model", "too few", "unfinished"])
def test_runs_that_were_disturbed_say_nothing(what: str) -> None:
    entry = made(0.8)
    run: Run = entry.run
    match what:
        case "busy":
            busy = tuple(Reading(at_ns=n, other_cpu=0.7) for n in range(9))
            run = replace(run, telemetry=busy)
        case "other model":
            run = replace(run, target=replace(run.target, model_bytes=1))
        case "too few":
            cells = tuple(replace(c, samples=c.samples[:3]) for c in run.cells)
            run = replace(run, cells=cells)
        case "unfinished":
            run = replace(run, cells=tuple(replace(c, finished=False) for c in run.cells))
    assert own_runs(lines(replace(entry, run=run)), HERE) == ()


def test_they_are_read_from_the_file_and_no_file_is_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    assert own_runs_in(path, HERE) == ()
    assert not path.exists()
    entry = made(0.8)
    history = History(path)
    history.begin(entry.run, entry.plan)
    history.finish(entry.run)
    history.close()
    assert own_runs_in(path, HERE) == own_runs(lines(entry), HERE) != ()
    path.write_bytes(b"damaged" * 999)
    assert own_runs_in(path, HERE) == ()
    assert path.read_bytes() == b"damaged" * 999


def test_what_disturbed_a_run_is_remembered_where_its_telemetry_is_not_read(tmp_path: Path) -> None:
    history = History(tmp_path / "runs.sqlite")
    entry = made(0.8)
    hot = tuple(
        Reading(at_ns=n, gpus=(GpuReading("RTX 3090", limits=("heat",)),)) for n in range(9)
    )
    for name, telemetry in (("calm", ()), ("hot", hot)):
        history.begin(replace(entry.run, id=name, telemetry=telemetry), entry.plan)
        history.finish(replace(entry.run, id=name, telemetry=telemetry))
    history.close()
    assert own_runs_in(tmp_path / "runs.sqlite", HERE) == own_runs(lines(entry), HERE) != ()
