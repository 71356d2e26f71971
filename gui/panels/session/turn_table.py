"""The turns of a session as a sheet, and as bars with words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.language import tr, trc
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
        exact_whys = [_told(turn.why, turn.events) for turn in turns]

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
            number(
                "turn", tr("Turn"), lambda t: t.number, format_tokens, tr("Number of the request")
            ),
            number(
                "prompt", tr("Sent"), lambda t: t.prompt, format_tokens, tr("Tokens of the request")
            ),
            number(
                "read",
                trc("tokens of a request", "Read"),
                lambda t: t.read,
                format_tokens,
                tr("Of them not in the cache"),
            ),
            number(
                "wait_s",
                tr("First token"),
                lambda t: _mid(t.wait),
                _seconds,
                tr("Until the first token: loading and reading"),
            ),
            number(
                "wait_without_reuse_s",
                tr("Without reuse"),
                lambda t: _mid(t.wait_without_reuse),
                _seconds,
                tr("The same where the whole prompt is read"),
            ),
            number(
                "writing_s",
                tr("Writing"),
                lambda t: _mid(t.writing),
                _seconds,
                tr("Thinking and answer"),
            ),
            number(
                "tok_s",
                tr("Speed"),
                lambda t: t.tok_s,
                format_rate,
                tr("Of writing, on the average"),
            ),
            number(
                "fill",
                tr("Context"),
                lambda t: t.fill / session.limit,
                format_share,
                tr("How full it is at the end"),
            ),
            Column(
                "why",
                tr("Why"),
                whys.__getitem__,
                exact_whys.__getitem__,
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
                tr(mark),
                turn_words(session, turn),
            )
        )
    return tuple(bars)


def turn_words(session: Session, turn: Turn) -> str:
    """A turn in lines, for a tooltip and a screen reader."""
    lines = [
        tr(
            "Turn {turn}: {sent} tokens sent, {read} read",
            turn=turn.number,
            sent=format_tokens(turn.prompt),
            read=format_tokens(turn.read),
        ),
        tr(
            "First token: {time}; without reuse {more}",
            time=_words(turn.wait),
            more=_words(turn.wait_without_reuse),
        ),
        tr(
            "Writing {count} tokens: {time}",
            count=format_tokens(turn.written),
            time=_words(turn.writing),
        ),
        tr(
            "Context at the end: {count} tokens, {share}",
            count=format_tokens(turn.fill),
            share=format_share(turn.fill / session.limit),
        ),
        _why(turn),
    ]
    return "\n".join(lines)


def _why(turn: Turn) -> str:
    return _told(tr(turn.why.value), [tr(event.value) for event in turn.events])


def _told(why: str, events: Sequence[str]) -> str:
    return f"{why} ({', '.join(events)})" if events else str(why)


def _mid(seconds: Seconds) -> float | None:
    return None if seconds is None else seconds.mid


def _words(seconds: Seconds) -> str:
    return tr("not known") if seconds is None else _seconds(seconds.mid)


def _seconds(value: float) -> str:
    return format_seconds(value) if value else "0 s"
