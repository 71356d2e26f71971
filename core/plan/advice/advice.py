"""One piece of advice: a change, the plan it makes, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.language import mark, tr, written
from core.machine.machine import Machine
from core.plan.plan import Plan, Verdict
from core.plan.verdict import room, why_refused
from core.provenance import format_value
from core.units import UnitSystem, format_bytes

FITTING = (Verdict.FITS, Verdict.TIGHT)


class Aim(StrEnum):
    """What the advice is for."""

    FIT = "fit"  # it does not fit, or the engine would not start
    ROOM = "room"  # it fits, but tightly
    SPEED = "speed"  # somebody asks how it could be faster


_LEADS = {
    Aim.FIT: mark("It would fit with"),
    Aim.ROOM: mark("It is tight; more room with"),
    Aim.SPEED: mark("Faster with"),
}


@dataclass(frozen=True)
class Advice:
    """``words`` name the change, ``changes`` are fields of the choice, ``plan`` is what they
    resolve to: every figure that is promised is a figure of it. ``machine`` is another machine that
    it takes; None where a setting does. ``cost`` says in words what is given up, ``penalty`` how
    much that weighs: in doublings of speed."""

    words: str
    changes: Mapping[str, Any]
    plan: Plan
    cost: str = ""
    penalty: float = 0.0
    machine: Machine | None = None


def starts(plan: Plan) -> bool:
    """Whether the verdict is a kind of yes, and the engine would start."""
    return plan.verdict in FITTING and not why_refused(plan.problems)


def lead(plan: Plan, aim: Aim) -> str:
    """What stands before the advice."""
    if aim is Aim.FIT and plan.verdict in FITTING:
        return tr("It would start with")
    return tr(_LEADS[aim])


def paces(before: Plan, after: Plan) -> tuple[float | None, float | None]:
    """Decode tok/s of both: as expected where that is known of both, else the ceilings."""
    first, second = before.speed.expected.mid.value, after.speed.expected.mid.value
    if first and second:
        return first, second
    return before.speed.ceiling.value, after.speed.ceiling.value


def gain(advice: Advice, before: Plan, aim: Aim, system: UnitSystem = UnitSystem.GIB) -> str:
    """What it would bring here, in figures of its plan: "fits, 1.20 GiB free · 57 tok/s"."""
    after = advice.plan
    old, new = paces(before, after)
    expected = new == after.speed.expected.mid.value
    unit = after.speed.ceiling.unit
    shown = _pace(format_value(new, unit), expected) if new else ""
    if aim is Aim.SPEED and old and new:
        first, then = before.speed.ttft, after.speed.ttft
        if new == old and first.value and then.value:
            return tr(
                "first token after {new}, not {old}",
                new=format_value(then.value, then.unit),
                old=format_value(first.value, first.unit),
            )
        both = f"{format_value(old, unit)} → {format_value(new, unit)}"
        return f"{_pace(both, expected)}, {_change(old, new)}"
    room = _room(after, system)
    if after.verdict is Verdict.TIGHT:
        room = tr("tight, {room}", room=room)
    return " · ".join(words for words in (room, shown) if words)


def _change(old: float, new: float) -> str:
    """ "+12 %", or "2.4 times" where it is more than twice as much."""
    if new >= 2 * old:
        return tr("{times:.1f} times", times=new / old)
    return f"{written(100 * (new / old - 1), '+.0f')} %"


def _pace(rate: str, expected: bool) -> str:
    return tr("expected {rate}", rate=rate) if expected else tr("ceiling {rate}", rate=rate)


def _room(plan: Plan, system: UnitSystem) -> str:
    """ "3.50 GiB free", of the device that decides."""
    free = room(plan.memory.devices).value
    return "" if free is None else tr("{size} free", size=format_bytes(free, system))
