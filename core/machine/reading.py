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
from core.language import mark, tr
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
_REPORT = mark("machine report")
E = TypeVar("E", bound=StrEnum)
N = TypeVar("N", int, float)


def machine_of(values: object) -> Machine:
    """The machine of a report. ``values`` is what json.loads gives."""
    table = _table(values, tr("the machine"))
    schema = table.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(tr("this is no machine report"))
    if schema > SCHEMA:
        raise ValueError(tr("this machine report was made by a newer version of the program"))
    listed = table.get("devices")
    if not isinstance(listed, list) or not listed:
        raise ValueError(tr("this is no machine report: it lists no devices"))
    if len(listed) > _MOST_DEVICES:
        raise ValueError(tr("a machine cannot have {count} devices", count=len(listed)))
    devices = [_device(each, tr("device {number}", number=n)) for n, each in enumerate(listed, 1)]
    hosts = [d for d in devices if d.kind is DeviceKind.HOST]
    if len(hosts) > 1:
        raise ValueError(tr("a machine has one host at most"))
    if not hosts and not (len(devices) == 1 and devices[0].unified):
        raise ValueError(tr("the machine has no host, and is not one memory for everything"))
    gpus = [d for d in devices if d.kind is DeviceKind.GPU]
    problems = table.get("problems")
    disk = table.get("disk")
    return Machine(
        id=_text(table.get("id"), tr("id")) or "custom",
        name=_text(table.get("name"), tr("name")) or devices[0].name,
        devices=(*gpus, *hosts),
        problems=tuple(_problem(p) for p in problems[:100]) if isinstance(problems, list) else (),
        disk=None if disk is None else _disk(disk),
    )


def _device(values: object, what: str) -> Device:
    table = _table(values, what)
    kind = _one_of(DeviceKind, table.get("kind"), tr("kind of {what}", what=what))
    backend = _one_of(Backend, table.get("backend"), tr("backend of {what}", what=what))
    part = table.get("part")
    cores = table.get("cores")
    return Device(
        name=_text(table.get("name"), tr("name of {what}", what=what)) or kind.value,
        kind=kind,
        backend=backend,
        memory=_bytes(table.get("memory"), tr("memory of {what}", what=what)),
        used=_bytes(table.get("used"), tr("memory in use of {what}", what=what)),
        bandwidth=_rate(table.get("bandwidth"), tr("bandwidth of {what}", what=what)),
        unified=kind is DeviceKind.GPU and table.get("unified") is True,
        cores=None
        if cores is None
        else _number(cores, tr("cores of {what}", what=what), Unit.COUNT, _count),
        catalogue_id=_text(table.get("catalogue_id"), tr("catalogue id of {what}", what=what)),
        flops=_flops(table.get("flops"), tr("arithmetic of {what}", what=what)),
        flops32=_flops(table.get("flops32"), tr("arithmetic of {what}", what=what)),
        memory_type=_text(table.get("memory_type"), tr("kind of memory of {what}", what=what)),
        architecture=_text(table.get("architecture"), tr("architecture of {what}", what=what)),
        part=None if part is None else _one_of(RowKind, part, tr("part of {what}", what=what)),
        link=_link(table.get("link"), tr("link of {what}", what=what)),
        margin=_margin(table.get("margin"), what),
    )


def _margin(value: object, what: str) -> int | None:
    """Bytes that shall stay free; None where nobody said."""
    margin = _count(value, LARGEST)
    if value is not None and margin is None:
        raise ValueError(tr("what shall stay free on {what} is no size", what=what))
    return margin


def _disk(values: object) -> Disk:
    table = _table(values, tr("the disk"))
    return Disk(
        kind=_one_of(DiskKind, table.get("kind"), tr("kind of the disk")),
        name=_text(table.get("name"), tr("name of the disk")),
        read=_rate(table.get("read"), tr("rate of the disk")),
        link=_link(table.get("link"), tr("link of the disk")),
    )


def _link(values: object, what: str) -> Link | None:
    if values is None:
        return None
    table = _table(values, what)
    now = table.get("now")
    return Link(_rate(table.get("most"), what), None if now is None else _rate(now, what))


def _problem(values: object) -> Problem:
    table = _table(values, tr("a problem"))
    return Problem(
        code=_text(table.get("code"), tr("code of a problem")),
        message=_text(table.get("message"), tr("message of a problem"), _LONGEST_NOTE),
        severity=_one_of(Severity, table.get("severity"), tr("severity of a problem")),
        advice=_text(table.get("advice"), tr("advice of a problem"), _LONGEST_NOTE),
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
        source = Source(Rank.REPORTED, _REPORT)
        return Number(None, unit, source, note=mark("The report does not tell it."))
    table = _table(values, what)
    value = table.get("value")
    parsed = parse(value)
    if value is not None and parsed is None:
        shown = display(str(value))[:40]
        raise ValueError(tr("the {what} is {value}, which cannot be", what=what, value=shown))
    if table.get("unit", unit.value) != unit.value:
        words = unit.value or tr("whole numbers")
        raise ValueError(tr("the {what} is not in {unit}", what=what, unit=words))
    rank = _one_of(
        Rank, table.get("rank", Rank.REPORTED.value), tr("rank of the {what}", what=what)
    )
    origin = _text(table.get("origin"), what) or _REPORT
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
        table = _table(each, tr("inputs of the {what}", what=what))
        value: object = table.get("value")
        if isinstance(value, str):
            value = _text(value, what)
        elif value is not None and not _is_figure(value):
            continue
        unit = _one_of(Unit, table.get("unit", ""), tr("unit of an input of the {what}", what=what))
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
    """A rate; one of less than one in a second is of no computer."""
    return float(value) if _is_figure(value) and 1 <= value <= most else None


def _table(values: object, what: str) -> Mapping[str, object]:
    if not isinstance(values, dict):
        raise ValueError(
            tr("this is no machine report: {what} is missing or of another kind", what=what)
        )
    return values


def _text(value: object, what: str, longest: int = _LONGEST) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(tr("the {what} is no text", what=what))
    return " ".join(display(value[:longest]).split())


def _one_of(kinds: type[E], value: object, what: str) -> E:
    try:
        return kinds(value)  # type: ignore[arg-type]  # whatever it is, it says ValueError
    except ValueError:
        shown = display(str(value))[:40]
        raise ValueError(
            tr("the {what} is {value!r}, which this version does not know", what=what, value=shown)
        ) from None
