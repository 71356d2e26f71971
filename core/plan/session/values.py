"""A session, planned: what each turn reads and writes, how long that takes, what goes wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from core.language import mark
from core.plan.plan import Span
from core.plan.session.choice import SessionChoice
from core.problems import Problem
from core.provenance import Number

Seconds: TypeAlias = Span | None  # None where nobody knows

NO_TIME = Span(0.0, 0.0, 0.0)


def added(spans: Iterable[Seconds]) -> Seconds:
    """Durations one after the other; not known where one of them is not."""
    low = mid = high = 0.0
    for span in spans:
        if span is None:
            return None
        low, mid, high = low + span.low, mid + span.mid, high + span.high
    return Span(low, mid, high)


class Reading(StrEnum):
    """Why a turn reads what it reads."""

    FIRST = mark("nothing was read before")
    TAIL = mark("only what is new")
    CHANGED = mark("the text before the tail has changed")
    NO_CHECKPOINT = mark("the model cannot go back and no checkpoint lies before the change")
    CHECKPOINT = mark("from the last checkpoint before the change")
    EVICTED = mark("another request took the place of this conversation")
    RELOADED = mark("the model had been unloaded")
    TRUNCATED = mark("the engine cut the beginning off")
    COMPACTED = mark("the history was replaced by a summary")


class Event(StrEnum):
    """What happens at a turn, for marks in a picture."""

    COMPACTION = mark("compaction")
    FULL = mark("answer cut")
    TRUNCATION = mark("prompt cut")
    SPILL = mark("memory spills")
    RAM = mark("RAM runs out")
    RELOAD = mark("model reloads")
    EVICTION = mark("conversation evicted")


@dataclass(frozen=True, slots=True)
class Turn:
    """One request and its answer.

    ``prompt`` tokens are sent; ``reused`` of them are in the cache still and ``read`` are not.
    ``written`` are thinking and answer; ``fill`` is what the cache holds at the end. ``load``,
    ``compacting``, ``reading`` and ``writing`` follow one another; ``rereading`` stands for
    ``reading``, and ``recompacting`` for ``compacting``, where nothing is ever reused. ``thinking``
    is the part of writing before the answer begins. ``side`` is what the side requests take after
    it. ``tok_s`` is the mean speed of writing.
    """

    number: int
    prompt: int
    reused: int
    read: int
    written: int
    fill: int
    why: Reading
    load: Seconds
    compacting: Seconds
    recompacting: Seconds
    reading: Seconds
    rereading: Seconds
    writing: Seconds
    thinking: Seconds
    side: Seconds
    tok_s: float | None
    events: tuple[Event, ...] = ()

    @property
    def wait(self) -> Seconds:
        """Until the first token, as long as a client waits in silence."""
        return added((self.load, self.reading))

    @property
    def wait_without_reuse(self) -> Seconds:
        """The same where every prompt is read from its first token."""
        return added((self.load, self.rereading))

    @property
    def request(self) -> Seconds:
        """From sending to the last token: what a client's time-out must allow."""
        return added((self.load, self.reading, self.writing))

    @property
    def busy(self) -> Seconds:
        """All that the engine does for this turn."""
        return added((self.load, self.compacting, self.reading, self.writing, self.side))

    @property
    def busy_without_reuse(self) -> Seconds:
        """The same where every prompt is read from its first token."""
        return added((self.load, self.recompacting, self.rereading, self.writing, self.side))


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A client's time-out, and the first turn that it ends.

    ``whole_turn`` is for a limit on the whole request, ``silent_turn`` for one on the wait for the
    first token; each is None where no turn takes so long. Both go by the slow end of what is
    expected: a limit that may be hit is worth a word.
    """

    seconds: float
    whole_turn: int | None
    silent_turn: int | None


@dataclass(frozen=True, slots=True)
class Session:
    """A session on a plan, turn by turn, as far as the context goes.

    ``full_turn`` is the first turn that does not fit into the context in full, ``pool_turn`` the
    first that all parallel sessions together do not fit; None where they do. Where a turn cannot
    even begin it is not among ``turns``. ``context`` is what one request can use, ``limit`` what
    the engine really gives it (Ollama's /v1 gives its own).

    ``total`` counts the engine's time and the pauses between turns: ``reading``, ``writing`` and
    what is ``besides`` (loading, compacting, side requests). ``longest_wait`` is until a first
    token. ``allow`` is the time-out that a client must allow. ``reasoning`` is what the
    thinking of one turn takes, at the last turn. ``entry`` is what the conversation takes when it
    is saved to RAM, at its largest; ``needed`` the context that all turns of all sessions would
    fit into. ``at_best`` says that durations are bounds: nobody knows what to expect, and no
    program can be faster.
    """

    choice: SessionChoice
    turns: tuple[Turn, ...]
    context: int
    limit: int
    total: Number[float]
    total_without_reuse: Number[float]
    reading: Number[float]
    writing: Number[float]
    besides: Number[float]
    longest_wait: Number[float]
    longest_turn: int | None
    allow: Number[float]
    reasoning: Number[float]
    entry: Number[int]
    needed: Number[int]
    limits: tuple[TimeLimit, ...]
    full_turn: int | None
    pool_turn: int | None
    at_best: bool
    problems: tuple[Problem, ...] = ()

    def first(self, event: Event) -> int | None:
        """The number of the first turn with this event."""
        return next((turn.number for turn in self.turns if event in turn.events), None)
