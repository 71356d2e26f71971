"""One device's sizes as text, in one unit, so that what is shown adds up to the total shown."""

from __future__ import annotations

from core.language import tr, written
from core.plan.plan import DevicePlan, PartKind
from core.units import UnitSystem, format_bytes_in, format_parts
from gui.widgets.budget_bar import rest, used

_UNITS = {
    UnitSystem.GIB: (("GiB", 2**30), ("MiB", 2**20)),
    UnitSystem.GB: (("GB", 10**9), ("MB", 10**6)),
}
_DIGITS = 2
_STEPS = 100  # steps of the last digit in one unit


class DeviceSizes:
    """The parts shown add up to the total shown, and that with what is free to the capacity shown.

    The unit is giga, or mega for a device on which that is too coarse.
    """

    def __init__(self, plan: DevicePlan, system: UnitSystem) -> None:
        self.plan = plan
        self.system = system
        known = {p.kind: p.bytes.value for p in plan.parts if p.bytes.value is not None}
        capacity, total = plan.device.memory.value, plan.total.value
        giga, mega = _UNITS[system]
        self._unit, self._bytes = giga if max(capacity or 0, used(plan)) >= giga[1] else mega
        self._parts = dict(zip(known, format_parts(list(known.values()), self._unit), strict=True))
        self.total = self._whole(total)
        self.capacity = self._whole(capacity)
        self.free = tr("unknown")  # or what is too much
        if capacity is not None and total is not None:
            steps = abs(self._steps(capacity) - self._steps(total))
            self.free = self._words(written(steps / _STEPS, f",.{_DIGITS}f"), capacity - total)

    def part(self, kind: PartKind, size: int | None) -> str:
        """One part of this plan."""
        return tr("unknown") if size is None else self._words(self._parts[kind], size)

    def rest(self) -> str:
        """What is left or too much: "0.90 GiB free"; or that nobody can tell."""
        free = self.plan.free.value
        if free is None:
            return rest(self.plan, self.system)
        if free < 0:
            return tr("{size} too much", size=self.free)
        return tr("{size} free", size=self.free)

    def _whole(self, size: int | None) -> str:
        if size is None:
            return tr("unknown")
        return self._words(format_parts([size], self._unit)[0], size)

    def _steps(self, size: int) -> int:
        return round(size / (self._bytes / _STEPS))

    def _words(self, number: str, size: int) -> str:
        """Something small is not shown as nothing."""
        nothing = format_bytes_in(0, self._unit, _DIGITS)
        small = size != 0 and number == nothing
        if small:
            return f"<{written(1 / _STEPS, f'.{_DIGITS}f')} {self._unit}"
        return f"{number} {self._unit}"
