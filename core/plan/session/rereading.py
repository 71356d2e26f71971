"""What makes a session read its prompt again, in sentences, and what to do about it."""

from __future__ import annotations

from core.language import tr
from core.model.model import CacheFacts
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.session.choice import Change
from core.plan.session.simulate import IDLE_UNLOAD
from core.plan.session.values import Event, Reading, Seconds, Session, Turn
from core.plan.session.words import duration
from core.problems import Problem, Severity
from core.units import format_bytes, format_tokens

_MIB = 2**20
_CACHE_STEP = 1024  # MiB: limits of a prompt cache are given in whole GiB


def rereading(plan: Plan, session: Session) -> list[Problem | None]:
    """Each cause that there is of this; None in the place of one that does not occur."""
    return [
        _eviction(plan, session),
        _reload(plan, session),
        _changed(session),
        _rollback(plan.model.cache, plan, session),
    ]


def _eviction(plan: Plan, session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if turn.why is Reading.EVICTED]
    if not turns:
        return None
    choice, rules = session.choice, RULES[Engine(plan.settings.engine)]
    last = turns[-1]
    entry = session.entry.value or 0
    kept = rules.prompt_cache if choice.prompt_cache is None else choice.prompt_cache
    room = tr("nothing is saved")
    if kept:
        room = tr(
            "saved it takes {entry}, and {kept} are allowed for that",
            entry=format_bytes(entry),
            kept=format_bytes(kept),
        )
    wanted = choice.sessions + (choice.side_requests > 0)
    displaced = max(1, wanted - plan.settings.slots)
    mib = -(-displaced * entry // (_CACHE_STEP * _MIB)) * _CACHE_STEP
    if choice.side_requests:
        message = tr(
            "A side request takes the conversation's place between turns ({room}): at turn {turn} "
            "{again}.",
            room=room,
            turn=last.number,
            again=_again(last),
        )
    else:
        message = tr(
            "Another session takes the conversation's place between turns ({room}): at turn {turn} "
            "{again}.",
            room=room,
            turn=last.number,
            again=_again(last),
        )
    if rules.prompt_cache_option and mib:
        advice = tr(
            "Serve {count} requests at the same time, or raise {option} to {mib} MiB.",
            count=wanted,
            option=tr(rules.prompt_cache_option),
            mib=mib,
        )
    else:
        advice = tr("Serve {count} requests at the same time.", count=wanted)
    return Problem("session-evicted", message, Severity.WARNING, advice)


def _reload(plan: Plan, session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if Event.RELOAD in turn.events]
    if not turns:
        return None
    choice, last = session.choice, turns[-1]
    cost = tr("it loads again")
    if last.load:
        cost = tr("loading takes {time} each time", time=duration(last.load.mid))
    again = tr("the whole prompt is read again")
    if last.reading is not None:
        again = tr("the whole prompt is read again in {time}", time=duration(last.reading.mid))
    if choice.context_varies:
        return Problem(
            "session-reload",
            tr(
                "num_ctx changes from request to request: Ollama loads the model anew every time; "
                "{cost}, and {again}.",
                cost=cost,
                again=again,
            ),
            Severity.WARNING,
            tr("Send the same num_ctx with every request, for embeddings too."),
        )
    idle = choice.keep_alive
    if idle is None:
        idle = IDLE_UNLOAD[Engine(plan.settings.engine)]
    return Problem(
        "session-reload",
        tr(
            "A pause of {pause} is longer than the {idle} after which an idle model is unloaded: "
            "{cost}, and {again}.",
            pause=duration(choice.pause),
            idle=duration(idle),
            cost=cost,
            again=again,
        ),
        Severity.WARNING,
        tr("Keep the model loaded for longer (keep_alive)."),
    )


def _changed(session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if turn.why is Reading.CHANGED]
    if not turns or session.choice.change is Change.TAIL:
        return None
    last = turns[-1]
    return Problem(
        "session-changed",
        tr(
            "Something changes before the new part of every request: at turn {turn} {again}.",
            turn=last.number,
            again=_again(last),
        ),
        Severity.WARNING,
        tr("Move clocks, counters and notes from the start of the prompt to its end."),
    )


def _rollback(facts: CacheFacts, plan: Plan, session: Session) -> Problem | None:
    """The badge of models that cannot go back in a prompt, whatever happens in this session."""
    windows = any(group.window is not None for group in facts.groups)
    if not facts.states and (not windows or plan.settings.swa_full):
        return None
    kind = tr("a recurrent state") if facts.states else tr("sliding windows")
    missed = [t for t in session.turns if t.why in (Reading.NO_CHECKPOINT, Reading.CHECKPOINT)]
    last = missed[-1] if missed else session.turns[-1] if session.turns else None
    if last is None:
        return None
    if missed:
        start = tr("the start")
        if last.reused:
            start = tr("the checkpoint at {tokens}", tokens=format_tokens(last.reused))
        message = tr(
            "This model keeps {kind} and cannot go back in a prompt: at turn {turn} it reads again "
            "from {start}, {tokens}.",
            kind=kind,
            turn=last.number,
            start=start,
            tokens=_tokens(last.read, last.reading),
        )
    else:
        message = _might_read_again(kind, last)
    advice = tr(
        "Keep what was sent unchanged; --ctx-checkpoints and --checkpoint-min-step set more."
    )
    return Problem(
        "session-rollback", message, Severity.WARNING if missed else Severity.NOTE, advice
    )


def _might_read_again(kind: str, last: Turn) -> str:
    tokens = format_tokens(last.prompt)
    if last.rereading is None:
        return tr(
            "This model keeps {kind} and cannot go back in a prompt: where its start changes and "
            "no checkpoint helps, the {tokens} tokens of turn {turn} are read again.",
            kind=kind,
            tokens=tokens,
            turn=last.number,
        )
    return tr(
        "This model keeps {kind} and cannot go back in a prompt: where its start changes and no "
        "checkpoint helps, the {tokens} tokens of turn {turn} are read again in {time}.",
        kind=kind,
        tokens=tokens,
        turn=last.number,
        time=duration(last.rereading.mid),
    )


def _again(turn: Turn) -> str:
    """ "8,942 tokens are read again in 43 s"."""
    tokens = format_tokens(turn.read)
    if turn.reading is None:
        return tr("{tokens} tokens are read again", tokens=tokens)
    time = duration(turn.reading.mid)
    return tr("{tokens} tokens are read again in {time}", tokens=tokens, time=time)


def _tokens(count: int, seconds: Seconds) -> str:
    tokens = format_tokens(count)
    if seconds is None:
        return tr("{count} tokens", count=tokens)
    return tr("{count} tokens in {time}", count=tokens, time=duration(seconds.mid))
