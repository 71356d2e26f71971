"""Worked figures: the domain's own tables, and cases from people whose tool had it wrong."""

from __future__ import annotations

from typing import Any

import pytest

from core.model import model_from
from core.model.cache_size import (
    CacheSettings,
    bytes_per_token,
    cache_read,
    cache_size,
    draft_cache_size,
    state_moved,
)
from core.model.model import CacheFacts, Model
from tests.support import memory
from tests.support.memory import file_of

KIB, MIB, GIB = 2**10, 2**20, 2**30


def facts(architecture: str, **keys: Any) -> CacheFacts:
    """The cache of a model of which only these keys are known; two underscores make a dot."""
    return model(architecture, **keys).cache


def model(architecture: str, **keys: Any) -> Model:
    metadata = {f"{architecture}.{key.replace('__', '.')}": value for key, value in keys.items()}
    return model_from(file_of({"general.architecture": architecture, **metadata}))


def reserved(cache: CacheFacts, context: int, **options: Any) -> int:
    assert cache.known, cache.problem
    return cache_size(cache, CacheSettings(context, **options)).cache_bytes


LLAMA_8B = {
    "block_count": 32,
    "embedding_length": 4096,
    "attention__head_count": 32,
    "attention__head_count_kv": 8,
}
QWEN36_27B = {
    "block_count": 64,
    "embedding_length": 5120,
    "attention__head_count": 24,
    "attention__head_count_kv": 4,
    "attention__key_length": 256,
    "attention__value_length": 256,
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 6144,
    "ssm__state_size": 128,
    "ssm__time_step_rank": 48,
    "ssm__group_count": 16,
    "full_attention_interval": 4,
}


def test_llama_3_1_8b_takes_131072_bytes_per_token() -> None:
    cache = facts("llama", **LLAMA_8B)
    assert bytes_per_token(cache) == 131_072
    assert reserved(cache, 8192) == pytest.approx(1.07e9, rel=0.005)
    assert reserved(cache, 131_072) == pytest.approx(17.2e9, rel=0.005)


def test_llama_3_3_70b_takes_327680_bytes_per_token_and_not_those_of_the_8b() -> None:
    keys = {**LLAMA_8B, "block_count": 80, "embedding_length": 8192, "attention__head_count": 64}
    assert bytes_per_token(facts("llama", **keys)) == 327_680


def test_qwen3_4b_takes_147456_bytes_per_token() -> None:
    cache = facts(
        "qwen3",
        block_count=36,
        embedding_length=2560,
        attention__head_count=32,
        attention__head_count_kv=8,
        attention__key_length=128,
        attention__value_length=128,
    )
    assert bytes_per_token(cache) == 147_456
    assert reserved(cache, 4096) == pytest.approx(0.604e9, rel=0.001)


def test_qwen3_6_35b_keeps_a_cache_in_10_of_40_layers() -> None:
    cache = model_from(memory.model("qwen3.5-35b-a3b").file).cache
    assert [len(group.layers) for group in cache.groups] == [10]
    assert bytes_per_token(cache) == 20_480
    assert reserved(cache, 16_384) == pytest.approx(335.5e6, rel=0.001)
    assert reserved(cache, 262_144) == pytest.approx(5.37e9, rel=0.001)


@pytest.mark.parametrize(
    ("kind", "per_token"), [("f16", 65_536), ("q8_0", 34_816), ("q4_0", 18_432)]
)
def test_qwen3_6_27b_per_token_by_cache_type(kind: str, per_token: int) -> None:
    assert bytes_per_token(facts("qwen35", **QWEN36_27B), kind, kind) == per_token


@pytest.mark.parametrize(
    ("type_k", "type_v", "gib"),
    [("f16", "f16", 16.0), ("q8_0", "q8_0", 8.5), ("q4_0", "f16", 10.25), ("q4_0", "q4_0", 4.5)],
)
def test_quantizing_one_half_of_the_cache_is_not_a_q4_cache(
    type_k: str, type_v: str, gib: float
) -> None:
    """M35."""
    cache = facts("qwen35", **QWEN36_27B)
    assert reserved(cache, 262_144, type_k=type_k, type_v=type_v) == gib * GIB
    state = cache_size(cache, CacheSettings(262_144, type_k=type_k, type_v=type_v)).state_bytes
    assert state == 156_893_184  # 149.625 MiB, whatever the cache types


def test_a_7b_with_all_its_heads_takes_524288_bytes_per_token() -> None:
    keys = {**LLAMA_8B, "attention__head_count_kv": 32}
    cache = facts("llama", **keys)
    assert bytes_per_token(cache) == 524_288
    assert cache_read(cache, 2500) == pytest.approx(1.31e9, rel=0.001)


def test_latent_attention_keeps_one_row_and_no_v() -> None:
    cache = facts(
        "deepseek2",
        block_count=24,
        embedding_length=2048,
        attention__head_count=16,
        attention__head_count_kv=1,
        attention__key_length=576,
        attention__value_length=512,
        attention__key_length_mla=192,
        attention__value_length_mla=128,
        attention__kv_lora_rank=512,
    )
    assert bytes_per_token(cache) == 27_648
    assert cache.same_types
    size = cache_size(cache, CacheSettings(4096, flash_attention=False))
    assert (size.k_bytes, size.v_bytes) == (27_648 * 4096, 0)


def test_deepseek_v3_without_the_latent_keys_takes_seventy_times_more() -> None:
    latent = model_from(memory.model("deepseek-v3.1").file).cache
    assert reserved(latent, 65_536) / GIB == pytest.approx(4.289, abs=0.001)
    old = facts(
        "deepseek2",
        block_count=61,
        embedding_length=7168,
        attention__head_count=128,
        attention__head_count_kv=128,
        attention__key_length=192,
        attention__value_length=128,
        attention__kv_lora_rank=512,
    )
    assert reserved(old, 65_536) / GIB == 305.0


def test_gpt_oss_20b_at_128k() -> None:
    cache = model_from(memory.model("gpt-oss-20b").file).cache
    full, windowed = sorted(
        (g.k_bytes + g.v_bytes for g in cache_size(cache, CacheSettings(131_072)).groups),
        reverse=True,
    )
    assert (full, windowed) == (3 * GIB, 18 * MIB)


def test_gemma_3_27b_windows_grow_with_unified_slots() -> None:
    cache = model_from(memory.model("gemma3-27b").file).cache
    one = reserved(cache, 131_072)
    four = reserved(cache, 131_072, slots=4, unified=True)
    assert one / GIB == pytest.approx(10.609, abs=0.001)
    assert four / GIB == pytest.approx(11.828, abs=0.001)


GEMMA4_26B = {
    "block_count": 30,
    "embedding_length": 2816,
    "attention__head_count": 16,
    "attention__head_count_kv": [8, 8, 8, 8, 8, 2] * 5,
    "attention__key_length": 512,
    "attention__value_length": 512,
    "attention__key_length_swa": 256,
    "attention__value_length_swa": 256,
    "attention__sliding_window": 1024,
    "attention__sliding_window_pattern": [True, True, True, True, True, False] * 5,
}


@pytest.mark.parametrize(
    ("context", "mb"), [(4096, 398), (8192, 482), (32_768, 986), (131_072, 2999)]
)
def test_gemma_4_26b_global_and_local_layers_have_other_heads(context: int, mb: int) -> None:
    """M03."""
    assert round(reserved(facts("gemma4", **GEMMA4_26B), context) / 1e6) == mb


def test_gemma_4_26b_at_128k_to_the_byte() -> None:
    """M03."""
    assert reserved(facts("gemma4", **GEMMA4_26B), 131_072) == 2_998_927_360


@pytest.mark.parametrize("architecture", ["gemma4", "a-family-nobody-knows"])
def test_gemma_4_12b_by_its_keys_under_any_name(architecture: str) -> None:
    """M05."""
    cache = facts(
        architecture,
        block_count=48,
        embedding_length=3840,
        attention__head_count=16,
        attention__head_count_kv=[8, 8, 8, 8, 8, 1] * 8,
        attention__key_length=512,
        attention__value_length=512,
        attention__key_length_swa=256,
        attention__value_length_swa=256,
        attention__sliding_window=1024,
        attention__sliding_window_pattern=[1, 1, 1, 1, 1, 0] * 8,
    )
    size = cache_size(cache, CacheSettings(65_536))
    by_name = {g.name: g.k_bytes + g.v_bytes for g in size.groups}
    assert by_name == {"full attention": GIB, "sliding window": 480 * MIB}
    later = cache_size(cache, CacheSettings(65_536 + 256))
    assert (later.cache_bytes - size.cache_bytes) // 256 == 16_384


def test_gemma_4_31b_and_what_a_full_size_window_would_cost() -> None:
    """M04."""
    cache = model_from(memory.model("gemma4-31b").file).cache
    assert reserved(cache, 262_144) / GIB == pytest.approx(21.172, abs=0.001)
    assert reserved(cache, 262_144, swa_full=True) == 220 * GIB


def test_the_two_caches_of_gemma_3_4b_are_summed() -> None:
    """M07."""
    cache = facts(
        "gemma3",
        block_count=34,
        embedding_length=2560,
        attention__head_count=8,
        attention__head_count_kv=4,
        attention__key_length=256,
        attention__value_length=256,
        attention__sliding_window=1024,
    )
    sizes = {
        g.name: g.k_bytes + g.v_bytes for g in cache_size(cache, CacheSettings(131_072)).groups
    }
    assert sizes == {"full attention": 2560 * MIB, "sliding window": 174 * MIB}
    assert reserved(cache, 131_072) == 2734 * MIB


def test_lfm2_grows_with_the_context_though_its_first_layer_has_no_heads() -> None:
    """M11."""
    cache = facts(
        "lfm2",
        block_count=16,
        embedding_length=2048,
        attention__head_count=32,
        attention__head_count_kv=[0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0],
        shortconv__l_cache=3,
    )
    assert reserved(cache, 32_768) == 384 * MIB
    assert reserved(cache, 65_536) == 768 * MIB
    assert sum(state.bytes_per_sequence for state in cache.states) == 163_840


def test_nemotron_3_super_has_16_kv_heads_in_88_layers() -> None:
    """M12, P21."""
    kv_heads = [2 if n % 11 == 5 else 0 for n in range(88)]
    feed_forward = [0 if kv or n % 2 else 2688 for n, kv in enumerate(kv_heads)]
    cache = facts(
        "nemotron_h_moe",
        block_count=88,
        embedding_length=4096,
        attention__head_count=32,
        attention__head_count_kv=kv_heads,
        attention__key_length=128,
        attention__value_length=128,
        feed_forward_length=feed_forward,
        ssm__conv_kernel=4,
        ssm__inner_size=8192,
        ssm__state_size=128,
        ssm__time_step_rank=128,
        ssm__group_count=8,
    )
    assert reserved(cache, 32_768) == GIB // 4
    assert reserved(cache, 1_048_576) == 8 * GIB
    recurrent = [n for n in range(88) if not kv_heads[n] and not feed_forward[n]]
    assert [list(state.layers) for state in cache.states] == [recurrent]


def test_gemma_3n_shares_the_caches_of_its_first_20_layers() -> None:
    """M16."""
    cache = facts(
        "gemma3n",
        block_count=35,
        embedding_length=2048,
        attention__head_count=8,
        attention__head_count_kv=2,
        attention__key_length=256,
        attention__value_length=256,
        attention__sliding_window=512,
        attention__shared_kv_layers=15,
        feed_forward_length=[16_384] * 35,
    )
    assert reserved(cache, 32_768) == (256 + 32) * MIB
    assert {g.name: len(g.layers) for g in cache.groups} == {
        "sliding window": 16,
        "full attention": 4,
    }
    assert cache.shared_layers == 15
    # All 35 layers read: 28 windows and 7 full ones.
    row = 2 * 2 * 256 * 2
    assert cache_read(cache, 10_000) == (28 * 512 + 7 * 10_000) * row


def test_a_built_in_draft_head_costs_nothing_until_it_is_used() -> None:
    """M19."""
    keys = {**QWEN36_27B, "block_count": 65, "nextn_predict_layers": 1}
    cache = facts("qwen35", **keys)
    settings = CacheSettings(262_144, type_k="q8_0", type_v="q8_0")
    assert cache_size(cache, settings).cache_bytes == 8.5 * GIB
    assert sum(len(group.layers) for group in cache.groups) == 16
    assert draft_cache_size(cache, settings).cache_bytes == 544 * MIB


def test_drafting_keeps_the_state_once_more_for_every_drafted_token() -> None:
    cache = facts("qwen35", **QWEN36_27B)
    plain = cache_size(cache, CacheSettings(4096)).state_bytes
    assert cache_size(cache, CacheSettings(4096, drafted=3)).state_bytes == 4 * plain
    other = facts("qwen3next", **QWEN36_27B)  # llama.cpp cannot go back in this one
    assert cache_size(other, CacheSettings(4096, drafted=3)).state_bytes == plain


def test_the_head_size_comes_from_its_key_and_not_from_the_embedding() -> None:
    """M37."""
    keys = {
        "block_count": 28,
        "embedding_length": 1024,
        "attention__head_count": 16,
        "attention__head_count_kv": 8,
    }
    stated = facts("qwen3", **keys, attention__key_length=128, attention__value_length=128)
    assert reserved(stated, 40_960) == 4.375 * GIB
    derived = facts("qwen3", **keys)
    assert reserved(derived, 40_960) == 2.1875 * GIB
    assert "head size derived" in derived.groups[0].rule
    assert "head size derived" not in stated.groups[0].rule


def test_k_and_v_may_have_other_lengths() -> None:
    cache = facts("llama", **LLAMA_8B, attention__key_length=192, attention__value_length=128)
    size = cache_size(cache, CacheSettings(256))
    assert size.k_bytes * 128 == size.v_bytes * 192


def test_two_models_of_32b_do_not_have_the_same_cache() -> None:
    """M38."""
    dense = facts(
        "qwen3",
        block_count=64,
        embedding_length=5120,
        attention__head_count=64,
        attention__head_count_kv=8,
        attention__key_length=128,
        attention__value_length=128,
    )
    assert reserved(dense, 32_768) == 8 * GIB
    assert reserved(facts("qwen35", **QWEN36_27B), 32_768) == 2 * GIB


# Bytes of state of one sequence, as llama.cpp allocates them for the published dimensions.
@pytest.mark.parametrize(
    ("architecture", "keys", "state"),
    [
        (
            "kimi-linear",  # 48B-A3B: 7 of 27 layers are latent attention
            {
                "block_count": 27,
                "embedding_length": 2304,
                "attention__head_count": 32,
                "attention__head_count_kv": [0, 0, 0, 1] * 6 + [0, 0, 1],
                "attention__key_length": 576,
                "attention__value_length": 512,
                "attention__key_length_mla": 192,
                "attention__value_length_mla": 128,
                "kda__head_dim": 128,
                "ssm__conv_kernel": 4,
            },
            44_892_160,
        ),
        (
            "granitehybrid",  # 4.0 H small: 4 of 40 layers are attention
            {
                "block_count": 40,
                "embedding_length": 4096,
                "attention__head_count": 32,
                "attention__head_count_kv": [8 if n in (5, 15, 25, 35) else 0 for n in range(40)],
                "ssm__conv_kernel": 4,
                "ssm__inner_size": 8192,
                "ssm__state_size": 128,
                "ssm__group_count": 1,
            },
            154_644_480,
        ),
        (
            "jamba",  # mini: 4 of 32 layers are attention, Mamba 1
            {
                "block_count": 32,
                "embedding_length": 4096,
                "attention__head_count": 32,
                "attention__head_count_kv": [8 if n % 8 == 4 else 0 for n in range(32)],
                "ssm__conv_kernel": 4,
                "ssm__inner_size": 8192,
                "ssm__state_size": 16,
            },
            17_432_576,
        ),
        (
            "qwen35",  # 9B: 8 of 32 layers are attention
            {
                **QWEN36_27B,
                "block_count": 32,
                "embedding_length": 4096,
                "ssm__inner_size": 4096,
                "ssm__time_step_rank": 32,
            },
            52_690_944,
        ),
    ],
)
def test_recurrent_state_of_published_models(
    architecture: str, keys: dict[str, Any], state: int
) -> None:
    cache = facts(architecture, **keys)
    for context in (4096, 262_144):
        assert cache_size(cache, CacheSettings(context)).state_bytes == state
    assert cache_size(cache, CacheSettings(4096, slots=4, unified=True)).state_bytes == 4 * state
    assert state_moved(cache) == 2 * state  # read once and written once


def test_a_sparse_layer_reads_only_what_its_indexer_chose() -> None:
    cache = model_from(memory.model("glm-5").file).cache
    latent, index = 576 * 2, 128 * 2
    assert cache_read(cache, 1000) == 78 * 1000 * (latent + index)
    assert cache_read(cache, 100_000) == 78 * (2048 * latent + 100_000 * index)


def test_compressed_layers_read_one_row_for_4_or_128_tokens() -> None:
    cache = model_from(memory.model("deepseek-v4-flash").file).cache
    row, index = 512 * 2, 128 * 2
    # 43 raw windows of 128, 21 layers 4:1 of which 512 rows are chosen, 20 layers 128:1.
    expected = 43 * 128 * row + 21 * 512 * row + 21 * (65_536 // 4) * index + 20 * 512 * row
    assert cache_read(cache, 65_536) == expected
