"""Parameters, bytes by role, and what decoding one token reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gguf.constants import MODEL_ARCH, MODEL_TENSORS, TENSOR_NAMES

from core.gguf import open_file
from core.gguf.header import Kind
from core.model import model_from, weights_as
from core.model.file_size import file_bytes_as
from core.model.model import FormatShare, Model, Role, Weights
from tests.support import memory
from tests.support.heads import heads
from tests.support.memory import file_of

Spec = tuple[str, tuple[int, ...], str]
DIMENSIONS = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4}


def model(
    specs: list[Spec], kind: Kind = Kind.MODEL, architecture: str = "llama", **keys: Any
) -> Model:
    stated = DIMENSIONS | {key.replace("__", "."): value for key, value in keys.items()}
    metadata = {f"{architecture}.{key}": value for key, value in stated.items()}
    return model_from(file_of({"general.architecture": architecture, **metadata}, specs, kind))


def read_of(found: Model, role: Role) -> int:
    return sum(block.read_bytes for block in found.weights.blocks if block.role is role)


EMBEDDING: Spec = ("token_embd.weight", (64, 1000), "F16")
HEAD: Spec = ("output.weight", (64, 1000), "F16")
NORM: Spec = ("output_norm.weight", (64,), "F32")


def test_an_untied_embedding_is_a_look_up_of_one_row() -> None:
    found = model([EMBEDDING, HEAD, NORM])
    assert not found.tied
    assert read_of(found, Role.EMBEDDING) == 64 * 2
    assert read_of(found, Role.HEAD) == 64 * 1000 * 2
    assert found.weights.read_per_token == 64 * 2 + 64 * 1000 * 2 + 64 * 4
    assert found.weights.parameters == 2 * 64_000 + 64
    assert found.weights.active_parameters == 64_000 + 64  # a look-up multiplies nothing


def test_a_tied_embedding_is_read_whole_as_the_head() -> None:
    found = model([EMBEDDING, NORM])
    assert found.tied
    assert found.tensor_roles[0] is Role.HEAD
    assert found.weights.read_per_token == 64 * 1000 * 2 + 64 * 4
    assert found.weights.active_parameters == found.weights.parameters


def test_an_embedding_model_has_no_head() -> None:
    found = model([EMBEDDING, NORM], Kind.EMBEDDING, "bert")
    assert not found.tied
    assert found.tensor_roles[0] is Role.EMBEDDING
    assert found.cache.known
    assert (found.cache.groups, found.cache.states) == ((), ())


def test_of_the_experts_used_by_total_is_read() -> None:
    specs: list[Spec] = [
        ("blk.0.ffn_up_exps.weight", (64, 32, 8), "Q8_0"),
        ("blk.0.ffn_up_exps.bias", (32, 8), "F32"),
        ("blk.0.ffn_up_shexp.weight", (64, 32), "Q8_0"),
        ("blk.0.ffn_gate_inp.weight", (64, 8), "F32"),
    ]
    found = model(specs, expert_count=8, expert_used_count=2)
    assert read_of(found, Role.EXPERTS) == (64 * 32 * 8 // 32 * 34 + 32 * 8 * 4) * 2 // 8
    assert read_of(found, Role.SHARED_EXPERTS) == 64 * 32 // 32 * 34
    assert read_of(found, Role.ROUTER) == 64 * 8 * 4


def test_one_tensor_for_each_expert_counts_like_a_stack_of_them() -> None:
    apart: list[Spec] = [(f"blk.0.ffn_up.{n}.weight", (64, 32), "F16") for n in range(8)]
    stacked: list[Spec] = [("blk.0.ffn_up_exps.weight", (64, 32, 8), "F16")]
    for specs in (apart, stacked):
        found = model(specs, expert_count=8, expert_used_count=2)
        assert set(found.tensor_roles) == {Role.EXPERTS}
        assert found.weights.read_per_token == 2 * 64 * 32 * 2


def test_layers_may_use_different_numbers_of_experts() -> None:
    specs: list[Spec] = [(f"blk.{n}.ffn_up_exps.weight", (64, 32, 8), "F16") for n in range(2)]
    found = model(specs, expert_count=8, expert_used_count=[1, 4])
    assert [block.read_bytes for block in found.weights.blocks] == [64 * 32 * 2, 4 * 64 * 32 * 2]


def test_experts_without_a_used_count_are_counted_whole_and_it_is_said() -> None:
    found = model([("blk.0.ffn_up_exps.weight", (64, 32, 8), "F16")])
    assert found.weights.read_per_token == found.weights.bytes
    assert (
        "expert_used_count" in next(p for p in found.problems if p.code == "experts-used").message
    )


def test_a_draft_block_is_not_read_until_it_is_used() -> None:
    specs: list[Spec] = [
        ("blk.0.attn_q.weight", (64, 64), "F16"),
        ("blk.1.attn_q.weight", (64, 64), "F16"),
        ("blk.1.nextn.eh_proj.weight", (128, 64), "F16"),
    ]
    found = model(specs, nextn_predict_layers=1)
    assert found.tensor_roles == (Role.ATTENTION, Role.DRAFT, Role.DRAFT)
    assert found.weights.read_per_token == 64 * 64 * 2
    assert (found.shape.layers, found.shape.draft_layers) == (1, 1)


def test_per_layer_embeddings_are_look_ups_as_well() -> None:
    found = model([("per_layer_token_embd.weight", (512, 1000), "Q8_0")], architecture="gemma3n")
    assert found.weights.read_per_token == 512 // 32 * 34
    assert found.weights.active_parameters == 0


def test_vision_tensors_inside_the_file_are_not_read_while_writing() -> None:
    specs: list[Spec] = [
        ("v.blk.0.attn_q.weight", (64, 64), "F16"),
        ("mm.0.weight", (64, 64), "F16"),
    ]
    found = model(specs)
    assert set(found.tensor_roles) == {Role.VISION}
    assert found.weights.read_per_token == 0


def test_an_encoder_has_run_before_the_first_token() -> None:
    specs: list[Spec] = [
        ("enc.blk.0.attn_q.weight", (64, 64), "F16"),
        ("dec.blk.0.attn_q.weight", (64, 64), "F16"),
    ]
    assert model(specs, architecture="t5").weights.read_per_token == 64 * 64 * 2


def test_a_model_that_runs_its_blocks_twice_reads_them_twice() -> None:
    specs: list[Spec] = [("blk.0.attn_q.weight", (64, 64), "F16"), NORM]
    found = model(specs, architecture="nanbeige", num_loops=2)
    assert found.weights.read_per_token == 2 * 64 * 64 * 2 + 64 * 4
    assert found.cache.layers == 4  # a cache for every pass


def test_two_stacks_that_take_turns_are_read_as_often_as_they_run() -> None:
    specs: list[Spec] = [(f"blk.{n}.attn_q.weight", (64, 64), "F16") for n in range(2)]
    found = model(
        specs,
        architecture="hrm_text",
        block_count=6,
        hrm__layers_per_stack=1,
        hrm__h_cycles=2,
        hrm__l_cycles=2,
    )
    low, high = (block.read_bytes for block in found.weights.blocks)
    assert (low, high) == (4 * 64 * 64 * 2, 2 * 64 * 64 * 2)


# Parameters as published: hub pages and model cards.
@pytest.mark.parametrize(
    ("label", "parameters"),
    [
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.3-70b", 70_553_706_496),
        ("mixtral-8x7b", 46_702_792_704),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("qwen3-next-80b-a3b", 79_674_391_296),
        ("deepseek-v2-lite", 15_706_484_224),
        ("deepseek-v3.1", 671_026_419_200),
    ],
)
def test_parameters_of_published_models(label: str, parameters: int) -> None:
    counted = model_from(memory.model(label).file).weights.parameters
    # The file also holds rope factors and the like, a few thousand values.
    assert counted == pytest.approx(parameters, rel=2e-5)


# Active parameters as their makers give them, in billions.
@pytest.mark.parametrize(
    ("label", "billions", "tolerance"),
    [
        ("gpt-oss-20b", 3.61, 0.01),  # without the embedding, as the model card counts
        ("qwen3-30b-a3b", 3.3, 0.35),  # 3.3 with the embedding
        ("qwen3.5-35b-a3b", 3.0, 0.1),
        ("mixtral-8x7b", 12.9, 0.2),
        ("deepseek-v3.1", 37.0, 0.5),
        ("nemotron-3-nano-30b-a3b", 3.2, 0.05),
    ],
)
def test_active_parameters_are_those_that_multiply(
    label: str, billions: float, tolerance: float
) -> None:
    active = model_from(memory.model(label).file).weights.active_parameters
    assert active / 1e9 == pytest.approx(billions, abs=tolerance)


def test_qwen3_6_35b_has_35505251456_parameters_in_753_tensors() -> None:
    found = model_from(memory.model("qwen3.5-35b-a3b").file)
    assert found.weights.parameters == 35_505_251_456
    assert len(found.weights.tensor_types) == 753
    published = Weights("", (), (), (), (), 21_718_480_960, 0, 35_505_251_456, 0, None)
    assert published.bits_per_weight == pytest.approx(4.89, abs=0.005)


def test_bits_per_weight_of_the_block_formats() -> None:
    found = model(
        [("a.weight", (512, 8), kind) for kind in ("Q8_0", "Q4_K", "Q6_K", "Q4_0", "MXFP4")]
    )
    bits = {share.type_name: share.bits_per_weight for share in found.weights.formats}
    assert bits == {"Q8_0": 8.5, "Q4_K": 4.5, "Q6_K": 6.5625, "Q4_0": 4.5, "MXFP4": 4.25}


def test_blocks_and_formats_add_up_to_the_whole() -> None:
    for label in ("qwen3.5-35b-a3b", "gemma3n-e4b", "deepseek-v4-flash"):
        weights = model_from(memory.model(label).file).weights
        assert sum(block.bytes for block in weights.blocks) == weights.bytes
        assert sum(block.parameters for block in weights.blocks) == weights.parameters
        assert sum(block.read_bytes for block in weights.blocks) == weights.read_per_token
        assert sum(share.bytes for share in weights.formats) == weights.bytes
        assert sum(share.tensors for share in weights.formats) == len(weights.tensor_types)


def test_shards_are_one_model_and_the_context_is_that_of_the_file() -> None:
    """P42: DeepSeek R1 was once shown as a 30B model with six million tokens of context."""
    specs: list[Spec] = [
        (f"blk.{n}.ffn_{part}_exps.weight", (7168, 2048, 256), "Q4_K")
        for n in range(3, 61)
        for part in ("gate", "up", "down")
    ]
    found = model(
        specs,
        architecture="deepseek2",
        block_count=61,
        context_length=163_840,
        rope__scaling__factor=40.0,
        expert_count=256,
        expert_used_count=8,
    )
    assert found.weights.parameters == 58 * 3 * 7168 * 2048 * 256
    assert found.weights.active_parameters * 256 == found.weights.parameters * 8
    assert found.shape.context_length == 163_840
    part = memory.file_of({"general.architecture": "deepseek2"}, specs[:60], missing=("b", "c"))
    alone = model_from(part)
    assert alone.weights.file_bytes is None
    assert not alone.file.complete


def test_other_types_go_through_the_same_sums() -> None:
    found = model([EMBEDDING, HEAD, NORM])
    types = ("Q8_0", "Q8_0", "F32")
    sizes = (64_000 // 32 * 34, 64_000 // 32 * 34, 256)
    made = weights_as(found, types, sizes, label="Q8_0")
    assert made.bytes == sum(sizes)
    assert made.read_per_token == 64 // 32 * 34 + sizes[1] + 256
    assert made.formats == (
        FormatShare("Q8_0", 2, 128_000, 2 * sizes[0]),
        FormatShare("F32", 1, 64, 256),
    )
    assert made.active_parameters == found.weights.active_parameters


@pytest.mark.parametrize("name", ["llama-dense", "qwen35moe-moe", "gpt-oss-moe"])
def test_the_size_of_a_file_follows_from_its_header(name: str, tmp_path: Path) -> None:
    file = open_file(heads()[name].write(tmp_path / "m.gguf"))
    sizes = [tensor.bytes for tensor in file.tensors]
    # llama-quantize adds these two where they are absent: 8 + name + 4 + 4 bytes each.
    absent = {"general.quantization_version", "general.file_type"} - file.header.metadata.keys()
    made = file_bytes_as(file, sizes)
    assert made is not None
    grown = made - heads()[name].file_bytes
    assert 0 <= grown - sum(16 + len(key) for key in absent) + 32 <= 63
    assert grown % 32 == 0


@pytest.mark.download
def test_a_real_file_would_weigh_what_it_weighs(gemma3_270m: Path) -> None:
    file = open_file(gemma3_270m)
    assert file_bytes_as(file, [tensor.bytes for tensor in file.tensors]) == file.file_bytes


@pytest.mark.download
def test_gemma_3_270m_reads_all_its_bytes_and_most_of_them_in_the_head(gemma3_270m: Path) -> None:
    found = model_from(open_file(gemma3_270m))
    assert found.tied
    assert found.weights.read_per_token == 246_587_904
    assert found.mix.endswith("the head is 72 % of the weights that a token reads")


def test_every_tensor_name_that_gguf_writers_use_has_a_role() -> None:
    """The names of the gguf package, llama.cpp's own; none of a layer is left without a role but
    the few that belong to nothing else."""
    other = set()
    for architecture in MODEL_ARCH:
        if architecture.name in ("MMPROJ", "CLIP"):
            continue
        for tensor in MODEL_TENSORS[architecture]:
            name = TENSOR_NAMES[tensor].format(bid=0, xid=0) + ".weight"
            if name.startswith("blk."):
                found = model([(name, (64, 64), "F16")])
                if found.tensor_roles == (Role.OTHER,):
                    other.add(name.removeprefix("blk.0.").removesuffix(".weight"))
    helpers = ("altup", "laurel", "inp_gate", "proj", "layer_output_scale", "per_layer", "ple")
    assert {name for name in other if not name.startswith(helpers)} == set()
