"""A session in sentences: how long it takes, and what reuse of the prompt saves."""

from __future__ import annotations

from core.language import style, tr, trn
from core.plan.session.values import Session, added
from core.units import format_seconds, format_tokens


def headline(session: Session) -> str:
    """The session in one or two sentences: "20 turns take 12 min 30 s; the longest wait for a
    first token is 43 s, at turn 20."
    """
    count = len(session.turns)
    if not count and session.pool_turn is not None:
        return tr("Not even the first requests of all sessions fit into the shared pool.")
    if not count:
        return tr("Not even the first request fits into the context.")
    turns = _turns(count, session.choice.turns)
    total, wait = session.total.value, session.longest_wait.value
    if total is None or wait is None:
        writing = session.writing.value
        if writing is None:
            return tr("{turns}: how long they take is not known.", turns=turns)
        return tr(
            "{turns}: how long they take is not known; writing alone takes {time}.",
            turns=turns,
            time=bound(writing, session),
        )
    time = bound(total, session)
    pauses = session.choice.pause * (count - 1)
    if pauses:
        time = tr("{time}, {pauses} of it pauses", time=time, pauses=duration(pauses))
    return trn(
        "{turns} takes {time}; the longest wait for a first token is {wait}, at turn {turn}.",
        "{turns} take {time}; the longest wait for a first token is {wait}, at turn {turn}.",
        count,
        turns=turns,
        time=time,
        wait=duration(wait),
        turn=session.longest_turn,
    )


def range_words(session: Session) -> str:
    """Between which ends the whole time is expected; empty where that is not known or exact."""
    spans = added(turn.busy for turn in session.turns)
    if spans is None or not session.turns or spans.high - spans.low < 0.5:
        return ""
    pauses = session.choice.pause * (len(session.turns) - 1)
    low, high = (duration(seconds + pauses) for seconds in (spans.low, spans.high))
    return tr("Likely between {low} and {high}.", low=low, high=high) if low != high else ""


def reuse_words(session: Session) -> str:
    """What reuse of the prompt saves over the whole session; empty where that is not known."""
    kept, lost = session.total.value, session.total_without_reuse.value
    if kept is None or lost is None or not session.turns:
        return ""
    if lost - kept < 0.5:
        return tr(
            "Every prompt is read from its start: nothing that was read before is used again."
        )
    return tr(
        "Without reuse of what was read before it would take {time}, {more} more.",
        time=duration(lost),
        more=duration(lost - kept),
    )


def bound(seconds: float, session: Session) -> str:
    """A duration that no program undercuts where the session goes by the ceiling."""
    time = duration(seconds)
    return tr("{time} at best", time=time) if session.at_best else time


def duration(seconds: float) -> str:
    """Without a rest of nothing: "10 min", not "10 min 0 s"; "30 s", not "30.0 s"."""
    words, point = format_seconds(seconds), style().decimal
    if seconds >= 1:
        words = words.replace(f"{point}0 s", " s").replace(f"{point}00 s", " s")
    return words.removesuffix(" 0 s").removesuffix(" 0 min") if " " in words[3:] else words


def _turns(count: int, planned: int) -> str:
    """ "20 turns", "12 of 20 turns"."""
    if count < planned:
        return tr(
            "{count} of {planned} turns", count=format_tokens(count), planned=format_tokens(planned)
        )
    return trn("One turn", "{turns} turns", count, turns=format_tokens(count))
