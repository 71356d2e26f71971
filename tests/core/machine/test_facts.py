"""What was measured on this computer: kept, chosen, and left out when the computer changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.machine import catalogue, combine, custom, facts
from core.problems import Problem
from core.provenance import Number, Rank, Source, Unit

GIB = 2**30
PC = combine(catalogue.machine("nvidia-geforce-rtx-3090"), custom(64 * GIB, 51.2e9, gpu=False))
GPU = PC.devices[0].name


def rate(value: float, note: str = "") -> Number[float]:
    return Number(
        value, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "timed", "2026-11-30"), note=note
    )


def test_a_measured_rate_of_ram_counts_at_once_and_comes_back_from_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "facts.json"
    assert facts.load(path) == ()
    rates = facts.remembered((), PC, facts.RAM, rate(43e9, "The runs differ by 20 %."))
    facts.save(rates, path)
    assert facts.load(path) == rates
    machine = facts.applied(PC, rates)
    assert machine.host is not None
    assert machine.host.bandwidth == rate(43e9, "The runs differ by 20 %.")
    assert machine.gpus == PC.gpus


def test_what_is_measured_is_not_advised_to_be_measured() -> None:
    said = Problem("virtual_machine", "This is a virtual machine.", advice="Measure it here.")
    machine = replace(PC, problems=(said,))
    assert facts.applied(machine, ()).problems == (said,)
    rates = facts.remembered((), machine, facts.RAM, rate(40e9))
    assert [(p.message, p.advice) for p in facts.applied(machine, rates).problems] == [
        ("This is a virtual machine.", "")
    ]


def test_the_rate_of_a_gpu_beats_the_table_only_when_the_user_says_so() -> None:
    rates = facts.remembered((), PC, GPU, rate(831e9))
    assert facts.applied(PC, rates) == PC
    rates = facts.choose(rates, GPU, measured=True)
    assert facts.applied(PC, rates).devices[0].bandwidth == rate(831e9)
    again = facts.remembered(rates, PC, GPU, rate(840e9))
    assert facts.applied(PC, again).devices[0].bandwidth == rate(840e9), "the choice was lost"
    back = facts.choose(again, GPU, measured=False)
    assert facts.applied(PC, back) == PC


def test_the_table_can_be_chosen_for_ram_as_well() -> None:
    rates = facts.choose(facts.remembered((), PC, facts.RAM, rate(43e9)), facts.RAM, measured=False)
    assert facts.applied(PC, rates) == PC


def test_with_other_ram_it_is_another_computer() -> None:
    rates = facts.remembered((), PC, facts.RAM, rate(43e9))
    more = combine(catalogue.machine("nvidia-geforce-rtx-3090"), custom(96 * GIB, 80e9, gpu=False))
    assert facts.applied(more, rates) == more
    assert facts.rate_of(rates, more, facts.RAM) is None


def test_nothing_is_remembered_of_a_measurement_without_a_figure() -> None:
    unknown: Number[float] = Number(None, Unit.BYTES_PER_SECOND, Source(Rank.REPORTED, "timed"))
    assert facts.remembered((), PC, facts.RAM, unknown) == ()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "rates": []}',
        '{"version": 1, "rates": {}}',
        '{"version": 1, "rates": [7, {}, {"device": "RAM", "value": "fast", "ram": 1}]}',
        '{"version": 1, "rates": [{"device": "RAM", "value": -1, "ram": 1}]}',
        '{"version": 1, "rates": [{"device": "RAM", "value": NaN, "ram": 1}]}',
        '{"version": 1, "rates": [{"device": "RAM", "value": 1e-320, "ram": 1}]}',
        '{"version": 1, "rates": [{"device": "RAM", "value": 1e30, "ram": 1}]}',
        '{"version": 1, "rates": [{"device": "RAM", "value": 1e9, "ram": true}]}',
    ],
)
def test_a_file_that_cannot_be_understood_is_no_facts(tmp_path: Path, content: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content)
    assert facts.load(path) == ()


def test_a_doubtful_rate_replaces_a_doubtful_one_and_none_that_stands() -> None:
    good = facts.remembered((), PC, facts.RAM, rate(43e9))
    assert facts.remembered(good, PC, facts.RAM, rate(7e9, "Others ran.")) == good
    doubtful = facts.remembered((), PC, facts.RAM, rate(7e9, "Others ran."))
    (again,) = facts.remembered(doubtful, PC, facts.RAM, rate(9e9, "Others ran."))
    assert again.value == 9e9
    (better,) = facts.remembered(doubtful, PC, facts.RAM, rate(43e9))
    assert (better.value, better.note) == (43e9, "")


@pytest.mark.parametrize("content", ['{"version": 2, "rates": [], "more": 1}', "no json", "[]"])
def test_what_this_version_does_not_understand_is_not_written_over(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content)
    made = facts.remembered((), PC, facts.RAM, rate(43e9))
    facts.save(made, path)
    assert facts.load(path) == made
    assert path.with_suffix(".json.kept").read_text() == content
