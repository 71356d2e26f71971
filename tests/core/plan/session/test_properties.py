"""What holds of every session, whatever is chosen."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.plan.choice import Engine
from core.plan.session import (
    Change,
    Event,
    SegmentKind,
    Session,
    SessionChoice,
    plan_session,
    timeline,
)
from core.plan.session.rates import PlanRates, SteadyRates
from tests.support.sessions import FULL, HYBRID, WINDOWED, plan_of, session

FACTS = (FULL, HYBRID, WINDOWED)
CHOICES = st.fixed_dictionaries(
    {
        "system_tokens": st.integers(0, 30_000),
        "turns": st.integers(1, 30),
        "new_tokens": st.integers(1, 5_000),
        "answer_tokens": st.integers(0, 2_000),
        "thinking_tokens": st.integers(0, 2_000),
        "keeps_thinking": st.booleans(),
        "change": st.sampled_from(Change),
        "change_at": st.integers(0, 40_000),
        "side_requests": st.integers(0, 2),
        "sessions": st.integers(1, 3),
        "pause": st.sampled_from([0.0, 5.0, 900.0]),
        "compact_above": st.sampled_from([None, 0.5, 0.8]),
        "checkpoints": st.sampled_from([None, 0, 1, 3]),
        "prompt_cache": st.sampled_from([None, 0, 2**28]),
    }
)
ENGINES = st.sampled_from([Engine.LLAMA_SERVER, Engine.OLLAMA, Engine.VLLM, Engine.IK_LLAMA])
PLANS = {
    (n, engine): plan_of(facts, context=65_536, slots=2, engine=engine)
    for n, facts in enumerate(FACTS)
    for engine in (Engine.LLAMA_SERVER, Engine.OLLAMA, Engine.VLLM, Engine.IK_LLAMA)
}
ARGUMENTS: dict[str, Any] = {"number": st.integers(0, 2), "engine": ENGINES, "choice": CHOICES}


def made(number: int, engine: Engine, choice: dict[str, Any]) -> Session:
    return session(PLANS[number, engine], 800.0, 40.0, 3.0, **choice)


@settings(deadline=None)
@given(**ARGUMENTS)
def test_the_context_never_holds_more_than_it_can(
    number: int, engine: Engine, choice: dict[str, Any]
) -> None:
    found = made(number, engine, choice)
    for turn in found.turns:
        assert 0 <= turn.reused < turn.prompt <= turn.fill <= found.limit
        assert turn.read == turn.prompt - turn.reused
        assert turn.fill <= turn.prompt + turn.written


@settings(deadline=None)
@given(**ARGUMENTS)
def test_reuse_never_costs_time(number: int, engine: Engine, choice: dict[str, Any]) -> None:
    found = made(number, engine, choice)
    for turn in found.turns:
        assert turn.busy is not None
        assert turn.busy_without_reuse is not None
        assert turn.busy.mid <= turn.busy_without_reuse.mid + 1e-9


@settings(deadline=None)
@given(**ARGUMENTS)
def test_the_parts_add_up(number: int, engine: Engine, choice: dict[str, Any]) -> None:
    found = made(number, engine, choice)
    if not found.turns:
        assert found.total.value is None
        return
    parts = sum(
        span.mid
        for turn in found.turns
        for span in (turn.load, turn.compacting, turn.reading, turn.writing, turn.side)
        if span is not None
    )
    pauses = choice["pause"] * (len(found.turns) - 1)
    assert found.total.value == pytest.approx(parts + pauses)
    shown = (found.reading.value, found.writing.value, found.besides.value)
    assert sum(value or 0 for value in shown) + pauses == pytest.approx(found.total.value)
    # The wait that is called the longest is that of the turn with the longest one.
    waits = [turn.wait.mid for turn in found.turns if turn.wait is not None]
    assert found.longest_wait.value == pytest.approx(max(waits))


@settings(deadline=None)
@given(**ARGUMENTS)
def test_more_to_write_never_takes_less_while_it_has_room(
    number: int, engine: Engine, choice: dict[str, Any]
) -> None:
    """A longer answer fills the context earlier, and what is written there is cut: such a turn
    takes less time than the same turn of a shorter answer."""
    short = made(number, engine, choice)
    long = made(number, engine, {**choice, "answer_tokens": choice["answer_tokens"] + 100})
    for first, second in zip(short.turns, long.turns, strict=False):
        if Event.FULL not in second.events:
            assert first.writing is not None
            assert second.writing is not None
            assert first.writing.mid <= second.writing.mid


@settings(deadline=None)
@given(**ARGUMENTS)
def test_an_answer_is_whole_or_ends_where_the_context_is_full(
    number: int, engine: Engine, choice: dict[str, Any]
) -> None:
    found = made(number, engine, choice)
    for turn in found.turns:
        if Event.FULL in turn.events:
            assert turn.written < found.choice.written_tokens
            assert turn.fill == found.limit
        else:
            assert turn.written == found.choice.written_tokens


@settings(deadline=None)
@given(**ARGUMENTS)
def test_more_checkpoints_never_read_more(
    number: int, engine: Engine, choice: dict[str, Any]
) -> None:
    none = made(number, engine, {**choice, "checkpoints": 0})
    some = made(number, engine, {**choice, "checkpoints": 32})
    for without, with_some in zip(none.turns, some.turns, strict=True):
        assert with_some.read <= without.read


@settings(deadline=None)
@given(**ARGUMENTS)
def test_a_stable_prompt_never_reads_more_than_one_that_changes(
    number: int, engine: Engine, choice: dict[str, Any]
) -> None:
    stable = made(number, engine, {**choice, "change": Change.NOTHING, "checkpoints": 32})
    changed = made(number, engine, {**choice, "change": Change.START, "checkpoints": 32})
    for first, second in zip(stable.turns, changed.turns, strict=True):
        assert first.read <= second.read


@settings(deadline=None)
@given(**ARGUMENTS)
def test_a_timeline_is_as_long_as_its_turn(
    number: int, engine: Engine, choice: dict[str, Any]
) -> None:
    found = made(number, engine, choice)
    rates = SteadyRates(800.0, 40.0, 3.0)
    for turn in found.turns[:3]:
        segments = timeline(turn, found.choice, rates, 512)
        assert segments is not None
        assert turn.request is not None
        assert segments[-1].end == pytest.approx(turn.request.mid)
        assert all(a.end == b.start for a, b in pairwise(segments))
        read = [s.tokens for s in segments if s.kind is SegmentKind.PREFILL]
        assert sum(read) == turn.read
        assert all(tokens <= 512 for tokens in read)


@given(choice=CHOICES)
@settings(deadline=None)
def test_any_choice_on_any_plan_has_an_answer(choice: dict[str, Any]) -> None:
    plan = PLANS[0, Engine.LLAMA_SERVER]
    found = plan_session(plan, SessionChoice(**choice))
    assert found == plan_session(plan, SessionChoice(**choice))
    for turn in found.turns[:2]:
        timeline(turn, found.choice, PlanRates(plan, found.choice), plan.settings.ubatch)


def test_a_prompt_of_very_many_chunks_is_drawn_in_fewer_stretches_of_the_same_length() -> None:
    choice = SessionChoice(system_tokens=200_000, turns=1)
    turn = plan_session(plan_of(context=262_144), choice, SteadyRates(800.0, 40.0)).turns[0]
    segments = timeline(turn, choice, SteadyRates(800.0, 40.0), 1)
    assert segments is not None and turn.request is not None
    read = [s.tokens for s in segments if s.kind is SegmentKind.PREFILL]
    assert sum(read) == turn.read
    assert len(read) <= 1024
    assert segments[-1].end == pytest.approx(turn.request.mid)
