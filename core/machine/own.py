"""Machines that the user keeps: typed by hand, sent by somebody, or this computer as it was.

How it is used::

    stored = own.load()                        # never raises; stored.machines, stored.problem
    machines = own.added(stored.machines, machine, "Living room")   # a name and an id of its own
    own.save(machines)                         # raises OSError
    machines = own.renamed(machines, id, "Attic");  machines = own.removed(machines, id)

    text = own.report(machine)                 # a machine report: save it, send it
    found = own.opened(path)                   # machines of a report or of an exported list;
                                               # raises ValueError with a sentence
    machines = own.imported(stored.machines, found)
    own.export(path, machines)                 # a list for another computer; raises OSError

A report and a list hold what ``export.as_dict`` tells and nothing else: no serial numbers, no user
names, no name of the computer, no paths. Ids of own machines begin with "own-", so that they never
meet the catalogue's; ``own.find(id)`` is the machine that the user keeps under it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from core.language import mark, tr, trc, trn
from core.machine import places
from core.machine.export import as_dict
from core.machine.machine import Device, Machine, bare_name
from core.machine.reading import machine_of
from core.problems import Problem, Severity
from core.provenance import Number, Rank
from core.whole_file import set_aside, write_out

PREFIX = "own-"
VERSION = 1
_KIND = "weighbridge machines"
_MOST = 1000  # machines in one file
_NAME_LENGTH = 80
_THERE = mark("Measured on that computer.")


class _NewerError(ValueError):
    """A file that a newer version of the program understands."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The machines that the user keeps, and what was wrong with their file."""

    machines: tuple[Machine, ...] = ()
    problem: Problem | None = None


def default_path() -> Path:
    """Where the user's machines are kept."""
    return places.folder() / "machines.json"


def load(path: Path | None = None) -> Stored:
    """The user's machines; none where there is no file. Never raises.

    A file that cannot be understood is kept beside a new one ("machines.json.kept"); a machine that
    cannot be costs only itself. Both are told in ``problem``.
    """
    path = path or default_path()
    try:
        listed = _listed(places.read_json(path))
    except FileNotFoundError:
        return Stored()
    except ValueError as error:
        problem = _problem(tr("Your machines could not be read: {why}.", why=error), path)
        if isinstance(error, places.UnreadableError):
            advice = tr("Check the disk or the network share, then try again.")
            return Stored((), replace(problem, advice=advice))
        if isinstance(error, _NewerError):
            advice = tr("It is left as it is, for the newer version.")
            return Stored((), replace(problem, advice=advice))
        set_aside(path)
        return Stored((), problem)
    machines, wrong = [], []
    for each in listed:
        try:
            machines.append(machine_of(each))
        except ValueError as error:
            wrong.append(str(error))
    if not wrong:
        return Stored(tuple(machines))
    with suppress(OSError):  # what was left out is not lost when the file is written again
        path.with_suffix(".json.kept").write_bytes(path.read_bytes())
    words = trn(
        "{count} of your machines could not be read: {why}.",
        "{count} of your machines could not be read: {why}.",
        len(wrong),
        why=wrong[0],
    )
    return Stored(tuple(machines), _problem(words, path))


def save(machines: Iterable[Machine], path: Path | None = None) -> None:
    """Write the user's machines whole or not at all. What cannot be read is not written over, but
    kept beside them. Raises OSError."""
    places.replace_json(path or default_path(), _file(machines), _listed)


def find(id: str, path: Path | None = None) -> Machine:
    """One of the user's machines. Raises LookupError with a sentence."""
    stored = load(path).machines
    for each in stored:
        if each.id == id:
            return each
    known = ", ".join(each.id for each in stored) or trc("how many machines", "none")
    raise LookupError(tr("there is no machine {id!r} among your own ({known})", id=id, known=known))


def added(machines: tuple[Machine, ...], machine: Machine, name: str = "") -> tuple[Machine, ...]:
    """The machines and one more, under ``name`` (its own where that is empty) and an id of its own.

    A name that is taken gets a number.
    """
    wanted = " ".join((name or bare_name(machine.name)).split())[:_NAME_LENGTH]
    wanted = wanted or tr("Machine")
    name = _free(wanted, {m.name for m in machines}, "{} ({})")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "machine"
    id = _free(PREFIX + slug, {m.id for m in machines}, "{}-{}")
    return (*machines, replace(machine, id=id, name=name))


def renamed(machines: tuple[Machine, ...], id: str, name: str) -> tuple[Machine, ...]:
    """The machines with another name for one; its id stays, so that what refers to it still does.

    Raises ValueError with a sentence for a name that is empty or taken.
    """
    name = " ".join(name.split())[:_NAME_LENGTH]
    if not name:
        raise ValueError(tr("a machine needs a name"))
    if any(m.name == name and m.id != id for m in machines):
        raise ValueError(tr("there is a machine {name!r} already", name=name))
    return tuple(replace(m, name=name) if m.id == id else m for m in machines)


def removed(machines: tuple[Machine, ...], id: str) -> tuple[Machine, ...]:
    """The machines without one."""
    return tuple(m for m in machines if m.id != id)


def imported(machines: tuple[Machine, ...], found: Iterable[Machine]) -> tuple[Machine, ...]:
    """The machines and those of a file, each with a name and an id of its own. One that is there
    already, figure by figure, is not added twice."""
    for each in found:
        if not any(replace(m, id=each.id, name=each.name) == each for m in machines):
            machines = added(machines, each)
    return machines


def report(machine: Machine) -> str:
    """The machine report: JSON text that says what a plan needs of this machine and nothing of its
    owner. ``opened`` reads it, ``weighbridge machine --json`` prints it."""
    return json.dumps(as_dict(machine), indent=1, allow_nan=False) + "\n"


def export(path: Path, machines: Iterable[Machine]) -> None:
    """Write machines for another computer. Raises OSError."""
    write_out(path, places.json_of(_file(machines)))


def opened(path: Path) -> tuple[Machine, ...]:
    """The machines of a file: a report, or a list that ``export`` wrote.

    Figures that were measured there are reports here. Raises ValueError with a sentence.
    """
    try:
        values = places.read_json(path)
    except FileNotFoundError:
        raise ValueError(tr("there is no file {name}", name=path.name)) from None
    if isinstance(values, dict) and "machines" not in values:
        return (_elsewhere(machine_of(values)),)
    return tuple(_elsewhere(machine_of(each)) for each in _listed(values))


def _file(machines: Iterable[Machine]) -> dict[str, object]:
    return {"version": VERSION, "kind": _KIND, "machines": [as_dict(m) for m in machines]}


def _listed(values: object) -> list[object]:
    if not isinstance(values, dict) or values.get("kind") != _KIND:
        raise ValueError(tr("this is no file of machines"))
    version, listed = values.get("version"), values.get("machines")
    if not isinstance(version, int) or not isinstance(listed, list):
        raise ValueError(tr("this is no file of machines"))
    if version > VERSION:
        raise _NewerError(tr("this file of machines was made by a newer version of the program"))
    if len(listed) > _MOST:
        raise ValueError(
            tr("it lists {count:,} machines; {most:,} is the most", count=len(listed), most=_MOST)
        )
    return listed


def _elsewhere(machine: Machine) -> Machine:
    """A machine of a file as one that is not this computer."""
    return replace(
        machine,
        id="custom" if machine.id == "this" or machine.id.startswith(PREFIX) else machine.id,
        name=bare_name(machine.name),
        devices=tuple(_reported(device) for device in machine.devices),
    )


def _reported(device: Device) -> Device:
    bandwidth = device.bandwidth
    if bandwidth.source.rank is not Rank.MEASURED:
        return device
    return replace(device, bandwidth=_not_here(bandwidth))


def _not_here(number: Number[float]) -> Number[float]:
    source = replace(number.source, rank=Rank.REPORTED)
    note = f"{tr(_THERE)} {tr(number.note)}" if number.note else _THERE
    return replace(number, source=source, note=note)


def _free(wanted: str, taken: set[str], pattern: str) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = pattern.format(wanted, number), number + 1
    return name


def _problem(message: str, path: Path) -> Problem:
    kept = path.with_suffix(".json.kept").name
    return Problem(
        "own_machines_unreadable",
        message,
        Severity.WARNING,
        tr(
            "The file is kept as {kept}; a newer version of the program, or a text editor, may "
            "still save what is in it.",
            kept=kept,
        ),
        where=path.name,
    )
