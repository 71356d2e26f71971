"""One piece of advice: a change, the plan it makes, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

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
    Aim.FIT: "It would fit with",
    Aim.ROOM: "It is tight; more room with",
    Aim.SPEED: "Faster with",
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
        return "It would start with"
    return _LEADS[aim]


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
    kind = "expected" if new == after.speed.expected.mid.value else "ceiling"
    unit = after.speed.ceiling.unit
    shown = f"{kind} {format_value(new, unit)}" if new else ""
    if aim is Aim.SPEED and old and new:
        first, then = before.speed.ttft, after.speed.ttft
        if new == old and first.value and then.value:
            first_words = format_value(first.value, first.unit)
            return f"first token after {format_value(then.value, then.unit)}, not {first_words}"
        return f"{kind} {format_value(old, unit)} → {format_value(new, unit)}, {_change(old, new)}"
    tight = "tight, " if after.verdict is Verdict.TIGHT else ""
    room = tight + _room(after, system)
    return " · ".join(words for words in (room, shown) if words)


def _change(old: float, new: float) -> str:
    """ "+12 %", or "2.4 times" where it is more than twice as much."""
    return (
        f"{new / old:.1f} times" if new >= 2 * old else f"{new / old - 1:+.0%}".replace("%", " %")
    )


def _room(plan: Plan, system: UnitSystem) -> str:
    """ "3.50 GiB free", of the device that decides."""
    free = room(plan.memory.devices).value
    return "" if free is None else f"{format_bytes(free, system)} free"
