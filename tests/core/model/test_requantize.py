"""A model requantized: weights, file size, refusals and remarks, against llama.cpp itself."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from pathlib import Path
from time import process_time

import pytest

from core.gguf import open_file
from core.model import RECIPES, model_from, recipe_sizes, requantize
from core.model.model import Model, Weights
from core.problems import Problem, Severity
from resources import specimens
from tests.support.gguf_files import STRING, Metadata, Plain, TensorSpec, array, u32, write
from tests.support.quantized import Case, Recorded, labels, recorded


def _model(path: Path, metadata: Metadata, tensors: list[TensorSpec]) -> Model:
    return model_from(open_file(write(path, metadata, tensors)))


def _source(path: Path, model: Recorded) -> Model:
    """The 16-bit file that the recorded answers are about."""
    specs = [TensorSpec(t.name, t.type_name, t.shape) for t in model.tensors]
    return _model(path, dict(model.keys), specs)


def _specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


def _weights(model: Model, ftype: str, *, imatrix: bool = False) -> Weights:
    made = requantize(model, ftype, imatrix)
    assert isinstance(made, Weights)
    return made


def _check(weights: Weights, case: Case, where: tuple[str, str]) -> None:
    assert weights.tensor_types == case.types, where
    assert weights.bytes == case.bytes, where
    assert sum(weights.tensor_bytes) == case.bytes, where
    assert sum(block.bytes for block in weights.blocks) == case.bytes, where
    assert sum(share.bytes for share in weights.formats) == case.bytes, where
    assert weights.file_bytes == case.file_bytes, where
    assert weights.label == case.recipe, where
    codes = {problem.code for problem in weights.problems}
    assert ("needs-imatrix" in codes) is case.needs_imatrix, where
    assert ("row-fallback" in codes) is (case.fallbacks > 0), where


@pytest.mark.parametrize("label", labels("quantized_models"))
def test_bytes_of_tensors_and_file_are_those_of_llama_quantize(label: str, tmp_path: Path) -> None:
    recording = recorded("quantized_models", label)
    model = _source(tmp_path / "source.gguf", recording)
    for imatrix in (False, True):
        theirs = {
            (case.recipe, case.bytes, case.needs_imatrix)
            for case in recording.cases
            if case.imatrix is imatrix and case.refused is None
        }
        assert set(recipe_sizes(model, imatrix)) == theirs
    plain = {case.recipe: case for case in recording.cases if not case.imatrix}
    for case in recording.cases:
        if case.imatrix and case.types == plain[case.recipe].types:
            continue
        made = requantize(model, case.recipe, case.imatrix)
        if case.refused is not None:
            assert isinstance(made, Problem)
            assert made.code == "cannot-quantize"
            assert case.refused in made.message
        else:
            assert isinstance(made, Weights)
            _check(made, case, (label, case.recipe))


def test_a_file_that_is_quantized_already_gives_the_same_as_its_source() -> None:
    # The specimen is Q4_K_M; the recorded answers started from 16 bits.
    model = _specimen("Qwen3-30B")
    recording = recorded("quantized_models", "qwen3-30b-a3b")
    names = [tensor.name for tensor in recording.tensors]
    for ftype in RECIPES:
        case = recording.case(ftype)
        weights = _weights(model, ftype)
        ours = dict(zip((t.name for t in model.file.tensors), weights.tensor_types, strict=True))
        assert ours == dict(zip(names, case.types, strict=True)), ftype
        assert weights.bytes == case.bytes, ftype


def test_a_file_made_with_the_recipe_gives_back_its_own_bytes() -> None:
    for path in specimens():
        model = model_from(open_file(path))
        again = _weights(model, model.label)
        assert again.bytes == model.weights.bytes
        assert again.tensor_types == model.weights.tensor_types
        assert again.tensor_bytes == model.weights.tensor_bytes
        assert again.read_per_token == model.weights.read_per_token
        assert again.active_parameters == model.weights.active_parameters


def test_llama_3_1_8b_weighs_what_the_table_of_llama_cpp_says() -> None:
    # Tensor bytes without an importance matrix.
    model = _specimen("Llama-3.1-8B")
    assert {ftype: _weights(model, ftype).bytes for ftype in ("Q2_K", "Q3_K_M", "Q4_0")} == {
        "Q2_K": 3_171_295_488,
        "Q3_K_M": 4_011_081_984,
        "Q4_0": 4_653_375_744,
    }
    assert {ftype: _weights(model, ftype).bytes for ftype in ("IQ4_XS", "Q6_K", "Q8_0")} == {
        "IQ4_XS": 4_476_526_848,
        "Q6_K": 6_588_170_496,
        "Q8_0": 8_532_934_912,
    }


def test_a_recipe_without_a_way_out_for_odd_rows_is_a_problem_and_no_weights() -> None:
    problem = requantize(_specimen("gpt-oss-20b"), "Q1_0")
    assert isinstance(problem, Problem)
    assert problem.code == "cannot-quantize"
    assert problem.severity is Severity.ERROR
    assert "token_embd.weight hold 2880 values" in problem.message
    assert "128" in problem.message
    assert "\n" not in problem.message
    assert "Q1_0" not in [size.ftype for size in recipe_sizes(_specimen("gpt-oss-20b"))]


@pytest.mark.parametrize("name", ["Q9_K", "", "q4_k_m", "Q4_K\x1b[31m"])
def test_a_name_that_is_no_recipe_is_a_problem_that_lists_the_recipes(name: str) -> None:
    problem = requantize(_specimen("Llama-3.2"), name)
    assert isinstance(problem, Problem)
    assert problem.code == "unknown-recipe"
    assert "Q4_K_M" in problem.advice
    assert "\x1b" not in problem.message


def test_a_recipe_that_needs_an_importance_matrix_says_so_until_one_is_given() -> None:
    model = _specimen("Llama-3.1-8B")
    [problem] = _weights(model, "IQ2_XS").problems
    assert problem.code == "needs-imatrix"
    assert problem.severity is Severity.NOTE
    assert "IQ2_XS" in problem.message
    assert "--imatrix" in problem.advice
    assert _weights(model, "IQ2_XS", imatrix=True).problems == ()


def test_rows_that_do_not_fit_are_counted_in_a_note() -> None:
    # llama.cpp: "145 of 459 tensor(s) required fallback quantization".
    [problem] = _weights(_specimen("gpt-oss-20b"), "Q4_K_M").problems
    assert problem.code == "row-fallback"
    assert "145 of 459" in problem.message


def test_recipes_are_listed_by_their_size_on_this_model() -> None:
    # Rows of 2880 values make the small recipes of gpt-oss as large as the four-bit ones.
    sizes = recipe_sizes(_specimen("gpt-oss-20b"))
    assert [size.bytes for size in sizes] == sorted((s.bytes for s in sizes), reverse=True)
    assert sizes[0].ftype == "F32"
    order = [size.ftype for size in sizes]
    assert order.index("Q3_K_M") < order.index("IQ4_XS") < order.index("MXFP4_MOE")
    assert order.index("MXFP4_MOE") < order.index("Q4_0") < order.index("Q2_K")
    dense = [size.ftype for size in recipe_sizes(_specimen("Llama-3.1-8B"))]
    assert dense.index("Q4_0") < dense.index("IQ4_XS") < dense.index("Q3_K_M")


def test_an_answer_is_remembered_as_long_as_its_model_lives() -> None:
    model = _specimen("Llama-3.2")
    weights = _weights(model, "Q4_K_M")
    assert requantize(model, "Q4_K_M") is weights
    assert requantize(model, "Q4_K_M", imatrix=True) is not weights
    assert recipe_sizes(model) is recipe_sizes(model)
    other = _specimen("Llama-3.2")
    assert requantize(other, "Q4_K_M") is not weights
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_requantization_of_753_tensors_takes_less_than_ten_milliseconds() -> None:
    model = _specimen("Qwen3.6-35B")
    assert len(model.file.tensors) == 753
    requantize(model, "F16")
    took = []
    for ftype in RECIPES:
        start = process_time()
        requantize(model, ftype)
        took.append(process_time() - start)
    # The processor's time, and the median of it: other programs may hold up any one of them.
    assert sorted(took)[len(took) // 2] < 0.010


# The file


def _small(path: Path, more: Mapping[str, Plain] | None = None, *, version: int = 3) -> Model:
    metadata: dict[str, Plain] = {
        "general.architecture": "llama",
        "llama.block_count": u32(1),
        "llama.attention.head_count": u32(4),
        "tokenizer.ggml.tokens": array(STRING, ["a", "bc", "def"]),
        **(more or {}),
    }
    tensors = [
        TensorSpec("token_embd.weight", "F16", (256, 3)),
        TensorSpec("blk.0.attn_q.weight", "F16", (256, 9)),
        TensorSpec("blk.0.attn_norm.weight", "F32", (9,)),
    ]
    return model_from(open_file(write(path, metadata, tensors, version=version)))


def test_the_file_has_two_keys_more_where_the_source_lacks_them(tmp_path: Path) -> None:
    without = _weights(_small(tmp_path / "a.gguf"), "Q8_0").file_bytes
    labelled = {"general.file_type": u32(1), "general.quantization_version": u32(2)}
    assert _weights(_small(tmp_path / "b.gguf", labelled), "Q8_0").file_bytes == without


def test_the_file_as_f16_is_the_source_with_these_keys(tmp_path: Path) -> None:
    labelled = {"general.file_type": u32(1), "general.quantization_version": u32(2)}
    source = _small(tmp_path / "source.gguf", labelled)
    assert _weights(source, "F16").file_bytes == (tmp_path / "source.gguf").stat().st_size


def test_a_file_of_version_1_becomes_one_of_version_3(tmp_path: Path) -> None:
    third = _weights(_small(tmp_path / "v3.gguf"), "Q8_0").file_bytes
    assert third is not None
    assert _weights(_small(tmp_path / "v1.gguf", version=1), "Q8_0").file_bytes == third


def test_keys_of_the_matrix_count_only_where_a_matrix_is_given(tmp_path: Path) -> None:
    plain = _weights(_small(tmp_path / "a.gguf"), "Q8_0").file_bytes
    assert plain is not None
    model = _small(
        tmp_path / "b.gguf",
        {"quantize.imatrix.file": "x" * 100, "quantize.imatrix.entries_count": u32(7)},
    )
    assert _weights(model, "Q8_0").file_bytes == plain
    with_matrix = _weights(model, "Q8_0", imatrix=True).file_bytes
    assert with_matrix is not None
    assert 150 < with_matrix - plain < 250


def test_the_size_of_an_incomplete_family_of_shards_is_not_told(tmp_path: Path) -> None:
    split = {"split.no": u32(0), "split.count": u32(2), "split.tensors.count": u32(6)}
    model = _small(tmp_path / "m-00001-of-00002.gguf", split)
    assert model.file.missing
    assert _weights(model, "Q8_0").file_bytes is None


def test_a_damaged_header_is_answered_without_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    _small(path)
    whole = path.read_bytes()
    for end in range(24, len(whole), 97):
        path.write_bytes(whole[:end])
        model = model_from(open_file(path))
        for ftype in ("F16", "Q4_K_M", "Q1_0"):
            made = requantize(model, ftype)
            if isinstance(made, Weights):
                assert made.bytes == sum(made.tensor_bytes)


def test_fifty_thousand_tensors_are_sized_in_every_recipe_at_once(tmp_path: Path) -> None:
    keys: dict[str, Plain] = {"general.architecture": "llama", "llama.block_count": u32(100)}
    specs = [
        TensorSpec(f"blk.{n % 100}.{name}.{n}.weight", "F16", shape)
        for n in range(12_500)
        for name, shape in (
            ("ffn_up", (256, 4)),
            ("ffn_norm", (256,)),
            ("extra", (96, 4)),
            ("attn_q", (512, 2)),
        )
    ]
    model = _model(tmp_path / "many.gguf", keys, specs)
    began = process_time()
    sizes = recipe_sizes(model)
    assert process_time() - began < 4
    for size in sizes[:: len(sizes) // 4]:
        assert size.bytes == _weights(model, size.ftype).bytes


def test_more_layers_than_llama_cpp_opens_make_no_recipe(tmp_path: Path) -> None:
    for blocks in (512, 513):
        keys: dict[str, Plain] = {"general.architecture": "llama", "llama.block_count": u32(blocks)}
        specs = [TensorSpec("blk.0.attn_q.weight", "F16", (256, 4))]
        model = _model(tmp_path / "deep.gguf", keys, specs)
        made = requantize(model, "Q4_K_M")
        assert isinstance(made, Problem) is (blocks > 512)
        assert bool(recipe_sizes(model)) is (blocks <= 512)
