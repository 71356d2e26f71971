"""What an engine can still use of what it read before.

A cache of full attention is cut off at any token. Windows and recurrent states cannot be rolled
back: there the engine starts again from a checkpoint, or from nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from core.model.cache_size import row_bytes
from core.model.model import CacheFacts
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.plan import Settings
from core.plan.session.choice import SessionChoice


def session_bytes(facts: CacheFacts, settings: Settings, tokens: int) -> int:
    """What a conversation of so many tokens takes where it is saved: its rows and its states.

    6,500 tokens of 20,480 bytes are 133 MB.
    """
    total = sum(state.bytes_per_sequence for state in facts.states)
    for group in facts.groups:
        rows = -(-tokens // group.stride)
        if group.window is not None and not settings.swa_full:
            rows = min(rows, group.window + settings.ubatch)
        row = row_bytes(settings.cache_k, group.k_width) + row_bytes(
            settings.cache_v, group.v_width
        )
        total += rows * row * len(group.layers)
    return total


@dataclass(frozen=True, slots=True)
class Memory:
    """How far the model and the engine can go back.

    ``rollback`` is how many tokens can be taken back without a checkpoint; None for any number.
    """

    rollback: int | None
    checkpoints: int
    step: int


def memory_of(facts: CacheFacts, settings: Settings, choice: SessionChoice) -> Memory:
    """What this engine keeps of such a model. Nothing can be said of a cache that is not known; it
    is taken for full attention."""
    rollback: int | None = None
    if facts.states:
        rollback = 0
    elif not settings.swa_full and any(group.window is not None for group in facts.groups):
        rollback = settings.ubatch
    count = RULES[Engine(settings.engine)].checkpoints
    if choice.checkpoints is not None:
        count = choice.checkpoints
    return Memory(rollback, max(count, 0), max(choice.checkpoint_step, 1))


class Slot:
    """One slot of the engine: the sequence it holds and the checkpoints along it."""

    __slots__ = ("_marks", "_memory", "held", "prompt")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._marks: list[int] = []
        self.held = 0
        self.prompt = 0

    def forget(self) -> None:
        """The place is taken, or the model unloaded."""
        self._marks.clear()
        self.held = self.prompt = 0

    def usable(self, common: int) -> int:
        """How many of ``common`` equal first tokens need not be read again."""
        common = min(common, self.held)
        back, rollback = self.held - common, self._memory.rollback
        if rollback is None or back <= rollback:
            return common
        place = bisect_right(self._marks, common)
        return self._marks[place - 1] if place else 0

    @property
    def checkpoints(self) -> int:
        """How many there are now."""
        return len(self._marks)

    def take(self, start: int, prompt: int, written: int) -> None:
        """A prompt was read from token ``start`` on and answered."""
        memory = self._memory
        marks = [mark for mark in self._marks if mark <= start]
        if memory.rollback is not None and memory.checkpoints:
            at = (marks[-1] if marks else 0) + memory.step
            at += max(0, -(-(start + 1 - at) // memory.step)) * memory.step
            marks += range(at, prompt, memory.step)[-memory.checkpoints :]
            if not marks or marks[-1] < prompt:
                marks.append(prompt)
            marks = marks[-memory.checkpoints :]
        self._marks = marks
        self.prompt = prompt
        self.held = prompt + written
