"""A session in sentences: how long it takes, and what goes wrong in it."""

from __future__ import annotations

from core.model.model import CacheFacts
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.session.choice import Change
from core.plan.session.simulate import IDLE_UNLOAD, pool_exhausted_by
from core.plan.session.values import Event, Reading, Seconds, Session, added
from core.problems import Problem, Severity
from core.units import format_bytes, format_seconds, format_tokens

_MIB = 2**20
_CACHE_STEP = 1024  # MiB: limits of a prompt cache are given in whole GiB


def headline(session: Session) -> str:
    """The session in one or two sentences: "20 turns take 12 min 30 s; the longest wait for a
    first token is 43 s, at turn 20."
    """
    count = len(session.turns)
    if not count and session.pool_turn is not None:
        return "Not even the first requests of all sessions fit into the shared pool."
    if not count:
        return "Not even the first request fits into the context."
    planned = session.choice.turns
    turns = f"{format_tokens(count)} turns"
    if count < planned:
        turns = f"{format_tokens(count)} of {format_tokens(planned)} turns"
    elif count == 1:
        turns = "One turn"
    total, wait = session.total.value, session.longest_wait.value
    if total is None or wait is None:
        written = session.writing.value
        best = " at best" if session.at_best else ""
        known = f"; writing alone takes {_duration(written)}{best}" if written is not None else ""
        return f"{turns}: how long they take is not known{known}."
    best = " at best" if session.at_best else ""
    pauses = session.choice.pause * (count - 1)
    within = f", {_duration(pauses)} of it pauses" if pauses else ""
    verb = "takes" if count == 1 else "take"
    return (
        f"{turns} {verb} {_duration(total)}{best}{within}; the longest wait for a first token is "
        f"{_duration(wait)}, at turn {session.longest_turn}."
    )


def range_words(session: Session) -> str:
    """Between which ends the whole time is expected; empty where that is not known or exact."""
    spans = added(turn.busy for turn in session.turns)
    if spans is None or not session.turns or spans.high - spans.low < 0.5:
        return ""
    pauses = session.choice.pause * (len(session.turns) - 1)
    low, high = (_duration(seconds + pauses) for seconds in (spans.low, spans.high))
    return f"Likely between {low} and {high}." if low != high else ""


def reuse_words(session: Session) -> str:
    """What reuse of the prompt saves over the whole session; empty where that is not known."""
    kept, lost = session.total.value, session.total_without_reuse.value
    if kept is None or lost is None or not session.turns:
        return ""
    if lost - kept < 0.5:
        return "Every prompt is read from its start: nothing that was read before is used again."
    return (
        f"Without reuse of what was read before it would take {_duration(lost)}, "
        f"{_duration(lost - kept)} more."
    )


def problems_of(plan: Plan, session: Session) -> tuple[Problem, ...]:
    """Everything about a session that is worth a word, what ends it first."""
    found = [
        _full(plan, session),
        _pool(plan, session),
        _endpoint(plan, session),
        _truncation(plan, session),
        _spill(session),
        _ram(plan, session),
        _eviction(plan, session),
        _reload(plan, session),
        _changed(session),
        _rollback(plan.model.cache, plan, session),
        _compaction(session),
        _limits(session),
        _reasoning(session),
    ]
    return tuple(problem for problem in found if problem is not None)


def _full(plan: Plan, session: Session) -> Problem | None:
    turn = session.full_turn
    if turn is None:
        return None
    name = RULES[Engine(plan.settings.engine)].name
    cut = bool(session.turns) and session.turns[-1].number == turn
    what = "the answer is cut off there" if cut else f"{name} refuses that request"
    return Problem(
        "session-full",
        f"The context of {format_tokens(session.limit)} tokens is full at turn {turn}; {what}.",
        Severity.WARNING,
        "Reserve a larger context, or let the history be compacted before.",
    )


def _pool(plan: Plan, session: Session) -> Problem | None:
    turn = session.pool_turn
    if turn is None:
        return None
    choice, pool = session.choice, plan.settings.context
    history = choice.system_tokens + (turn - 1) * (choice.new_tokens + choice.kept_tokens)
    fill = history + choice.new_tokens + choice.written_tokens
    last = pool_exhausted_by(pool, [fill] * choice.sessions)
    place = f"; session {last[0] + 1} has {format_tokens(last[1])} left" if last else ""
    more = choice.sessions * fill - pool
    per_token = plan.memory.cache_per_token.value
    price = f", which takes {format_bytes(more * per_token)} more" if per_token else ""
    return Problem(
        "session-pool",
        f"At turn {turn}, {choice.sessions} sessions need {format_tokens(choice.sessions * fill)} "
        f"tokens of one shared pool of {format_tokens(pool)}{place}: every request stops.",
        Severity.WARNING,
        f"Reserve {format_tokens(choice.sessions * fill)} tokens{price}, or give each slot its own "
        f"part with -np {choice.sessions}.",
    )


def _endpoint(plan: Plan, session: Session) -> Problem | None:
    if session.limit >= session.context:
        return None
    return Problem(
        "v1-context",
        f"Ollama's /v1 endpoint ignores num_ctx: a request gets {format_tokens(session.limit)} "
        f"tokens there, not {format_tokens(session.context)}.",
        Severity.WARNING,
        "Set OLLAMA_CONTEXT_LENGTH, write PARAMETER num_ctx into a Modelfile, or ask /api/chat.",
    )


def _truncation(plan: Plan, session: Session) -> Problem | None:
    turn = session.first(Event.TRUNCATION)
    if turn is None:
        return None
    choice = session.choice
    sent = choice.system_tokens + turn * choice.new_tokens + (turn - 1) * choice.kept_tokens
    size = f"of {format_tokens(sent)} tokens {format_tokens(session.limit)} are read"
    if choice.compact_above is not None:
        size = f"only {format_tokens(session.limit)} tokens are read"
    return Problem(
        "session-truncated",
        f"At turn {turn} Ollama cuts the prompt without a word: {size}. The model forgets the "
        "system prompt and its tools, and the whole prompt is read again at every turn.",
        Severity.WARNING,
        "Reserve a larger context, or let the history be compacted before.",
    )


def _spill(session: Session) -> Problem | None:
    turn = session.first(Event.SPILL)
    if turn is None:
        return None
    when = f"From turn {turn} on the conversation is longer than the memory holds."
    if turn == 1:
        when = "The memory does not hold this plan, whatever the conversation."
    return Problem(
        "session-spill",
        f"{when} Linux does not load it at all; Windows moves memory about without a word, and "
        "writing slows down.",
        Severity.WARNING,
        "Choose a context that fits, or smaller cache types.",
    )


def _ram(plan: Plan, session: Session) -> Problem | None:
    turn = session.first(Event.RAM)
    if turn is None:
        return None
    rules = RULES[Engine(plan.settings.engine)]
    option = f"{rules.prompt_cache_option} or " if rules.prompt_cache_option else ""
    return Problem(
        "session-ram",
        f"From turn {turn} on, kept prompts and checkpoints take more RAM than is free.",
        Severity.WARNING,
        f"Limit them with {option}--ctx-checkpoints.",
    )


def _eviction(plan: Plan, session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if turn.why is Reading.EVICTED]
    if not turns:
        return None
    choice, rules = session.choice, RULES[Engine(plan.settings.engine)]
    last = turns[-1]
    who = "A side request" if choice.side_requests else "Another session"
    entry = session.entry.value or 0
    kept = rules.prompt_cache if choice.prompt_cache is None else choice.prompt_cache
    room = (
        f"saved it takes {format_bytes(entry)}, and {format_bytes(kept)} are allowed for that"
        if kept
        else "nothing is saved"
    )
    wanted = choice.sessions + (choice.side_requests > 0)
    displaced = max(1, wanted - plan.settings.slots)
    mib = -(-displaced * entry // (_CACHE_STEP * _MIB)) * _CACHE_STEP
    ways = f"Serve {wanted} requests at the same time"
    if rules.prompt_cache_option and mib:
        ways += f", or raise {rules.prompt_cache_option} to {mib} MiB"
    return Problem(
        "session-evicted",
        f"{who} takes the conversation's place between turns ({room}): at turn {last.number} "
        f"{format_tokens(last.read)} tokens are read again{_in(last.reading)}.",
        Severity.WARNING,
        f"{ways}.",
    )


def _reload(plan: Plan, session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if Event.RELOAD in turn.events]
    if not turns:
        return None
    choice, last = session.choice, turns[-1]
    cost = f"loading takes {_duration(last.load.mid)} each time" if last.load else "it loads again"
    if choice.context_varies:
        return Problem(
            "session-reload",
            f"num_ctx changes from request to request: Ollama loads the model anew every time; "
            f"{cost}, and the whole prompt is read again{_in(last.reading)}.",
            Severity.WARNING,
            "Send the same num_ctx with every request, for embeddings too.",
        )
    idle = choice.keep_alive
    if idle is None:
        idle = IDLE_UNLOAD[Engine(plan.settings.engine)]
    return Problem(
        "session-reload",
        f"A pause of {_duration(choice.pause)} is longer than the {_duration(idle)} after which an "
        f"idle model is unloaded: {cost}, and the whole prompt is read again{_in(last.reading)}.",
        Severity.WARNING,
        "Keep the model loaded for longer (keep_alive).",
    )


def _changed(session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if turn.why is Reading.CHANGED]
    if not turns or session.choice.change is Change.TAIL:
        return None
    last = turns[-1]
    return Problem(
        "session-changed",
        f"Something changes before the new part of every request: at turn {last.number} "
        f"{format_tokens(last.read)} tokens are read again{_in(last.reading)}.",
        Severity.WARNING,
        "Move clocks, counters and notes from the start of the prompt to its end.",
    )


def _rollback(facts: CacheFacts, plan: Plan, session: Session) -> Problem | None:
    """The badge of models that cannot go back in a prompt, whatever happens in this session."""
    windows = any(group.window is not None for group in facts.groups)
    if not facts.states and (not windows or plan.settings.swa_full):
        return None
    kind = "a recurrent state" if facts.states else "sliding windows"
    missed = [t for t in session.turns if t.why in (Reading.NO_CHECKPOINT, Reading.CHECKPOINT)]
    last = missed[-1] if missed else session.turns[-1] if session.turns else None
    if last is None:
        return None
    if missed:
        start = (
            "the start" if not last.reused else f"the checkpoint at {format_tokens(last.reused)}"
        )
        message = (
            f"This model keeps {kind} and cannot go back in a prompt: at turn {last.number} it "
            f"reads again from {start}, {format_tokens(last.read)} tokens{_in(last.reading)}."
        )
    else:
        message = (
            f"This model keeps {kind} and cannot go back in a prompt: where its start changes and "
            f"no checkpoint helps, the {format_tokens(last.prompt)} tokens of turn {last.number} "
            f"are read again{_in(last.rereading)}."
        )
    advice = "Keep what was sent unchanged; --ctx-checkpoints and --checkpoint-min-step set more."
    return Problem(
        "session-rollback", message, Severity.WARNING if missed else Severity.NOTE, advice
    )


def _compaction(session: Session) -> Problem | None:
    turns = [turn for turn in session.turns if Event.COMPACTION in turn.events]
    if not turns:
        return None
    times = "once" if len(turns) == 1 else f"{len(turns)} times"
    often = len(turns) > len(session.turns) / 2
    return Problem(
        "session-compaction",
        f"The history is replaced by a summary {times}, first before turn {turns[0].number}"
        f"{_in(turns[0].compacting)}.",
        Severity.WARNING if often else Severity.NOTE,
        "Reserve a larger context." if often else "",
    )


def _limits(session: Session) -> Problem | None:
    allow = session.allow.value
    hit = [limit for limit in session.limits if limit.whole_turn is not None]
    if allow is None or not hit:
        return None
    turns = list(dict.fromkeys(limit.whole_turn for limit in hit))
    words = [
        f"{_listed([_duration(one.seconds) for one in hit if one.whole_turn == turn])} "
        f"at turn {turn}"
        for turn in turns
    ]
    silent = [limit for limit in hit if limit.silent_turn is not None]
    wait = ""
    if silent:
        most = silent[-1]
        wait = (
            f" Where only silence counts, {_duration(most.seconds)} are not enough for turn "
            f"{most.silent_turn}."
        )
    ranged = any(turn.request and turn.request.high > turn.request.mid for turn in session.turns)
    when = "Where it goes slowly, a" if ranged else "A"
    return Problem(
        "session-time-out",
        f"{when} client's time-out may end a request: {'; '.join(words)}.{wait}",
        Severity.WARNING,
        f"Allow at least {_duration(allow)}.",
    )


def _reasoning(session: Session) -> Problem | None:
    seconds, tokens = session.reasoning.value, session.choice.thinking_tokens
    if not tokens or not seconds:
        return None
    best = " at best" if session.at_best else ""
    return Problem(
        "session-thinking",
        f"{format_tokens(tokens)} tokens of thinking take {_duration(seconds)}{best} before the "
        "answer begins.",
        Severity.NOTE,
    )


def _in(seconds: Seconds) -> str:
    return f" in {_duration(seconds.mid)}" if seconds is not None else ""


def _duration(seconds: float) -> str:
    """Without a rest of nothing: "10 min", not "10 min 0 s"; "30 s", not "30.0 s"."""
    words = format_seconds(seconds)
    if seconds >= 1:
        words = words.replace(".0 s", " s").replace(".00 s", " s")
    return words.removesuffix(" 0 s").removesuffix(" 0 min") if " " in words[3:] else words


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
