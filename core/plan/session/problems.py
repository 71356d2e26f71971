"""What goes wrong in a session, in sentences, and what to do about it."""

from __future__ import annotations

from core.language import listed, mark, tr, trn
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.session.rereading import rereading
from core.plan.session.simulate import pool_exhausted_by
from core.plan.session.values import Event, Session
from core.plan.session.words import bound, duration
from core.problems import Problem, Severity
from core.units import format_bytes, format_tokens

# By whether a larger context may be reserved, and whether compacting would help.
_MORE_ROOM = {
    (True, True): mark("Reserve a larger context, or let the history be compacted before."),
    (True, False): mark("Reserve a larger context."),
    (False, True): mark("Let the history be compacted before."),
    (False, False): mark("Send less in one request, or take a model that was trained for more."),
}
_MIB = 2**20
_CACHE_STEP = 1024  # MiB: limits of a prompt cache are given in whole GiB


def problems_of(plan: Plan, session: Session) -> tuple[Problem, ...]:
    """Everything about a session that is worth a word, what ends it first."""
    found = [
        _full(plan, session),
        _pool(plan, session),
        _endpoint(plan, session),
        _truncation(plan, session),
        _spill(session),
        _ram(plan, session),
        *rereading(plan, session),
        _compaction(session),
        _limits(session),
        _reasoning(session),
    ]
    return tuple(problem for problem in found if problem is not None)


def _full(plan: Plan, session: Session) -> Problem | None:
    turn = session.full_turn
    if turn is None:
        return None
    limit = format_tokens(session.limit)
    if session.turns and session.turns[-1].number == turn:
        message = tr(
            "The context of {limit} tokens is full at turn {turn}; the answer is cut off there.",
            limit=limit,
            turn=turn,
        )
    else:
        message = tr(
            "The context of {limit} tokens is full at turn {turn}; {engine} refuses that request.",
            limit=limit,
            turn=turn,
            engine=RULES[Engine(plan.settings.engine)].name,
        )
    return Problem("session-full", message, Severity.WARNING, _more_room(plan, session, turn))


def _more_room(plan: Plan, session: Session, turn: int) -> str:
    """What helps a session whose context is full at this turn."""
    trained = plan.model.shape.context_length
    larger = trained is None or plan.settings.requested_context < trained
    # Before the first turn there is no history.
    return tr(_MORE_ROOM[larger, session.choice.compact_above is None and turn > 1])


def _pool(plan: Plan, session: Session) -> Problem | None:
    turn = session.pool_turn
    if turn is None:
        return None
    choice, pool = session.choice, plan.settings.context
    history = choice.system_tokens + (turn - 1) * (choice.new_tokens + choice.kept_tokens)
    fill = history + choice.new_tokens + choice.written_tokens
    last = pool_exhausted_by(pool, [fill] * choice.sessions)
    needed = format_tokens(choice.sessions * fill)
    have = format_tokens(pool)
    if last:
        message = tr(
            "At turn {turn}, {sessions} sessions need {needed} tokens of one shared pool of {have};"
            " session {last} has {left} left: every request stops.",
            turn=turn,
            sessions=choice.sessions,
            needed=needed,
            have=have,
            last=last[0] + 1,
            left=format_tokens(last[1]),
        )
    else:
        message = tr(
            "At turn {turn}, {sessions} sessions need {needed} tokens of one shared pool of {have}:"
            " every request stops.",
            turn=turn,
            sessions=choice.sessions,
            needed=needed,
            have=have,
        )
    more = choice.sessions * fill - pool
    per_token = plan.memory.cache_per_token.value
    if per_token:
        advice = tr(
            "Reserve {needed} tokens, which takes {size} more, or give each slot its own part with "
            "-np {sessions}.",
            needed=needed,
            size=format_bytes(more * per_token),
            sessions=choice.sessions,
        )
    else:
        advice = tr(
            "Reserve {needed} tokens, or give each slot its own part with -np {sessions}.",
            needed=needed,
            sessions=choice.sessions,
        )
    return Problem("session-pool", message, Severity.WARNING, advice)


def _endpoint(plan: Plan, session: Session) -> Problem | None:
    if session.limit >= session.context:
        return None
    return Problem(
        "v1-context",
        tr(
            "Ollama's /v1 endpoint ignores num_ctx: a request gets {limit} tokens there, not "
            "{context}.",
            limit=format_tokens(session.limit),
            context=format_tokens(session.context),
        ),
        Severity.WARNING,
        tr(
            "Set OLLAMA_CONTEXT_LENGTH, write PARAMETER num_ctx into a Modelfile, or ask /api/chat."
        ),
    )


def _truncation(plan: Plan, session: Session) -> Problem | None:
    turn = session.first(Event.TRUNCATION)
    if turn is None:
        return None
    choice = session.choice
    sent = choice.system_tokens + turn * choice.new_tokens + (turn - 1) * choice.kept_tokens
    limit = format_tokens(session.limit)
    if choice.compact_above is None:
        message = tr(
            "At turn {turn} Ollama cuts the prompt without a word: of {sent} tokens {limit} are "
            "read. The model forgets the system prompt and its tools, and the whole prompt is read "
            "again at every turn.",
            turn=turn,
            sent=format_tokens(sent),
            limit=limit,
        )
    else:
        message = tr(
            "At turn {turn} Ollama cuts the prompt without a word: only {limit} tokens are read. "
            "The model forgets the system prompt and its tools, and the whole prompt is read again "
            "at every turn.",
            turn=turn,
            limit=limit,
        )
    return Problem("session-truncated", message, Severity.WARNING, _more_room(plan, session, turn))


def _spill(session: Session) -> Problem | None:
    turn = session.first(Event.SPILL)
    if turn is None:
        return None
    when = tr("From turn {turn} on the conversation is longer than the memory holds.", turn=turn)
    if turn == 1:
        when = tr("The memory does not hold this plan, whatever the conversation.")
    then = tr(
        "Linux does not load it at all; Windows moves memory about without a word, and writing "
        "slows down."
    )
    advice = tr("Choose a context that fits, or smaller cache types.")
    return Problem("session-spill", f"{when} {then}", Severity.WARNING, advice)


def _ram(plan: Plan, session: Session) -> Problem | None:
    turn = session.first(Event.RAM)
    if turn is None:
        return None
    option = tr(RULES[Engine(plan.settings.engine)].prompt_cache_option)
    return Problem(
        "session-ram",
        tr(
            "From turn {turn} on, kept prompts and checkpoints take more RAM than is free.",
            turn=turn,
        ),
        Severity.WARNING,
        tr("Limit them with {option} or --ctx-checkpoints.", option=option)
        if option
        else tr("Limit them with --ctx-checkpoints."),
    )


def _compaction(session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if Event.COMPACTION in turn.events]
    if not turns:
        return None
    first = turns[0]
    when = tr("turn {turn}", turn=first.number)
    if first.compacting is not None:
        when = tr("turn {turn}, in {time}", turn=first.number, time=duration(first.compacting.mid))
    often = len(turns) > len(session.turns) / 2
    return Problem(
        "session-compaction",
        trn(
            "The history is replaced by a summary once, before {when}.",
            "The history is replaced by a summary {count} times, first before {when}.",
            len(turns),
            when=when,
        ),
        Severity.WARNING if often else Severity.NOTE,
        tr("Reserve a larger context.") if often else "",
    )


def _limits(session: Session) -> Problem | None:
    allow = session.allow.value
    hit = [limit for limit in session.limits if limit.whole_turn is not None]
    if allow is None or not hit:
        return None
    turns = list(dict.fromkeys(limit.whole_turn for limit in hit))
    words = "; ".join(
        tr(
            "{limits} at turn {turn}",
            limits=listed([duration(one.seconds) for one in hit if one.whole_turn == turn]),
            turn=turn,
        )
        for turn in turns
    )
    if any(turn.request and turn.request.high > turn.request.mid for turn in session.turns):
        message = tr(
            "Where it goes slowly, a client's time-out may end a request: {words}.", words=words
        )
    else:
        message = tr("A client's time-out may end a request: {words}.", words=words)
    silent = [limit for limit in hit if limit.silent_turn is not None]
    if silent:
        most = silent[-1]
        wait = tr(
            "Where only silence counts, {time} are not enough for turn {turn}.",
            time=duration(most.seconds),
            turn=most.silent_turn,
        )
        message = f"{message} {wait}"
    advice = tr("Allow at least {time}.", time=duration(allow))
    return Problem("session-time-out", message, Severity.WARNING, advice)


def _reasoning(session: Session) -> Problem | None:
    seconds, tokens = session.reasoning.value, session.choice.thinking_tokens
    if not tokens or not seconds:
        return None
    return Problem(
        "session-thinking",
        tr(
            "{tokens} tokens of thinking take {time} before the answer begins.",
            tokens=format_tokens(tokens),
            time=bound(seconds, session),
        ),
        Severity.NOTE,
    )
