"""Several requests at a time: they share one read of the weights, each has a cache of its own.

Up to the balance point, where arithmetic takes as long as reading, one more request costs hardly
anything; from there on they share the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.plan.passes import Passes
from core.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class BatchPoint:
    """So many ``users`` writing at a time, at the ceilings: tok/s ``each``, tok/s in ``total``, and
    whether the memory is still the slower side."""

    users: int
    each: float
    total: float
    memory_binds: bool


class Batches:
    """Batches of one plan. Every user has ``depth`` tokens in a cache of their own."""

    def __init__(self, plan: Plan) -> None:
        self._passes = Passes(plan)
        self.known = self._passes.known
        self.note = self._passes.note

    def at(self, users: int, depth: int | None = None) -> BatchPoint:
        """With so many users. Ask only where it is `known`."""
        seconds = self._passes.seconds(users, users, depth)
        binds = self._passes.memory_binds(users, users, depth)
        return BatchPoint(users, 1 / seconds, users / seconds, binds)

    def curve(self, users: Sequence[int], depth: int | None = None) -> tuple[BatchPoint, ...]:
        """With each of these numbers of users."""
        return tuple(self.at(n, depth) for n in users)

    def turning_point(self, most: int, depth: int | None = None) -> int | None:
        """The first number of users for which arithmetic takes longer than memory; None where it
        is more than ``most``, or not known how fast the machine computes."""
        if not self._passes.computes or self.at(most, depth).memory_binds:
            return None
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            if self.at(middle, depth).memory_binds:
                low = middle + 1
            else:
                high = middle
        return low
