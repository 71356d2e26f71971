"""Keys as files really have them: per layer or not, under other names, absent, empty, absurd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.gguf import open_file
from core.gguf.header import Array, Kind, Tensor, ValueType
from core.model import model_from
from core.model.cache_size import CacheSettings, bytes_per_token, cache_size
from core.model.keys import Keys
from core.model.model import Model
from core.problems import Severity
from tests.support.gguf_files import I32, U32, U64, Plain, TensorSpec, array, write
from tests.support.memory import file_of


def model(architecture: str = "llama", **keys: Any) -> Model:
    metadata = {f"{architecture}.{key.replace('__', '.')}": value for key, value in keys.items()}
    return model_from(file_of({"general.architecture": architecture, **metadata}))


def opened(
    path: Path, metadata: dict[str, Plain], tensors: list[TensorSpec] | None = None
) -> Model:
    """Written to disk and read by the program's own reader."""
    return model_from(open_file(write(path, metadata, tensors or [])))


def total(found: Model, context: int) -> int:
    assert found.cache.known, found.cache.problem
    return cache_size(found.cache, CacheSettings(context)).cache_bytes


@pytest.mark.parametrize("element", [I32, U32, U64])
def test_head_counts_may_differ_per_layer_and_be_zero(element: int, tmp_path: Path) -> None:
    """P19."""
    heads, kv_heads = [64, 0, 64, 64], [8, 0, 8, 4]
    found = opened(
        tmp_path / "deci.gguf",
        {
            "general.architecture": "deci",
            "deci.block_count": 4,
            "deci.embedding_length": 8192,
            "deci.attention.head_count": array(element, heads),
            "deci.attention.head_count_kv": array(element, kv_heads),
            "deci.feed_forward_length": array(element, [28_672, 14_336, 0, 28_672]),
        },
    )
    assert found.shape.heads == tuple(heads)
    assert found.shape.kv_heads == tuple(kv_heads)
    assert found.shape.feed_forward == (28_672, 14_336, 0, 28_672)
    assert bytes_per_token(found.cache) == (8 + 0 + 8 + 4) * 128 * 2 * 2
    assert 1 not in {layer for group in found.cache.groups for layer in group.layers}


def test_one_number_for_all_layers_beside_an_array_is_fine(tmp_path: Path) -> None:
    """P20."""
    found = opened(
        tmp_path / "gemma4.gguf",
        {
            "general.architecture": "gemma4",
            "gemma4.block_count": 35,
            "gemma4.embedding_length": 1536,
            "gemma4.attention.head_count": 8,
            "gemma4.attention.head_count_kv": 1,
            "gemma4.attention.key_length": 512,
            "gemma4.attention.value_length": 512,
            "gemma4.attention.key_length_swa": 256,
            "gemma4.attention.value_length_swa": 256,
            "gemma4.attention.sliding_window": 512,
            "gemma4.attention.sliding_window_pattern": [(n + 1) % 5 != 0 for n in range(35)],
        },
    )
    assert {g.name: len(g.layers) for g in found.cache.groups} == {
        "sliding window": 28,
        "full attention": 7,
    }


def test_a_pattern_of_6_means_five_windows_and_one_full_layer() -> None:
    """P20."""
    found = model(
        "six",
        block_count=6,
        embedding_length=1024,
        attention__head_count=8,
        attention__head_count_kv=8,
        attention__sliding_window=1024,
        attention__sliding_window_pattern=6,
    )
    layers = {g.name: g.layers for g in found.cache.groups}
    assert layers == {"sliding window": (0, 1, 2, 3, 4), "full attention": (5,)}
    row = 2 * 8 * 128 * 2
    assert total(found, 65_536) == 65_536 * row + 5 * 1536 * row


def test_88_values_are_all_used_however_short_the_preview(tmp_path: Path) -> None:
    """P21."""
    kv_heads = [2 if n % 11 == 5 else 0 for n in range(88)]
    found = opened(
        tmp_path / "super.gguf",
        {
            "general.architecture": "llama",
            "llama.block_count": 88,
            "llama.embedding_length": 4096,
            "llama.attention.head_count": 32,
            "llama.attention.head_count_kv": array(I32, kv_heads),
            "llama.attention.key_length": 128,
            "llama.attention.value_length": 128,
            "tokenizer.ggml.tokens": [f"t{n}" for n in range(20_000)],
        },
    )
    assert total(found, 32_768) == 2**30 // 4
    assert found.shape.vocabulary == 20_000


def test_arrays_may_cover_the_draft_block_or_stop_before_it() -> None:
    """P22."""
    keys = {
        "block_count": 46,
        "nextn_predict_layers": 1,
        "embedding_length": 4096,
        "attention__head_count": 96,
        "attention__key_length": 128,
        "attention__value_length": 128,
    }
    whole = model("glm4moe", **keys, attention__head_count_kv=[8] * 46)
    short = model("glm4moe", **keys, attention__head_count_kv=[8] * 45)
    for found in (whole, short):
        assert (found.shape.layers, found.shape.draft_layers) == (45, 1)
        assert [g.layers for g in found.cache.groups] == [tuple(range(45))]
    assert [g.layers for g in whole.cache.draft_groups] == [(45,)]
    assert short.cache.draft_groups == ()  # not said, which is not the same as 0
    (note,) = short.problems
    assert note.severity is Severity.NOTE
    assert "45 elements for 46 layers" in note.message


def test_an_array_that_does_not_reach_every_layer_leaves_the_cache_unknown() -> None:
    found = model(
        block_count=4,
        embedding_length=512,
        attention__head_count=8,
        attention__head_count_kv=[4, 4],
    )
    assert not found.cache.known
    assert found.cache.problem
    assert "head_count_kv" in found.cache.problem.message
    assert "layer 2" in found.cache.problem.message


EMPTY = Array(ValueType.INT32, 0, 0, 0, ())


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"block_count": 0},
        {"block_count": 2, "attention__head_count_kv": EMPTY},
        {"block_count": 2, "attention__sliding_window_pattern": EMPTY},
        {"block_count": 2, "expert_count": 0, "expert_used_count": 0},
        {"block_count": 2, "embedding_length": 0, "attention__head_count": 0},
    ],
)
def test_empty_arrays_and_zero_counts_say_which_value_is_missing(keys: dict[str, Any]) -> None:
    """P24."""
    found = model(**keys)
    assert not found.cache.known
    assert found.cache.problem in found.problems
    assert found.cache.problem
    assert "missing" in found.cache.problem.message
    assert found.weights.bits_per_weight == 0
    assert found.mix == ""


@pytest.mark.parametrize(
    ("architecture", "missing"),
    [("mamba", "ssm.inner_size"), ("rwkv7", "wkv.head_size"), ("falcon-h1", "ssm.inner_size")],
)
def test_a_recurrent_model_without_its_sizes_names_the_key(architecture: str, missing: str) -> None:
    found = model(architecture, block_count=4, embedding_length=512, attention__head_count=8)
    assert not found.cache.known
    assert found.cache.problem
    assert f"{architecture}.{missing} is missing" in found.cache.problem.message


def test_a_layer_that_does_not_exist_keeps_no_history() -> None:
    found = model(
        "qwen4exp",
        block_count=8,
        embedding_length=512,
        attention__head_count=8,
        ssm__conv_kernel=4,
        ssm__inner_size=512,
        ssm__state_size=64,
        ple__conv_kernel=4,
        ple__ngram_size=3,
        ple__heads_per_ngram=2,
        ple__layers=[0, 99],
        hyper_connection__count=4,
    )
    assert {state.name: state.layers for state in found.cache.states}["n-gram history"] == (0,)
    cache_size(found.cache, CacheSettings(4096))


def test_an_empty_array_of_kv_heads_is_as_if_it_were_absent() -> None:
    found = model(
        block_count=2,
        embedding_length=512,
        attention__head_count=4,
        attention__head_count_kv=EMPTY,
        attention__sliding_window_pattern=EMPTY,
    )
    assert bytes_per_token(found.cache) == 2 * 2 * 512 * 2


def test_keys_of_another_prefix_are_used_and_named() -> None:
    """P43."""
    metadata = {
        "general.architecture": "foo",
        "llama.block_count": 2,
        "llama.embedding_length": 512,
        "llama.attention.head_count": 4,
        "llama.context_length": 4096,
    }
    found = model_from(file_of(metadata))
    assert (found.architecture, found.shape.layers, found.shape.context_length) == ("foo", 2, 4096)
    assert found.cache.known
    (note,) = found.problems
    assert "taken from llama.*" in note.message


def test_a_file_without_an_architecture_is_read_by_the_prefix_of_its_keys() -> None:
    found = model_from(file_of({"llama.block_count": 2, "llama.embedding_length": 512}))
    assert found.architecture == "llama"
    assert any("does not name its architecture" in p.message for p in found.problems)


def test_keys_without_any_prefix_are_used() -> None:
    found = model_from(file_of({"general.name": "x", "block_count": 2, "context_length": 2048}))
    assert (found.shape.layers, found.shape.context_length) == (2, 2048)


def test_a_file_with_a_name_and_nothing_else_opens() -> None:
    found = model_from(file_of({"general.name": "x"}, kind=Kind.UNKNOWN))
    assert found.name == "x"
    assert not found.cache.known


@pytest.mark.parametrize("value", ["32", -1, 2**63, 3.5, float("nan"), True, ["a"], [[1]]])
@pytest.mark.parametrize(
    "name",
    [
        *("block_count", "embedding_length", "attention.head_count", "attention.head_count_kv"),
        *("attention.key_length", "attention.sliding_window", "expert_used_count"),
        *("attention.sliding_window_pattern", "nextn_predict_layers", "ssm.state_size"),
        *("attention.compress_ratios", "attention.shared_kv_layers", "num_loops"),
    ],
)
def test_values_of_another_kind_never_stop_anything(name: str, value: Any) -> None:
    metadata = {
        "general.architecture": "gemma3",
        "gemma3.block_count": 4,
        "gemma3.embedding_length": 512,
        "gemma3.attention.head_count": 4,
    }
    if value == [[1]]:
        value = Array(ValueType.ARRAY, 1, 0, 0, (Array(ValueType.INT32, 1, 0, 0, (1,)),))
    found = model_from(file_of({**metadata, f"gemma3.{name}": value}))
    cache_size(found.cache, CacheSettings(4096))


NO_NUMBER = ["32", 2**63, 3.5, float("nan"), -7, True, [512, 1024], ["512"]]


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize(
    ("architecture", "name"),
    [
        ("gemma3", "attention.sliding_window"),
        ("gemma2", "attention.sliding_window"),
        ("new", "attention.sliding_window"),
        ("gemma4", "attention.shared_kv_layers"),
        ("glm4moe", "nextn_predict_layers"),
        ("nanbeige", "num_loops"),
        ("qwen35", "full_attention_interval"),
        ("qwen35", "ssm.state_size"),
        ("deepseek2", "attention.key_length_mla"),
        ("deepseek32", "attention.indexer.key_length"),
        ("lfm2", "shortconv.l_cache"),
        ("llama", "block_count"),
    ],
)
def test_a_key_that_decides_and_cannot_be_used_is_not_taken_for_absent(
    architecture: str, name: str, value: Any
) -> None:
    keys = {
        "block_count": 4,
        "embedding_length": 512,
        "attention.head_count": 4,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 512,
        "ssm.state_size": 64,
        "ssm.group_count": 2,
    }
    metadata = {f"{architecture}.{key}": each for key, each in {**keys, name: value}.items()}
    found = model_from(file_of({"general.architecture": architecture, **metadata}))
    assert not found.cache.known
    assert found.cache.problem
    assert f"{architecture}.{name} " in found.cache.problem.message


@pytest.mark.parametrize("value", [value for value in NO_NUMBER if not isinstance(value, list)])
@pytest.mark.parametrize("name", ["head_count", "head_count_kv", "key_length", "value_length"])
def test_a_width_that_cannot_be_used_comes_from_the_tensors_or_is_unknown(
    name: str, value: Any
) -> None:
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.embedding_length": 512,
        "llama.attention.head_count": 8,
        "llama.attention.head_count_kv": 2,
        "llama.attention.key_length": 64,
        "llama.attention.value_length": 64,
        f"llama.attention.{name}": value,
    }
    tensors = [(f"blk.0.attn_{part}.weight", (512, 128), "F16") for part in "kv"]
    bare, whole = model_from(file_of(metadata)), model_from(file_of(metadata, tensors))
    assert any(p.code == "odd-key" and name in p.message for p in whole.problems)
    assert bytes_per_token(whole.cache) == 2 * 128 * 2
    if name == "head_count":  # the count of KV heads and the sizes say enough
        assert bytes_per_token(bare.cache) == 2 * 128 * 2
    else:
        assert not bare.cache.known


@pytest.mark.parametrize("part", ["k", "v"])
@pytest.mark.parametrize("rows", [128, 1024, 0])
def test_keys_and_projections_that_disagree_leave_the_cache_unknown(part: str, rows: int) -> None:
    """llama.cpp: "tensor 'blk.1.attn_k.weight' has wrong shape"."""
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.embedding_length": 512,
        "llama.attention.head_count": 8,
        "llama.attention.head_count_kv": 8,
    }
    tensors = [(f"blk.{n}.attn_{x}.weight", (512, 512), "F16") for n in range(2) for x in "kv"]
    assert model_from(file_of(metadata, tensors)).cache.known
    changed = [
        (name, (512, rows) if name == f"blk.1.attn_{part}.weight" else shape, kind)
        for name, shape, kind in tensors
    ]
    found = model_from(file_of(metadata, changed))
    assert not found.cache.known
    assert found.cache.problem
    assert found.cache.problem.code == "contradiction"
    said = f"blk.1.attn_{part}.weight has {rows:,} rows, where the keys say 512"
    assert said in found.cache.problem.message


@pytest.mark.parametrize(
    ("architecture", "layer", "known"),
    [("llama", 1, True), ("llama", 2, False), ("llama", 999_999, False), ("new", 2, True)],
)
def test_more_layers_than_the_keys_count_leave_the_cache_of_a_known_model_unknown(
    architecture: str, layer: int, known: bool
) -> None:
    """llama.cpp: "wrong number of tensors"."""
    metadata = {
        "general.architecture": architecture,
        f"{architecture}.block_count": 2,
        f"{architecture}.embedding_length": 512,
        f"{architecture}.attention.head_count": 8,
    }
    names = [f"blk.{n}.attn_k.weight" for n in (0, 1, layer)]
    found = model_from(file_of(metadata, [(name, (512, 512), "F16") for name in names]))
    assert found.cache.known is known
    if not known:
        assert found.cache.problem
        assert f"tensors of layer {layer:,}, where llama.block_count says 2" in (
            found.cache.problem.message
        )


def test_keys_that_decide_nothing_about_the_cache_do_not_hide_it() -> None:
    for name in ("context_length", "vocab_size", "expert_used_count", "rope__dimension_count"):
        found = model(
            block_count=2, embedding_length=512, attention__head_count=8, **{name: "text"}
        )
        assert bytes_per_token(found.cache) == 2 * 2 * 512 * 2


def test_text_where_a_number_belongs_is_said() -> None:
    found = model(block_count="many")
    assert any("should be a whole number and is text" in p.message for p in found.problems)


def test_an_array_too_long_to_be_kept_is_said() -> None:
    keys = Keys(
        {
            "general.architecture": "llama",
            "llama.block_count": 2,
            "llama.attention.head_count": Array(ValueType.INT32, 10**6, 0, 4 * 10**6),
        }
    )
    assert keys.per_layer("attention.head_count", 2) is None
    assert "1,000,000 elements" in keys.problems[0].message


def test_a_claim_of_more_layers_than_any_model_has_takes_no_memory() -> None:
    found = model(block_count=2**40, attention__head_count=8, embedding_length=512)
    assert found.shape.layers == 0
    assert not found.cache.known


VALUES = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.integers(0, 300),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.lists(st.one_of(st.integers(-2, 300), st.booleans(), st.text(max_size=2)), max_size=9).map(
        lambda items: Array(ValueType.INT32, len(items), 0, 0, tuple(items))
    ),
    st.just(Array(ValueType.STRING, 10**9, 0, 0)),
)
NAMES = st.sampled_from(
    [
        *("block_count", "embedding_length", "nextn_predict_layers", "num_loops", "vocab_size"),
        *("attention.head_count", "attention.head_count_kv", "attention.key_length"),
        *("attention.value_length", "attention.key_length_swa", "attention.value_length_swa"),
        *("attention.key_length_mla", "attention.value_length_mla", "attention.kv_lora_rank"),
        *("attention.sliding_window", "attention.sliding_window_pattern", "attention.causal"),
        *("attention.shared_kv_layers", "attention.recurrent_layers", "full_attention_interval"),
        *("attention.compress_ratios", "attention.indexer.key_length", "attention.indexer.top_k"),
        *("attention.indexer.types", "attention.indexer.kpool", "attention.indexer.block_size"),
        *("ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.group_count"),
        *("kda.head_dim", "wkv.head_size", "shortconv.l_cache", "token_shift_count"),
        *("feed_forward_length", "expert_count", "expert_used_count", "ple.layers"),
        *("ple.conv_kernel", "ple.ngram_size", "ple.heads_per_ngram", "hyper_connection.count"),
        *("hrm.layers_per_stack", "hrm.h_cycles", "hrm.l_cycles", "leading_dense_block_count"),
    ]
)
ARCHITECTURES = st.sampled_from(
    [
        *("llama", "foo", "gemma3n", "gemma4", "qwen35", "deepseek4", "deepseek32", "minimax-m3"),
        *("falcon-h1", "mamba", "nemotron_h", "qwen4exp", "exaone4", "nanbeige", "hrm_text", ""),
    ]
)
TENSORS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("token_embd.weight", "output.weight", "blk.0.attn_k.weight", "blk.1.ssm_a"),
                *("blk.0.attn_qkv.weight", "blk.1.ffn_up_exps.weight", "blk.999999.x", "blk..y"),
                *("blk.0.indexer.k_proj.weight", "dec.blk.0.attn_k.weight", "enc.blk.1.attn_v"),
                *("v.blk.0.attn_q.weight", "blk.0.ffn_gate.3.weight", "blk.2.nextn.eh_proj.weight"),
            ]
        ),
        st.lists(st.integers(0, 2**40), max_size=4).map(tuple),
    ),
    max_size=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ARCHITECTURES, st.dictionaries(NAMES, VALUES, max_size=12), st.integers(0, 40), TENSORS)
def test_no_header_makes_the_facts_raise(
    architecture: str, keys: dict[str, Any], layers: int, names: list[tuple[str, tuple[int, ...]]]
) -> None:
    prefix = f"{architecture}." if architecture else ""
    metadata: dict[str, Any] = {
        "general.architecture": architecture,
        f"{prefix}block_count": layers,
    }
    metadata |= {f"{prefix}{name}": value for name, value in keys.items()}
    file = file_of(metadata)
    tensors = tuple(Tensor(name, shape, 0, "F32", 0, 64, 16) for name, shape in names)
    found = model_from(file.__class__(file.header, file.headers, Kind.MODEL, tensors))
    for cache_type in ("f16", "q4_0"):
        cache_size(found.cache, CacheSettings(5000, 3, type_k=cache_type, type_v=cache_type))
    assert found.cache.known or found.cache.problem in found.problems


def test_a_tensor_of_a_real_file_ends_up_in_its_layer(tmp_path: Path) -> None:
    tensors = [
        TensorSpec("token_embd.weight", "F16", (64, 100)),
        TensorSpec("blk.0.attn_k.weight", "F16", (64, 64)),
        TensorSpec("blk.1.attn_k.weight", "F16", (64, 64)),
    ]
    found = opened(
        tmp_path / "m.gguf", {"general.architecture": "llama", "llama.block_count": 2}, tensors
    )
    assert found.tensor_layers == (None, 0, 1)
