"""One token taken apart, and what it costs where a driver spills."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.machine import Machine, catalogue, combine, custom, with_ram
from core.machine.link import Link
from core.model import model_from
from core.model.model import Role
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.speed.anatomy import Anatomy, PartOfToken
from core.plan.speed.spill import cliff, spill, spilled_seconds
from core.provenance import Number, Rank, Source, Unit
from tests.core.plan.test_expectation import MACHINES, WORDS, machine, specimen
from tests.support.memory import file_of

GIB = 2**30
SAID = Source(Rank.REPORTED, "test")


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(WORDS), st.sampled_from(MACHINES), st.integers(0, 32_768))
def test_the_parts_of_a_token_add_up_at_any_depth(word: str, id: str, depth: int) -> None:
    plan = resolve(specimen(word), machine(id), Choice(context=32_768, depth=depth))
    shares = Anatomy(plan).shares(depth)
    assert sum(share.bytes for share in shares) == plan.speed.bytes_per_token.value
    assert all(share.bytes > 0 for share in shares)


def test_a_hybrid_mixture_shows_experts_state_and_the_cache_of_ten_layers() -> None:
    # Qwen3.6-35B-A3B: 20,480 B of cache for a token, 65,863,680 B of state, moved twice.
    plan = resolve(specimen("Qwen3.6-35B"), machine("nvidia-geforce-rtx-3090"), Choice())
    shares = {share.part: share.bytes for share in Anatomy(plan).shares(16_384)}
    assert shares[PartOfToken.CACHE] == 335_544_320
    assert shares[PartOfToken.STATE] == 2 * 65_863_680
    assert shares[PartOfToken.EXPERTS] > shares[PartOfToken.HEAD] > 0


def test_kinds_of_cache_are_told_apart() -> None:
    plan = resolve(specimen("Gemma-3-27B"), machine("nvidia-geforce-rtx-3090"), Choice())
    caches = [s for s in Anatomy(plan).shares(16_384) if s.part is PartOfToken.CACHE]
    row = 2 * 2 * 16 * 128
    assert sorted(s.bytes for s in caches) == [row * 52 * 1024, row * 10 * 16_384]
    assert len({s.name for s in caches}) == 2


def test_the_balance_point_of_an_h100_is_295_tokens_at_16_bits_and_74_at_half_a_byte() -> None:
    base = custom(10**13, 3.35e12, backend=catalogue.machine(MACHINES[0]).devices[0].backend)
    flops = Number(990e12, Unit.FLOPS, SAID)
    h100 = replace(base, devices=(replace(base.devices[0], flops=flops), *base.devices[1:]))
    for type_name, expected, rest in (("F16", 295, 1.0), ("Q4_0", 74, 4.5 / 4)):
        keys = {"general.architecture": "llama", "llama.block_count": 1}
        keys |= {"llama.embedding_length": 32, "llama.attention.head_count": 1}
        model = model_from(file_of(keys, [("blk.0.ffn_up.weight", (32, 10_000_000), type_name)]))
        sides = Anatomy(resolve(model, h100, Choice())).sides(0)
        assert sides.balance.value == pytest.approx(expected * rest, abs=1.5)
        assert sides.memory_binds


def test_the_arithmetic_of_a_token_is_twice_its_parameters_over_the_peak() -> None:
    plan = resolve(specimen("Llama-3.1-8B"), machine("nvidia-geforce-rtx-3090"), Choice())
    sides = Anatomy(plan).sides(0)
    flops = plan.machine.devices[0].flops.value
    assert flops is not None and sides.arithmetic.value is not None
    assert sides.arithmetic.value == pytest.approx(2 * plan.weights.active_parameters / flops)
    deeper = Anatomy(plan).sides(16_384).arithmetic.value
    assert deeper is not None and deeper > sides.arithmetic.value
    assert sides.memory.value is not None
    chosen = Anatomy(plan).sides(plan.settings.depth).memory.value
    assert chosen == pytest.approx(1 / (plan.speed.ceiling.value or 1))


def test_without_a_rate_of_arithmetic_that_side_is_unknown() -> None:
    plan = resolve(specimen("Llama-3.1-8B"), custom(24 * GIB, 936e9), Choice())
    sides = Anatomy(plan).sides(0)
    assert sides.arithmetic.value is None and sides.arithmetic.note
    assert sides.balance.value is None and sides.balance.note
    assert sides.memory_binds is None
    assert sides.memory.value is not None


def narrow(rate: float) -> Machine:
    """An RTX 3090 behind a link of so many bytes per second."""
    made = with_ram(catalogue.machine("nvidia-geforce-rtx-3090"), 64 * GIB)
    link = Link(Number(rate, Unit.BYTES_PER_SECOND, SAID))
    return replace(made, devices=(replace(made.devices[0], link=link), *made.devices[1:]))


def test_half_a_gigabyte_over_pcie_4_costs_16_ms_a_token() -> None:
    assert spilled_seconds(500_000_000, 31.5e9, 1e15) == pytest.approx(0.016, abs=0.0002)


def test_s04_a_spilling_plan_is_slower_by_what_is_spilled() -> None:
    plan = resolve(specimen("Gemma-3-27B"), narrow(31.5e9), Choice(context=131_072, slots=1))
    free = plan.memory.devices[0].free.value
    assert free is not None and free < 0
    found = spill(plan)
    assert found is not None
    assert found.bytes.value == -free
    # A dense model at the end of its context: a token reads nearly all that lies on the card.
    assert found.seconds.value == pytest.approx(spilled_seconds(-free, 31.5e9, 936.2e9), rel=0.1)
    assert found.tok_s.value is not None and plan.speed.ceiling.value is not None
    assert found.tok_s.value < plan.speed.ceiling.value
    assert 1 / found.tok_s.value - 1 / plan.speed.ceiling.value == pytest.approx(
        found.seconds.value
    )


def test_what_a_mixture_spills_is_mostly_not_read() -> None:
    plan = resolve(specimen("gpt-oss-120b"), narrow(31.5e9), Choice(context=8192, slots=1))
    found = spill(plan)
    assert found is not None and found.bytes.value is not None and found.seconds.value is not None
    whole = spilled_seconds(found.bytes.value, 31.5e9, 936.2e9)
    read, held = plan.speed.bytes_per_token.value, plan.weights.bytes
    assert read is not None
    assert found.seconds.value == pytest.approx(whole * read / held, rel=0.15)


def test_s04_the_cliff_begins_where_the_context_no_longer_fits() -> None:
    model, card = specimen("Gemma-3-27B"), narrow(31.5e9)
    plan = resolve(model, card, Choice(context=4096, slots=1))
    whole = resolve(model, card, Choice(context=131_072, depth=0, slots=1))
    assert plan.memory.devices[0].free.value is not None
    assert plan.memory.devices[0].free.value > 0
    points = cliff(plan, whole)
    assert points
    first = points[0].depth
    before = resolve(model, card, Choice(context=int(0.95 * first), slots=1))
    after = resolve(model, card, Choice(context=int(1.05 * first), slots=1))
    assert (
        (before.memory.devices[0].free.value or 0) > 0 > (after.memory.devices[0].free.value or 0)
    )
    ceilings = {point.depth: point.tok_s for point in whole.speed.curve}
    for point in points:
        ceiling = ceilings[point.depth]
        assert point.tok_s is not None and ceiling is not None and point.tok_s < ceiling
    # It is a cliff: the next GB costs more than a GB of cache does on the card.
    last = points[-1]
    assert last.tok_s is not None and last.tok_s < 0.5 * (ceilings[last.depth] or 0.0)


def test_nothing_spills_where_it_fits_or_where_memory_is_ram_anyway() -> None:
    model = specimen("Gemma-3-27B")
    card = narrow(31.5e9)
    assert spill(resolve(model, card, Choice(context=4096, slots=1))) is None
    shared = machine("apple-m2-ultra-76-core-gpu")
    plan = resolve(model, shared, Choice(context=131_072))
    assert spill(plan) is None and cliff(plan, plan) == ()
    unknown = combine(custom(16 * GIB, 936e9), custom(64 * GIB, 60e9, gpu=False))
    assert spill(resolve(model, unknown, Choice(context=131_072))) is None


def test_a_part_names_the_roles_that_the_overview_tells_apart() -> None:
    plan = resolve(specimen("Qwen3.6-35B"), machine("nvidia-geforce-rtx-3090"), Choice())
    shares = {share.part: share for share in Anatomy(plan).shares(0)}
    assert shares[PartOfToken.EXPERTS].holds == (Role.EXPERTS, Role.SHARED_EXPERTS)
    assert shares[PartOfToken.ATTENTION].holds == (Role.ATTENTION, Role.RECURRENT)
    assert shares[PartOfToken.HEAD].holds == ()
