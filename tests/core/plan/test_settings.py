"""Every option as the engine resolves it, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Backend, Machine, combine, custom
from core.model import model_from
from core.model.model import Model
from core.plan import default_context, resolve
from core.plan.choice import CACHE_TYPES, Choice, Engine, FlashAttention
from core.plan.engines import RULES
from core.plan.plan import Plan, Settings, Verdict
from resources import specimens
from tests.support import memory
from tests.support.heads import heads
from tests.support.memory import file_of

GIB = 2**30
KIB = 2**10
HOST = custom(64 * GIB, 51.2e9, gpu=False)
GPU = custom(24 * GIB, 936e9, backend=Backend.CUDA)


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.fixture(scope="module")
def llama() -> Model:
    return specimen("Llama-3.1-8B")


def settings(model: Model, machine: Machine = HOST, **options: Any) -> Settings:
    return resolve(model, machine, Choice(**options)).settings


def codes(plan: Plan) -> list[str]:
    return [problem.code for problem in plan.problems]


@pytest.mark.parametrize(("asked", "reserved"), [(40_223, 40_448), (4097, 4352), (8191, 8192)])
def test_a_context_is_reserved_in_steps_of_256_and_both_figures_are_told(
    llama: Model, asked: int, reserved: int
) -> None:
    """M41."""
    plan = resolve(llama, HOST, Choice(context=asked, slots=1))
    assert plan.settings.requested_context == asked
    assert plan.settings.context == reserved
    assert plan.memory.cache.value == reserved * 128 * KIB


def test_nobody_chose_a_context_so_it_is_16384_or_what_the_model_was_trained_for(
    llama: Model,
) -> None:
    assert settings(llama).context == default_context(llama) == 16_384
    small = model_from(memory.model("bge-large-en").file)
    assert small.shape.context_length == 512
    assert settings(small).requested_context == default_context(small) == 512


def test_llama_server_divides_its_context_by_a_number_of_slots_unless_unified(
    llama: Model,
) -> None:
    """M29."""
    # 8192 with two slots gives 4096 to each chat; without a number four share all of it.
    divided = settings(llama, context=8192, slots=2)
    assert (divided.context, divided.slots, divided.unified_cache) == (8192, 2, False)
    shared = settings(llama, context=8192)
    assert (shared.context, shared.slots, shared.unified_cache) == (8192, 4, True)
    both = settings(llama, context=8192, slots=2, unified_cache=True)
    assert (both.context, both.slots, both.unified_cache) == (8192, 2, True)


def test_a_context_that_slots_do_not_divide_grows_until_each_has_whole_steps(
    llama: Model,
) -> None:
    # llama.cpp: 10000 with 3 slots become 10752, 4097 with 4 become 5120.
    assert settings(llama, context=10_000, slots=3).context == 10_752
    assert settings(llama, context=4097, slots=4).context == 5120


def test_ollama_multiplies_its_context_by_the_number_of_requests(llama: Model) -> None:
    for parallel, cache in ((1, 4 * GIB), (4, 16 * GIB)):
        choice = Choice(context=32_768, slots=parallel, engine=Engine.OLLAMA)
        plan = resolve(llama, HOST, choice)
        assert plan.settings.requested_context == 32_768
        assert plan.settings.context == 32_768 * parallel
        assert plan.memory.cache.value == cache
    # num_ctx 4096 with four at once allocates 16,384 tokens.
    assert settings(llama, context=4096, slots=4, engine=Engine.OLLAMA).context == 16_384


@pytest.mark.parametrize(
    ("engine", "options", "cells"),
    [
        (Engine.LLAMA_SERVER, {"slots": 2}, 8192),
        (Engine.LLAMA_SERVER, {}, 8192),
        (Engine.OLLAMA, {"slots": 2}, 16_384),
        (Engine.LLAMA_CLI, {}, 8192),
        (Engine.LM_STUDIO, {}, 8192),
        (Engine.IK_LLAMA, {}, 8192),
        (Engine.VLLM, {"slots": 2}, 16_384),
    ],
)
def test_what_8192_tokens_of_context_reserve_depends_on_the_engine(
    llama: Model, engine: Engine, options: dict[str, Any], cells: int
) -> None:
    assert settings(llama, engine=engine, context=8192, **options).context == cells


def test_every_engine_has_rules_with_a_source() -> None:
    assert set(RULES) == set(Engine)
    assert all(rules.source for rules in RULES.values())


def test_batches_are_no_longer_than_the_context_before_it_is_padded(llama: Model) -> None:
    assert (settings(llama).batch, settings(llama).ubatch) == (2048, 512)
    short = settings(llama, context=300)
    assert (short.context, short.batch, short.ubatch) == (512, 300, 300)
    assert settings(llama, batch=128).ubatch == 128
    assert settings(llama, ubatch=4096).ubatch == 2048
    assert settings(llama, engine=Engine.OLLAMA).batch == 512


def test_flash_attention_is_on_unless_it_is_turned_off(llama: Model) -> None:
    assert settings(llama).flash_attention
    assert settings(llama, flash_attention=FlashAttention.ON).flash_attention
    assert not settings(llama, flash_attention=FlashAttention.OFF).flash_attention


@pytest.mark.parametrize("name", CACHE_TYPES)
def test_a_quantized_v_cache_without_flash_attention_is_told_before_it_fails(
    llama: Model, name: str
) -> None:
    off = resolve(llama, HOST, Choice(cache_v=name, flash_attention=FlashAttention.OFF))
    assert ("illegal" in codes(off)) is (name not in ("f32", "f16", "bf16"))
    assert off.verdict is Verdict.FITS  # and the figures are still there
    assert off.memory.total.known
    only_k = resolve(llama, HOST, Choice(cache_k=name, flash_attention=FlashAttention.OFF))
    assert "illegal" not in codes(only_k)
    assert "illegal" not in codes(resolve(llama, HOST, Choice(cache_v=name)))


def test_a_model_that_runs_without_flash_attention_refuses_a_quantized_v_cache(
    tmp_path: Path,
) -> None:
    grok = model_from(open_file(heads()["grok-moe"].write(tmp_path / "grok.gguf")))
    assert not settings(grok).flash_attention
    plan = resolve(grok, HOST, Choice(cache_v="q8_0"))
    (problem,) = plan.problems
    assert problem.code == "illegal"
    assert "grok runs without flash attention" in problem.message


def test_latent_attention_refuses_different_types_for_k_and_v() -> None:
    model = specimen("DeepSeek-V3.1")
    assert codes(resolve(model, HOST, Choice(cache_k="q8_0"))) == ["illegal"]
    assert codes(resolve(model, HOST, Choice(cache_k="q8_0", cache_v="q8_0"))) == []


def test_heads_that_no_block_divides_refuse_a_quantized_cache() -> None:
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.embedding_length": 320,
        "llama.attention.head_count": 4,
    }
    odd = model_from(file_of(keys))  # heads of 80 values, in blocks of 32
    (problem,) = resolve(odd, HOST, Choice(cache_k="q8_0")).problems
    assert problem.code == "illegal"
    assert "80 values" in problem.message
    assert resolve(odd, HOST, Choice(cache_k="bf16")).problems == ()


def test_a_depth_beyond_the_context_is_told_and_the_end_is_taken(llama: Model) -> None:
    plan = resolve(llama, GPU, Choice(context=4096, depth=5000))
    assert plan.settings.depth == 4096
    assert codes(plan) == ["depth"]
    assert settings(llama, context=4096).depth == 4096
    assert settings(llama, context=4096, depth=0).depth == 0


def test_a_context_beyond_the_trained_one_is_remarked_upon(llama: Model) -> None:
    assert llama.shape.context_length == 131_072
    assert codes(resolve(llama, HOST, Choice(context=131_072))) == []
    assert codes(resolve(llama, HOST, Choice(context=131_073))) == ["beyond-training"]


def test_layers_go_to_the_gpu_where_there_is_one_and_the_output_counts_as_one(
    llama: Model,
) -> None:
    assert settings(llama, GPU).gpu_layers == 33
    assert settings(llama, GPU, gpu_layers=99).gpu_layers == 33
    assert settings(llama, GPU, gpu_layers=17).gpu_layers == 17
    assert settings(llama, HOST).gpu_layers == 0
    assert settings(llama, GPU, backend="cpu").gpu_layers == 0
    assert settings(llama, GPU).backend == "cuda"
    assert settings(llama, GPU, backend="vulkan").backend == "vulkan"
    assert settings(llama, HOST).backend == "cpu"


def test_no_more_layers_keep_their_experts_in_ram_than_there_are() -> None:
    """llama.cpp makes a rule of every one that it is told of: a billion of them take its memory."""
    model = specimen("Qwen3-30B-A3B")
    assert settings(model, GPU, cpu_moe=10**9).cpu_moe == 48 == model.shape.layers
    assert settings(model, GPU, cpu_moe=47).cpu_moe == 47
    every, more = (resolve(model, GPU, Choice(cpu_moe=n)) for n in (48, 10**9))
    assert every.memory == more.memory


def test_a_gpu_that_is_not_there_is_missed_and_the_plan_is_of_ram(llama: Model) -> None:
    plan = resolve(llama, HOST, Choice(backend="cuda"))
    assert codes(plan) == ["no-gpu"]
    assert plan.settings.backend == "cpu"
    assert plan.verdict is Verdict.FITS


def test_a_graphics_card_leaves_the_integrated_one_out(llama: Model) -> None:
    card = GPU.devices[0]
    beside = replace(custom(32 * GIB, 80e9, backend=Backend.VULKAN).devices[0], unified=True)
    both = replace(GPU, devices=(card, beside, GPU.devices[1]))
    plan = resolve(llama, both, Choice())
    assert plan.memory.devices[0].total.value
    assert plan.memory.devices[1].total.value == 0
    alone = replace(GPU, devices=(beside, GPU.devices[1]))
    assert resolve(llama, alone, Choice()).memory.devices[0].total.value


def test_several_cards_share_the_layers_by_their_memory(llama: Model) -> None:
    pair = combine(custom(24 * GIB), custom(12 * GIB))
    first, second, host = resolve(llama, pair, Choice(context=131_072)).memory.devices
    cache = [p.bytes.value for d in (first, second) for p in d.parts if p.kind == "cache"]
    assert sum(size or 0 for size in cache) == 16 * GIB
    # 33 layers with the output: 22 to the first, and of the second's 11 one is the output.
    assert cache == [22 * GIB // 2, 10 * GIB // 2]
    assert host.device.kind == "host"
