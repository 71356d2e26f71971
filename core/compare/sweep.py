"""The whole catalogue at once: what fits where, and how fast.

A budget depends on a machine only by what its devices can hold and what a driver keeps of it;
those that agree in that share one, and only the speed is worked out for each.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.language import mark, tr
from core.machine import catalogue
from core.machine.around import Ram, in_computer
from core.machine.catalogue import Row, RowKind
from core.machine.machine import Device, Machine, with_margin
from core.model.model import Model
from core.plan import room
from core.plan.budget import Budget, budget
from core.plan.choice import Choice
from core.plan.overhead import overhead
from core.plan.plan import Verdict
from core.plan.speed import speed
from core.plan.verdict import why_refused
from core.provenance import Number, Rank, Source, Unit

_SUM = Source(Rank.DERIVED, mark("sum over the devices, each with layers of its own"))


@dataclass(frozen=True, slots=True)
class Point:
    """One machine of the catalogue. ``memory`` is what its devices hold together, ``tok_s`` the
    ceiling and ``expected`` the middle of the band at the chosen depth; ``refused`` says why the
    engine would not start there at all."""

    row: Row
    verdict: Verdict
    memory: Number[int]
    room: Number[int]
    ceiling: Number[float]
    expected: Number[float]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which machines of the catalogue; None and 0 ask for nothing.

    ``memory`` is bytes by the maker's word, of all devices together, ``year`` that of the maker's
    presentation; rows without a year are left out where one is asked for.
    """

    kind: RowKind | None = None
    vendor: str = ""
    memory: int = 0
    year: int = 0

    def takes(self, row: Row) -> bool:
        """Whether a row is one of them."""
        return (
            self.kind in (None, row.kind)
            and self.vendor in ("", row.vendor)
            and row.nominal_bytes * row.devices >= self.memory
            and (row.year or 0) >= self.year
        )


def sweep(
    model: Model,
    choice: Choice,
    rows: Sequence[Row] | None = None,
    margins: Mapping[str, int] | None = None,
    ram: Ram | None = None,
) -> tuple[Point, ...]:
    """Every row of the catalogue (or these), in its order. ``margins`` are the bytes that shall
    stay free on a machine, by its id, ``ram`` that of the computer around every card."""
    made: dict[Hashable, Budget] = {}
    points = []
    for row in catalogue.all() if rows is None else rows:
        machine = catalogue.machine(row.id)
        if margins and row.id in margins:
            machine = with_margin(machine, margins[row.id])
        machine = in_computer(machine, ram)
        key = tuple(_share(device) for device in machine.devices)
        shared = made.get(key)
        if shared is None:
            shared = made[key] = budget(model, machine, choice)
        points.append(_point(model, row, machine, shared))
    return tuple(points)


def _share(device: Device) -> Hashable:
    """What of a device a budget depends on. What a driver keeps goes by the bandwidth."""
    return (
        device.kind,
        device.backend,
        device.unified,
        device.memory.value,
        device.memory.note,
        device.used.value,
        overhead(device, device.backend).value,
        device.margin,
    )


def _point(model: Model, row: Row, machine: Machine, shared: Budget) -> Point:
    placement = replace(shared.placement, devices=machine.devices)
    found = speed(model, shared.weights, shared.table, placement, shared.settings, points=1)
    plans = tuple(
        replace(plan, device=device, free=replace(plan.free, source=device.memory.source))
        for plan, device in zip(shared.memory.devices, machine.devices, strict=True)
    )
    return Point(
        row=row,
        verdict=shared.memory.verdict,
        memory=_memory(machine),
        room=room(plans),
        ceiling=found.ceiling,
        expected=found.expected.mid,
        refused=why_refused(shared.problems),
    )


def _memory(machine: Machine) -> Number[int]:
    """Of one device as it is; of several the sum, which no single layer can use."""
    devices = machine.gpus or machine.devices
    if len(devices) == 1:
        return devices[0].memory
    sizes = [device.memory.value for device in devices]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    return Number(total, Unit.BYTES, _SUM, note=tr("{count} devices", count=len(devices)))
