"""Tables as text: what people read, and the exact values that programs get."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.compare import MachineRow, compare_machines
from core.compare.columns import as_csv, as_json, as_markdown
from core.compare.tables import machine_columns
from core.gguf import open_file
from core.machine import machine_from
from core.model import model_from
from core.plan.choice import Choice
from resources import specimens

SPECS = (
    "nvidia-geforce-rtx-3090",
    "gpu:8GiB@300",
    "2x nvidia-geforce-rtx-3090",
    "ram:64GiB",
    "nvidia-geforce-rtx-4090",
)


@cache
def rows() -> tuple[MachineRow, ...]:
    model = model_from(open_file(next(p for p in specimens() if "Qwen3.6-35B" in p.stem)))
    machines = [(spec, machine_from(spec)) for spec in SPECS]
    return compare_machines(model, machines, Choice(), prices={SPECS[0]: 700.0})


def test_markdown_is_what_the_screen_shows() -> None:
    lines = as_markdown(machine_columns("EUR"), rows()).splitlines()
    assert len(lines) == 2 + len(SPECS)
    assert lines[0].startswith("| Machine | Verdict | Free or lacking | Largest context |")
    assert "Price (EUR)" in lines[0]
    assert lines[2].startswith("| GeForce RTX 3090 | fits |")
    assert "| 24.0 GiB | 936 GB/s | 350 W | 700 |" in lines[2]
    assert "| does not fit | lacks " in lines[3]
    assert "| 2 × 24.0 GiB | 2 × 936 GB/s |" in lines[4]
    assert "| unknown |" in lines[5]


def test_csv_and_json_hold_the_same_exact_values() -> None:
    table = list(csv.DictReader(io.StringIO(as_csv(machine_columns(), rows()))))
    objects = json.loads(as_json(machine_columns(), rows()))
    assert len(table) == len(objects) == len(SPECS)
    for line, values in zip(table, objects, strict=True):
        assert list(line) == list(values)
        for name, value in values.items():
            assert line[name] == ("" if value is None else str(value))
    first = objects[0]
    assert first["memory_bytes"] == 24 * 2**30
    assert (first["watts"], first["price"]) == (350, 700.0)
    assert objects[2]["devices"] == 2
    assert objects[2]["memory_bytes"] == 24 * 2**30  # of each: never a bare 48 GB
    assert objects[3]["ceiling_tok_s"] is None


@pytest.mark.parametrize("name", [c.name for c in machine_columns()])
@given(order=st.permutations(range(len(SPECS))))
def test_sorting_is_stable_by_any_column(name: str, order: list[int]) -> None:
    column = next(c for c in machine_columns() if c.name == name)
    shuffled = [rows()[n] for n in order]
    keys = [column.key(row) for row in shuffled]
    arranged = sorted(range(len(keys)), key=keys.__getitem__)
    for before, after in pairwise(arranged):
        assert keys[before] <= keys[after]  # type: ignore[operator]
        if keys[before] == keys[after]:
            assert before < after


def test_verdicts_are_sorted_from_what_does_not_fit_to_what_does() -> None:
    column = next(c for c in machine_columns() if c.name == "verdict")
    words = [column.text(row) for row in sorted(rows(), key=column.key)]
    assert words[0] == "does not fit"
    assert words[-1] == "fits"
