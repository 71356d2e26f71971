"""A session on a plan: the turns, their sums, and what is worth a word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.language import mark, tr
from core.plan.choice import Engine
from core.plan.engine_words import own_context
from core.plan.engines import RULES
from core.plan.fits import largest_contexts
from core.plan.growth import context_per_request
from core.plan.plan import Plan, Span, Verdict
from core.plan.session.choice import SessionChoice
from core.plan.session.problems import problems_of
from core.plan.session.rates import PlanRates, Rates
from core.plan.session.recall import session_bytes
from core.plan.session.simulate import Course, Room, simulate
from core.plan.session.values import Seconds, Session, TimeLimit, added
from core.provenance import Input, Number, Rank, Source, Unit

# Seconds after which common clients give up by default: proxies, HTTP libraries, coding tools.
COMMON_LIMITS = (30.0, 60.0, 90.0, 300.0, 600.0)

_EXPECTED = Source(Rank.ESTIMATED, mark("what the plan expects of this machine"))
_BEST = Source(Rank.ESTIMATED, mark("the plan's ceiling, which no program exceeds"))
_TYPED = Source(Rank.REPORTED, mark("rates that were typed in"))
_RULE = Source(Rank.DERIVED, mark("cache rule of llama.cpp b11434"))
_UNKNOWN = mark("How fast this machine reads a prompt is not known; type a rate that was measured.")
_AT_BEST = mark("At best: writing is taken at the ceiling, real programs are slower.")
_EMPTY = mark("No turn fits into the context.")
_ALONE = mark("The other sessions are taken to be idle meanwhile.")


def plan_session(plan: Plan, choice: SessionChoice, rates: Rates | None = None) -> Session:
    """What such a session is like on this plan. Pure; needs a few milliseconds, and some more for
    a plan that does not fit: then the context that would is looked for.

    ``rates`` stand for what the plan expects, where somebody knows them exactly.
    """
    rates = rates or PlanRates(plan, choice)
    context = context_per_request(plan.settings)
    limit = _limit(plan, choice, context)
    course = simulate(plan.model.cache, plan.settings, choice, rates, _room(plan, limit))
    session = _Sums(plan, choice, rates, course).session(context, limit)
    return replace(session, problems=problems_of(plan, session))


def _limit(plan: Plan, choice: SessionChoice, context: int) -> int:
    """Tokens that one request really gets: Ollama's /v1 gives its own default."""
    if Engine(plan.settings.engine) is not Engine.OLLAMA or not choice.openai_endpoint:
        return context
    own = own_context(Engine.OLLAMA, plan.model, plan.machine, plan.choice.backend)
    return min(own or context, context)


def _room(plan: Plan, limit: int) -> Room:
    spill = None
    if plan.verdict is Verdict.DOES_NOT_FIT:
        pair = ((plan.settings.cache_k, plan.settings.cache_v),)
        for found in largest_contexts(plan.model, plan.machine, plan.choice, pair):
            spill = found.most or 0
    host = plan.memory.devices[-1] if plan.memory.devices else None
    free = host.free.value if host is not None else None
    return Room(limit, spill, max(free, 0) if free is not None else None)


class _Sums:
    """The figures over all turns, each with its source."""

    def __init__(self, plan: Plan, choice: SessionChoice, rates: Rates, course: Course) -> None:
        self._plan = plan
        self._choice = choice
        self._rates = rates
        self._course = course
        self._turns = course.turns
        self._source = _BEST if rates.at_best else _EXPECTED
        if not isinstance(rates, PlanRates):
            self._source = _TYPED

    def session(self, context: int, limit: int) -> Session:
        """Everything but the problems."""
        turns = self._turns
        waits = [(turn.wait.mid, turn.wait, turn.number) for turn in turns if turn.wait]
        known = len(waits) == len(turns) > 0
        _, longest, number = max(waits, key=lambda each: each[0]) if known else (0, None, None)
        requests = [span for turn in turns for span in (turn.request, turn.compacting)]
        longest_request = max((span.high for span in requests if span is not None), default=None)
        if None in requests:
            longest_request = None
        pauses = self._choice.pause * max(len(turns) - 1, 0)
        return Session(
            choice=self._choice,
            turns=turns,
            context=context,
            limit=limit,
            total=self._number(
                (turn.busy for turn in turns),
                mark(
                    "sum over the turns of loading, compacting, reading, writing and side "
                    "requests, and the pauses"
                ),
                pauses,
            ),
            total_without_reuse=self._number(
                (turn.busy_without_reuse for turn in turns),
                mark("the same with every prompt read from its first token"),
                pauses,
            ),
            reading=self._number((turn.reading for turn in turns), mark("sum over the turns")),
            writing=self._number((turn.writing for turn in turns), mark("sum over the turns")),
            besides=self._number(
                (added((turn.load, turn.compacting, turn.side)) for turn in turns),
                mark("sum over the turns of loading, compacting and side requests"),
            ),
            longest_wait=self._number(
                [longest], mark("loading and reading, at the turn where it is")
            ),
            longest_turn=number,
            allow=self._seconds(
                longest_request,
                mark("loading + reading + writing of the slowest request, slow end"),
            ),
            reasoning=self._number(
                [turns[-1].thinking if turns else None],
                mark("thinking tokens, at the depth of the last turn"),
            ),
            entry=self._entry(),
            needed=self._needed(),
            limits=self._limits(),
            full_turn=self._course.full_turn,
            pool_turn=self._course.pool_turn,
            at_best=self._rates.at_best,
        )

    def _entry(self) -> Number[int]:
        fill = max((turn.fill for turn in self._turns), default=0)
        facts = self._plan.model.cache
        if not facts.known:
            return Number(None, Unit.BYTES, _RULE, note=mark("What this model keeps is not known."))
        return Number(
            session_bytes(facts, self._plan.settings, fill),
            Unit.BYTES,
            _RULE,
            mark("rows of every layer and the states, for the longest conversation"),
            (Input(mark("tokens"), fill, Unit.TOKENS),),
        )

    def _needed(self) -> Number[int]:
        choice, unified = self._choice, self._plan.settings.unified_cache
        last = choice.turns - 1
        one = choice.system_tokens + last * (choice.new_tokens + choice.kept_tokens)
        one += choice.new_tokens + choice.written_tokens
        shares = choice.sessions if unified else self._plan.settings.slots
        if RULES[Engine(self._plan.settings.engine)].per_request:
            shares = 1
        return Number(
            one * shares,
            Unit.TOKENS,
            Source(Rank.DERIVED, mark("the tokens of the session")),
            mark("(system prompt + all turns, without any summary) x sessions that share it"),
            (Input(mark("one session"), one, Unit.TOKENS), Input(mark("sharing"), shares)),
        )

    def _limits(self) -> tuple[TimeLimit, ...]:
        own = self._choice.time_limit
        limits = sorted({*COMMON_LIMITS, *([own] if own else [])})
        return tuple(
            TimeLimit(
                limit,
                _first_beyond(
                    limit,
                    ((t.number, span) for t in self._turns for span in (t.compacting, t.request)),
                ),
                _first_beyond(limit, ((t.number, t.wait) for t in self._turns)),
            )
            for limit in limits
        )

    def _number(self, spans: Iterable[Seconds], formula: str, more: float = 0.0) -> Number[float]:
        span = added(spans) if self._turns else None
        if span is None:
            return self._seconds(None, formula)
        inputs: tuple[Input, ...] = ()
        if span.low < span.high:
            inputs = (
                Input(mark("fast end"), span.low + more, Unit.SECONDS),
                Input(mark("slow end"), span.high + more, Unit.SECONDS),
            )
        return self._seconds(span.mid + more, formula, inputs)

    def _seconds(
        self, value: float | None, formula: str, inputs: tuple[Input, ...] = ()
    ) -> Number[float]:
        notes = []
        if not self._turns:
            notes.append(tr(_EMPTY))
        elif value is None:
            notes.append(tr(_UNKNOWN))
        elif self._rates.at_best:
            notes.append(tr(_AT_BEST))
        if self._choice.sessions > 1:
            notes.append(tr(_ALONE))
        return Number(value, Unit.SECONDS, self._source, formula, inputs, " ".join(notes))


def _first_beyond(limit: float, spans: Iterable[tuple[int, Span | None]]) -> int | None:
    return next((number for number, span in spans if span is not None and span.high > limit), None)
