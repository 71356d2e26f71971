"""The sub-command `compare`: one model on several machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from core.command_line.machines import machine_of, named
from core.command_line.output import say
from core.command_line.reports import choice_of, damage, open_model, report_many, status
from core.command_line.requests import BadRequestError, Request, request_from, whole_number
from core.compare import PROMPT, MachineRow, compare_machines
from core.machine import Machine, Ram, in_computer, ram_from, spec_of
from core.report import Values, comparison_as_json, comparison_text

_HOW = "name them like nvidia-geforce-rtx-3090,this; weighbridge catalogue finds their ids"
_OWN = ("machines", "prompt", "ram")  # options that no report has


def compare(values: Mapping[str, object], as_values: bool) -> int:
    """Print the comparison; 1 where the file is damaged. Raises BadRequestError."""
    rows, prompt, ram = _rows(values)
    if as_values:
        say(json.dumps(comparison_as_json(rows, prompt, ram)))
    else:
        say(comparison_text(rows, prompt, ram=ram))
    return status(damage(rows[0].figures.plan))


def compare_many(source: str, defaults: Mapping[str, object]) -> int:
    """Answer every line of a file of requests. Raises BadRequestError."""
    return report_many(source, defaults, _answer)


def _answer(values: Mapping[str, object]) -> tuple[Values, bool]:
    rows, prompt, ram = _rows(values)
    return comparison_as_json(rows, prompt, ram), damage(rows[0].figures.plan) is None


def _rows(values: Mapping[str, object]) -> tuple[tuple[MachineRow, ...], int, Ram | None]:
    """What the options ask for, the prompt in tokens, and what a card's computer has."""
    rest = {name: value for name, value in values.items() if name not in _OWN}
    request = request_from(rest)
    asked = values.get("prompt")
    prompt = PROMPT if asked is None else whole_number("prompt", asked)
    machines = [(text, named(text)) for text in _listed(values.get("machines"))]
    machines += _besides(request)
    if not machines:
        raise BadRequestError(f"--machines is missing; {_HOW}")
    ram = _ram(values.get("ram"))
    machines = [(text, in_computer(machine, ram)) for text, machine in machines]
    model = open_model(request.file)
    return compare_machines(model, machines, choice_of(request), prompt=prompt), prompt, ram


def _ram(value: object) -> Ram | None:
    """What a card's computer has; None where nobody said."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRequestError("ram must be text like 64GiB@51.2")
    try:
        return ram_from(value)
    except ValueError as error:
        raise BadRequestError(f"ram: {error}") from None


def _listed(value: object) -> Sequence[str]:
    """Every machine once, in order; a list, or text with commas."""
    if value is None:
        return ()
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadRequestError(f"machines must be a list of ids; {_HOW}")
    found = [part.strip() for part in parts]
    if not all(found):
        raise BadRequestError(f"a name is missing between two commas; {_HOW}")
    return list(dict.fromkeys(found))


def _besides(request: Request) -> list[tuple[str, Machine]]:
    """The machine that the options of a report name, where they name one."""
    if request.machine is None and request.memory is None and request.bandwidth is None:
        return []
    machine = machine_of(request)
    return [(spec_of(machine) or machine.id, machine)]
