"""How long reading, writing and loading take, as a session asks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from core.language import mark
from core.plan.plan import Plan, Span
from core.plan.session.choice import SessionChoice
from core.plan.session.values import NO_TIME, Seconds
from core.plan.speed import decode_seconds, load_times, prefill_seconds
from core.provenance import Number, Rank, Source, Unit

USUAL_DISK = 2e9  # bytes per second, where nobody knows the disk
_USUAL = Source(Rank.ASSUMED, mark("an ordinary solid-state disk"))
_TYPED = Source(Rank.REPORTED, mark("a rate that was typed in"))


class Rates(Protocol):
    """Durations. Each is None where it is not known. ``at_best`` says that they are bounds."""

    @property
    def at_best(self) -> bool: ...
    def prefill(self, history: int, new_tokens: int) -> Seconds: ...
    def decode(self, depth: int, tokens: int) -> Seconds: ...
    def load(self) -> Seconds: ...


@dataclass(frozen=True, slots=True)
class SteadyRates:
    """The same rates at every depth, in tokens per second: what somebody measured."""

    prefill_rate: float
    decode_rate: float
    load_seconds: float = 0.0
    at_best: bool = False

    def prefill(self, history: int, new_tokens: int) -> Seconds:
        return steady(new_tokens, self.prefill_rate)

    def decode(self, depth: int, tokens: int) -> Seconds:
        return steady(tokens, self.decode_rate)

    def load(self) -> Seconds:
        return Span(self.load_seconds, self.load_seconds, self.load_seconds)


class PlanRates:
    """What a plan leads to expect; the ceiling where it expects nothing."""

    def __init__(self, plan: Plan, choice: SessionChoice) -> None:
        self._plan = plan
        self._choice = choice
        self._expects = plan.speed.expected.known or choice.decode_rate is not None
        self._writes = plan if self._expects else _as_fast_as_the_ceiling(plan)

    @property
    def at_best(self) -> bool:
        """Whether writing goes by the ceiling."""
        return not self._expects and self._plan.speed.ceiling.known

    def prefill(self, history: int, new_tokens: int) -> Seconds:
        """Seconds of reading so many tokens after ``history``."""
        if new_tokens <= 0:
            return NO_TIME
        if self._choice.prefill_rate is not None:
            return steady(new_tokens, self._choice.prefill_rate)
        return prefill_seconds(self._plan, history, new_tokens)

    def decode(self, depth: int, tokens: int) -> Seconds:
        """Seconds of writing so many tokens after ``depth``."""
        if tokens <= 0:
            return NO_TIME
        if self._choice.decode_rate is not None:
            return steady(tokens, self._choice.decode_rate)
        return decode_seconds(self._writes, depth, tokens)

    def load(self) -> Seconds:
        """Seconds of reading a file of the planned weights from disk."""
        seconds = load_times(self._plan, disk_of(self._plan, self._choice)).cold.value
        return None if seconds is None else Span(seconds, seconds, seconds)


def disk_of(plan: Plan, choice: SessionChoice) -> Number[float]:
    """The rate at which a session loads: as typed, as the machine tells, or a usual one."""
    if choice.disk_rate is not None:
        return Number(choice.disk_rate, Unit.BYTES_PER_SECOND, _TYPED)
    disk = plan.machine.disk
    if disk is not None and disk.read.value:
        return disk.read
    return Number(USUAL_DISK, Unit.BYTES_PER_SECOND, _USUAL)


def steady(tokens: int, rate: float) -> Seconds:
    """Seconds of so many tokens at one rate."""
    if rate <= 0:
        return None
    seconds = max(tokens, 0) / rate
    return Span(seconds, seconds, seconds)


def _as_fast_as_the_ceiling(plan: Plan) -> Plan:
    """The plan as if its ceiling were what to expect: no program can be faster."""
    curve = tuple(p._replace(low=p.tok_s, mid=p.tok_s, high=p.tok_s) for p in plan.speed.curve)
    return replace(plan, speed=replace(plan.speed, curve=curve))
