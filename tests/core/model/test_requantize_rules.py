"""Types of every tensor in every recipe, against the answers of llama.cpp itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from core.gguf.header import Array, Tensor, Value, ValueType
from core.gguf.types import BY_NAME
from core.model.recipes.rules import BASE, RefusedError, choose_types
from core.model.recipes.subject import Subject, subject_from
from tests.support.quantized import Bank, Case, Recorded, labels, recorded

BANKS: tuple[Bank, ...] = ("quantized_models", "quantized_variants")
EVERY_MODEL = [(bank, label) for bank in BANKS for label in labels(bank)]


def _chosen(model: Recorded, subject: Subject, case: Case) -> tuple[str, ...] | None:
    """Our answer to a recorded question, checked in all but the types; None where refused."""
    where = (model.label, case.recipe, case.imatrix)
    if case.refused is not None:
        with pytest.raises(RefusedError) as refusal:
            choose_types(subject, case.recipe, case.imatrix)
        assert case.refused in str(refusal.value), where
        return None
    selection = choose_types(subject, case.recipe, case.imatrix)
    assert bool(selection.imatrix_types) is case.needs_imatrix, where
    assert selection.fallbacks == case.fallbacks, where
    if case.bytes is not None:
        sizes = (
            BY_NAME[name].tensor_bytes(tensor.shape)
            for name, tensor in zip(selection.types, model.tensors, strict=True)
        )
        assert sum(sizes) == case.bytes, where
    return selection.types


@pytest.mark.parametrize(("bank", "label"), EVERY_MODEL)
def test_every_recipe_gives_every_tensor_the_type_that_llama_quantize_gives_it(
    bank: Bank, label: str
) -> None:
    model = recorded(bank, label)
    subject = subject_from(model.metadata, model.tensors)
    assert len(model.cases) == 70
    for case in model.cases:
        types = _chosen(model, subject, case)
        if types is not None:
            wrong = [
                (tensor.name, ours, theirs)
                for tensor, ours, theirs in zip(model.tensors, types, case.types, strict=True)
                if ours != theirs
            ]
            assert not wrong, (case.recipe, case.imatrix, len(wrong), wrong[:3])


def test_the_recipes_are_those_that_llama_quantize_has() -> None:
    model = recorded("quantized_models", "llama-3.1-8b")
    assert tuple(BASE) == tuple(dict.fromkeys(case.recipe for case in model.cases))
    assert len(BASE) == 35


# The rules in words, one by one. The models are small; what they must become is said by the rule.


def _tensor(name: str, *shape: int, kind: str = "F16") -> Tensor:
    return Tensor(name, shape, 0, kind, 0, 0, 0)


def _llama(
    layers: int, names: Sequence[str], *more: Tensor, kv_heads: int = 8, **keys: Value
) -> tuple[dict[str, Value], list[Tensor]]:
    """A llama with 32 heads and the named matrices in every layer."""
    metadata: dict[str, Value] = {
        "general.architecture": "llama",
        "llama.block_count": layers,
        "llama.attention.head_count": 32,
        "llama.attention.head_count_kv": kv_heads,
        **{f"llama.{key}": value for key, value in keys.items()},
    }
    tensors = [
        _tensor(f"blk.{layer}.{name}.weight", 4096, 1024)
        for layer in range(layers)
        for name in names
    ]
    ends = [_tensor("token_embd.weight", 4096, 32000), _tensor("output.weight", 4096, 32000)]
    return metadata, [*ends, *tensors, *more]


def _types(
    model: tuple[dict[str, Value], list[Tensor]], recipe: str, *, imatrix: bool = False
) -> dict[str, str]:
    metadata, tensors = model
    chosen = choose_types(subject_from(metadata, tensors), recipe, imatrix).types
    return {tensor.name: name for tensor, name in zip(tensors, chosen, strict=True)}


def test_norms_routers_biases_and_small_matrices_keep_their_type() -> None:
    kept = [
        _tensor("blk.0.attn_norm.weight", 4096, kind="F32"),
        _tensor("blk.0.attn_q_norm.weight", 128, 32, kind="F32"),
        _tensor("blk.0.ffn_gate_inp.weight", 4096, 8, kind="F32"),
        _tensor("blk.0.ffn_gate_exps.bias", 2880, 32, kind="F32"),
        _tensor("blk.0.ssm_conv1d.weight", 4, 8192, kind="F32"),
        _tensor("blk.0.ssm_a", 16, 5120, kind="F32"),
        _tensor("blk.0.attn_rel_b.weight", 16, 32, kind="BF16"),
        _tensor("blk.0.time_mix_w1.weight", 4096, 320, kind="F32"),
        _tensor("blk.0.channel_mix_lerp_k.weight", 4096, 1, 1, kind="F32"),
        _tensor("position_embd.weight", 1600, 1024, kind="F32"),
        _tensor("v.patch_embd.weight", 16, 16, 3, 1024, kind="F16"),
        _tensor("altup_proj.weight", 2048, 2048, 3, kind="BF16"),
    ]
    for recipe in BASE:
        types = _types(_llama(2, ["attn_q"], *kept), recipe)
        assert {t.name: t.type_name for t in kept} == {t.name: types[t.name] for t in kept}


def test_a_kept_tensor_that_another_tool_had_quantized_counts_as_the_converter_writes_it() -> None:
    model = _llama(
        1,
        ["attn_q"],
        _tensor("blk.0.ffn_gate_inp.weight", 4096, 8, kind="Q8_0"),
        _tensor("per_layer_model_proj.weight", 2048, 7680, kind="Q8_0"),
    )
    types = _types(model, "Q4_K_M")
    assert types["blk.0.ffn_gate_inp.weight"] == "F32"
    assert types["per_layer_model_proj.weight"] == "BF16"


@pytest.mark.parametrize(
    ("recipe", "kind"),
    [("F16", "F16"), ("BF16", "BF16"), ("F32", "F32")],
)
def test_a_recipe_without_quantization_changes_every_matrix_whatever_its_rows(
    recipe: str, kind: str
) -> None:
    odd = _tensor("blk.0.ssm_dt.weight", 2, 512, kind="F32")
    types = _types(_llama(1, ["attn_q", "ffn_down"], odd), recipe)
    assert set(types.values()) == {kind}


def test_the_head_gets_q6_k_or_q5_k_in_the_smallest_recipes_or_q8_0() -> None:
    model = _llama(8, ["attn_q", "ffn_down"])
    heads = {recipe: _types(model, recipe, imatrix=True)["output.weight"] for recipe in BASE}
    q5 = {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS"}
    q8 = {"Q8_0", "MXFP4_MOE"}
    floats = {"F32", "F16", "BF16"}
    assert {recipe for recipe, head in heads.items() if head == "Q5_K"} == q5
    assert {recipe for recipe, head in heads.items() if head == "Q8_0"} == q8
    assert {recipe for recipe, head in heads.items() if head == "Q6_K"} == (
        set(BASE) - q5 - q8 - floats
    )


def test_a_tied_embedding_is_treated_as_the_head_that_it_is() -> None:
    metadata, tensors = _llama(8, ["attn_q"])
    tied = metadata, [tensor for tensor in tensors if tensor.name != "output.weight"]
    assert _types(tied, "Q4_K_M")["token_embd.weight"] == "Q6_K"
    assert _types((metadata, tensors), "Q4_K_M")["token_embd.weight"] == "Q4_K"
    assert _types((metadata, tensors), "IQ2_XS", imatrix=True)["token_embd.weight"] == "Q2_K"
    assert _types((metadata, tensors), "IQ3_XXS", imatrix=True)["token_embd.weight"] == "IQ3_S"
    assert _types((metadata, tensors), "TQ1_0")["token_embd.weight"] == "Q4_K"


def test_q4_k_m_gives_q6_k_to_the_outer_eighths_and_every_third_layer_between() -> None:
    types = _types(_llama(32, ["attn_v", "ffn_down"]), "Q4_K_M")
    more = [layer for layer in range(32) if types[f"blk.{layer}.attn_v.weight"] == "Q6_K"]
    assert more == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]
    assert more == [n for n in range(32) if types[f"blk.{n}.ffn_down.weight"] == "Q6_K"]


def test_value_matrices_get_more_bits_where_four_query_heads_share_one() -> None:
    names = ["attn_v", "attn_qkv", "attn_kv_b"]
    for recipe, shared, alone in (
        ("Q2_K", "Q4_K", "Q3_K"),
        ("IQ3_S", "Q4_K", "IQ3_S"),
        ("IQ4_XS", "Q5_K", "IQ4_XS"),
        ("IQ3_M", "Q4_K", "Q4_K"),
        ("Q3_K_L", "Q5_K", "Q5_K"),
    ):
        for name in names:
            grouped = _types(_llama(8, [name]), recipe)
            single = _types(_llama(8, [name], kv_heads=32), recipe)
            assert {grouped[f"blk.{n}.{name}.weight"] for n in range(8)} == {shared}
            assert {single[f"blk.{n}.{name}.weight"] for n in range(8)} == {alone}


def test_value_like_matrices_are_counted_together_in_the_order_of_names() -> None:
    # Q3_K_M: the first two of the model get Q5_K, which here are both in layer 0.
    types = _types(_llama(4, ["attn_v", "attn_kv_b"]), "Q3_K_M")
    first = {name for name, kind in types.items() if kind == "Q5_K"}
    assert first == {"blk.0.attn_kv_b.weight", "blk.0.attn_v.weight"}


def test_layers_are_visited_by_number_and_not_by_spelling() -> None:
    # By spelling layer 10 would come before layer 2. Q4_K_S: the first four values get Q5_K.
    types = _types(_llama(12, ["attn_v"]), "Q4_K_S")
    first = {name for name, kind in types.items() if kind == "Q5_K"}
    assert first == {f"blk.{layer}.attn_v.weight" for layer in range(4)}


def test_eight_experts_keep_keys_and_values_in_q8_0() -> None:
    names = ["attn_k", "attn_v", "attn_output", "attn_q"]
    types = _types(_llama(4, names, expert_count=8), "Q4_K_M")
    assert [types[f"blk.1.{name}.weight"] for name in names] == ["Q8_0", "Q8_0", "Q5_K", "Q4_K"]
    low = _types(_llama(4, names, expert_count=8), "IQ2_XS", imatrix=True)
    assert [low[f"blk.1.{name}.weight"] for name in names] == ["Q4_K", "Q4_K", "Q5_K", "IQ2_XS"]


def test_down_projections_are_counted_as_they_come_in_a_dense_model() -> None:
    # Q4_K_S: the first eighth of the layers gets Q5_K; two per layer use it up twice as fast.
    both = _types(_llama(16, ["ffn_down", "ffn_down_shexp"]), "Q4_K_S")
    assert {n for n, kind in both.items() if kind == "Q5_K"} == {
        "blk.0.ffn_down.weight",
        "blk.0.ffn_down_shexp.weight",
    }


def test_down_projections_go_by_the_layer_in_their_name_in_a_mixture_of_experts() -> None:
    both = _types(_llama(16, ["ffn_down_exps", "ffn_down_shexp"], expert_count=64), "Q4_K_S")
    assert {n for n, kind in both.items() if kind == "Q5_K"} == {
        f"blk.{layer}.{name}.weight"
        for layer in (0, 1)
        for name in ("ffn_down_exps", "ffn_down_shexp")
    }
    # The two-bit recipes count all the same.
    low = _types(
        _llama(16, ["ffn_down_exps", "ffn_down_shexp"], expert_count=64), "IQ2_XS", imatrix=True
    )
    assert Counter(kind for name, kind in low.items() if name.startswith("blk")) == {
        "IQ2_XS": 30,
        "Q2_K": 2,
    }


def test_an_importance_matrix_changes_the_sizes_of_five_recipes_only() -> None:
    model = _llama(16, ["attn_v", "attn_output", "ffn_down"], kv_heads=32)
    changed = {r for r in BASE if _types(model, r) != _types(model, r, imatrix=True)}
    assert changed == {"Q4_0", "Q5_0", "IQ4_NL", "IQ4_XS", "IQ3_XXS"}


def test_recipes_below_three_bits_and_iq3_x_need_an_importance_matrix() -> None:
    names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    metadata, tensors = _llama(16, names)
    subject = subject_from(metadata, tensors)
    need = {recipe for recipe in BASE if choose_types(subject, recipe).imatrix_types}
    assert need == {
        *("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"),
        *("IQ3_XXS", "IQ3_XS", "Q2_K_S"),
    }
    assert not any(choose_types(subject, recipe, True).imatrix_types for recipe in BASE)


def test_no_importance_matrix_is_needed_where_every_such_tensor_fell_back() -> None:
    metadata, _ = _llama(16, [])
    rows_of_2880 = [
        _tensor(f"blk.{layer}.{name}.weight", 2880, 2880)
        for layer in range(16)
        for name in ("attn_q", "ffn_up")
    ]
    selection = choose_types(subject_from(metadata, rows_of_2880), "IQ3_XXS")
    assert not selection.imatrix_types
    assert selection.fallbacks == 32
    assert set(selection.types) == {"IQ4_NL"}


@pytest.mark.parametrize(
    ("length", "expected"),
    [(4096, "Q4_K"), (2880, "Q5_0"), (160, "Q5_0"), (100, "F16"), (2, "F16")],
)
def test_a_row_that_no_block_divides_takes_the_next_type_that_fits(
    length: int, expected: str
) -> None:
    types = _types(_llama(1, [], _tensor("blk.0.attn_q.weight", length, 64)), "Q4_K_M")
    assert types["blk.0.attn_q.weight"] == expected


def test_a_one_bit_recipe_is_refused_where_a_row_is_no_multiple_of_its_block() -> None:
    model = _llama(1, [], _tensor("blk.0.attn_q.weight", 2880, 64))
    with pytest.raises(RefusedError, match=r"blk\.0\.attn_q\.weight hold 2880 values.*128"):
        _types(model, "Q1_0")


def test_mxfp4_is_for_experts_and_everything_else_gets_q8_0() -> None:
    stack = _tensor("blk.0.ffn_up_exps.weight", 2880, 2880, 32)
    types = _types(_llama(1, ["attn_q", "ffn_down"], stack, expert_count=32), "MXFP4_MOE")
    assert types.pop(stack.name) == "MXFP4"
    assert set(types.values()) == {"Q8_0"}


def test_a_file_of_integers_is_refused_as_no_conversion_exists() -> None:
    model = _llama(1, [], _tensor("blk.0.attn_q.weight", 4096, 64, kind="I8"))
    with pytest.raises(RefusedError, match="cannot convert"):
        _types(model, "Q4_K_M")


def test_a_model_without_a_number_of_layers_is_refused_as_llama_quantize_refuses_it() -> None:
    lone = [_tensor("blk.3.attn_v.weight", 4096, 64)]
    with pytest.raises(RefusedError, match=r"lacks llama\.block_count"):
        choose_types(subject_from({"general.architecture": "llama"}, lone), "Q2_K")
    with pytest.raises(RefusedError, match="block_count"):
        choose_types(subject_from({}, []), "Q4_K_M")


def test_a_projector_has_no_layers_of_its_own_and_no_heads_to_ask_for() -> None:
    tower = [_tensor("v.blk.0.attn_v.weight", 1024, 1024), _tensor("mm.0.weight", 1024, 4096)]
    subject = subject_from({"general.architecture": "clip"}, tower)
    assert choose_types(subject, "Q8_0").types == ("Q8_0", "Q8_0")
    with pytest.raises(RefusedError, match="attention heads"):
        choose_types(subject, "Q2_K")


def test_a_head_count_by_layer_counts_by_its_first_layer() -> None:
    heads = Array(ValueType.INT32, 4, 0, 0, (0, 8, 8, 8))
    metadata, tensors = _llama(4, ["attn_v"])
    metadata["llama.attention.head_count_kv"] = heads
    assert _types((metadata, tensors), "Q2_K")["blk.1.attn_v.weight"] == "Q3_K"


@pytest.mark.parametrize("value", ["32", True, 2.5, None])
def test_a_count_of_the_wrong_type_counts_as_absent(value: Value | None) -> None:
    metadata, tensors = _llama(8, ["attn_v"])
    if value is None:
        del metadata["llama.attention.head_count_kv"]
    else:
        metadata["llama.attention.head_count_kv"] = value
    # Without a count of KV heads there are as many as query heads.
    assert _types((metadata, tensors), "Q2_K")["blk.1.attn_v.weight"] == "Q3_K"
