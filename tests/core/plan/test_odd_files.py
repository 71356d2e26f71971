"""Plans of files that lie or lack something: an answer at once, and no figure nobody knows."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.gguf import open_file
from core.gguf.header import Tensor, Value
from core.machine import custom
from core.model import model_from
from core.model.model import Model
from core.plan import reason, resolve
from core.plan.choice import CACHE_TYPES, Choice
from core.plan.plan import PartKind, Plan, Verdict
from tests.support.gguf_files import Plain, TensorSpec, header_bytes, u32, write
from tests.support.heads import heads
from tests.support.memory import as_read, file_of, variants

GIB = 2**30
MACHINES = (custom(64 * GIB, 50e9, gpu=False), custom(24 * GIB, 936e9))
# What no width and no count of a model is.
HOSTILE: tuple[Value, ...] = (
    float("nan"),
    float("inf"),
    2**63,
    2**31 - 1,
    0,
    -1,
    "text",
)
SMALL: dict[str, Plain] = {
    "general.architecture": "llama",
    "llama.block_count": u32(1),
    "llama.embedding_length": u32(64),
    "llama.vocab_size": u32(8),
    "llama.attention.head_count": u32(1),
}


def read(tmp_path: Path, name: str) -> Model:
    return model_from(open_file(heads()[name].write(tmp_path / "model.gguf")))


def changed(
    model: Model, keys: dict[str, Value], tensors: tuple[Tensor, ...] | None = None
) -> Model:
    file = model.file
    tensors = file.tensors if tensors is None else tensors
    header = replace(file.header, metadata={**file.header.metadata, **keys}, tensors=tensors)
    return model_from(replace(file, header=header, headers=(header,), tensors=tensors))


def plans(model: Model) -> list[Plan]:
    """On a computer with and without a GPU, with caches of every kind."""
    choices = [Choice(cache_k=name, cache_v=name) for name in CACHE_TYPES]
    return [resolve(model, machine, choice) for machine in MACHINES for choice in choices]


def check_sums(plan: Plan) -> None:
    """Totals are the sums of their parts, and unknown where a part is."""
    memory = plan.memory
    parts = [part for device in memory.devices for part in device.parts]
    sizes = [part.bytes.value for part in parts]
    known = [size for size in sizes if size is not None]
    assert all(size >= 0 for size in known)
    assert memory.total.value == (sum(known) if len(known) == len(sizes) else None)
    for kind, number in (
        (PartKind.CACHE, memory.cache),
        (PartKind.STATE, memory.state),
        (PartKind.COMPUTE, memory.compute),
        (PartKind.OUTPUT, memory.output),
    ):
        found = [part.bytes.value for part in parts if part.kind is kind]
        if None in found:
            assert number.value is None
        elif memory.total.known:
            assert number.value == sum(size or 0 for size in found)


@pytest.mark.parametrize("name", ["llama-moe", "deepseek2-moe", "jamba-dense", "glm5-next-moe"])
def test_no_value_of_any_key_breaks_a_plan(tmp_path: Path, name: str) -> None:
    model = read(tmp_path, name)
    for key, value in model.file.header.metadata.items():
        if not key.startswith(f"{model.architecture}.") or isinstance(value, str):
            continue
        for lie in HOSTILE:
            told = as_read([lie] * 2) if lie == -1 else lie
            check_sums(resolve(changed(model, {key: told}), MACHINES[1], Choice(cache_k="q8_0")))


@pytest.mark.parametrize("used", [3, 2**31, 2**40, 0])
def test_more_experts_in_use_than_there_are_make_no_graph_and_no_endless_one(
    tmp_path: Path, used: int
) -> None:
    model = read(tmp_path, "llama-moe")
    assert model.shape.experts == 2
    for plan in plans(changed(model, {"llama.expert_used_count": used})):
        assert plan.memory.compute.value is None
        assert plan.memory.total.value is None
        check_sums(plan)


@pytest.mark.parametrize("name", sorted(heads()))
def test_a_plan_without_any_one_of_a_models_tensors_is_made_or_its_buffers_are_unknown(
    tmp_path: Path, name: str
) -> None:
    model = read(tmp_path, name)
    for lost in range(1, len(model.file.tensors), 5):
        rest = model.file.tensors[:lost] + model.file.tensors[lost + 1 :]
        check_sums(resolve(changed(model, {}, rest), MACHINES[1], Choice()))


@pytest.mark.parametrize("shape", [(), (0,), (7,), (0, 0), (1, 2, 3, 4, 5), (2**40, 2**40)])
def test_a_tensor_of_another_shape_makes_a_plan_or_an_unknown_one(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    for name in ("llama-moe", "deepseek2-moe", "gemma3-dense", "mamba2-dense", "deepseek4-moe"):
        model = read(tmp_path, name)
        for index, tensor in enumerate(model.file.tensors):
            other = tensor._replace(shape=shape)
            tensors = (*model.file.tensors[:index], other, *model.file.tensors[index + 1 :])
            check_sums(resolve(changed(model, {}, tensors), MACHINES[1], Choice()))


def test_a_name_with_thousands_of_digits_is_no_layer(tmp_path: Path) -> None:
    model = read(tmp_path, "llama-dense")
    first = model.file.tensors[0]
    for number in ("9" * 5000, "9" * 20, "-1", "²", "٣"):
        odd = first._replace(name=f"blk.{number}.attn_q.weight")
        for plan in plans(changed(model, {}, (*model.file.tensors, odd))):
            assert plan.memory.total.known
            check_sums(plan)


def test_where_not_even_the_layers_are_known_the_total_is_not_known_either(tmp_path: Path) -> None:
    model = changed(read(tmp_path, "llama-dense"), {"llama.block_count": as_read([0.5])})
    assert not model.cache.known
    for plan in plans(model):
        assert plan.memory.cache.value is None
        assert plan.memory.total.value is None
        assert plan.verdict is Verdict.UNKNOWN


def test_heads_of_no_width_end_at_once_with_a_cache_that_would_be_rotated(tmp_path: Path) -> None:
    keys = {"general.architecture": "llama", "llama.block_count": u32(1)}
    model = model_from(
        open_file(
            write(
                tmp_path / "model.gguf",
                {**keys, "llama.embedding_length": u32(64)},  # no head count
                [
                    TensorSpec("token_embd.weight", "F16", (64, 8)),
                    *(TensorSpec(f"blk.0.attn_{x}.weight", "F16", (64, 64)) for x in "qkv"),
                    TensorSpec("output.weight", "F16", (64, 8)),
                ],
            )
        )
    )
    assert model.cache.known
    for plan in plans(model):
        check_sums(plan)


def test_a_model_that_lacks_a_shard_or_the_end_of_its_header_never_fits(tmp_path: Path) -> None:
    """P01."""
    tensors = [
        TensorSpec("token_embd.weight", "F16", (64, 8)),
        *(TensorSpec(f"blk.0.attn_{x}.weight", "F16", (64, 64)) for x in "qkv"),
        TensorSpec("output.weight", "F16", (64, 8)),
    ]
    whole = write(tmp_path / "whole.gguf", SMALL, tensors)
    shard = write(
        tmp_path / "shard-00001-of-00002.gguf",
        {**SMALL, "split.no": u32(0), "split.count": u32(2), "split.tensors.count": u32(9)},
        tensors,
    )
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(header_bytes(SMALL, tensors)[:-50])
    for machine in MACHINES:
        assert resolve(model_from(open_file(whole)), machine, Choice()).memory.devices[
            0
        ].verdict in (Verdict.FITS, Verdict.TIGHT)
        for part in (shard, cut):
            plan = resolve(model_from(open_file(part)), machine, Choice())
            assert plan.verdict is Verdict.UNKNOWN
            assert {device.verdict for device in plan.memory.devices} == {Verdict.UNKNOWN}
            if part is shard:
                assert "part of the model is missing" in reason(plan)
    small = custom(1, gpu=False)
    plan = resolve(model_from(open_file(shard)), small, Choice())
    assert plan.verdict is Verdict.DOES_NOT_FIT


@pytest.mark.parametrize("architecture", sorted(variants()))
def test_every_layer_that_an_engine_counts_has_its_place(architecture: str) -> None:
    """Also where a model runs through its blocks several times, or adds a layer of its own."""
    for variant in variants()[architecture]:
        model = model_from(variant.file)
        for machine in MACHINES:
            for choice in (Choice(), Choice(slots=3, gpu_layers=1, cpu_moe=2)):
                check_sums(resolve(model, machine, choice))


@pytest.mark.parametrize("distinct", [1, 2, 64])
def test_thousands_of_layers_in_any_order_are_planned_at_once(distinct: int) -> None:
    order = random.Random(1)
    layers = 10_000
    tensors: list[tuple[str, tuple[int, ...], str]] = [("token_embd.weight", (64, 100), "F16")]
    for layer in range(layers):
        width = 64 + order.randrange(distinct)
        tensors.append((f"blk.{layer}.ffn_up.weight", (64, width), "F16"))
        tensors.append((f"blk.{layer}.ffn_down.weight", (width, 64), "F16"))
    keys = {
        "general.architecture": "llama",
        "llama.block_count": layers,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 4,
    }
    model = model_from(file_of(keys, tensors))
    began = time.process_time()
    plan = resolve(model, MACHINES[1], Choice())
    assert time.process_time() - began < 5
    assert plan.memory.cache.known
    assert plan.memory.compute.value is None  # no engine loads so many
    check_sums(plan)


def test_a_set_with_a_shard_of_another_model_or_too_few_tensors_never_fits(tmp_path: Path) -> None:
    for name, numbers in (("another", (0, 2, 0)), ("fewer", (0, 1, 2))):
        for place, number in enumerate(numbers, 1):
            split = {"split.no": u32(number), "split.count": u32(3), "split.tensors.count": u32(9)}
            write(
                tmp_path / f"{name}-0000{place}-of-00003.gguf",
                {**SMALL, **split},
                [TensorSpec(f"blk.0.attn_{'qkv'[number]}.weight", "F16", (64, 64))],
            )
        for place in (1, 2, 3):
            file = open_file(tmp_path / f"{name}-0000{place}-of-00003.gguf")
            assert not file.missing
            plan = resolve(model_from(file), MACHINES[0], Choice())
            assert plan.verdict is Verdict.UNKNOWN
            assert "lower bound" in reason(plan)
