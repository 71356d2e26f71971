"""A plan as a whole: pure, equal for equal questions, and its parts always add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gguf import open_file
from core.machine import Backend, Machine, combine, custom
from core.model import RECIPES, model_from, requantize
from core.model.model import Model, Weights
from core.plan import reason, resolve
from core.plan.choice import CACHE_TYPES, Choice, Engine, FlashAttention
from core.plan.plan import MemoryPlan, PartKind, Plan, Verdict
from core.provenance import Number
from resources import specimens
from tests.support import memory

GIB = 2**30
WORDS = ("Llama-3.1-8B", "Qwen3.6-35B", "gpt-oss-20b", "LFM2", "Gemma-3-27B", "DeepSeek-V3.1")
MODELS = {word: next(p for p in specimens() if word in p.stem) for word in WORDS}
LOADED = {word: model_from(open_file(path)) for word, path in MODELS.items()}
LABELS = ("bge-large-en", "falcon-h1-7b", "rwkv7-2.9b", "gemma3n-e4b", "minimax-text-01")
LOADED |= {label: model_from(memory.model(label).file) for label in LABELS}
MACHINES: tuple[Machine, ...] = (
    custom(64 * GIB, 51.2e9, gpu=False),
    custom(24 * GIB, 936e9),
    custom(8 * GIB, 288e9, backend=Backend.VULKAN),
    custom(64 * GIB, 400e9, backend=Backend.METAL, unified=True),
    combine(custom(24 * GIB, 936e9), custom(12 * GIB, 360e9), custom(64 * GIB, 80e9, gpu=False)),
)

models = st.sampled_from(sorted(LOADED)).map(LOADED.__getitem__)
machines = st.sampled_from(MACHINES)
choices = st.builds(
    Choice,
    context=st.none() | st.integers(1, 300_000),
    depth=st.none() | st.integers(0, 300_000),
    cache_k=st.sampled_from(CACHE_TYPES),
    cache_v=st.sampled_from(CACHE_TYPES),
    flash_attention=st.sampled_from(FlashAttention),
    ubatch=st.none() | st.integers(1, 4096),
    batch=st.none() | st.integers(1, 4096),
    slots=st.none() | st.integers(1, 16),
    unified_cache=st.none() | st.booleans(),
    swa_full=st.booleans(),
    engine=st.sampled_from(Engine),
    requantize=st.none() | st.sampled_from(["Q4_K_M", "IQ4_XS", "F16"]),
    gpu_layers=st.just("all") | st.integers(0, 100),
    cpu_moe=st.integers(0, 100),
    backend=st.none() | st.sampled_from([b.value for b in Backend]),
)
thorough = settings(max_examples=120, deadline=None)


def values(numbers: Mapping[PartKind, list[Number[int]]], kind: PartKind) -> int:
    return sum(number.value or 0 for number in numbers.get(kind, []))


def check_sums(plan: Plan) -> None:
    """Parts add up to the total of their device, those to the total of all."""
    budget: MemoryPlan = plan.memory
    parts: dict[PartKind, list[Number[int]]] = {}
    for device in budget.devices:
        sizes = [part.bytes.value for part in device.parts]
        assert all(size is not None and size >= 0 for size in sizes)
        assert device.total.value == sum(size or 0 for size in sizes)
        assert len({part.kind for part in device.parts}) == len(device.parts)
        if device.device.memory.value is not None:
            assert device.free.value == device.device.memory.value - device.total.value
            assert (device.free.value < 0) is (device.verdict is Verdict.DOES_NOT_FIT)
        for part in device.parts:
            parts.setdefault(part.kind, []).append(part.bytes)
    assert budget.total.value == sum(d.total.value or 0 for d in budget.devices)
    assert budget.cache.value == values(parts, PartKind.CACHE)
    assert budget.cache.value == (budget.cache_k.value or 0) + (budget.cache_v.value or 0)
    assert budget.state.value == values(parts, PartKind.STATE)
    assert budget.compute.value == values(parts, PartKind.COMPUTE)
    assert budget.output.value == values(parts, PartKind.OUTPUT)
    assert plan.verdict is budget.verdict
    assert reason(plan)


@thorough
@given(models, machines, choices)
def test_parts_add_up_and_equal_questions_have_equal_plans(
    model: Model, machine: Machine, choice: Choice
) -> None:
    plan = resolve(model, machine, choice)
    check_sums(plan)
    again = resolve(model, machine, choice)
    assert plan == again
    fresh = resolve(model_from(model.file), machine, choice)  # nothing kept from earlier plans
    assert fresh.memory == plan.memory
    assert fresh.speed == plan.speed
    assert (fresh.settings, fresh.verdict, reason(fresh)) == (
        plan.settings,
        plan.verdict,
        reason(plan),
    )


@thorough
@given(models, machines, choices, st.integers(1, 100_000))
def test_a_longer_context_never_takes_less_memory(
    model: Model, machine: Machine, choice: Choice, more: int
) -> None:
    start = choice.context or 1
    short = resolve(model, machine, replace(choice, context=start))
    long = resolve(model, machine, replace(choice, context=start + more))
    for less, other in zip(short.memory.devices, long.memory.devices, strict=True):
        cache = [
            next((p.bytes.value or 0 for p in d.parts if p.kind is PartKind.CACHE), 0)
            for d in (less, other)
        ]
        assert cache[0] <= cache[1]
    assert (short.memory.total.value or 0) <= (long.memory.total.value or 0)
    assert (short.memory.state.value or 0) == (long.memory.state.value or 0)


@pytest.mark.parametrize("word", WORDS)
def test_types_of_fewer_bits_take_less_cache(word: str) -> None:
    model = LOADED[word]
    bits = ("f32", "f16", "q8_0", "q5_1", "q5_0", "q4_0")
    sizes = [
        resolve(model, MACHINES[0], Choice(cache_k=name, cache_v=name)).memory.cache.value or 0
        for name in bits
    ]
    assert all(larger > smaller for larger, smaller in pairwise(sizes))


def rope_factors(model: Model) -> int:
    return sum(t.bytes for t in model.file.tensors if t.name.startswith("rope_"))


@pytest.mark.parametrize("word", WORDS)
def test_more_layers_on_the_gpu_move_weights_and_cache_and_lose_none(word: str) -> None:
    model = LOADED[word]
    machine = combine(custom(999 * GIB, 936e9, backend=Backend.VULKAN), MACHINES[0])
    before = -1
    for layers in range(0, model.shape.layers + 2, 3):
        plan = resolve(model, machine, Choice(gpu_layers=layers))
        sizes = [{p.kind: p.bytes.value or 0 for p in d.parts} for d in plan.memory.devices]
        weights = [size.get(PartKind.WEIGHTS, 0) for size in sizes]
        assert weights[0] > before or layers == 0
        before = weights[0]
        cache = sum(size.get(PartKind.CACHE, 0) for size in sizes)
        assert cache == plan.memory.cache.value
        if not model.tied:  # a tied embedding is there twice once the output is on the GPU
            both = 0 < layers - 1 < model.shape.layers  # and each side has its rope factors
            (host,) = resolve(model, MACHINES[0], Choice()).memory.devices
            alone = next(p.bytes.value for p in host.parts if p.kind is PartKind.WEIGHTS)
            assert sum(weights) == (alone or 0) + both * rope_factors(model)


@pytest.mark.parametrize("recipe", ["Q4_K_M", "Q8_0", "F16"])
def test_a_requantized_plan_weighs_what_the_recipe_weighs(recipe: str) -> None:
    model = LOADED["Llama-3.1-8B"]
    assert recipe in RECIPES
    weights = requantize(model, recipe)
    assert isinstance(weights, Weights)
    plan = resolve(model, MACHINES[0], Choice(requantize=recipe, depth=0))
    assert plan.weights is weights
    assert plan.settings.requantize == recipe
    sizes = {p.kind: p.bytes.value for p in plan.memory.devices[0].parts}
    assert sizes[PartKind.WEIGHTS] == sum(-(-size // 32) * 32 for size in weights.tensor_bytes)
    assert plan.speed.bytes_per_token.value == weights.read_per_token


def test_a_recipe_that_nobody_knows_is_a_problem_and_the_file_stays_as_it_is() -> None:
    model = LOADED["Llama-3.1-8B"]
    plan = resolve(model, MACHINES[0], Choice(requantize="Q99"))
    assert plan.weights is model.weights
    assert plan.settings.requantize is None
    assert plan.problems
