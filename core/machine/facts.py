"""What was measured on this computer, kept in a small file that window and command line share.

A rate counts for the device it was measured on, while the computer has the same RAM. The rate of
RAM takes the place of what firmware and catalogue say, as only measuring knows it; the rate of a
GPU does so when the user says so: the driver's figure is a peak that makers vouch for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from core.gguf import display
from core.language import mark
from core.machine import places
from core.machine.assemble import with_host_bandwidth
from core.machine.machine import Device, DeviceKind, Disk, Machine
from core.provenance import Number, Rank, Source, Unit
from core.units import LARGEST

VERSION = 1
RAM = "RAM"  # what the host's memory is called here, whatever the processor is called
KEPT = mark("The earlier figure, which nothing speaks against, stays.")
_LONGEST = 500
_MOST = 100  # rates in one file


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """How fast one memory was read here: ``value`` in bytes per second on the ISO ``date``.

    ``device`` is ``RAM`` or a GPU's name, ``ram`` the bytes of RAM that the computer had,
    ``origin`` what timed it, ``note`` what speaks against it, if anything. ``chosen`` is whether it
    takes the place of the device's own figure.
    """

    device: str
    value: float
    date: str
    ram: int
    origin: str
    note: str = ""
    chosen: bool = True


def default_path() -> Path:
    """Where this user's facts are kept."""
    return places.folder() / "facts.json"


def load(path: Path | None = None) -> tuple[MeasuredRate, ...]:
    """What was measured; nothing where there is no file that can be understood. Never raises."""
    try:
        listed = _listed(places.read_json(path or default_path()))
    except (FileNotFoundError, ValueError):
        return ()
    found = [_rate(each) for each in listed[:_MOST]]
    return tuple(rate for rate in found if rate is not None)


def save(rates: Iterable[MeasuredRate], path: Path | None = None) -> None:
    """Write what was measured, whole or not at all. What this version does not understand is kept
    beside it. Raises OSError."""
    listed = [
        {
            "device": rate.device,
            "value": rate.value,
            "date": rate.date,
            "ram": rate.ram,
            "origin": rate.origin,
            "note": rate.note,
            "chosen": rate.chosen,
        }
        for rate in rates
    ]
    values = {"version": VERSION, "rates": listed}
    places.replace_json(path or default_path(), values, _listed)


def _listed(values: object) -> list[object]:
    """The rates of a file. Raises ValueError where there are none."""
    listed = values.get("rates") if isinstance(values, dict) else None
    if not isinstance(values, dict) or values.get("version") != VERSION:
        raise ValueError("another version")
    if not isinstance(listed, list):
        raise ValueError("no rates")
    return listed


def remembered(
    rates: tuple[MeasuredRate, ...], machine: Machine, device: str, measured: Number[float]
) -> tuple[MeasuredRate, ...]:
    """The rates with a new one for ``device`` (``RAM``, a GPU's name or ``name_of_disk``).

    A rate of RAM or of a disk is chosen at once, one of a GPU as its forerunner was. A doubtful
    rate does not replace one that nothing speaks against: the rates then come back as they were.
    """
    before = rate_of(rates, machine, device)
    if measured.value is None or (measured.note and before is not None and not before.note):
        return rates
    made = MeasuredRate(
        device=device,
        value=measured.value,
        date=measured.source.date,
        ram=ram_of(machine),
        origin=measured.source.origin,
        note=measured.note,
        chosen=before.chosen if before else device not in {gpu.name for gpu in machine.gpus},
    )
    return (*(rate for rate in rates if rate.device != device), made)


def choose(
    rates: tuple[MeasuredRate, ...], device: str, *, measured: bool
) -> tuple[MeasuredRate, ...]:
    """The rates with the user's word on whether the measured one counts for ``device``."""
    return tuple(replace(r, chosen=measured) if r.device == device else r for r in rates)


def rate_of(rates: tuple[MeasuredRate, ...], machine: Machine, device: str) -> MeasuredRate | None:
    """What was measured for a device of this computer, with the RAM that it has now, else None."""
    ram = ram_of(machine)
    return next((r for r in rates if r.device == device and r.ram == ram), None)


def applied(machine: Machine, rates: tuple[MeasuredRate, ...]) -> Machine:
    """This computer with what was measured in place of its devices' own figures, where chosen."""
    if not rates:
        return machine
    devices = tuple(_with_rate(device, machine, rates) for device in machine.devices)
    disk = None if machine.disk is None else with_rate(machine.disk, machine, rates)
    machine = replace(machine, devices=devices, disk=disk)
    rate = rate_of(rates, machine, RAM)
    if rate is None or not rate.chosen:
        return machine
    # That it should be measured is advice no longer.
    problems = (
        replace(p, advice="") if p.code == "virtual_machine" else p for p in machine.problems
    )
    return with_host_bandwidth(replace(machine, problems=tuple(problems)), number(rate))


def name_of_disk(disk: Disk) -> str:
    """What a disk is called among the rates."""
    return f"disk {disk.kind.value} {disk.name}".strip()


def with_rate(disk: Disk, machine: Machine, rates: tuple[MeasuredRate, ...]) -> Disk:
    """A disk of this computer with the rate that was measured on it, where one was."""
    rate = rate_of(rates, machine, name_of_disk(disk))
    return disk if rate is None else replace(disk, read=number(rate))


def number(rate: MeasuredRate) -> Number[float]:
    """A kept rate as a figure."""
    source = Source(Rank.MEASURED, rate.origin, rate.date)
    return Number(rate.value, Unit.BYTES_PER_SECOND, source, note=rate.note)


def ram_of(machine: Machine) -> int:
    """What tells this computer from another one of the same user: the size of its RAM, in bytes."""
    return machine.devices[-1].memory.value or 0


def _with_rate(device: Device, machine: Machine, rates: tuple[MeasuredRate, ...]) -> Device:
    rate = rate_of(rates, machine, device.name) if device.kind is DeviceKind.GPU else None
    if rate is None or not rate.chosen:
        return device
    return replace(device, bandwidth=number(rate))


def _rate(values: object) -> MeasuredRate | None:
    if not isinstance(values, dict):
        return None
    value, ram = values.get("value"), values.get("ram")
    device = _text(values.get("device"))
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1 <= value <= LARGEST:
        return None
    if not isinstance(ram, int) or isinstance(ram, bool) or ram <= 0 or not device:
        return None
    return MeasuredRate(
        device=device,
        value=float(value),
        date=_text(values.get("date")),
        ram=ram,
        origin=_text(values.get("origin")),
        note=_text(values.get("note")),
        chosen=values.get("chosen") is True,
    )


def _text(value: object) -> str:
    return display(value[:_LONGEST]) if isinstance(value, str) else ""
