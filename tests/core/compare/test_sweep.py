"""The whole catalogue at once says what each machine's own plan says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.compare import Wanted, sweep
from core.gguf import open_file
from core.machine import catalogue, machine_from, ram_from
from core.machine.catalogue import Row, RowKind
from core.machine.rows import DISCRETE
from core.model import model_from
from core.model.model import Model
from core.plan import resolve, room
from core.plan.choice import Choice
from resources import specimens

GIB = 2**30


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.mark.parametrize("word", ["Qwen3.6-35B", "gpt-oss-20b", "DeepSeek"])
@pytest.mark.parametrize("choice", [Choice(), Choice(context=65_536, cache_k="q8_0")])
def test_every_point_is_what_its_own_plan_says(word: str, choice: Choice) -> None:
    model = specimen(word)
    points = sweep(model, choice)
    assert [point.row for point in points] == list(catalogue.all())
    for point in points[::9]:
        plan = resolve(model, catalogue.machine(point.row.id), choice)
        assert point.verdict is plan.verdict
        assert point.ceiling == plan.speed.ceiling
        assert point.expected == plan.speed.expected.mid
        assert point.room == room(plan.memory.devices)


def test_cards_with_ram_around_them_are_what_their_own_plans_say() -> None:
    model, choice = specimen("Qwen3.6-35B"), Choice(cpu_moe=40)
    bare = {point.row.id: point for point in sweep(model, choice)}
    points = sweep(model, choice, ram=ram_from("64GiB@51.2"))
    for point in points[::9]:
        discrete = point.row.kind in DISCRETE
        spec = f"{point.row.id} + ram:64GiB@51.2" if discrete else point.row.id
        plan = resolve(model, machine_from(spec), choice)
        assert (point.verdict, point.ceiling) == (plan.verdict, plan.speed.ceiling)
        if discrete:
            assert point.ceiling.known and not bare[point.row.id].ceiling.known
        else:
            assert point == bare[point.row.id]


@pytest.mark.parametrize(
    ("wanted", "test"),
    [
        (Wanted(kind=RowKind.APPLE), lambda row: row.vendor == "Apple"),
        (Wanted(vendor="AMD"), lambda row: row.vendor == "AMD"),
        (Wanted(memory=24 * GIB), lambda row: row.memory_gb * row.devices >= 24),
        (Wanted(year=2024), lambda row: row.year is not None and row.year >= 2024),
        (Wanted(), lambda row: True),
    ],
)
def test_a_filter_takes_all_that_it_names_and_nothing_else(
    wanted: Wanted, test: Callable[[Row], bool]
) -> None:
    rows = catalogue.all()
    taken = [row for row in rows if wanted.takes(row)]
    assert taken == [row for row in rows if test(row)]
    assert taken


def test_filters_are_met_together() -> None:
    wanted = Wanted(kind=RowKind.DESKTOP_GPU, vendor="NVIDIA", memory=24 * GIB, year=2020)
    names = {row.name for row in catalogue.all() if wanted.takes(row)}
    assert {"GeForce RTX 3090", "GeForce RTX 4090"} <= names
    assert not any("Radeon" in name or "3080" in name for name in names)
