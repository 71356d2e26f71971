"""Runs in and out of the history, and two of them held against each other."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.measure.diagnosis import diagnose
from core.measure.history import History, PlanSnapshot, Stored, snapshot
from core.measure.history.compare import compare
from core.measure.history.line import line_of
from core.measure.history.transfer import (
    TransferError,
    bench_line,
    from_text,
    read_file,
    to_csv_text,
    to_json_text,
    to_markdown,
)
from core.measure.readings import Reading
from core.measure.resample import ratio_interval
from tests.support import runs
from tests.support.specimen_plans import specimen_plan


@cache
def planned() -> PlanSnapshot:
    return snapshot(specimen_plan("Llama-3.1-8B", cache_k="q8_0", cache_v="q8_0"), (0, 4096))


def stored(**changes: object) -> Stored:
    run = runs.run(
        {0: [50.0, 51.0, 49.5, 50.5, 50.2, 49.9], 4096: [40.0] * 6},
        telemetry=[Reading(at_ns=0, cpu=0.25)],
    )
    return replace(Stored(run, planned(), "warm, at night", "line one\nline two"), **changes)  # type: ignore[arg-type]


def test_json_out_and_in_is_the_same_run_with_everything() -> None:
    entry = stored()
    assert from_text(to_json_text([entry])) == (entry,)


def test_csv_out_and_in_keeps_every_request_with_its_raw_stamps(tmp_path: Path) -> None:
    entry = stored()
    path = tmp_path / "runs.csv"
    path.write_text(to_csv_text([entry]), encoding="utf-8")
    (again,) = read_file(path)
    assert again.run.cells == entry.run.cells
    assert again.run.plan.depths == (0, 4096)
    assert again.run.plan.runs == 6
    assert again.title == entry.title
    assert (again.plan, again.run.telemetry) == (None, ())


def test_csv_has_one_row_a_request_with_rates_that_a_spreadsheet_can_use() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv_text([stored()]))))
    assert len(rows) == 14
    measured = [row for row in rows if row["kind"] == "run" and row["depth"] == "4096"]
    rates = [float(row["decode_tok_s"]) for row in measured]
    assert rates == pytest.approx([40.0] * 6, rel=1e-6)
    assert {row["server"] for row in rows} == {"llama-server"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no runs that this program has exported"),
        ("<html>", "no runs that this program has exported"),
        ("{", "It is no JSON"),
        ("[" * 100_000, "It is no JSON"),
        ("{}", "no export of runs"),
        ('{"format": "weighbridge-runs", "version": 9, "runs": []}', "newer version"),
        ('{"format": "weighbridge-runs", "version": 1}', "without runs"),
        ('{"format": "weighbridge-runs", "version": 1, "runs": [{"run": {}}]}', "Run 1 of 1"),
        ("run,started\nx,y\n", "Line 2 is damaged"),
    ],
)
def test_a_file_without_runs_is_a_sentence(text: str, expected: str) -> None:
    with pytest.raises(TransferError, match=expected):
        from_text(text)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="could not be read"):
        read_file(tmp_path / "none.json")


EXPORTS = (to_json_text([stored()]), to_csv_text([stored()]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_exports_never_raise_anything_else(data: st.DataObject) -> None:
    text = EXPORTS[data.draw(st.integers(0, 1), "form")]
    at = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 40))
    damaged = text[:at] + data.draw(st.text(max_size=8)) + text[at + cut :]
    try:
        from_text(damaged)
    except TransferError as error:
        assert error.problem.message


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON, of lists the first two."""
    yield path
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value[:2])
    for key, each in inner:
        yield from places(each, (*path, key))


ODD = (
    *("null", "true", "-1", "1.5", "1e400", "NaN", "1" + "0" * 400, str(2**63), '"\\ud800"'),
    *('"\\u0000"', "[]", "{}", '{"a": 1}', "1e-320", "[" * 900 + "]" * 900),
)
PLACES = [p for p in places(json.loads(EXPORTS[0])["runs"][0]) if p]


@pytest.mark.parametrize("odd", ODD, ids=[odd[:12] for odd in ODD])
def test_whatever_stands_anywhere_in_an_export_is_refused_or_can_be_used(
    tmp_path: Path, odd: str
) -> None:
    """Numbers beyond any column, numbers that are none, halves of characters, deep nests."""
    history = History(tmp_path / "history.sqlite")
    for path in PLACES:
        value = json.loads(EXPORTS[0])
        inner = value["runs"][0]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = "@"
        try:
            entries = from_text(json.dumps(value).replace('"@"', odd))
        except TransferError:
            continue
        history.add(entries)
        for entry in entries:
            diagnose(entry.run, entry.plan)
            assert from_text(to_json_text([entry])) == (entry,)
            to_csv_text([entry])
            to_markdown(entry)
            line_of(entry.run, entry.plan)
    history.close()


@pytest.mark.parametrize(
    "odd",
    ["9" * 30, "9" * 5000, "-1", "NaN", "1e400", "\x00", "{", '{"a": NaN}', "[" * 100_000, "x", ""]
    + [f'{{"predicted_n": {n}, "predicted_ms": 1}}' for n in ("1e999", "9" * 400)],
)
def test_whatever_stands_in_any_field_of_a_table_is_refused_or_can_be_used(
    tmp_path: Path, odd: str
) -> None:
    history = History(tmp_path / "history.sqlite")
    head, *rows = list(csv.reader(io.StringIO(EXPORTS[1])))
    for column in range(len(head)):
        changed = [[*row[:column], odd, *row[column + 1 :]] for row in rows[:3]]
        out = io.StringIO()
        csv.writer(out).writerows([head, *changed])
        try:
            entries = from_text(out.getvalue())
        except TransferError:
            continue
        history.add(entries)
        for entry in entries:
            diagnose(entry.run, entry.plan)
            to_json_text([entry])
            to_markdown(entry)
            line_of(entry.run, entry.plan)
    history.close()


def test_what_is_imported_twice_is_there_once(tmp_path: Path) -> None:
    history = History(tmp_path / "history.sqlite")
    entries = from_text(to_json_text([stored()]))
    assert (history.add(entries), history.add(entries)) == (1, 0)
    assert history.load(entries[0].run.id) == entries[0]
    history.close()


def test_markdown_says_what_was_measured_and_how_to_check_it() -> None:
    text = to_markdown(stored())
    assert text.startswith("**warm, at night**\n\nllama-server b11434-abcdef0, ")
    assert "| 1 | 6 | 50.1 tok/s | 49.5 to 51.0 |" in text
    assert "| 4,096 | 6 | 40.0 tok/s | 40.0 to 40.0 |" in text
    assert "- It reaches " in text
    assert "line one\nline two" in text
    assert "```\nllama-bench -m " in text


def test_the_line_of_llama_bench_has_the_options_of_the_run() -> None:
    entry = stored()
    line = bench_line(entry.run, entry.plan)
    assert "-p 0 -n 64 -d 0,4096 -r 6 -ngl 33 -ctk q8_0 -ctv q8_0 -fa 1 -b 2048 -ub 512" in line
    assert bench_line(entry.run, None) == ""


# Comparing.


def other(rates: dict[int, list[float]], **changes: object) -> Stored:
    return stored(run=replace(runs.run(rates, id="other"), **changes))  # type: ignore[arg-type]


def test_a_difference_comes_with_its_interval_and_in_words() -> None:
    faster = other({0: [r * 1.1 for r in (50.0, 51.0, 49.5, 50.5, 50.2, 49.9)], 4096: [44.0] * 6})
    result = compare(stored(), faster)
    decode = [row for row in result.rows if row.what == "decode"]
    assert [row.depth for row in decode] == [0, 4096]
    assert decode[0].change == pytest.approx(0.1, abs=1e-6)
    assert decode[0].low is not None
    assert decode[0].high is not None
    assert decode[0].low <= 0.1 <= decode[0].high
    assert decode[0].seen
    assert decode[0].words.startswith("+10.0 % (+")
    assert result.summary == "The second writes 10.0 % faster, seen at 2 of 2 depths."


def test_no_difference_is_called_so() -> None:
    noisy = other({0: [50.3, 49.0, 51.5, 50.1, 50.0, 49.8], 4096: [40.0] * 6})
    result = compare(stored(), noisy)
    decode = [row for row in result.rows if row.what == "decode"]
    assert all(row.words.startswith("no difference seen") for row in decode)
    assert result.summary == "No difference in decode speed was seen."


def test_too_few_requests_are_no_ground_for_a_verdict() -> None:
    result = compare(stored(), other({0: [80.0] * 3}))
    (row,) = (row for row in result.rows if row.what == "decode")
    assert row.seen is None
    assert "too few requests" in row.words
    assert "too few requests" in result.summary


def test_runs_without_a_common_depth_say_so() -> None:
    assert "no depth in common" in compare(stored(), other({512: [50.0] * 6})).summary


def test_what_else_differs_is_listed() -> None:
    plan = snapshot(specimen_plan("Llama-3.1-8B", cache_k="f16", cache_v="f16"), (0,))
    target = replace(runs.TARGET, version="b12000")
    second = replace(other({0: [50.0] * 6}, target=target), plan=plan)
    found = {name: (a, b) for name, a, b in compare(stored(), second).setup}
    assert found["version"] == ("b11434-abcdef0", "b12000")
    assert found["K cache type"] == ("q8_0", "f16")
    assert "machine" not in found


def test_the_interval_holds_the_true_ratio_nineteen_times_of_twenty() -> None:
    """40 pairs of 12 runs from the same normal distribution: the true ratio is 1.

    The percentile bootstrap of a median is known to be a little narrow or wide at small n; 88 % is
    what this test insists on.
    """
    chance = random.Random(3)
    held = 0
    for _ in range(40):
        a, b = ([chance.gauss(50, 2) for _ in range(12)] for _ in range(2))
        interval = ratio_interval(a, b)
        assert interval is not None
        held += interval[0] <= 1 <= interval[1]
    assert held >= 35


def test_json_for_others_is_plain_json() -> None:
    value = json.loads(to_json_text([stored()]))
    assert value["format"] == "weighbridge-runs"
    assert value["runs"][0]["run"]["cells"][0]["samples"][1]["server_timings"]["predicted_n"] == 64


def test_a_row_of_csv_says_what_the_plan_said_about_its_depth() -> None:
    """936.2 GB/s on an RTX 3090: the ceiling is bandwidth / bytes of a token, where it was written:
    64 tokens after 4,096 lie 31.5 tokens deeper in the middle (notes: depth + (N - 1) / 2)."""
    plan = specimen_plan("Llama-3.1-8B", context=16_384)
    run = runs.run({4096: [100.0] * 6})
    kept = Stored(run, snapshot(plan, (4096,), tokens=64))
    rows = list(csv.DictReader(io.StringIO(to_csv_text([kept]))))
    row = next(row for row in rows if row["kind"] == "run")
    # 131,072 bytes of cache for each token (domain.md, 3).
    weights = int(row["bytes_per_token"]) - (4096 + 31) * 131_072
    assert weights == plan.weights.read_per_token
    assert float(row["ceiling_tok_s"]) == pytest.approx(936.2e9 / int(row["bytes_per_token"]))
    assert float(row["share_of_ceiling"]) == pytest.approx(100 / float(row["ceiling_tok_s"]), 1e-5)
    assert (row["cache_k"], row["verdict"], row["machine"]) == ("f16", "fits", plan.machine.name)
    blank = next(csv.DictReader(io.StringIO(to_csv_text([replace(kept, plan=None)]))))
    assert blank["ceiling_tok_s"] == blank["share_of_ceiling"] == ""
