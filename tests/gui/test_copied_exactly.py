"""What is copied for programs is the same in every language: CSV and JSON of each table, exports of
runs and machines, commands."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import gui
from core.check.compare import Check
from core.check.compare import compare as check
from core.check.engine_log import read
from core.compare import MachineRow, ModelRow, compare_machines, compare_models, grid
from core.compare.columns import as_csv, as_json
from core.compare.models import Candidate
from core.compare.tables import grid_columns, machine_columns, model_columns
from core.explain.entries import own_entries, published_entries
from core.gguf.header import Array, ValueType
from core.language import tr
from core.machine import machine_from, own
from core.machine.machine import Machine, OwnRun, named_here
from core.measure.history import History, Stored, snapshot
from core.measure.history.compare import compare
from core.measure.history.transfer import from_text, to_csv_text, to_json_text
from core.model.model import Model
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.commands.shells import Shell
from core.plan.commands.write import command
from core.plan.plan import Plan, Verdict
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.panels.check.history import record_of
from gui.panels.check.tables import HistorySheet, RowSheet
from gui.panels.metadata import reading
from gui.panels.metadata.array_pager import ArrayPager
from gui.panels.session.turn_table import TurnSheet
from gui.tables.facts import FactSheet
from gui.tables.metadata import MetadataTable
from gui.tables.model_rows import ModelLine, ModelSheet
from gui.tables.published import show_entries
from gui.tables.run_cells import CellSheet
from gui.tables.sheet import Sheet
from gui.tables.stored_runs import DifferenceSheet, StoredSheet
from gui.tables.tensors import TensorTable
from tests.support import engine_logs, runs, sessions
from tests.support.marking import marked
from tests.support.specimen_plans import specimen_plan

GIB = UnitSystem.GIB
SPECS = ("gpu:24GiB@936 + ram:64GiB@51.2", "gpu:8GiB@448", "ram:16GiB@51.2")
# Sentences for people; all else is for programs.
SENTENCES = {"reason", "result", "mechanism", "remark"}


def stored(number: int, rate: float) -> Stored:
    rates = {depth: [rate * (1 + n / 500) for n in range(6)] for depth in (0, 16_384)}
    run = runs.run(rates, id=f"run-{number}", started=f"2026-01-0{number}T10:00:00Z")
    plan = specimen_plan("Llama-3.1-8B", machines()[0][1], context=32_768)
    return Stored(run, snapshot(plan, (0, 16_384)))


def specimen_model(word: str = "Llama-3.1-8B") -> Model:
    return specimen_plan(word).model


def machines() -> list[tuple[str, Machine]]:
    """Under names of their own: what one that was typed is called holds its sizes."""
    made = [(spec, replace(machine_from(spec), name=f"Machine {spec}")) for spec in SPECS]
    return [*made, ("this", this_computer())]


def this_computer() -> Machine:
    """With a run of its own; its name is in the reader's language."""
    run = OwnRun("", "", "cuda", 0, 45.5, 50.0, "Small", "Q4_K_M", 10**9, 60.0, "2026-01-31")
    return replace(machine_from(SPECS[0]), id="this", name=named_here("RTX 3090"), runs=(run,))


def tensors() -> Sheet:
    sheet = TensorTable()
    sheet.set_model(specimen_model("LFM2"))
    return sheet


def kept_runs() -> Sheet:
    sheet = StoredSheet()
    with TemporaryDirectory() as folder:
        history = History(Path(folder) / "runs.sqlite")
        history.add([stored(1, 100.0), stored(2, 1110.5)])
        sheet.show(history.lines())
        history.close()
    return sheet


def differences() -> Sheet:
    sheet = DifferenceSheet()
    sheet.show(compare(stored(1, 100.0), stored(2, 110.5)))
    return sheet


def cells() -> Sheet:
    sheet = CellSheet()
    made = stored(1, 1234.5)
    sheet.show(made.run, made.plan)
    return sheet


def library() -> Sheet:
    sheet = ModelSheet(("name", "label", "verdict", "bits_per_weight", "bytes", "ceiling_tok_s"))
    line = ModelLine(
        "A model", "Q4_K_M", 4.89, 4_912_898_304, verdict=Verdict.TIGHT, ceiling=1234.5
    )
    sheet.show([line, ModelLine("Another", state=tr("not checked"))], GIB)
    return sheet


def machines_compared() -> Sheet:
    sheet: FactSheet[MachineRow] = FactSheet()
    rows = compare_machines(specimen_model("Qwen3.6-35B"), machines(), Choice(context=65_536))
    sheet.show(machine_columns("EUR"), rows, GIB)
    return sheet


def models_compared() -> Sheet:
    sheet: FactSheet[ModelRow] = FactSheet()
    words = ("Qwen3.6-35B", "Gemma-3-27B", "LFM2")
    candidates = [Candidate(specimen_model(word)) for word in words]
    candidates.append(Candidate(specimen_model(), "IQ4_XS"))
    candidates.append(Candidate(replace(specimen_model(), label="")))
    sheet.show(model_columns(), compare_models(candidates, machines()[0][1], Choice()), GIB)
    return sheet


def published() -> Sheet:
    sheet = Sheet()
    show_entries(sheet, [*published_entries(), *own_entries(this_computer())], GIB)
    return sheet


def turns() -> Sheet:
    sheet = TurnSheet()
    sheet.show(sessions.session(sessions.plan_of(), decode=1234.5))
    return sheet


def checked() -> tuple[Check, Plan]:
    plan = specimen_plan("Llama-3.1-8B", context=131_072, flash_attention=FlashAttention.OFF)
    return check(plan, read(engine_logs.CUDA)), plan


def parts_checked() -> Sheet:
    sheet = RowSheet()
    sheet.show(checked()[0].rows, GIB)
    return sheet


def earlier_checks() -> Sheet:
    sheet = HistorySheet()
    made = record_of(*checked(), "a log", "2026-11-30T12:00:00+00:00")
    sheet.show([made, replace(made, build="b11549", source="llama-server")])
    return sheet


TABLES = (
    tensors, kept_runs, differences, cells, library, machines_compared,
    models_compared, published, turns, parts_checked, earlier_checks,
)  # fmt: skip


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_a_table_is_copied_for_programs_alike_in_every_language(
    make: Callable[[], Sheet], qapp: QApplication
) -> None:
    english = copied(make())
    with marked():
        foreign = copied(make())
    assert english[0]
    assert foreign == english


def copied(sheet: Sheet) -> tuple[list[dict[str, Any]], str]:
    """As JSON, in which sentences are only there or not, and as CSV without their columns."""
    every = range(len(sheet.columns))
    rows = json.loads(sheet.copied(sheet.rows, every, TextFormat.JSON))
    objects = [
        {name: bool(cell) if name in SENTENCES else cell for name, cell in row.items()}
        for row in rows
    ]
    exact = [n for n in every if sheet.columns[n].name not in SENTENCES]
    return objects, sheet.copied(sheet.rows, exact, TextFormat.CSV)


def test_every_kind_of_table_is_copied_here(qapp: QApplication) -> None:
    for module in pkgutil.walk_packages(gui.__path__, "gui."):
        if module.name.startswith(("gui.tables", "gui.panels")):
            importlib.import_module(module.name)
    # Keys of a file are copied by their panel, complete.
    assert {type(make()) for make in TABLES} == {Sheet, *Sheet.__subclasses__()} - {MetadataTable}


def test_elements_of_an_array_are_copied_for_programs_alike_in_every_language(
    qtbot: QtBot,
) -> None:
    def texts() -> tuple[list[dict[str, Any]], str]:
        pager = ArrayPager()
        qtbot.addWidget(pager)
        pager._array = Array(ValueType.FLOAT32, 9000, 0, 0)
        pager._fill(5000, tuple(0.25 * n for n in range(5000, 5020)))
        return copied(pager.sheet)

    english = texts()
    with marked():
        assert texts() == english
    assert english[0][1] == {"element": 5001, "value": 1250.25}


@pytest.mark.parametrize("form", [as_csv, as_json])
def test_a_comparison_is_copied_for_programs_alike_in_every_language(
    form: Callable[[Any, Any], str],
) -> None:
    def texts() -> list[str]:
        model, choice = specimen_model("Qwen3.6-35B"), Choice(context=65_536)
        machine = machines()[0][1]
        cells = [cell for row in grid(model, machine, choice).cells for cell in row]
        told = [column for column in model_columns() if column.name not in SENTENCES]
        return [
            form(machine_columns("EUR"), compare_machines(model, machines(), choice)),
            form(told, compare_models([Candidate(model)], machine, choice)),
            form(grid_columns(), cells),
        ]

    english = texts()
    with marked():
        assert texts() == english


def test_runs_are_exported_alike_in_every_language() -> None:
    def texts() -> list[str]:
        made = [stored(1, 1234.5), stored(2, 99.5)]
        plans = [replace(each.plan, basis="a sentence") for each in made if each.plan]
        made = [replace(each, plan=plan) for each, plan in zip(made, plans, strict=True)]
        return [to_json_text(made), to_csv_text(made)]

    english = texts()
    with marked():
        foreign = texts()
        assert [from_text(text) for text in foreign] == [from_text(text) for text in english]
    assert foreign == english


@pytest.mark.parametrize("spec", ["nvidia-geforce-rtx-3090", "apple-m4-pro-20-core-gpu", *SPECS])
def test_a_machine_is_reported_alike_in_every_language(spec: str) -> None:
    def values() -> dict[str, Any]:
        told: dict[str, Any] = json.loads(own.report(machine_from(spec)))
        return told | {"name": bool(told["name"])}  # one that was typed is called by its sizes

    english = values()
    with marked():
        assert values() == english


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("shell", Shell)
def test_a_command_is_written_alike_in_every_language(engine: Engine, shell: Shell) -> None:
    def parts() -> list[str]:
        plan = specimen_plan(
            "Llama-3.1-8B", engine=engine, context=65_536, slots=2, cache_k="q8_0", gpu_layers=20
        )
        return [part.text for part in command(plan, shell, everything=True).parts]

    english = parts()
    with marked():
        assert parts() == english


def test_keys_of_a_file_are_copied_as_json_alike_in_every_language() -> None:
    header = specimen_model("LFM2").file.header
    english = reading.json_of(header, header.entries, lambda: False)
    with marked():
        assert reading.json_of(header, header.entries, lambda: False) == english
    assert json.loads(english)
