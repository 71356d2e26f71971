"""A machine from plain values: the other way round of ``export.as_dict``.

The values come from files that somebody else may have written, so everything is looked at: a figure
must be one that a computer can have, text is shortened and cleaned, and what is missing is unknown.
Every function raises ValueError with a sentence that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeGuard, TypeVar

from core.gguf import display
from core.machine.export import SCHEMA
from core.machine.link import Link
from core.machine.machine import Backend, Device, DeviceKind, Disk, DiskKind, Machine
from core.machine.rows import RowKind
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit
from core.units import LARGEST

_MOST_DEVICES = 64
_MOST_FLOPS = 10**19
_LONGEST = 300  # characters of a name
_LONGEST_NOTE = 2000
E = TypeVar("E", bound=StrEnum)
N = TypeVar("N", int, float)


def machine_of(values: object) -> Machine:
    """The machine of a report. ``values`` is what json.loads gives."""
    table = _table(values, "the machine")
    schema = table.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema < 1:
        raise ValueError("this is no machine report")
    if schema > SCHEMA:
        raise ValueError("this machine report was made by a newer version of the program")
    listed = table.get("devices")
    if not isinstance(listed, list) or not listed:
        raise ValueError("this is no machine report: it lists no devices")
    if len(listed) > _MOST_DEVICES:
        raise ValueError(f"a machine cannot have {len(listed)} devices")
    devices = [_device(each, f"device {n}") for n, each in enumerate(listed, 1)]
    hosts = [d for d in devices if d.kind is DeviceKind.HOST]
    if len(hosts) > 1:
        raise ValueError("a machine has one host at most")
    if not hosts and not (len(devices) == 1 and devices[0].unified):
        raise ValueError("the machine has no host, and is not one memory for everything")
    gpus = [d for d in devices if d.kind is DeviceKind.GPU]
    problems = table.get("problems")
    disk = table.get("disk")
    return Machine(
        id=_text(table.get("id"), "id") or "custom",
        name=_text(table.get("name"), "name") or devices[0].name,
        devices=(*gpus, *hosts),
        problems=tuple(_problem(p) for p in problems[:100]) if isinstance(problems, list) else (),
        disk=None if disk is None else _disk(disk),
    )


def _device(values: object, what: str) -> Device:
    table = _table(values, what)
    kind = _one_of(DeviceKind, table.get("kind"), f"kind of {what}")
    backend = _one_of(Backend, table.get("backend"), f"backend of {what}")
    part = table.get("part")
    cores = table.get("cores")
    return Device(
        name=_text(table.get("name"), f"name of {what}") or kind.value,
        kind=kind,
        backend=backend,
        memory=_bytes(table.get("memory"), f"memory of {what}"),
        used=_bytes(table.get("used"), f"memory in use of {what}"),
        bandwidth=_rate(table.get("bandwidth"), f"bandwidth of {what}"),
        unified=kind is DeviceKind.GPU and table.get("unified") is True,
        cores=None if cores is None else _number(cores, f"cores of {what}", Unit.COUNT, _count),
        catalogue_id=_text(table.get("catalogue_id"), f"catalogue id of {what}"),
        flops=_flops(table.get("flops"), f"arithmetic of {what}"),
        flops32=_flops(table.get("flops32"), f"arithmetic of {what}"),
        memory_type=_text(table.get("memory_type"), f"kind of memory of {what}"),
        architecture=_text(table.get("architecture"), f"architecture of {what}"),
        part=None if part is None else _one_of(RowKind, part, f"part of {what}"),
        link=_link(table.get("link"), f"link of {what}"),
        margin=_margin(table.get("margin"), what),
    )


def _margin(value: object, what: str) -> int | None:
    """Bytes that shall stay free; None where nobody said."""
    margin = _count(value, LARGEST)
    if value is not None and margin is None:
        raise ValueError(f"what shall stay free on {what} is no size")
    return margin


def _disk(values: object) -> Disk:
    table = _table(values, "the disk")
    return Disk(
        kind=_one_of(DiskKind, table.get("kind"), "kind of the disk"),
        name=_text(table.get("name"), "name of the disk"),
        read=_rate(table.get("read"), "rate of the disk"),
        link=_link(table.get("link"), "link of the disk"),
    )


def _link(values: object, what: str) -> Link | None:
    if values is None:
        return None
    table = _table(values, what)
    now = table.get("now")
    return Link(_rate(table.get("most"), what), None if now is None else _rate(now, what))


def _problem(values: object) -> Problem:
    table = _table(values, "a problem")
    return Problem(
        code=_text(table.get("code"), "code of a problem"),
        message=_text(table.get("message"), "message of a problem", _LONGEST_NOTE),
        severity=_one_of(Severity, table.get("severity"), "severity of a problem"),
        advice=_text(table.get("advice"), "advice of a problem", _LONGEST_NOTE),
    )


def _bytes(values: object, what: str) -> Number[int]:
    return _number(values, what, Unit.BYTES, lambda v: _count(v, LARGEST))


def _rate(values: object, what: str) -> Number[float]:
    return _number(values, what, Unit.BYTES_PER_SECOND, lambda v: _positive(v, LARGEST))


def _flops(values: object, what: str) -> Number[float]:
    return _number(values, what, Unit.FLOPS, lambda v: _positive(v, _MOST_FLOPS))


def _number(
    values: object, what: str, unit: Unit, parse: Callable[[object], N | None]
) -> Number[N]:
    """A figure; absent or null is unknown."""
    if values is None:
        source = Source(Rank.REPORTED, "machine report")
        return Number(None, unit, source, note="The report does not tell it.")
    table = _table(values, what)
    value = table.get("value")
    parsed = parse(value)
    if value is not None and parsed is None:
        raise ValueError(f"the {what} is {display(str(value))[:40]}, which cannot be")
    if table.get("unit", unit.value) != unit.value:
        raise ValueError(f"the {what} is not in {unit.value or 'whole numbers'}")
    rank = _one_of(Rank, table.get("rank", Rank.REPORTED.value), f"rank of the {what}")
    origin = _text(table.get("origin"), what) or "machine report"
    return Number(
        parsed,
        unit,
        Source(rank, origin, _text(table.get("date"), what)),
        formula=_text(table.get("formula"), what),
        inputs=_inputs(table.get("inputs"), what),
        note=_text(table.get("note"), what, _LONGEST_NOTE),
    )


def _inputs(values: object, what: str) -> tuple[Input, ...]:
    if not isinstance(values, dict):
        return ()
    found = []
    for name, each in list(values.items())[:20]:
        table = _table(each, f"inputs of the {what}")
        value: object = table.get("value")
        if isinstance(value, str):
            value = _text(value, what)
        elif value is not None and not _is_figure(value):
            continue
        unit = _one_of(Unit, table.get("unit", ""), f"unit of an input of the {what}")
        found.append(Input(_text(name, what), value, unit))
    return tuple(found)


def _is_figure(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _MOST_FLOPS  # not a number is not, either


def _count(value: object, most: int = 10**6) -> int | None:
    if not _is_figure(value) or not 0 <= value <= most or int(value) != value:
        return None
    return int(value)


def _positive(value: object, most: int) -> float | None:
    return float(value) if _is_figure(value) and 0 < value <= most else None


def _table(values: object, what: str) -> Mapping[str, object]:
    if not isinstance(values, dict):
        raise ValueError(f"this is no machine report: {what} is missing or of another kind")
    return values


def _text(value: object, what: str, longest: int = _LONGEST) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"the {what} is no text")
    return " ".join(display(value[:longest]).split())


def _one_of(kinds: type[E], value: object, what: str) -> E:
    try:
        return kinds(value)  # type: ignore[arg-type]  # whatever it is, it says ValueError
    except ValueError:
        shown = display(str(value))[:40]
        raise ValueError(f"the {what} is {shown!r}, which this version does not know") from None
