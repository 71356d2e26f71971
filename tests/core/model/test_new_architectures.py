"""A name that nobody knows: judged by its keys and tensors, and never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from core.model import model_from
from core.model.cache_size import CacheSettings, bytes_per_token, cache_size, draft_cache_size
from core.model.model import Model
from core.problems import Severity
from tests.support import memory
from tests.support.memory import file_of

DIMENSIONS: dict[str, Any] = {
    "block_count": 8,
    "embedding_length": 1024,
    "attention__head_count": 8,
    "attention__head_count_kv": 2,
    "attention__key_length": 128,
    "attention__value_length": 128,
}
FULL = 8 * 2 * 2 * 128 * 2  # bytes per token if every layer were full, f16
Spec = tuple[str, tuple[int, ...], str]


def foo(specs: list[Spec] | tuple[()] = (), architecture: str = "foo9", **keys: Any) -> Model:
    stated = DIMENSIONS | keys
    metadata = {f"{architecture}.{key.replace('__', '.')}": value for key, value in stated.items()}
    return model_from(file_of({"general.architecture": architecture, **metadata}, specs))


def assert_unknown(found: Model, low: int, high: int | None = FULL) -> None:
    cache = found.cache
    assert not cache.known
    assert (cache.groups, cache.states) == ((), ())
    assert (cache.low, cache.high) == (low, high)
    assert cache.problem
    assert cache.problem in found.problems
    assert cache.problem.severity is Severity.WARNING
    assert "Measure it" in cache.problem.advice


def test_plain_keys_are_full_attention_and_the_rule_says_so() -> None:
    found = foo(
        [(f"blk.{n}.attn_{part}.weight", (1024, 256), "F16") for n in range(8) for part in "kv"]
    )
    (group,) = found.cache.groups
    assert group.layers == tuple(range(8))
    assert group.rule.startswith("full attention: the keys name no window")
    assert bytes_per_token(found.cache) == FULL


def test_all_standard_keys_together_are_followed() -> None:
    """U22."""
    found = foo(
        block_count=9,
        nextn_predict_layers=1,
        attention__sliding_window=512,
        attention__sliding_window_pattern=[True, True, True, False] * 2 + [False],
        attention__key_length_swa=64,
        attention__value_length_swa=64,
        attention__shared_kv_layers=3,
        full_attention_interval=4,
    )
    groups = {g.name: g for g in found.cache.groups}
    assert groups["sliding window"].layers == (0, 1, 2, 4, 5)
    assert groups["sliding window"].k_width == 2 * 64
    assert groups["sliding window"].sharers == 1  # layer 6
    assert groups["full attention"].layers == (3,)
    assert groups["full attention"].sharers == 1  # layer 7
    assert found.cache.shared_layers == 2
    assert "attention.sliding_window_pattern" in groups["sliding window"].rule
    assert draft_cache_size(found.cache, CacheSettings(256)).cache_bytes == 256 * 2 * 256 * 2


def test_an_array_goes_before_an_interval_and_an_interval_before_a_period() -> None:
    """U22."""

    def windowed(**keys: Any) -> tuple[int, ...]:
        found = foo(attention__sliding_window=512, **keys)
        return next(g.layers for g in found.cache.groups if g.window)

    array = [False, True] * 4
    assert windowed(attention__sliding_window_pattern=array, full_attention_interval=4) == (
        1,
        3,
        5,
        7,
    )
    assert windowed(full_attention_interval=4) == (0, 1, 2, 4, 5, 6)
    assert windowed(attention__sliding_window_pattern=2) == (0, 2, 4, 6)


def test_a_default_of_the_architecture_is_named_as_an_assumption() -> None:
    """U22."""
    found = foo(architecture="gemma3", attention__sliding_window=512)
    assert {g.name for g in found.cache.groups} == {"sliding window", "full attention"}
    for group in found.cache.groups:
        assert "by default for gemma3 (assumed: the keys do not say)" in group.rule
    stated = foo(
        architecture="gemma3",
        attention__sliding_window=512,
        attention__sliding_window_pattern=[True] * 7 + [False],
    )
    assert "assumed" not in stated.cache.groups[0].rule


def test_a_window_without_a_pattern_is_unknown() -> None:
    assert_unknown(foo(attention__sliding_window=512), low=0)


def test_compressed_rows_of_another_ratio_are_unknown_with_a_range() -> None:
    found = foo(
        attention__sliding_window=128,
        attention__sliding_window_pattern=[True] * 8,
        attention__q_lora_rank=512,
        attention__compress_ratios=[0, 8] * 4,
        attention__indexer__top_k=512,
    )
    assert_unknown(found, low=4 * (2 * 128 * 2 // 8))
    assert found.cache.problem
    assert "compresses its cache in a way that is not modelled" in found.cache.problem.message


def test_compressed_rows_of_known_ratios_are_followed_under_any_name() -> None:
    source = memory.model("deepseek-v4-flash")
    metadata = {
        key.replace("deepseek4.", "foo9."): value
        for key, value in source.file.header.metadata.items()
    }
    metadata["general.architecture"] = "foo9"
    metadata["foo9.attention.sliding_window_pattern"] = 0
    tensors = [(t.name, t.shape, t.type_name) for t in source.file.tensors]
    found = model_from(file_of(metadata, tensors))
    for row in source.rows:
        if row.n_rs_seq is None:
            size = row.size(found.cache)
            assert size.cache_bytes + size.state_bytes == row.bytes


def test_recurrent_layers_of_an_unknown_kind_are_unknown() -> None:
    specs: list[Spec] = [(f"blk.{n}.ssm_thing.weight", (64, 64), "F16") for n in range(8)]
    assert_unknown(foo(specs), low=0)
    assert_unknown(foo(full_attention_interval=4), low=0)


def test_recurrent_layers_are_found_by_their_tensors() -> None:
    specs: list[Spec] = []
    for n in range(8):
        names = ("attn_k", "attn_v") if n % 4 == 3 else ("ssm_in", "ssm_out")
        specs += [(f"blk.{n}.{name}.weight", (1024, 256), "F16") for name in names]
    found = foo(
        specs, ssm__conv_kernel=4, ssm__inner_size=2048, ssm__state_size=128, ssm__group_count=1
    )
    assert [g.layers for g in found.cache.groups] == [(3, 7)]
    (state,) = found.cache.states
    assert state.layers == (0, 1, 2, 4, 5, 6)
    assert state.bytes_per_layer == 4 * (3 * (2048 + 2 * 128) + 2048 * 128)
    assert "the tensors of each layer" in state.rule


def test_latent_rows_without_their_widths_are_unknown() -> None:
    specs: list[Spec] = [(f"blk.{n}.attn_kv_a_mqa.weight", (1024, 576), "F16") for n in range(8)]
    assert_unknown(foo(specs), low=0)


def test_a_key_about_the_cache_that_no_rule_reads_is_unknown() -> None:
    found = foo(attention__sparse_block_stride=64)
    assert_unknown(found, low=0)
    assert found.cache.problem
    assert "attention.sparse_block_stride" in found.cache.problem.message
    assert foo(attention__sparse_block_stride=0).cache.known  # written and unused


def test_a_layer_without_any_attention_that_is_known_is_unknown() -> None:
    specs: list[Spec] = [(f"blk.{n}.attn_k.weight", (1024, 256), "F16") for n in range(7)]
    specs.append(("blk.7.mixer.weight", (1024, 256), "F16"))
    found = foo(specs)
    assert_unknown(found, low=0)
    assert found.cache.problem
    assert "layer 7" in found.cache.problem.message


def test_without_widths_there_is_no_range_either() -> None:
    found = foo(
        attention__key_length="?",
        attention__value_length="?",
        embedding_length="?",
        attention__sliding_window=512,
    )
    assert_unknown(found, low=0, high=None) if found.cache.low == 0 else None
    assert (found.cache.low, found.cache.high) == (None, None)


def test_widths_come_from_the_projections_where_no_key_gives_them() -> None:
    specs: list[Spec] = [
        (f"blk.{n}.attn_{part}.weight", (1024, width), "F16")
        for n in range(8)
        for part, width in (("k", 384), ("v", 256))
    ]
    found = foo(specs, attention__head_count="?", attention__head_count_kv="?")
    assert bytes_per_token(found.cache) == 8 * (384 + 256) * 2


@pytest.mark.parametrize(
    "label", ["qwen3-4b", "gemma4-31b", "qwen3.5-35b-a3b", "minimax-m3", "glm-5"]
)
def test_a_model_whose_keys_say_all_is_exact_under_another_name(label: str) -> None:
    source = memory.model(label)
    old = source.file.header.metadata["general.architecture"]
    metadata = {
        key.replace(f"{old}.", "foo9."): value for key, value in source.file.header.metadata.items()
    }
    metadata["general.architecture"] = "foo9"
    tensors = [(t.name, t.shape, t.type_name) for t in source.file.tensors]
    found = model_from(file_of(metadata, tensors))
    for row in source.rows:
        if row.n_rs_seq is None:
            size = row.size(found.cache)
            assert size.cache_bytes + size.state_bytes == row.bytes
    assert cache_size(found.cache, CacheSettings(4096)).cache_bytes
