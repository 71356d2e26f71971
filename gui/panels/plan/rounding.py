"""Sizes on one screen share one unit, and what is shown adds up to the total that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.units import UnitSystem

_DIGITS = 2
_STEPS = 100  # steps of the last digit in one unit


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit that a group of sizes is shown in."""

    unit: str
    bytes: int

    def steps(self, count: int) -> int:
        """A size in steps of the last digit shown, rounded."""
        return round(count * _STEPS / self.bytes)

    def words(self, steps: int, *, nonzero: bool = False) -> str:
        """So many steps as text. ``nonzero`` says that the exact size is not 0, only small."""
        if steps == 0 and nonzero:
            return f"<{1 / _STEPS:.{_DIGITS}f} {self.unit}"
        return f"{steps / _STEPS:,.{_DIGITS}f} {self.unit}"


def scale_for(largest: int, system: UnitSystem) -> Scale:
    """The unit for a group whose largest size is this: giga, or mega where that is too coarse."""
    giga, mega = (
        (Scale("GiB", 2**30), Scale("MiB", 2**20))
        if system is UnitSystem.GIB
        else (Scale("GB", 10**9), Scale("MB", 10**6))
    )
    return giga if largest >= giga.bytes else mega


def shares(sizes: Sequence[int], total_steps: int, scale: Scale) -> list[int]:
    """The sizes in steps that add up to ``total_steps``: each rounded up or down, and the ones
    closest to the next step rounded up."""
    exact = [size * _STEPS for size in sizes]
    steps = [size // scale.bytes for size in exact]
    by_rest = sorted(range(len(sizes)), key=lambda i: exact[i] % scale.bytes, reverse=True)
    for i in by_rest[: total_steps - sum(steps)]:
        steps[i] += 1
    return steps
