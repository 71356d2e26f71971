"""One request as it passes: loading, the prompt in chunks, the first token, the answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.language import mark
from core.plan.session.choice import SessionChoice
from core.plan.session.rates import Rates
from core.plan.session.values import Seconds, Turn

_CHUNKS = 1024  # of a prompt: more can be neither seen nor told apart
_PIECES = 32  # of what is written: the time of a token changes slowly


class SegmentKind(StrEnum):
    LOAD = mark("load")
    PREFILL = mark("read the prompt")
    THINK = mark("think")
    ANSWER = mark("answer")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a request, in seconds since it was sent. ``tokens`` are read or written in it;
    ``depth`` is what the cache holds at its end."""

    kind: SegmentKind
    start: float
    end: float
    tokens: int
    depth: int


def timeline(
    turn: Turn, choice: SessionChoice, rates: Rates, ubatch: int
) -> tuple[Segment, ...] | None:
    """The stretches of a turn, one after the other without a gap; None where not all are known.

    A prompt is read in chunks of ``ubatch`` tokens; where those are very many, several make one
    stretch. The durations are the middle of what is expected; their sum is that of the turn.
    """
    if turn.load is None:
        return None
    made: list[Segment] = []
    now = turn.load.mid
    if now:
        made.append(Segment(SegmentKind.LOAD, 0.0, now, 0, 0))
    start = now
    for read in _steps(turn.read, ubatch * -(-turn.read // (ubatch * _CHUNKS))):
        at = _mid(rates.prefill(turn.reused, read))
        if at is None:
            return None
        before = made[-1].depth if made and made[-1].kind is SegmentKind.PREFILL else turn.reused
        depth = turn.reused + read
        made.append(Segment(SegmentKind.PREFILL, now, start + at, depth - before, depth))
        now = start + at
    start, depth = now, turn.fill - turn.written if turn.fill >= turn.written else 0
    depth = min(turn.prompt, depth)
    thought = min(choice.thinking_tokens, turn.written)
    done = 0
    for kind, first, last in (
        (SegmentKind.THINK, 0, thought),
        (SegmentKind.ANSWER, thought, turn.written),
    ):
        for step in _steps(last - first, max(1, -(-turn.written // _PIECES))):
            at = _mid(rates.decode(depth, first + step))
            if at is None:
                return None
            count = first + step - done
            made.append(Segment(kind, now, start + at, count, depth + first + step))
            now, done = start + at, first + step
    return tuple(made)


def _steps(count: int, size: int) -> list[int]:
    """Running totals: 1,100 in steps of 512 are 512, 1,024 and 1,100."""
    return [*range(size, count, size), count] if count > 0 else []


def _mid(seconds: Seconds) -> float | None:
    return None if seconds is None else seconds.mid
