"""What a GPU's driver says was taken by a load, held against the engine's log and the plan.

The driver counts everything, the buffers of the log and what its own context needs besides; so the
plan's total on a device, its overhead included, is what the growth is held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.check.compare import compare
from core.check.engine_log import read
from core.check.values import device_names
from core.language import tr
from core.plan.plan import PartKind, Plan
from core.problems import Problem, Severity
from core.units import UnitSystem, format_bytes, format_share

Used: TypeAlias = Sequence[tuple[str, int]]  # each GPU's name and the bytes in use on it

# Desktops and browsers come and go by this much.
_NOISE = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Taken:
    """One GPU's memory, in bytes: what is in use ``before`` and ``after`` a load, the ``buffers``
    of the log and what the plan has there (``planned``). ``foreign`` is what changed afterwards,
    without the engine. None is not known."""

    device: str
    before: int
    after: int
    buffers: int | None
    planned: int | None
    foreign: int = 0

    @property
    def grown(self) -> int:
        """What the load took, all programs together."""
        return self.after - self.before

    @property
    def besides(self) -> int | None:
        """What the driver took besides the buffers."""
        return None if self.buffers is None else self.grown - self.buffers

    @property
    def error(self) -> float | None:
        """Plan over driver, less one."""
        if self.planned is None or self.grown <= 0 or self.disturbed:
            return None
        return self.planned / self.grown - 1

    @property
    def disturbed(self) -> bool:
        """Whether another program took or gave memory meanwhile."""
        return abs(self.foreign) > _NOISE


def taken(plan: Plan, log: str, before: Used, after: Used, again: Used) -> tuple[Taken, ...]:
    """Every GPU whose memory grew; ``again`` was read a moment after ``after``, when nothing more
    is loaded. Empty where the driver lists other GPUs than before."""
    if [name for name, _ in before] != [name for name, _ in after]:
        return ()
    rows = compare(plan, read(log)).rows
    names = device_names(plan)
    numbers = _numbers(plan, [name for name, _ in before])
    found = []
    for place, ((name, old), (_, new)) in enumerate(zip(before, after, strict=True)):
        if new - old <= _NOISE:
            continue
        buffers = planned = None
        number = numbers.get(place)
        if number is not None:
            sizes = [r.engine.middle for r in rows if r.device == names[number] and r.engine]
            buffers = sum(sizes) if sizes else None
            planned = _planned(plan, number)
        foreign = again[place][1] - new if len(again) == len(after) else 0
        found.append(Taken(name, old, new, buffers, planned, foreign))
    return tuple(found)


def _numbers(plan: Plan, drivers: Sequence[str]) -> dict[int, int]:
    """The plan's devices by their place in the driver's list; those of one name in order."""
    found: dict[int, int] = {}
    left = list(enumerate(plan.memory.devices))
    for place, name in enumerate(drivers):
        for entry in left:
            if _same(entry[1].device.name, name):
                found[place] = entry[0]
                left.remove(entry)
                break
    return found


def _same(one: str, other: str) -> bool:
    short, long = sorted((one.lower().strip(), other.lower().strip()), key=len)
    return bool(short) and long.endswith(short)


def _planned(plan: Plan, number: int) -> int | None:
    """All that the plan has on a device but what others use."""
    parts = [p for p in plan.memory.devices[number].parts if p.kind is not PartKind.OTHERS]
    if any(part.bytes.value is None for part in parts):
        return None
    return sum(part.bytes.value or 0 for part in parts)


def sentences(found: Sequence[Taken], units: UnitSystem) -> tuple[Problem, ...]:
    """The same in words, a note for each GPU."""
    return tuple(_sentence(each, units) for each in found)


def _sentence(t: Taken, units: UnitSystem) -> Problem:
    def size(value: int) -> str:
        return format_bytes(value, units)

    facts = {
        "device": t.device,
        "grown": size(t.grown),
        "before": size(t.before),
        "after": size(t.after),
    }
    if t.buffers is not None and t.besides is not None and t.besides >= 0:
        words = tr(
            "{device}: its driver has {grown} more in use than before the load ({before} → {after})"
            " = {buffers} of buffers in the log + {besides} besides.",
            buffers=size(t.buffers),
            besides=size(t.besides),
            **facts,
        )
    else:
        words = tr(
            "{device}: its driver has {grown} more in use than before the load ({before} → "
            "{after}).",
            **facts,
        )
    more = _then(t, units)
    return Problem("driver-memory", f"{words} {more}" if more else words, Severity.NOTE)


def _then(t: Taken, units: UnitSystem) -> str:
    """What others did meanwhile, or how far the plan is off."""
    if t.disturbed:
        change = format_bytes(abs(t.foreign), units)
        if t.foreign > 0:
            return tr(
                "Then {size} more without the server: another program changes it, so that it "
                "proves nothing.",
                size=change,
            )
        return tr(
            "Then {size} less without the server: another program changes it, so that it proves "
            "nothing.",
            size=change,
        )
    if t.planned is None or t.error is None:
        return ""
    planned, share = format_bytes(t.planned, units), format_share(abs(t.error))
    if t.error > 0:
        return tr("The plan has {size}, {share} more.", size=planned, share=share)
    return tr("The plan has {size}, {share} less.", size=planned, share=share)
