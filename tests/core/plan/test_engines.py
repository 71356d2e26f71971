"""What each engine makes of the same options, and what it keeps beside the model."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Backend, Machine, catalogue, combine, custom
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import CACHE_TYPES, Choice, Engine, FlashAttention
from core.plan.engine_words import engine_words, own_context
from core.plan.engines import RULES
from core.plan.growth import CHECKPOINTS, PROMPT_CACHE, context_per_request
from core.plan.plan import DevicePlan, Growth, PartKind, Plan, Verdict
from core.problems import Severity
from core.provenance import Number, Rank, Source, Unit
from resources import specimens
from tests.support import memory
from tests.support.memory import file_of

MIB, GIB = 2**20, 2**30
HOST = custom(1024 * GIB, 51.2e9, gpu=False)


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.fixture(scope="module")
def llama() -> Model:
    return specimen("Llama-3.1-8B")


def plan_of(model: Model, machine: Machine = HOST, **options: Any) -> Plan:
    return resolve(model, machine, Choice(**options))


def part(device: DevicePlan, kind: PartKind) -> Number[int]:
    return next(p.bytes for p in device.parts if p.kind is kind)


def inputs(number: Number[int]) -> dict[str, Any]:
    return {each.name: each.value for each in number.inputs}


def illegal(plan: Plan) -> str:
    """Why the engine would not start; empty where it would."""
    found = [p for p in plan.problems if p.severity is Severity.ERROR]
    assert all(p.code in ("illegal", "reserved-share") and p.advice for p in found)
    return " ".join(p.message for p in found)


# Context and slots


@pytest.mark.parametrize(
    ("engine", "options", "each", "total"),
    [
        (Engine.LLAMA_SERVER, {"slots": 2}, 4096, 8192),
        (Engine.LLAMA_SERVER, {}, 8192, 8192),
        (Engine.LLAMA_SERVER, {"slots": 2, "unified_cache": True}, 8192, 8192),
        (Engine.OLLAMA, {"slots": 2}, 8192, 16_384),
        (Engine.LM_STUDIO, {}, 8192, 8192),
        (Engine.VLLM, {"slots": 2}, 8192, 16_384),
    ],
)
def test_what_one_request_gets_of_8192_tokens_and_what_all_take(
    llama: Model, engine: Engine, options: dict[str, Any], each: int, total: int
) -> None:
    """M28, M29."""
    plan = plan_of(llama, engine=engine, context=8192, **options)
    assert context_per_request(plan.settings) == each
    assert plan.settings.context == total
    first, *_ = engine_words(plan)
    assert RULES[engine].context_option in first
    assert f"{each:,}" in first
    assert f"{total:,}" in first


def test_ollama_starts_llama_server_with_a_part_of_the_cache_for_every_request() -> None:
    """M27."""
    # Each slot's window layers keep rows of their own: no pool is shared.
    model = model_from(memory.model("gpt-oss-20b").file)
    machine = combine(*[custom(94 * GIB)] * 4)
    sizes = []
    for slots in range(1, 7):
        plan = plan_of(model, machine, engine=Engine.OLLAMA, context=131_072, slots=slots)
        assert not plan.settings.unified_cache
        assert plan.verdict is Verdict.FITS
        sizes.append(plan.memory.cache.value or 0)
    # 3.0 GiB of 12 full layers, and of 12 windows 128 + 512 cells padded to 768: no cliff.
    steps = {more - less for less, more in pairwise(sizes)}
    assert steps == {3 * GIB + 12 * 768 * 2048}


@pytest.mark.parametrize(
    ("gpus", "tokens"),
    [
        ((), 4096),
        ((8,), 4096),
        ((22,), 4096),
        ((24,), 32_768),
        ((24, 24), 262_144),
        ((80,), 262_144),
    ],
)
def test_ollama_s_default_context_goes_by_the_memory_of_its_gpus(
    gpus: tuple[int, ...], tokens: int
) -> None:
    """M28."""
    keys = {"general.architecture": "llama", "llama.block_count": 1}
    untold = model_from(file_of(keys))
    machine = combine(*(custom(size * GIB) for size in gpus)) if gpus else HOST
    assert own_context(Engine.OLLAMA, untold, machine, None) == tokens
    trained = model_from(file_of({**keys, "llama.context_length": 8192}))
    assert own_context(Engine.OLLAMA, trained, machine, None) == min(tokens, 8192)
    for engine in (Engine.LLAMA_SERVER, Engine.VLLM):
        assert own_context(engine, trained, machine, None) == 8192


def test_a_context_that_the_engine_would_not_take_by_itself_is_said(llama: Model) -> None:
    card = catalogue.machine("nvidia-geforce-rtx-3090")
    words = " ".join(engine_words(plan_of(llama, card, engine=Engine.OLLAMA)))
    assert "32,768 tokens (by the memory of its GPUs): set num_ctx to 16,384" in words
    words = " ".join(engine_words(plan_of(llama, card, engine=Engine.OLLAMA, context=32_768)))
    assert "Left alone" not in words


# Windows


def test_a_window_is_kept_short_by_llama_cpp_and_in_full_by_its_fork() -> None:
    """M04."""
    model = model_from(memory.model("gemma4-31b").file)

    def cache(**options: Any) -> float:
        return (plan_of(model, context=262_144, **options).memory.cache.value or 0) / GIB

    assert cache(engine=Engine.LLAMA_CLI) == pytest.approx(21.172, abs=0.001)
    assert cache(engine=Engine.LLAMA_CLI, swa_full=True) == 220
    assert cache(engine=Engine.IK_LLAMA) == 220


def test_vllm_takes_whole_pages_for_window_layers() -> None:
    """M39."""
    # gpt-oss-20b, 8,192 tokens for each of 32: 12.0 GiB, and half of it with short windows.
    model = model_from(memory.model("gpt-oss-20b").file)
    options: dict[str, Any] = {"context": 8192, "slots": 32, "cache_k": "bf16", "cache_v": "bf16"}
    assert plan_of(model, engine=Engine.VLLM, **options).memory.cache.value == 12 * GIB
    short = plan_of(model, engine=Engine.OLLAMA, context=8192, slots=32).memory.cache.value or 0
    assert short == 6 * GIB + 32 * 12 * 768 * 2048


def test_5_38_gib_of_cache_hold_78_thousand_tokens_of_gpt_oss_120b_in_vllm() -> None:
    """M39."""
    plan = plan_of(specimen("gpt-oss-120b"), engine=Engine.VLLM)
    per_token = plan.memory.cache_per_token.value
    assert per_token == 73_728
    assert 5.38 * GIB / per_token == pytest.approx(78_384, rel=0.0005)  # vLLM's own log


# A share of the card


def qwen3_1_7b() -> Model:
    keys = {
        "general.architecture": "qwen3",
        "qwen3.block_count": 28,
        "qwen3.context_length": 40_960,
        "qwen3.embedding_length": 2048,
        "qwen3.feed_forward_length": 6144,
        "qwen3.attention.head_count": 16,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
        "qwen3.attention.layer_norm_rms_epsilon": 1e-6,
    }
    tensors = [
        ("token_embd.weight", (2048, 151_936), "BF16"),
        ("output_norm.weight", (2048,), "F32"),
    ]
    for n in range(28):
        tensors += [
            (f"blk.{n}.{name}.weight", shape, kind)
            for name, shape, kind in (
                ("attn_q", (2048, 2048), "BF16"),
                ("attn_k", (2048, 1024), "BF16"),
                ("attn_v", (2048, 1024), "BF16"),
                ("attn_output", (2048, 2048), "BF16"),
                ("attn_norm", (2048,), "F32"),
                ("attn_q_norm", (128,), "F32"),
                ("attn_k_norm", (128,), "F32"),
                ("ffn_gate", (2048, 6144), "BF16"),
                ("ffn_up", (2048, 6144), "BF16"),
                ("ffn_down", (6144, 2048), "BF16"),
                ("ffn_norm", (2048,), "F32"),
            )
        ]
    return model_from(file_of(keys, tensors))


def test_vllm_takes_nine_tenths_of_a_card_whatever_the_context() -> None:
    """M40."""
    model, card = qwen3_1_7b(), custom(24 * GIB)
    totals = set()
    for context in (1024, 8192, 40_960):
        gpu = plan_of(model, card, engine=Engine.VLLM, context=context).memory.devices[0]
        totals.add(gpu.total.value)
        assert part(gpu, PartKind.CACHE).value == context * 114_688
        rest = inputs(part(gpu, PartKind.OVERHEAD))
        assert rest["tokens of cache in it"] == rest["room for cache"] // 114_688
    assert totals == {int(0.9 * 24 * GIB)}
    small = plan_of(model, card, engine=Engine.VLLM, context=1024).memory.devices[0]
    assert part(small, PartKind.CACHE).value == 112 * MIB  # what is needed now
    # A server of this model reported 18.78 GiB and 175,856 tokens; its own buffers are smaller
    # than those of llama.cpp, which stand for them.
    assert abs(18.78 * GIB / 114_688 - 175_856) < 100
    room = inputs(part(small, PartKind.OVERHEAD))["room for cache"]
    assert 0.9 < room / (18.78 * GIB) <= 1


def test_vllm_does_not_start_where_its_share_is_too_small_or_already_taken() -> None:
    model, card = qwen3_1_7b(), custom(24 * GIB)
    wide = plan_of(model, card, engine=Engine.VLLM, context=36_000, slots=5)
    assert "takes 90% of GPU and needs more" in illegal(wide)
    assert wide.verdict is not Verdict.DOES_NOT_FIT  # the card itself could hold it
    used = Number(3 * GIB, Unit.BYTES, Source(Rank.REPORTED, "driver"))
    busy = replace(card, devices=(replace(card.devices[0], used=used), card.devices[1]))
    assert plan_of(model, busy, engine=Engine.VLLM).verdict is Verdict.DOES_NOT_FIT
    assert plan_of(model, busy).verdict is Verdict.FITS
    assert illegal(plan_of(model, HOST, engine=Engine.VLLM)) == ""  # no card, no share of it


# What grows with use


def grows(plan: Plan) -> dict[str, Growth]:
    return {each.name: each for device in plan.memory.devices for each in device.growth}


def test_prompts_and_checkpoints_come_on_top_in_ram_and_are_in_no_total() -> None:
    """M30."""
    model = specimen("Qwen3.6-27B")
    machine = combine(custom(80 * GIB), custom(64 * GIB, gpu=False))
    server = plan_of(model, machine, context=220_000)
    gpu, host = server.memory.devices
    assert gpu.growth == ()
    assert [each.name for each in host.growth] == [PROMPT_CACHE, CHECKPOINTS]
    assert all(each.bytes.source.rank is Rank.ASSUMED for each in host.growth)
    prompts, checkpoints = (each.bytes for each in host.growth)
    # One prompt of 220,000 tokens is 65,536 B x 220,160 and a state: more than the limit of 8 GiB.
    assert inputs(prompts)["limit"] == 8192 * MIB
    assert prompts.value == 65_536 * 220_160 + 156_893_184
    # 32 of 150 MiB in each of 4 slots: the 18.7 GiB that were reported.
    assert inputs(checkpoints)["one checkpoint"] == 156_893_184
    assert (checkpoints.value or 0) / GIB == pytest.approx(18.7, abs=0.05)
    quiet = plan_of(model, machine, context=220_000, engine=Engine.LLAMA_CLI, slots=4)
    assert grows(quiet) == {}
    assert host.total.value == sum(p.bytes.value or 0 for p in host.parts)
    assert server.verdict is Verdict.FITS


def test_a_checkpoint_of_a_window_model_holds_its_windows() -> None:
    # Gemma 4 31B: 50 layers x 16 heads x 256 x (K + V) x 2 B for 1024 + 512 tokens.
    model = model_from(memory.model("gemma4-31b").file)
    found = grows(plan_of(model, context=16_384))[CHECKPOINTS].bytes
    assert inputs(found)["one checkpoint"] == 50 * 16 * 256 * 2 * 2 * 1536 == 1200 * MIB
    full = plan_of(model, context=16_384, swa_full=True)
    assert set(grows(full)) == {PROMPT_CACHE}


def test_full_attention_needs_no_checkpoints_and_an_encoder_no_prompts(llama: Model) -> None:
    assert set(grows(plan_of(llama))) == {PROMPT_CACHE}
    assert grows(plan_of(llama))[PROMPT_CACHE].bytes.value == 8192 * MIB
    encoder = model_from(memory.model("bge-large-en").file)
    assert grows(plan_of(encoder)) == {}


@pytest.mark.parametrize("engine", Engine)
def test_every_server_that_keeps_prompts_says_how_to_limit_them(
    llama: Model, engine: Engine
) -> None:
    plan = plan_of(llama, engine=engine)
    found = grows(plan)
    assert (PROMPT_CACHE in found) is (engine not in (Engine.LLAMA_CLI, Engine.VLLM))
    if found:
        assert RULES[engine].prompt_cache_option in found[PROMPT_CACHE].bytes.note
        assert any("up to 8.00 GiB more in RAM" in words for words in engine_words(plan))


def test_a_computer_with_16_gib_is_warned_of_8_gib_of_prompts(llama: Model) -> None:
    """M30."""

    def found(ram: int, **options: Any) -> list[Severity]:
        machine = combine(custom(24 * GIB), custom(ram, gpu=False))
        plan = plan_of(llama, machine, **options)
        assert plan.verdict is Verdict.FITS
        return [p.severity for p in plan.problems if p.code == "growth"]

    assert found(64 * GIB) == []
    assert found(16 * GIB) == [Severity.NOTE]
    assert found(8 * GIB) == [Severity.WARNING]
    assert found(8 * GIB, engine=Engine.VLLM) == []


# What an engine refuses or does badly


@pytest.mark.parametrize(
    ("engine", "known"),
    [
        (Engine.LLAMA_SERVER, set(CACHE_TYPES)),
        (Engine.IK_LLAMA, set(CACHE_TYPES)),
        (Engine.OLLAMA, {"f16", "q8_0", "q4_0"}),
        (Engine.LM_STUDIO, set(CACHE_TYPES) - {"bf16"}),
        (Engine.VLLM, {"f16", "bf16", "fp8"}),
    ],
)
def test_cache_types_that_an_engine_does_not_know_are_told(
    llama: Model, engine: Engine, known: set[str]
) -> None:
    for name in CACHE_TYPES:
        words = illegal(plan_of(llama, engine=engine, cache_k=name, cache_v=name))
        assert bool(words) is (name not in known), (name, words)
        if words:
            assert name in words
            assert RULES[engine].name in words


def test_vllm_s_fp8_takes_half_of_f16_and_no_other_engine_has_it(llama: Model) -> None:
    # vLLM docs, kv_cache_dtype: fp8 (e4m3) is one byte a value.
    wide = plan_of(llama, engine=Engine.VLLM)
    half = plan_of(llama, engine=Engine.VLLM, cache_k="fp8", cache_v="fp8")
    assert half.memory.cache_per_token.value == 65_536
    assert (half.memory.cache.value or 0) * 2 == wide.memory.cache.value
    assert illegal(half) == ""
    assert half.memory.compute.known
    for engine in set(Engine) - {Engine.VLLM}:
        refused = illegal(plan_of(llama, engine=engine, cache_k="fp8", cache_v="fp8"))
        assert "fp8" in refused, engine


def test_one_option_for_both_halves_cannot_set_them_apart(llama: Model) -> None:
    mixed: dict[str, Any] = {"cache_k": "q8_0", "cache_v": "f16"}
    assert "OLLAMA_KV_CACHE_TYPE" in illegal(plan_of(llama, engine=Engine.OLLAMA, **mixed))
    assert illegal(plan_of(llama, engine=Engine.LM_STUDIO, **mixed)) == ""
    apart: dict[str, Any] = {"cache_k": "bf16", "cache_v": "f16"}
    assert "--kv-cache-dtype" in illegal(plan_of(llama, engine=Engine.VLLM, **apart))
    latent = specimen("DeepSeek-V3.1")
    (problem,) = [p for p in plan_of(latent, engine=Engine.OLLAMA, **mixed).problems if p.advice]
    assert "one option" in problem.message


def test_a_quantized_cache_without_flash_attention_is_told_in_the_engine_s_own_words(
    llama: Model,
) -> None:
    off: dict[str, Any] = {
        "cache_k": "q8_0",
        "cache_v": "q8_0",
        "flash_attention": FlashAttention.OFF,
    }
    assert "OLLAMA_KV_CACHE_TYPE=q8_0" in illegal(plan_of(llama, engine=Engine.OLLAMA, **off))
    assert "llama-server refuses to start" in illegal(plan_of(llama, **off))


@pytest.mark.parametrize("backend", [Backend.CUDA, Backend.ROCM, Backend.VULKAN, Backend.METAL])
def test_cuda_has_no_flash_attention_for_iq4_nl(llama: Model, backend: Backend) -> None:
    card = custom(24 * GIB, backend=backend)

    def codes(**options: Any) -> list[str]:
        return [p.code for p in plan_of(llama, card, **options).problems]

    kernels = backend in (Backend.CUDA, Backend.ROCM)
    assert ("no-kernel" in codes(cache_k="iq4_nl", cache_v="iq4_nl")) is kernels
    assert ("no-kernel" in codes(cache_k="q8_0", cache_v="iq4_nl")) is kernels
    # Two that it does know need not be the same (llama.cpp b11434).
    assert codes(cache_k="q8_0", cache_v="q4_0") == []
    assert codes(cache_k="iq4_nl", gpu_layers=0) == []
    assert codes(cache_k="iq4_nl", flash_attention=FlashAttention.OFF) == []


def test_ik_llama_s_buffer_for_latent_attention_is_said_to_be_larger(llama: Model) -> None:
    """M25."""
    plan = plan_of(specimen("DeepSeek-V3.1"), engine=Engine.IK_LLAMA, context=131_072)
    (problem,) = [p for p in plan.problems if p.code == "latent-buffer"]
    assert problem.severity is Severity.WARNING
    assert "8.4 GiB" in problem.message
    assert "-amb" in problem.advice
    assert plan_of(llama, engine=Engine.IK_LLAMA).problems == ()
    assert "latent-buffer" not in [p.code for p in plan_of(specimen("DeepSeek-V3.1")).problems]


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (Engine.LLAMA_SERVER, "no conversation can use more"),
        (Engine.OLLAMA, "Ollama loads 131,072 instead"),
        (Engine.VLLM, "vLLM refuses to start"),
        (Engine.LLAMA_CLI, "was trained for."),
    ],
)
def test_a_context_beyond_training_is_taken_capped_or_refused(
    llama: Model, engine: Engine, words: str
) -> None:
    plan = plan_of(llama, engine=engine, context=200_000)
    (problem,) = [p for p in plan.problems if "131,072" in p.message]
    assert words in problem.message
    assert (problem.severity is Severity.ERROR) is (engine is Engine.VLLM)
    assert plan.settings.requested_context == 200_000  # the figures are for what was asked
    assert not [
        p for p in plan_of(llama, engine=engine, context=131_072).problems if "trained" in p.message
    ]


def test_slots_that_divide_a_long_context_stay_below_the_trained_one(llama: Model) -> None:
    assert plan_of(llama, context=262_144, slots=2).problems == ()
