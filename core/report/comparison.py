"""A comparison of machines as text for people and as plain values for programs."""

from __future__ import annotations

from collections.abc import Sequence

from core import tabular
from core.compare.columns import heading
from core.compare.machines import MachineRow
from core.compare.tables import machine_columns
from core.machine.around import Ram
from core.machine.machine import spoken_name
from core.model.model import Model
from core.plan.plan import Plan, SpeedPlan
from core.problems import Problem, as_values
from core.report.text import heading_lines, problem_line
from core.report.values import SCHEMA, Values, as_json
from core.units import UnitSystem, format_tokens

_OF_MODEL = ("file", "model", "formats", "weights", "requantized")
_OF_MACHINE = ("settings", "memory", "speed")
# What only the user knows is not part of what the command line prints.
_LEFT_OUT = ("price", "tok_s_per_1000")


def comparison_as_json(rows: Sequence[MachineRow], prompt: int, ram: Ram | None = None) -> Values:
    """One object: the model once, and for each machine what ``report`` says of it.

    ``prompt`` is what the time to the first token is for, ``ram`` what was put around cards that
    name none. Needs at least one row.
    """
    first = as_json(rows[0].figures.plan)
    return {
        "schema": SCHEMA,
        **{name: first[name] for name in _OF_MODEL},
        "prompt_tokens": prompt,
        "ram": ram and {"bytes": ram.size, "bytes_per_second": ram.rate},
        "machines": [_machine(row) for row in rows],
        "problems": [as_values(p) for p in _of_model(rows[0].figures.plan.model)],
    }


def comparison_text(
    rows: Sequence[MachineRow],
    prompt: int,
    system: UnitSystem = UnitSystem.GIB,
    ram: Ram | None = None,
) -> str:
    """A table with a line for each machine, and below it what is worth a word about each."""
    plan = rows[0].figures.plan
    lines = heading_lines(plan, system)
    if plan.model.file.tensors:
        lines += ["", *_table(rows, plan, prompt, system, ram)]
    found = [problem_line(problem) for problem in _of_model(plan.model)]
    for row in rows:
        found += [
            f"{spoken_name(row.machine.name)}: {problem_line(problem)}"
            for problem in _of_plan(row.figures.plan)
        ]
    if found:
        lines += ["", *found]
    return "\n".join(lines) + "\n"


def _table(
    rows: Sequence[MachineRow], plan: Plan, prompt: int, system: UnitSystem, ram: Ram | None
) -> list[str]:
    settings, trained = plan.settings, plan.model.shape.context_length
    columns = [column for column in machine_columns() if column.name not in _LEFT_OUT]
    cells = [[heading(column) for column in columns]]
    cells += [[column.text(row, system) for column in columns] for row in rows]
    whole = f", full: {format_tokens(trained)}" if trained else ""
    around = [f"cards that name no RAM: each with {ram.words(system)}"] if ram else []
    return [
        f"context {format_tokens(settings.context)}, K {settings.cache_k}, V {settings.cache_v}, "
        f"{settings.engine}; at depth: {format_tokens(settings.depth)}{whole}; first token of a "
        f"prompt of {format_tokens(prompt)}",
        *around,
        *(f"  {line}" for line in tabular.aligned(cells, [c.number for c in columns])),
    ]


def _machine(row: MachineRow) -> Values:
    plan = row.figures.plan
    empty = not plan.model.file.tensors
    values = as_json(plan)
    return {
        "id": row.key,
        "name": row.machine.name,
        "verdict": values["memory"]["verdict"],
        **{name: values[name] for name in _OF_MACHINE},
        "room_bytes": None if empty else row.figures.room.value,
        "largest_context": None if empty else row.figures.largest.value,
        "largest_context_tight": None if empty else row.figures.most,
        "ceilings_tok_s": None if empty else _ceilings(row, plan.speed),
        "first_token_s": None if empty else row.figures.prompt.value,
        "watts": row.watts.value,
        "problems": [as_values(problem) for problem in _of_plan(plan)],
    }


def _ceilings(row: MachineRow, speed: SpeedPlan) -> Values:
    found = row.figures
    return {
        "empty": found.at_empty.value,
        "depth": speed.ceiling.value,
        "full": found.at_full.value,
    }


def _of_model(model: Model) -> tuple[Problem, ...]:
    """Those of the file and its facts; of the file alone where it is empty, as in a report."""
    return (*model.file.problems, *(model.problems if model.file.tensors else ()))


def _of_plan(plan: Plan) -> tuple[Problem, ...]:
    return plan.problems if plan.model.file.tensors else ()
