"""Several tokens in one pass: speculation and several users, held against worked figures."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine import Machine, custom
from core.machine.machine import unknown_bandwidth
from core.model.model import Role
from core.plan import resolve
from core.plan.batching import Batches
from core.plan.choice import Choice
from core.plan.passes import Passes, woken
from core.plan.plan import Plan
from core.plan.speculation import Drafter, Speculator, expected_tokens
from core.plan.speed.anatomy import Anatomy
from core.provenance import Number, Rank, Source, Unit
from tests.support.specimen_plans import on_a_3090, specimen_plan

GIB = 2**30


@cache
def plan(word: str) -> Plan:
    return specimen_plan(word)


def h100() -> Machine:
    """By its data sheet: 990 TFLOP/s in half precision, 3.35 TB/s."""
    machine = custom(80 * GIB, 3.35e12)
    flops = Number(990e12, Unit.FLOPS, Source(Rank.DATASHEET, "NVIDIA"))
    return replace(machine, devices=(replace(machine.devices[0], flops=flops), machine.devices[1]))


def test_a_round_of_4_drafted_at_an_acceptance_of_0_7_yields_2_77_tokens() -> None:
    assert expected_tokens(0.7, 4) == pytest.approx(2.77, abs=0.005)
    assert expected_tokens(0.0, 4) == 1
    assert expected_tokens(1.0, 4) == 5


@given(st.floats(0, 1), st.integers(0, 16))
def test_a_round_yields_the_sum_of_the_chances_that_each_token_is_reached(
    acceptance: float, drafted: int
) -> None:
    summed = sum(acceptance**n for n in range(drafted + 1))
    assert expected_tokens(acceptance, drafted) == pytest.approx(summed)


def test_five_tokens_of_a_mixture_wake_37_6_of_256_experts() -> None:
    """E x (1 - (1 - k/E)^(g+1)), 8 of 256 experts and 4 drafted tokens."""
    assert 256 * woken(8 / 256, 5) == pytest.approx(37.6, abs=0.1)
    assert 256 * woken(8 / 256, 1) == pytest.approx(8)
    assert woken(1.0, 3) == 1


@pytest.mark.parametrize(
    ("recipe", "bytes_per_weight", "balance"), [("F16", 2, 295), (None, 0.5, 74)]
)
def test_the_balance_point_of_an_h100_is_295_requests_and_74_at_half_a_byte(
    recipe: str | None, bytes_per_weight: float, balance: int
) -> None:
    made = resolve(plan("Llama-3.1-8B").model, h100(), Choice(requantize=recipe, context=512))
    per_weight = made.weights.read_per_token / made.weights.active_parameters
    turning = Batches(made).turning_point(512, 0)
    assert turning is not None
    # The file has 4.9 bits a weight and no half byte: the figure is that of its own bytes.
    assert turning == pytest.approx(balance * per_weight / bytes_per_weight, rel=0.01)
    told = Anatomy(made).sides(0).balance.value
    assert told == pytest.approx(turning, abs=1)


@pytest.mark.parametrize("word", ["Llama-3.1-8B", "Qwen3.6-35B-A3B", "gpt-oss-20b", "LFM2"])
def test_one_token_of_one_request_takes_the_time_of_the_ceiling(word: str) -> None:
    made = plan(word)
    assert 1 / Passes(made).seconds(1) == pytest.approx(made.speed.ceiling.value or 0, rel=1e-6)
    split = resolve(made.model, on_a_3090(), Choice(gpu_layers=5))
    assert 1 / Passes(split).seconds(1) == pytest.approx(split.speed.ceiling.value or 0, rel=1e-6)


@given(
    word=st.sampled_from(["Llama-3.1-8B", "Qwen3.6-35B-A3B", "Qwen3.6-27B"]),
    users=st.integers(1, 200),
    depth=st.integers(0, 16_384),
)
def test_more_users_are_slower_each_and_faster_together(word: str, users: int, depth: int) -> None:
    batches = Batches(plan(word))
    now, more = batches.at(users, depth), batches.at(users + 1, depth)
    assert more.each <= now.each * (1 + 1e-9)
    assert more.total >= now.total * (1 - 1e-9)
    assert now.total <= users * batches.at(1, depth).each * (1 + 1e-9)
    assert batches.at(users, depth + 500).total <= now.total


def test_users_share_weights_and_not_caches() -> None:
    """A token reads 5.6 GB of weights and 2.1 GB of a full cache: two users read 5.6 + 4.3."""
    made = plan("Llama-3.1-8B")
    read = made.weights.read_per_token
    total = made.speed.bytes_per_token.value or 0
    two = Batches(made).at(2)
    assert 1 / two.each == pytest.approx((read + 2 * (total - read)) / 936e9, rel=0.01)


def test_drafting_without_a_model_costs_nothing_but_the_check() -> None:
    made = Speculator(plan("Llama-3.1-8B"), Drafter.NGRAM)
    found = made.speculate(0.7, 4)
    assert found.round.draft == 0
    # Dense and far below the balance point: the check reads what a token reads.
    assert found.round.times == pytest.approx(2.77, abs=0.01)
    assert found.pays_above == 0
    assert made.speculate(0.0, 4).round.times == pytest.approx(1)


def test_of_a_mixture_the_check_reads_the_union_of_the_experts() -> None:
    made = plan("Qwen3.6-35B-A3B")
    experts = sum(b.read_bytes for b in made.weights.blocks if b.role is Role.EXPERTS)
    total = made.speed.bytes_per_token.value or 0
    union = experts * woken(8 / 256, 5) / (8 / 256)
    seconds = Passes(made).seconds(5)
    assert seconds == pytest.approx((total - experts + union) / 936e9, rel=0.01)
    found = Speculator(made, Drafter.NGRAM).speculate(0.3, 4)
    assert not found.pays
    assert found.best.drafted < 4


def test_the_file_s_own_block_reads_itself_its_experts_and_the_head() -> None:
    """MTP of Qwen3.6-35B-A3B: 547 MB of block, of which 8 of 256 experts, and the head."""
    made = Speculator(plan("Qwen3.6-35B-A3B"), Drafter.HEAD)
    head = sum(b.read_bytes for b in plan("Qwen3.6-35B-A3B").weights.blocks if b.role is Role.HEAD)
    assert made.draft_bytes is not None
    assert head < made.draft_bytes < head + 546_703_360 / 4
    assert "no blocks" in Speculator(plan("Llama-3.1-8B"), Drafter.HEAD).note


def test_a_draft_model_reads_its_weights_and_its_cache() -> None:
    draft = plan("Llama-3.2-1B").model
    made = resolve(plan("Llama-3.1-8B").model, on_a_3090(), Choice(draft=draft, context=8192))
    found = Speculator(made, Drafter.MODEL)
    # 16 layers x 8 heads x 64 x 2 x 2 bytes = 32 KiB a token, as its model card's shape says.
    assert found.draft_bytes == draft.weights.read_per_token + 8192 * 32 * 1024
    assert found.known
    assert "attached" in Speculator(plan("Llama-3.1-8B"), Drafter.MODEL).note


@given(
    word=st.sampled_from(["Llama-3.1-8B", "Qwen3.6-35B-A3B", "Qwen3.6-27B"]),
    drafted=st.integers(1, 16),
    size=st.integers(0, 5 * 10**9),
    acceptance=st.floats(0, 1),
)
def test_above_the_acceptance_that_is_named_it_pays_and_below_it_does_not(
    word: str, drafted: int, size: int, acceptance: float
) -> None:
    made = Speculator(plan(word), Drafter.MODEL, size)
    edge = made.pays_above(drafted)
    times = made.round(acceptance, drafted).times
    if edge is None:
        assert times <= 1
    elif abs(acceptance - edge) > 1e-6:
        assert (times > 1) == (acceptance > edge) or times == pytest.approx(1)
    best = made.best(acceptance)
    assert best.times >= max(times, 1) - 1e-9
    assert made.round(min(1.0, acceptance + 0.1), drafted).times >= times


def test_where_a_bandwidth_is_not_known_nothing_is_told() -> None:
    machine = custom(24 * GIB, 936e9)
    gpu = replace(machine.devices[0], bandwidth=unknown_bandwidth("driver", "It does not say."))
    made = resolve(
        plan("Llama-3.1-8B").model, replace(machine, devices=(gpu, machine.devices[1])), Choice()
    )
    assert not Speculator(made, Drafter.NGRAM).known
    assert Speculator(made, Drafter.NGRAM).note
    assert not Batches(made).known
    plain = Batches(resolve(made.model, machine, Choice()))
    assert plain.known
    assert "only bytes count" in plain.note
    assert plain.turning_point(256) is None
