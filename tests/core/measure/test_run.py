"""Runs and events survive the way through JSON, across versions as well."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.measure.codec import BadValueError, from_json, to_json
from core.measure.events import (
    CellDone,
    Ended,
    Event,
    ProblemFound,
    Progress,
    SampleDone,
    Started,
    TelemetryRead,
    from_line,
    grown,
    to_line,
)
from core.measure.readings import GpuReading, Reading
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
from core.problems import Problem, Severity

SAMPLE = Sample(
    SampleKind.RUN,
    5,
    (10, 20, 20),
    tokens=3,
    token_source=TokenSource.TIMINGS,
    server_timings={"predicted_ms": 1.5, "nested": {"a": [1, None]}},
    problems=(Problem("early_end", "It ended early.", Severity.WARNING),),
)
TARGET = Target(ServerKind.LLAMA_SERVER, "http://127.0.0.1:8080", context=4096, arguments=("-c",))
RUN = Run(
    "1",
    "2026-01-01T00:00:00Z",
    TARGET,
    RunPlan((0, 512)),
    cells=(Cell(0, samples=(SAMPLE,), finished=True),),
    telemetry=(Reading(7, cpu=0.5, gpus=(GpuReading("A GPU", limits=("power",)),)),),
    versions={"weighbridge": "0.1.0"},
)
EVENTS: tuple[Event, ...] = (
    Started(RUN, 12.5),
    Progress(512, 1, "run", 0.5, 3, tok_s=9.5),
    SampleDone(512, 1, SAMPLE),
    CellDone(Cell(512, samples=(SAMPLE,), finished=True)),
    TelemetryRead(Reading(9)),
    ProblemFound(Problem("stall", "It said nothing for 5 s.")),
    Ended(RunStatus.DONE, "2026-01-01T00:01:00Z"),
)


def test_a_run_comes_back_as_it_was() -> None:
    assert from_json(Run, json.loads(json.dumps(to_json(RUN)))) == RUN


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_is_one_line_and_comes_back(event: Event) -> None:
    line = to_line(event)
    assert "\n" not in line
    assert from_line(line) == event


def test_what_a_newer_version_adds_is_passed_over_and_what_an_older_lacks_is_filled() -> None:
    values = to_json(RUN)
    values["colour"] = "green"
    values["cells"][0]["samples"][0]["shape"] = {"round": True}
    del values["telemetry"], values["plan"]["cold"]
    assert from_json(Run, values) == replace(RUN, telemetry=())


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"id": 5}, "Run.id is no str"),
        ({"plan": []}, "Run.plan is no object"),
        ({"cells": {}}, "Run.cells is no list"),
        ({"status": "asleep"}, "Run.status is none of running, done, stopped, failed"),
        ({"schema": True}, "Run.schema is no int"),
        ({"target": {"kind": "ollama"}}, "Run.target has no url"),
    ],
)
def test_a_run_that_is_none_says_where(change: dict[str, Any], where: str) -> None:
    with pytest.raises(BadValueError, match=f"^{where}$"):
        from_json(Run, to_json(RUN) | change)


@given(st.one_of(st.text(), st.binary(), st.just('{"event":"later"}'), st.just('{"event":["a"]}')))
def test_a_line_that_is_no_event_is_none(line: str | bytes) -> None:
    assert from_line(line) is None


def test_a_run_grows_from_its_events_and_a_finished_cell_takes_the_place_of_its_samples() -> None:
    run = RUN
    for event in EVENTS:
        run = grown(run, event)
    assert [cell.key for cell in run.cells] == [(0, 1), (512, 1)]
    assert run.cells[1] == Cell(512, samples=(SAMPLE,), finished=True)
    assert run.finished_cells == run.cells
    assert [reading.at_ns for reading in run.telemetry] == [7, 9]
    assert (run.status, run.ended) == (RunStatus.DONE, "2026-01-01T00:01:00Z")
    assert [problem.code for problem in run.problems] == ["stall"]
