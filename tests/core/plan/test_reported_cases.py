"""Cases that people reported because another tool had them wrong, as whole plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Machine, combine, custom
from core.model import model_from
from core.model.cache_size import draft_cache_size
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.memory import cache_settings
from core.plan.plan import DevicePlan, PartKind, Plan, Verdict
from core.provenance import Number, Rank, Source, Unit
from resources import specimens
from tests.support import memory
from tests.support.memory import file_of

MIB, GIB = 2**20, 2**30


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


def plan_of(model: Model, machine: Machine, **options: Any) -> Plan:
    return resolve(model, machine, Choice(**options))


def part(device: DevicePlan, kind: PartKind) -> int:
    return next((p.bytes.value or 0 for p in device.parts if p.kind is kind), 0)


def decoder(layers: int, kind: str, context: int) -> Model:
    """A llama of real tensors, with this many layers and this type of weights."""
    keys = {
        "general.architecture": "llama",
        "llama.block_count": layers,
        "llama.context_length": context,
        "llama.embedding_length": 512,
        "llama.feed_forward_length": 1024,
        "llama.attention.head_count": 8,
        "llama.attention.head_count_kv": 4,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
    }
    shapes = {
        "attn_q": (512, 512),
        "attn_k": (512, 256),
        "attn_v": (512, 256),
        "attn_output": (512, 512),
        "attn_norm": (512,),
        "ffn_gate": (512, 1024),
        "ffn_up": (512, 1024),
        "ffn_down": (1024, 512),
        "ffn_norm": (512,),
    }
    tensors = [("token_embd.weight", (512, 32_000), kind), ("output_norm.weight", (512,), "F32")]
    tensors.append(("output.weight", (512, 32_000), kind))
    for n in range(layers):
        tensors += [
            (f"blk.{n}.{name}.weight", shape, kind if len(shape) > 1 else "F32")
            for name, shape in shapes.items()
        ]
    return model_from(file_of(keys, tensors))


@pytest.mark.parametrize("options", [{}, {"slots": 4, "unified_cache": True}, {"slots": 1}])
def test_the_draft_block_s_own_cache_is_one_layer_of_one_pool_whatever_the_slots(
    options: dict[str, Any],
) -> None:
    """M20."""
    # A 27B at 262,144 tokens, q8_0: 544 MiB for its one draft layer, not four times as much and
    # not all layers.
    keys = {
        "general.architecture": "qwen35",
        "qwen35.block_count": 65,
        "qwen35.nextn_predict_layers": 1,
        "qwen35.embedding_length": 5120,
        "qwen35.attention.head_count": 24,
        "qwen35.attention.head_count_kv": 4,
        "qwen35.attention.key_length": 256,
        "qwen35.attention.value_length": 256,
        "qwen35.full_attention_interval": 4,
        "qwen35.ssm.conv_kernel": 4,
        "qwen35.ssm.inner_size": 6144,
        "qwen35.ssm.state_size": 128,
        "qwen35.ssm.time_step_rank": 48,
        "qwen35.ssm.group_count": 16,
    }
    model = model_from(file_of(keys))
    types = {"cache_k": "q8_0", "cache_v": "q8_0"}
    settings = plan_of(model, custom(96 * GIB), context=262_144, **types, **options).settings
    assert draft_cache_size(model.cache, cache_settings(settings)).cache_bytes == 544 * MIB


def test_a_small_model_beside_a_large_one_keeps_a_cache_as_long_as_the_large_one_s() -> None:
    """M34."""
    # Qwen3-0.6B as a draft at 32,768 tokens: 28 x 8 x 128 x 2 x 2 B x 32,768 = 3.5 GiB, f16.
    keys = {
        "general.architecture": "qwen3",
        "qwen3.block_count": 28,
        "qwen3.embedding_length": 1024,
        "qwen3.attention.head_count": 16,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
    }
    model = model_from(file_of(keys))
    assert plan_of(model, custom(96 * GIB), context=32_768).memory.cache.value == 3.5 * GIB


def test_two_models_with_equal_layers_and_context_share_no_figure() -> None:
    """M44."""
    # What was computed for one must not be shown for the other.
    card = custom(24 * GIB, 936e9)
    first, second = (plan_of(decoder(4, kind, 8192), card) for kind in ("F16", "Q8_0"))
    assert first.memory.cache == second.memory.cache
    weights = [part(plan.memory.devices[0], PartKind.WEIGHTS) for plan in (first, second)]
    assert weights[0] > weights[1] > 0
    assert first.speed.bytes_per_token.value != second.speed.bytes_per_token.value
    again = plan_of(decoder(4, "F16", 8192), card)
    assert part(again.memory.devices[0], PartKind.WEIGHTS) == weights[0]


def test_what_a_running_model_holds_is_the_reason_why_another_does_not_fit() -> None:
    """M44."""
    # 19 GB of a 24 GB card are taken: 12 GB do not fit now, and fit when that is unloaded.
    llama = specimen("Llama-3.1-8B")
    free = combine(custom(24 * GIB), custom(64 * GIB, gpu=False))
    taken = Number(19 * 10**9, Unit.BYTES, Source(Rank.REPORTED, "driver"))
    busy = replace(free, devices=(replace(free.devices[0], used=taken), free.devices[1]))
    now = plan_of(llama, busy, context=32_768)
    then = plan_of(llama, free, context=32_768)
    assert (now.verdict, then.verdict) == (Verdict.DOES_NOT_FIT, Verdict.FITS)
    assert part(now.memory.devices[0], PartKind.OTHERS) == 19 * 10**9
    assert (now.memory.total.value or 0) - (then.memory.total.value or 0) == 19 * 10**9


def test_an_encoder_of_1_07_gib_needs_no_cache_and_less_than_a_gib_and_a_half() -> None:
    """P35."""
    # XLM-RoBERTa large: 24 layers of 1024, a vocabulary of 250,002, 8,192 positions, F16.
    recorded = memory.model("bge-large-en").file
    wide = {"token_embd.weight": (1024, 250_002), "position_embd.weight": (1024, 8192)}
    tensors = [
        (t.name, wide.get(t.name, t.shape), "F32" if len(t.shape) == 1 else "F16")
        for t in recorded.tensors
    ]
    keys = {**recorded.header.metadata, "bert.context_length": 8192, "bert.vocab_size": 250_002}
    model = model_from(file_of(keys, tensors))
    assert model.weights.bytes / GIB == pytest.approx(1.06, abs=0.02)
    plan = plan_of(model, custom(16 * GIB, 51.2e9, gpu=False), context=8192)
    assert plan.verdict is Verdict.FITS
    assert plan.memory.cache.value == 0
    assert plan.memory.total.value
    assert model.weights.bytes < plan.memory.total.value < 1.5 * GIB
    longer = plan_of(model, custom(16 * GIB, 51.2e9, gpu=False), context=8192, ubatch=2048)
    assert (longer.memory.compute.value or 0) > 2 * (plan.memory.compute.value or 0)


def test_every_layer_that_shares_or_windows_is_counted_once_in_a_whole_plan() -> None:
    """M16."""
    # Gemma 3 4B at 128K: 2,560 MiB of full layers and 174 of windows, in one part of one device.
    keys = {
        "general.architecture": "gemma3",
        "gemma3.block_count": 34,
        "gemma3.embedding_length": 2560,
        "gemma3.attention.head_count": 8,
        "gemma3.attention.head_count_kv": 4,
        "gemma3.attention.key_length": 256,
        "gemma3.attention.value_length": 256,
        "gemma3.attention.sliding_window": 1024,
    }
    plan = plan_of(model_from(file_of(keys)), custom(24 * GIB), context=131_072, slots=1)
    assert part(plan.memory.devices[0], PartKind.CACHE) == 2734 * MIB
