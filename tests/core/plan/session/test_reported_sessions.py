"""What people reported of their sessions, as figures (the ids are those of the field reports)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import catalogue, combine, custom
from core.model import model_from
from core.plan import largest_contexts, resolve
from core.plan.choice import Choice, Engine
from core.plan.plan import Band, DepthPoint, Span
from core.plan.session import (
    Change,
    Event,
    Reading,
    Session,
    SessionChoice,
    headline,
    plan_session,
    pool_exhausted_by,
    range_words,
    reuse_words,
)
from core.plan.session.rates import PlanRates, steady
from core.plan.session.recall import session_bytes
from core.plan.session.values import NO_TIME, Seconds
from core.provenance import Number, Rank, Source, Unit
from resources import specimens
from tests.support.sessions import HYBRID, WINDOWED, plan_of, session

MIB, GIB = 2**20, 2**30


def codes(made: Session) -> set[str]:
    return {problem.code for problem in made.problems}


def words(made: Session, code: str) -> str:
    (problem,) = (p for p in made.problems if p.code == code)
    return f"{problem.message} {problem.advice}"


# 20 turns, 20,000 tokens of tools, 3,000 more a turn, 146,287 tokens in 79.4 s.
A01: dict[str, Any] = {
    "turns": 20,
    "system_tokens": 20_000,
    "new_tokens": 3_000,
    "answer_tokens": 0,
}
A01_PREFILL = 146_287 / 79.4


def test_a01_a_stable_prompt_waits_for_its_tail_only() -> None:
    last = session(plan_of(), A01_PREFILL, **A01).turns[-1]
    assert (last.prompt, last.read, last.why) == (80_000, 3_000, Reading.TAIL)
    assert last.wait is not None
    assert last.wait.mid == pytest.approx(1.6, abs=0.05)


def test_a01_a_clock_at_token_50_reads_80_000_tokens_again() -> None:
    made = session(plan_of(), A01_PREFILL, change=Change.START, **A01)
    last = made.turns[-1]
    assert (last.reused, last.why) == (50, Reading.CHANGED)
    assert last.wait is not None
    assert last.wait.mid == pytest.approx(43, abs=0.5)
    assert "79,950 tokens are read again" in words(made, "session-changed")


def test_a01_what_changes_after_the_tools_spares_the_tools() -> None:
    last = session(plan_of(), A01_PREFILL, change=Change.AFTER_TOOLS, **A01).turns[-1]
    assert (last.reused, last.read) == (20_000, 60_000)


def test_a01_a_reminder_that_moves_along_costs_one_turn_more() -> None:
    last = session(plan_of(), A01_PREFILL, change=Change.TAIL, **A01).turns[-1]
    assert last.read == 6_000


# One turn of 38,500 tokens, then an edit at token 30,000; checkpoints every 8,192 tokens.
A02: dict[str, Any] = {
    "turns": 2,
    "system_tokens": 38_500,
    "new_tokens": 0,
    "answer_tokens": 0,
    "change": Change.OWN,
    "change_at": 30_000,
}


def test_a02_full_attention_reads_on_from_the_edit() -> None:
    last = session(plan_of(), **A02).turns[-1]
    assert (last.reused, last.read) == (30_000, 8_500)


@pytest.mark.parametrize("facts", [HYBRID, WINDOWED], ids=["hybrid", "windows"])
def test_a02_a_model_that_cannot_go_back_reads_on_from_the_last_checkpoint(facts: object) -> None:
    made = session(plan_of(facts), **A02)  # type: ignore[arg-type]
    last = made.turns[-1]
    assert (last.reused, last.read, last.why) == (24_576, 13_924, Reading.CHECKPOINT)
    assert "24,576" in words(made, "session-rollback")


def test_a02_without_checkpoints_it_reads_everything() -> None:
    last = session(plan_of(HYBRID), checkpoints=0, **A02).turns[-1]
    assert (last.reused, last.read, last.why) == (0, 38_500, Reading.NO_CHECKPOINT)


def test_a02_a_window_that_is_kept_whole_can_go_back() -> None:
    last = session(plan_of(WINDOWED, swa_full=True), **A02).turns[-1]
    assert last.reused == 30_000


def test_a02_such_a_model_is_told_of_before_anything_goes_wrong() -> None:
    # 38.5k tokens took 40.8 s.
    made = session(
        plan_of(HYBRID),
        38_500 / 40.8,
        turns=2,
        system_tokens=38_480,
        new_tokens=10,
        answer_tokens=0,
    )
    assert made.turns[-1].read == 10
    assert "38,500 tokens of turn 2 are read again in 40.8 s" in words(made, "session-rollback")


# A session of 220,000 tokens, read in seven minutes; 13.4 GiB when it is saved.
A03: dict[str, Any] = {
    "turns": 2,
    "system_tokens": 220_000,
    "new_tokens": 0,
    "answer_tokens": 0,
    "side_requests": 1,
    "side_tokens": 1_000,
}


def a03(slots: int, prompt_cache: int) -> Session:
    group = HYBRID.groups[0]
    facts = type(HYBRID)(
        True, (type(group)("full attention", tuple(range(16)), 1024, 1024),), layers=40
    )
    return session(
        plan_of(facts, slots=slots, context=262_144 * slots),
        520.0,
        prompt_cache=prompt_cache,
        **A03,
    )


def test_a03_a_title_evicts_the_session_of_a_single_slot() -> None:
    made = a03(1, 0)
    assert made.entry.value == pytest.approx(13.4 * GIB, rel=0.005)
    assert made.turns[-1].why is Reading.EVICTED
    assert made.turns[-1].reading is not None
    assert made.turns[-1].reading.mid == pytest.approx(423, abs=0.5)


def test_a03_8_gib_do_not_hold_it_and_16_do() -> None:
    assert a03(1, 8192 * MIB).turns[-1].why is Reading.EVICTED
    assert "--cache-ram to 14336 MiB" in words(a03(1, 8192 * MIB), "session-evicted")
    assert a03(1, 16384 * MIB).turns[-1].read == 1


def test_a03_a_second_slot_spares_it() -> None:
    made = a03(2, 0)
    assert made.turns[-1].read == 1
    assert "session-evicted" not in codes(made)


# 19 GB from a disk of 2 GB/s: 9.5 s.
A04: dict[str, Any] = {"turns": 20, "system_tokens": 2_000, "new_tokens": 100, "answer_tokens": 100}


def test_a04_ollama_loads_again_for_every_num_ctx() -> None:
    plan = plan_of(engine=Engine.OLLAMA)
    varying = session(plan, load=9.5, context_varies=True, **A04)
    fixed = session(plan, load=9.5, **A04)
    assert [turn.load.mid for turn in varying.turns if turn.load] == [9.5] * 20
    assert [turn.load.mid for turn in fixed.turns if turn.load] == [9.5] + [0.0] * 19
    assert varying.turns[-1].reused == 0
    assert "same num_ctx" in words(varying, "session-reload")


def test_a04_a_pause_longer_than_the_keep_alive_loads_and_reads_everything_again() -> None:
    plan = plan_of(engine=Engine.OLLAMA)
    made = session(plan, load=9.5, pause=600.0, **A04)
    assert made.turns[1].load is not None
    assert (made.turns[1].load.mid, made.turns[1].reused) == (9.5, 0)
    assert "10 min is longer than the 5 min" in words(made, "session-reload")
    kept = session(plan, load=9.5, pause=600.0, keep_alive=1800.0, **A04)
    assert kept.turns[1].why is Reading.TAIL
    # llama-server unloads nothing by itself.
    server = session(plan_of(), load=9.5, pause=600.0, **A04)
    assert server.turns[1].why is Reading.TAIL


# A prompt of 8,942 tokens through /v1, where a small GPU means 4,096.
A05: dict[str, Any] = {"turns": 1, "system_tokens": 942, "new_tokens": 8_000, "answer_tokens": 100}


def test_a05_ollama_s_v1_cuts_the_prompt_at_4096() -> None:
    machine = custom(64 * GIB, 50e9, gpu=False)
    plan = plan_of(machine=machine, engine=Engine.OLLAMA, context=16_384)
    made = session(plan, openai_endpoint=True, **A05)
    assert (made.context, made.limit) == (16_384, 4_096)
    assert (made.turns[0].prompt, made.turns[0].fill) == (4_096, 4_096)
    assert Event.TRUNCATION in made.turns[0].events
    assert "gets 4,096 tokens there, not 16,384" in words(made, "v1-context")
    assert "of 8,942 tokens 4,096 are read" in words(made, "session-truncated")


def test_a05_its_own_endpoint_reads_all_of_it() -> None:
    made = session(plan_of(engine=Engine.OLLAMA, context=16_384), **A05)
    assert (made.turns[0].prompt, codes(made)) == (8_942, set())


def test_a07_the_third_agent_finds_the_pool_full_at_11_000_tokens() -> None:
    assert pool_exhausted_by(131_072, [60_000] * 3) == (2, 11_072)
    assert pool_exhausted_by(131_072, [40_000] * 3) is None


def test_a07_three_agents_growing_to_60_000_each_end_before_that() -> None:
    plan = plan_of(context=131_072, slots=4, unified_cache=True)
    made = session(plan, turns=20, system_tokens=0, new_tokens=3_000, answer_tokens=0, sessions=3)
    # 15 turns of three are 135,000 tokens.
    assert (made.pool_turn, len(made.turns)) == (15, 14)
    text = words(made, "session-pool")
    assert "every request stops" in text
    assert "135,000 tokens, which takes 76.7 MiB more" in text
    apart = plan_of(context=131_072, slots=4, unified_cache=False)
    assert (
        session(
            apart, turns=20, system_tokens=0, new_tokens=3_000, answer_tokens=0, sessions=3
        ).full_turn
        == 11
    )


def test_a_saved_prompt_of_6500_tokens_takes_133_mb() -> None:
    plan = plan_of()  # 10 layers of 2 x 512 values in f16: 20,480 bytes a token
    assert session_bytes(plan.model.cache, plan.settings, 6_500) == pytest.approx(133e6, rel=0.002)


@pytest.mark.parametrize(("tokens", "rate", "seconds"), [(6_500, 93.0, 70), (300, 11.7, 26)])
def test_a_first_token_waits_for_its_prompt(tokens: int, rate: float, seconds: float) -> None:
    made = session(plan_of(), rate, turns=1, system_tokens=0, new_tokens=tokens)
    assert made.longest_wait.value == pytest.approx(seconds, abs=0.5)


def test_a_budget_of_thinking_takes_its_time() -> None:
    # 8,000 tokens at 135 tok/s are 59 s.
    made = session(plan_of(), 1e9, 135.0, turns=1, thinking_tokens=8_000, answer_tokens=0)
    assert made.reasoning.value == pytest.approx(59, abs=0.5)
    assert "8,000 tokens of thinking take 59.3 s" in words(made, "session-thinking")


def test_a_time_out_of_90_s_ends_4000_tokens_at_31_a_second() -> None:
    made = session(plan_of(), 1e9, 31.0, turns=1, answer_tokens=4_000)
    limits = {limit.seconds: limit.whole_turn for limit in made.limits}
    assert limits == {30.0: 1, 60.0: 1, 90.0: 1, 300.0: None, 600.0: None}
    # 4,000 / 31 = 129.03
    assert made.allow.value == pytest.approx(129.0, abs=0.1)
    assert "30 s, 1 min and 1 min 30 s at turn 1" in words(made, "session-time-out")


def test_a_limit_of_the_client_s_own_is_looked_at_as_well() -> None:
    made = session(plan_of(), 1e9, 100.0, turns=1, answer_tokens=2_000, time_limit=15.0)
    assert made.limits[0].seconds == 15.0
    assert made.limits[0].whole_turn == 1


class OnlyTheCeiling:
    """Nobody knows how fast prompts are read; writing goes by the ceiling."""

    at_best = True

    def prefill(self, history: int, new_tokens: int) -> Seconds:
        return None

    def decode(self, depth: int, tokens: int) -> Seconds:
        return steady(tokens, 100.0)

    def load(self) -> Seconds:
        return NO_TIME


def test_rates_that_nobody_knows_leave_tokens_and_no_durations() -> None:
    made = plan_session(plan_of(), SessionChoice(turns=3, answer_tokens=400), OnlyTheCeiling())
    assert [turn.read for turn in made.turns] == [23_000, 3_000, 3_000]
    assert made.total.value is None
    assert "type a rate" in made.total.note
    assert made.writing.value == pytest.approx(12.0)
    assert "At best" in made.writing.note
    assert headline(made) == (
        "3 turns: how long they take is not known; writing alone takes 12 s at best."
    )


def test_the_ceiling_is_what_writing_takes_at_best() -> None:
    # 936 GB/s and 14 GB are 66.9 tok/s, and 8 GB of cache more 42.5.
    curve = (DepthPoint(0, 14 * 10**9, 936 / 14), DepthPoint(262_144, 22 * 10**9, 936 / 22))
    plan = plan_of()
    source = Source(Rank.ESTIMATED, "published runs")
    nobody: Number[float] = Number(None, Unit.TOKENS_PER_SECOND, source)
    speed = replace(plan.speed, curve=curve, expected=Band(nobody, nobody, nobody))
    rates = PlanRates(replace(plan, speed=speed), SessionChoice())
    assert rates.at_best
    start = rates.decode(0, 100)
    end = rates.decode(262_044, 100)
    assert start is not None
    assert end is not None
    assert 100 / start.mid == pytest.approx(66.9, abs=0.1)
    assert 100 / end.mid == pytest.approx(42.5, abs=0.1)


def test_a_session_is_said_in_words() -> None:
    made = session(plan_of(), 1000.0, 50.0, turns=2, pause=10.0, answer_tokens=100)
    # 23 s and 3 s of reading, twice 2 s of writing, 10 s between them.
    assert headline(made) == (
        "2 turns take 40 s, 10 s of it pauses; the longest wait for a first token is 23 s, "
        "at turn 1."
    )
    assert reuse_words(made) == (
        "Without reuse of what was read before it would take 1 min 3 s, 23.1 s more."
    )


class Roughly:
    """Rates that are known to a quarter."""

    at_best = False

    def prefill(self, history: int, new_tokens: int) -> Seconds:
        return Span(new_tokens / 1250, new_tokens / 1000, new_tokens / 800)

    def decode(self, depth: int, tokens: int) -> Seconds:
        return Span(tokens / 62.5, tokens / 50, tokens / 40)

    def load(self) -> Seconds:
        return NO_TIME


def test_what_is_not_known_exactly_is_a_range() -> None:
    choice = SessionChoice(turns=1, system_tokens=0, new_tokens=30_000, answer_tokens=1500)
    made = plan_session(plan_of(), choice, Roughly())
    assert range_words(made) == "Likely between 48 s and 1 min 15 s."
    assert made.allow.value == pytest.approx(75.0)
    # A limit that the slow end hits is worth a word.
    assert {limit.seconds: limit.whole_turn for limit in made.limits}[60.0] == 1
    assert range_words(session(plan_of(), turns=1)) == ""


def test_a_compaction_comes_before_the_context_is_full() -> None:
    plan = plan_of(context=32_768)
    made = session(
        plan, turns=6, system_tokens=10_000, new_tokens=5_000, answer_tokens=0, compact_above=0.8
    )
    # 10,000 + 3 x 5,000 = 25,000 is below 26,214, and 30,000 is not.
    assert made.first(Event.COMPACTION) == 4
    turn = made.turns[3]
    assert (turn.prompt, turn.reused, turn.why) == (17_000, 10_000, Reading.COMPACTED)
    assert turn.compacting is not None
    assert turn.compacting.mid == pytest.approx(2_000 / 50)
    assert made.full_turn is None


def test_thinking_that_is_dropped_is_followed_by_the_answer_read_again() -> None:
    made = session(plan_of(), turns=2, new_tokens=1_000, answer_tokens=300, thinking_tokens=700)
    assert made.turns[1].read == 1_300
    kept = session(
        plan_of(),
        turns=2,
        new_tokens=1_000,
        answer_tokens=300,
        thinking_tokens=700,
        keeps_thinking=True,
    )
    assert kept.turns[1].read == 1_000


def test_a_first_request_that_does_not_fit_is_said_so() -> None:
    made = session(plan_of(context=4096))
    assert (made.turns, made.full_turn, made.total.value) == ((), 1, None)
    assert headline(made) == "Not even the first request fits into the context."


LONG: dict[str, Any] = {"turns": 20, "system_tokens": 1_000, "new_tokens": 1_000}
COMPACTING: dict[str, Any] = {**LONG, "new_tokens": 9_000, "compact_above": 0.8}


@pytest.mark.parametrize(
    ("trained", "asked", "advice"),
    [
        (262_144, LONG, "Reserve a larger context, or let the history be compacted before."),
        (262_144, COMPACTING, "Reserve a larger context."),
        (8192, LONG, "Let the history be compacted before."),
        (8192, COMPACTING, "Send less in one request, or take a model that was trained for more."),
        (None, {**LONG, "system_tokens": 9_000}, "Reserve a larger context."),
    ],
)
def test_what_is_advised_for_a_full_context_can_be_done(
    trained: int | None, asked: dict[str, Any], advice: str
) -> None:
    """More than the model was trained for cannot be reserved, what is compacted already cannot be
    told to be, and before the first turn there is no history."""
    plan = plan_of(context=8192)
    shape = replace(plan.model.shape, context_length=trained)
    plan = replace(plan, model=replace(plan.model, shape=shape))
    assert words(session(plan, **asked), "session-full").endswith(advice)


def test_a04_loading_19_gb_at_2_gb_a_second_takes_9_5_s() -> None:
    plan = plan_of()
    plan = replace(plan, weights=replace(plan.weights, bytes=19 * 10**9, file_bytes=None))
    load = PlanRates(plan, SessionChoice(disk_rate=2e9)).load()
    assert load is not None
    assert load.mid == pytest.approx(9.5)


def test_the_turn_at_which_memory_spills_is_said() -> None:
    # 262,144 tokens of Qwen3.6-27B are 16 GiB of cache beside 15.6 GiB of weights: too much for
    # 24 GiB, which hold some 100,000.
    path = next(p for p in specimens() if p.name.startswith("Qwen3.6-27B"))
    card = combine(catalogue.machine("nvidia-geforce-rtx-3090"), custom(64 * GIB, 50e9, gpu=False))
    model, choice = model_from(open_file(path)), Choice(context=262_144, slots=1)
    made = session(resolve(model, card, choice), **{**A01, "turns": 60})
    turn = made.first(Event.SPILL)
    assert turn is not None
    assert turn > 1
    assert "does not load it at all" in words(made, "session-spill")
    fits = largest_contexts(model, card, choice, (("f16", "f16"),))[0].most
    assert fits is not None
    assert made.turns[turn - 2].fill <= fits < made.turns[turn - 1].fill


def test_saved_prompts_that_take_more_than_the_free_ram_are_said() -> None:
    small = custom(8 * GIB, 50e9, gpu=False)
    plan = plan_of(machine=small, context=262_144)
    made = session(
        plan, turns=40, system_tokens=20_000, new_tokens=5_000, answer_tokens=0, side_requests=1
    )
    assert made.first(Event.RAM) is not None
    assert "--cache-ram or --ctx-checkpoints" in words(made, "session-ram")
