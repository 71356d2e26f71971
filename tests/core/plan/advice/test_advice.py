"""Advice keeps its promises: whoever takes it sees the very figures that it named."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.machine import Machine, combine, custom
from core.machine.machine import Backend
from core.model import model_from, recipe_sizes
from core.model.model import Model
from core.plan import largest_contexts, resolve
from core.plan.advice import Advice, Aim, find_advice, gain, largest, ranked, starts
from core.plan.advice.advice import paces
from core.plan.choice import CUDA_ATTENDS, Choice, Engine, FlashAttention
from core.plan.plan import Plan, Verdict
from core.problems import Problem, Severity
from core.units import UnitSystem
from tests.support.memory import file_of
from tests.support.specimen_plans import on_a_3090, specimen_plan

GIB = 2**30
RAM = custom(64 * GIB, 51.2e9, gpu=False)
UNIFIED = custom(64 * GIB, 136e9, backend=Backend.VULKAN, unified=True)


@cache
def specimen(word: str) -> Model:
    return specimen_plan(word).model


def card(gib: int, ram: int = 64, backend: Backend = Backend.CUDA) -> Machine:
    """A graphics card in a computer."""
    host = custom(ram * GIB, 51.2e9, gpu=False)
    return combine(custom(gib * GIB, 448e9, backend=backend), host)


def advice_for(plan: Plan, aim: Aim = Aim.FIT) -> list[Advice]:
    """As it is shown."""

    def attempt(machine: Machine, choice: Choice) -> Plan:
        return resolve(plan.model, machine, choice)

    found = [each for each in find_advice(plan, aim, attempt) if each is not None]
    return ranked(found, plan, aim)


def plan_of(word: str, machine: Machine, **choice: Any) -> Plan:
    return resolve(specimen(word), machine, Choice(**choice))


def by_field(found: list[Advice]) -> dict[str, Advice]:
    return {next(iter(each.changes), "machine"): each for each in found}


def taken(plan: Plan, advice: Advice) -> Plan:
    """What the plan is once it is taken."""
    machine = advice.machine or plan.machine
    return resolve(plan.model, machine, replace(plan.choice, **advice.changes))


def ended(search: Generator[None, None, int | None]) -> int | None:
    while True:
        try:
            next(search)
        except StopIteration as end:
            answer: int | None = end.value
            return answer


def test_the_largest_good_number_is_found() -> None:
    for limit in range(40):
        asked: list[int] = []

        def good(n: int, limit: int = limit, asked: list[int] = asked) -> bool:
            asked.append(n)
            return n <= limit

        assert ended(largest(1, 32, good)) == (min(limit, 32) if limit >= 1 else None)
        assert len(asked) <= 7
    assert ended(largest(5, 4, lambda n: True)) is None


@settings(max_examples=25, deadline=None)
@given(
    word=st.sampled_from(["Llama-3.1-8B", "Qwen3-30B-A3B", "Qwen3.6-27B", "gpt-oss-20b"]),
    machine=st.sampled_from([card(4), card(8), card(16), card(24), RAM, UNIFIED, card(8, 16)]),
    aim=st.sampled_from(Aim),
    context=st.sampled_from([2048, 16_384, 65_536, 131_072]),
    layers=st.sampled_from(["all", 0, 10]),
    cpu_moe=st.sampled_from([0, 20]),
    cache_type=st.sampled_from(["f16", "q8_0"]),
    backend=st.sampled_from([None, "cpu"]),
)
def test_what_is_promised_is_what_the_plan_then_says(
    word: str, machine: Machine, aim: Aim, context: int, layers: Any, cpu_moe: int,
    cache_type: str, backend: str | None,
) -> None:  # fmt: skip
    plan = plan_of(
        word, machine, context=context, gpu_layers=layers, cpu_moe=cpu_moe, cache_k=cache_type,
        cache_v=cache_type, backend=backend,
    )  # fmt: skip
    found = advice_for(plan, aim)
    assert len({each.words for each in found}) == len(found)
    for each in found:
        after = taken(plan, each)
        assert after == each.plan
        assert starts(after)
        assert gain(each, plan, aim)
        if aim is Aim.ROOM:
            assert after.verdict is Verdict.FITS
        if aim is Aim.SPEED:
            old, new = paces(plan, after)
            sooner = (after.speed.ttft.value or 0) < (plan.speed.ttft.value or 0)
            assert old and new and (sooner or new >= 1.03 * old)
    if any(each.machine is None for each in found) and aim is Aim.FIT:
        assert all(each.machine is None for each in found)


def test_the_search_gives_way_before_every_trial_so_that_no_slider_waits_for_it() -> None:
    plan = plan_of("Qwen3-30B-A3B", card(16), context=131_072)
    tried = most = before = 0

    def attempt(machine: Machine, choice: Choice) -> Plan:
        nonlocal tried
        tried += 1
        return resolve(plan.model, machine, choice)

    for each in find_advice(plan, Aim.FIT, attempt):
        if each is None:
            most, before = max(most, tried - before), tried
    assert tried > 10
    assert most <= 2  # the last question of a search, and the plan of its answer


def test_one_step_more_than_advised_does_not_fit() -> None:
    plan = plan_of("Llama-3.1-8B", card(8), context=65_536)
    found = by_field(advice_for(plan))

    def fits(**changes: Any) -> bool:
        return starts(resolve(plan.model, plan.machine, replace(plan.choice, **changes)))

    assert not fits(gpu_layers=found["gpu_layers"].changes["gpu_layers"] + 1)
    plan = plan_of("Qwen3-30B-A3B", card(16), context=32_768)
    kept = by_field(advice_for(plan))["cpu_moe"].changes["cpu_moe"]
    assert not fits(cpu_moe=kept - 1)


@pytest.mark.parametrize("cache", ["f16", "q8_0"])
@pytest.mark.parametrize(
    ("word", "machine", "context"),
    [
        ("Llama-3.1-8B", card(8), 65_536),
        ("Llama-3.1-8B", card(8), 131_072),
        ("Qwen3-30B-A3B", card(24), 131_072),
        ("gpt-oss-20b", card(12), 131_072),
        ("Llama-3.1-8B", custom(16 * GIB, 100e9, unified=True), 131_072),
    ],
)
def test_the_context_advised_is_the_one_that_the_plan_offers_and_one_step_more_is_worse(
    word: str, machine: Machine, context: int, cache: str
) -> None:
    """ "context 30,720" was advised where "Context up to f16 30,976" stood above it."""
    plan = plan_of(word, machine, context=context, cache_k=cache, cache_v=cache)
    (offered,) = largest_contexts(plan.model, plan.machine, plan.choice, ((cache, cache),))
    advised = by_field(advice_for(plan)).get("context")
    wanted = offered.offered if plan.verdict is Verdict.DOES_NOT_FIT else None
    assert (advised and advised.changes["context"]) == wanted
    if advised and wanted:
        assert advised.words == f"context {wanted:,}"
        more = resolve(plan.model, plan.machine, replace(plan.choice, context=wanted + 256))
        assert advised.plan.verdict is not Verdict.DOES_NOT_FIT
        assert more.verdict is not advised.plan.verdict


def test_a_context_too_small_to_be_used_is_not_advised() -> None:
    """Gemma 3 27B fits a card of 16 GB with 256 tokens; it was the first thing to be advised."""
    found = advice_for(plan_of("Gemma-3-27B", card(16), context=16_384))
    assert found and not any("context" in each.changes for each in found)


def test_fewer_tokens_to_read_are_not_counted_as_speed() -> None:
    """Seven eighths of the context gone made the first token come sooner and writing faster, which
    outweighed all that was lost."""
    found = advice_for(plan_of("Qwen3.6-27B", card(16), context=32_768))
    fields = [next(iter(each.changes)) for each in found]
    advised = found[fields.index("context")]
    assert advised.plan.settings.context < 32_768 / 4
    assert fields.index("context") > fields.index("requantize")
    assert fields.index("context") > fields.index("gpu_layers")


def test_the_next_larger_quantization_than_advised_does_not_fit() -> None:
    plan = plan_of("Llama-3.1-8B", card(5), context=8192)
    name = by_field(advice_for(plan))["requantize"].changes["requantize"]
    sizes = [s for s in recipe_sizes(plan.model) if s.ftype not in ("TQ1_0", "TQ2_0", "MXFP4_MOE")]
    at = next(i for i, size in enumerate(sizes) if size.ftype == name)
    assert sizes[at].bytes < plan.weights.bytes
    larger = sizes[at - 1]
    if larger.bytes < plan.weights.bytes:
        assert not starts(plan_of("Llama-3.1-8B", card(5), context=8192, requantize=larger.ftype))


def test_u20_a_model_that_nobody_can_judge_gets_no_advice() -> None:
    """U20: "estimate unavailable" was followed by "not enough resources"."""
    keys = {"general.architecture": "never-heard-of", "never-heard-of.block_count": 4}
    plan = resolve(model_from(file_of(keys)), card(8), Choice())
    assert plan.verdict is Verdict.UNKNOWN
    for aim in Aim:
        assert advice_for(plan, aim) == []


def test_u20_a_card_of_1_gib_is_not_chosen_over_32_gib_of_ram() -> None:
    """U20: CPU only and a split are both there, each with its ceiling."""
    plan = plan_of("Llama-3.2-1B", card(1, ram=32), context=16_384)
    assert plan.verdict is Verdict.DOES_NOT_FIT
    found = by_field(advice_for(plan))
    alone = found["backend"]
    assert alone.changes["backend"] == "cpu"
    assert alone.plan.verdict is Verdict.FITS
    # 51.2 GB/s over what a token reads there.
    read = alone.plan.speed.bytes_per_token.value or 1
    assert alone.plan.speed.ceiling.value == pytest.approx(51.2e9 / read)
    assert "tok/s" in gain(alone, plan, Aim.FIT)


def test_u20_a_13b_on_8_gib_beside_32_gib_is_offered_a_split_and_the_processor() -> None:
    """U20: advice went by the card's memory only, although RAM would have done."""
    plan = plan_of("Qwen3.6-27B", card(8, ram=32), context=8192)
    found = by_field(advice_for(plan))
    split, alone = found["gpu_layers"], found["backend"]
    assert split.plan.verdict is not Verdict.DOES_NOT_FIT
    assert (split.plan.speed.ceiling.value or 0) > (alone.plan.speed.ceiling.value or 0)
    words = [each.words for each in advice_for(plan)]
    assert words.index(split.words) < words.index(alone.words)


def test_s02_no_advice_has_a_cache_type_without_a_kernel_or_two_that_differ() -> None:
    """S02: such a pick runs attention on the processor, 8 to 30 times slower prefill."""
    for aim, plan in (
        (Aim.FIT, plan_of("Llama-3.1-8B", card(8), context=65_536)),
        (Aim.FIT, plan_of("Llama-3.1-8B", card(8), context=65_536, cache_k="q5_1")),
        (Aim.SPEED, plan_of("Llama-3.1-8B", card(8), context=65_536, gpu_layers=10)),
    ):
        for each in advice_for(plan, aim):
            if "cache_k" in each.changes:
                kind = each.changes["cache_k"]
                assert kind == each.changes["cache_v"]
                assert kind in CUDA_ATTENDS - {"q4_1", "q5_0", "q5_1"}


def test_a_smaller_cache_is_never_advised_for_speed_alone() -> None:
    """Quantized caches promise memory, not speed: published slopes fall to a fifth on CUDA."""
    plan = plan_of("Llama-3.1-8B", card(24), context=131_072)
    assert all("cache_k" not in each.changes for each in advice_for(plan, Aim.SPEED))


def test_s09_on_shared_memory_no_split_is_advised() -> None:
    """S09: partial offload ran at half of the processor alone on an Arc 140T."""
    for options in ({}, {"gpu_layers": 10}, {"cpu_moe": 20}, {"backend": "cpu"}):
        plan = plan_of("Qwen3-30B-A3B", UNIFIED, **options)
        for aim in Aim:
            for each in advice_for(plan, aim):
                assert each.changes.get("cpu_moe", 0) == 0
                assert each.changes.get("gpu_layers", "all") == "all"


def test_s09_a_split_of_shared_memory_is_said_to_bring_nothing() -> None:
    def codes(machine: Machine, **options: Any) -> list[str]:
        return [p.code for p in plan_of("Qwen3-30B-A3B", machine, **options).problems]

    assert "one-memory" in codes(UNIFIED, cpu_moe=10)
    assert "one-memory" in codes(UNIFIED, gpu_layers=10)
    assert "one-memory" not in codes(UNIFIED)
    assert "one-memory" not in codes(UNIFIED, backend="cpu", cpu_moe=10)
    assert "one-memory" not in codes(card(24), cpu_moe=10)
    split = plan_of("Qwen3-30B-A3B", UNIFIED, cpu_moe=10).speed.ceiling.value
    assert split == plan_of("Qwen3-30B-A3B", UNIFIED).speed.ceiling.value


def test_s14_experts_in_ram_are_copied_fewer_times_in_larger_pieces() -> None:
    """S14: copying experts over PCI Express took 23 s of a prompt that the processor reads in 3."""
    plan = resolve(specimen("gpt-oss-120b"), on_a_3090(), Choice(cpu_moe=30))
    pieces = next(each for each in advice_for(plan, Aim.SPEED) if "ubatch" in each.changes)
    assert pieces.changes["ubatch"] == 2048
    assert (pieces.plan.speed.ttft.value or 0) < (plan.speed.ttft.value or 0)
    assert gain(pieces, plan, Aim.SPEED).startswith("first token after")


@pytest.mark.parametrize("machine", [card(24, backend=Backend.ROCM), RAM, UNIFIED])
def test_s10_slow_formats_of_few_bits_are_not_advised_for_speed(machine: Machine) -> None:
    """S10: IQ3_M ran 10 tok/s where the larger IQ4_XS ran 15 on a Radeon."""
    plan = plan_of("Llama-3.1-8B", machine)
    for each in advice_for(plan, Aim.SPEED):
        assert not str(each.changes.get("requantize", "")).startswith(("IQ1", "IQ2", "IQ3"))


def test_s10_where_only_such_a_format_fits_its_slowness_is_said() -> None:
    plan = plan_of("Qwen3.6-27B", custom(9 * GIB, 448e9), context=2048)
    for each in advice_for(plan):
        if str(each.changes.get("requantize", "")).startswith(("IQ1", "IQ2", "IQ3")):
            assert "slower than its ceiling" in each.cost


def test_nothing_is_bought_where_a_setting_does_it() -> None:
    """And where none does, the smallest size that would is named."""
    plan = plan_of("Llama-3.1-8B", card(8), context=65_536)
    assert all(each.machine is None for each in advice_for(plan))
    small = plan_of("Llama-3.3-70B", custom(GIB, 10e9, gpu=False), context=4096)
    found = advice_for(small)
    assert [each.words for each in found] == ["48 GiB of RAM"]
    assert found[0].machine is not None
    without = custom(32 * GIB, 10e9, gpu=False)
    assert not starts(resolve(small.model, without, small.choice))


def test_a_single_memory_module_is_worth_a_second_one_where_ram_is_read() -> None:
    """A common mistake of laptops: 25.6 GB/s instead of 51.2."""
    problem = Problem("single_memory_module", "Only one.", Severity.WARNING)
    one = replace(custom(32 * GIB, 25.6e9, gpu=False), problems=(problem,))
    plan = plan_of("Llama-3.2-1B", one, requantize="Q3_K_S")
    (module,) = [each for each in advice_for(plan, Aim.SPEED) if each.machine is not None]
    assert module.words == "a second memory module"
    assert module.plan.speed.ceiling.value == pytest.approx(2 * (plan.speed.ceiling.value or 0))


def test_layers_in_ram_are_brought_back_to_the_card_that_holds_them() -> None:
    plan = plan_of("Llama-3.1-8B", card(16), gpu_layers=10)
    best = advice_for(plan, Aim.SPEED)[0]
    assert best.changes == {"gpu_layers": "all"}
    assert best.cost == ""
    plan = plan_of("Llama-3.1-8B", card(16), backend="cpu")
    assert advice_for(plan, Aim.SPEED)[0].changes["backend"] is None
    plan = plan_of("Qwen3-30B-A3B", card(24), cpu_moe=48)
    best = advice_for(plan, Aim.SPEED)[0]
    assert best.changes["cpu_moe"] < 48
    # A mixture of which layers lie in RAM is better split by its experts.
    plan = plan_of("Qwen3-30B-A3B", card(12), gpu_layers=20)
    experts = by_field(advice_for(plan, Aim.SPEED))["cpu_moe"]
    assert experts.changes["gpu_layers"] == "all"
    assert "the rest on the GPU" in experts.words


def test_what_is_tight_is_given_room() -> None:
    plan = plan_of("Qwen3.6-27B", card(24), context=120_000)
    assert plan.verdict is Verdict.TIGHT
    found = advice_for(plan, Aim.ROOM)
    assert {"context", "cache_k"} <= set(by_field(found))
    assert advice_for(plan, Aim.FIT) == []


def test_a_choice_that_the_engine_refuses_is_led_back() -> None:
    plan = plan_of("Llama-3.1-8B", card(24), cache_v="q8_0", flash_attention=FlashAttention.OFF)
    assert plan.verdict is Verdict.FITS and not starts(plan)
    changes = [each.changes for each in advice_for(plan)]
    assert {"flash_attention": FlashAttention.AUTO} in changes
    assert {"cache_k": "f16", "cache_v": "f16"} in changes


def test_a_cache_type_that_the_engine_does_not_have_is_led_back() -> None:
    plan = plan_of("Llama-3.1-8B", card(24), cache_k="q8_0", cache_v="q8_0", engine=Engine.VLLM)
    assert not starts(plan)
    assert advice_for(plan)[0].changes == {"cache_k": "f16", "cache_v": "f16"}


def test_layers_are_not_moved_to_a_host_that_cannot_hold_them_or_is_of_unknown_size() -> None:
    for machine in (card(4, ram=1), custom(4 * GIB, 448e9)):
        found = by_field(advice_for(plan_of("Llama-3.1-8B", machine, context=8192)))
        assert not {"gpu_layers", "backend"} & set(found)


def test_the_units_are_the_reader_s() -> None:
    plan = plan_of("Llama-3.1-8B", card(8), context=65_536)
    first = advice_for(plan)[0]
    assert "GiB free" in gain(first, plan, Aim.FIT, UnitSystem.GIB)
    assert "GB free" in gain(first, plan, Aim.FIT, UnitSystem.GB)
