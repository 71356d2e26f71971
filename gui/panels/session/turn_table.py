"""The turns of a session as a sheet, and as bars with words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.plan.session import Event, Session, Turn
from core.plan.session.values import Seconds, added
from core.units import format_rate, format_seconds, format_share, format_tokens
from gui.tables.sheet import Column, Sheet
from gui.widgets.session_picture import TurnBar

_UNKNOWN = "?"


class TurnSheet(Sheet):
    """One row a turn."""

    def show(self, session: Session) -> None:
        """Show the turns of this session."""
        turns = session.turns
        whys = [_why(turn) for turn in turns]

        def number(
            name: str, title: str, of: Callable[[Turn], Any], words: Callable[[Any], str], help: str
        ) -> Column:
            values = [of(turn) for turn in turns]
            shown = [_UNKNOWN if value is None else words(value) for value in values]
            return Column(
                name,
                title,
                shown.__getitem__,
                values.__getitem__,
                lambda: [-1 if value is None else value for value in values],
                number=True,
                help=help,
                widest=max((*shown, title), key=len),
            )

        columns = (
            number("turn", "Turn", lambda t: t.number, format_tokens, "Number of the request"),
            number("prompt", "Sent", lambda t: t.prompt, format_tokens, "Tokens of the request"),
            number("read", "Read", lambda t: t.read, format_tokens, "Of them not in the cache"),
            number(
                "wait_s",
                "First token",
                lambda t: _mid(t.wait),
                _seconds,
                "Until the first token: loading and reading",
            ),
            number(
                "wait_without_reuse_s",
                "Without reuse",
                lambda t: _mid(t.wait_without_reuse),
                _seconds,
                "The same where the whole prompt is read",
            ),
            number(
                "writing_s", "Writing", lambda t: _mid(t.writing), _seconds, "Thinking and answer"
            ),
            number("tok_s", "Speed", lambda t: t.tok_s, format_rate, "Of writing, on the average"),
            number(
                "fill",
                "Context",
                lambda t: t.fill / session.limit,
                format_share,
                "How full it is at the end",
            ),
            Column(
                "why",
                "Why",
                whys.__getitem__,
                whys.__getitem__,
                lambda: whys,
                stretch=1,
            ),
        )
        self.set_source(columns, len(turns), lambda: [why.casefold() for why in whys])


def bars_of(session: Session) -> tuple[TurnBar, ...]:
    """The turns as bars; durations that nobody knows are drawn as nothing and said so."""
    seen: set[Event] = set()
    bars = []
    for turn in session.turns:
        fresh = [event for event in turn.events if event not in seen]
        seen.update(fresh)
        repeated = Event.COMPACTION in turn.events
        mark = fresh[0].value if fresh else Event.COMPACTION.value if repeated else ""
        bars.append(
            TurnBar(
                turn.number,
                _mid(turn.wait) or 0.0,
                _mid(turn.writing) or 0.0,
                _mid(added((turn.compacting, turn.side))) or 0.0,
                _mid(turn.wait_without_reuse) or 0.0,
                turn.fill / session.limit,
                mark,
                turn_words(session, turn),
            )
        )
    return tuple(bars)


def turn_words(session: Session, turn: Turn) -> str:
    """A turn in lines, for a tooltip and a screen reader."""
    lines = [
        f"Turn {turn.number}: {format_tokens(turn.prompt)} tokens sent, "
        f"{format_tokens(turn.read)} read",
        f"First token: {_words(turn.wait)}; without reuse {_words(turn.wait_without_reuse)}",
        f"Writing {format_tokens(turn.written)} tokens: {_words(turn.writing)}",
        f"Context at the end: {format_tokens(turn.fill)} tokens, "
        f"{format_share(turn.fill / session.limit)}",
        f"{_why(turn)}",
    ]
    return "\n".join(lines)


def _why(turn: Turn) -> str:
    events = ", ".join(event.value for event in turn.events)
    return f"{turn.why.value} ({events})" if events else turn.why.value


def _mid(seconds: Seconds) -> float | None:
    return None if seconds is None else seconds.mid


def _words(seconds: Seconds) -> str:
    return "not known" if seconds is None else _seconds(seconds.mid)


def _seconds(value: float) -> str:
    return format_seconds(value) if value else "0 s"
