"""What a token reads and the ceiling that bandwidth sets."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gguf import open_file
from core.machine import Machine, catalogue, combine, custom
from core.machine.machine import unknown_bandwidth
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import SpeedPlan
from core.provenance import Rank
from resources import specimens
from tests.support.memory import file_of

GIB = 2**30
CARD = custom(24 * GIB, 936e9)


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


def dense(weights: float, cache_at: tuple[float, int]) -> Model:
    """A model of one layer that reads so many bytes of weights, and of cache at a depth."""
    cache, depth = cache_at
    width = round(cache / depth / 4)  # K and V in f16
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.embedding_length": 32,
        "llama.attention.head_count": 1,
        "llama.attention.key_length": width,
        "llama.attention.value_length": width,
    }
    rows = round(weights / 64)
    return model_from(file_of(keys, [("blk.0.ffn_up.weight", (32, rows), "F16")]))


def speed(model: Model, machine: Machine = CARD, **options: Any) -> SpeedPlan:
    return resolve(model, machine, Choice(**options)).speed


@pytest.mark.parametrize(
    ("bandwidth", "weights", "cache", "depth", "rate"),
    [
        (936e9, 16.1e9, 0.3e9, 16_384, "57"),
        (936e9, 16.1e9, 3.6e9, 196_608, "47.5"),
        (936e9, 14e9, 0, 1, "66.9"),
        (936e9, 14e9, 8e9, 131_072, "42.5"),
        (51.2e9, 2.5e9, 0.6e9, 4096, "16.5"),
        (25.6e9, 2.5e9, 0, 1, "10.2"),
        (128e9, 1.84e9, 0, 1, "70"),
        (3350e9, 14e9, 0, 1, "239"),
        (3350e9, 14e9, 1.3e9, 8192, "219"),
        (3350e9, 14e9, 16.8e9, 131_072, "109"),
    ],
)
def test_the_ceiling_is_bandwidth_over_bytes_per_token(
    bandwidth: float, weights: float, cache: float, depth: int, rate: str
) -> None:
    model = dense(weights, (max(cache, 4.0), depth))
    machine = custom(10**12, bandwidth, gpu=False)
    plan = speed(model, machine, context=depth, depth=depth if cache else 0, slots=1)
    assert plan.ceiling.value is not None
    digits = len(rate.partition(".")[2])
    assert abs(plan.ceiling.value - float(rate)) <= 0.5000001 * 10**-digits
    assert plan.bytes_per_token.value == pytest.approx(weights + cache, rel=1e-4)


def test_half_a_gigabyte_over_pcie_4_costs_about_16_ms_a_token() -> None:
    spilled = 0.5e9 / 31.5e9
    assert spilled == pytest.approx(0.016, abs=0.0005)
    # The plan adds times in the same way: a layer of 0.5 GB behind such a path.
    keys = {"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 32}
    keys |= {"llama.attention.head_count": 1}
    tensors = [
        ("blk.0.ffn_up.weight", (32, round(0.5e9 / 64)), "F16"),
        ("blk.1.ffn_up.weight", (32, round(14e9 / 64)), "F16"),
    ]
    model = model_from(file_of(keys, tensors))
    machine = combine(CARD, custom(64 * GIB, 31.5e9, gpu=False))
    whole = speed(model, machine, depth=0).ceiling.value
    split = speed(model, machine, depth=0, gpu_layers=2).ceiling.value
    assert whole is not None and split is not None
    assert 1 / split - 1 / whole == pytest.approx(spilled - 0.5e9 / 936e9, rel=1e-6)


def test_experts_are_read_by_the_share_that_is_used_and_layers_by_their_cache() -> None:
    # Qwen3.6-35B-A3B: 8 of 256 experts; 10 of 40 layers keep a cache of 20,480 B per token.
    model = specimen("Qwen3.6-35B")
    at = {d: speed(model, context=262_144, depth=d, slots=1) for d in (0, 16_384, 262_144)}
    empty = at[0].bytes_per_token.value
    assert empty is not None
    assert (at[16_384].bytes_per_token.value or 0) - empty == 335_544_320
    assert (at[262_144].bytes_per_token.value or 0) - empty == 5_368_709_120
    # What is left is the weights and the state of 30 layers, read and written once.
    assert empty - model.weights.read_per_token == 2 * 65_863_680


def test_a_window_is_read_no_further_than_it_reaches() -> None:
    # Gemma 3 27B: 10 of 62 layers read everything, 52 at most 1024 rows of 2 x 16 x 128 values.
    model = specimen("Gemma-3-27B")
    row = 2 * 2 * 16 * 128
    empty = speed(model, depth=0).bytes_per_token.value or 0
    for depth, full, window in ((1000, 1000, 1000), (1024, 1024, 1024), (9000, 9000, 1024)):
        read = speed(model, context=16_384, depth=depth).bytes_per_token.value or 0
        assert read - empty == row * (10 * full + 52 * window)


@pytest.mark.parametrize("word", ["Llama-3.1-8B", "Qwen3-30B", "LFM2", "Gemma-3", "gpt-oss-20b"])
def test_an_empty_cache_leaves_the_weights_and_the_state(word: str) -> None:
    model = specimen(word)
    state = sum(2 * group.bytes_per_sequence for group in model.cache.states)
    plan = speed(model, depth=0)
    assert plan.bytes_per_token.value == model.weights.read_per_token + state
    found = {i.name: i.value for i in plan.bytes_per_token.inputs}
    assert found == {
        "weights read": model.weights.read_per_token,
        "cache read": 0,
        "state read and written": state,
        "depth": 0,
    }


def test_a_missing_bandwidth_leaves_the_ceiling_unknown_and_the_bytes_known() -> None:
    model = specimen("Llama-3.1-8B")
    device = replace(CARD.devices[0], bandwidth=unknown_bandwidth("driver", "It does not say."))
    plan = speed(model, replace(CARD, devices=(device, CARD.devices[1])))
    assert plan.ceiling.value is None
    assert plan.ceiling.note == "It does not say."
    assert plan.bytes_per_token.value
    assert all(p.tok_s is None and p.bytes for p in plan.curve)


def test_only_the_devices_that_are_read_need_a_bandwidth() -> None:
    model = specimen("Llama-3.1-8B")
    assert not CARD.devices[1].bandwidth.known  # RAM of unknown speed behind the card
    assert speed(model).ceiling.known
    assert not speed(model, gpu_layers=20).ceiling.known


def test_a_ceiling_is_as_good_as_its_worst_figure() -> None:
    model = specimen("Llama-3.1-8B")
    card = catalogue.machine("nvidia-geforce-rtx-3090")
    assert speed(model, card).ceiling.source.rank is Rank.DATASHEET
    beside = combine(card, custom(64 * GIB, 51.2e9, gpu=False))
    assert speed(model, beside, gpu_layers=20).ceiling.source.rank is Rank.REPORTED


@pytest.mark.parametrize("context", [1, 255, 4096, 262_144])
@pytest.mark.parametrize("depth", [0, 1, 100, None])
def test_the_curve_runs_from_nought_to_the_context_through_the_chosen_depth(
    context: int, depth: int | None
) -> None:
    model = specimen("Qwen3.6-35B")
    plan = resolve(model, CARD, Choice(context=context, depth=depth))
    depths = [p.depth for p in plan.speed.curve]
    assert depths == sorted(set(depths))
    assert (depths[0], depths[-1]) == (0, plan.settings.context)
    assert plan.settings.depth in depths
    assert 2 <= len(depths) <= 130
    chosen = plan.speed.curve[depths.index(plan.settings.depth)]
    assert chosen.bytes == plan.speed.bytes_per_token.value
    assert chosen.tok_s == plan.speed.ceiling.value


MODELS = [specimen(word) for word in ("Llama-3.1-8B", "Qwen3.6-35B", "gpt-oss-20b", "LFM2")]
models = st.sampled_from(MODELS)
rates = st.floats(1e9, 1e13)
quick = settings(max_examples=40, deadline=None)


@quick
@given(models, rates, st.integers(1, 262_144))
def test_the_ceiling_falls_with_depth_and_bytes_rise(
    model: Model, rate: float, context: int
) -> None:
    curve = speed(model, custom(64 * GIB, rate, gpu=False), context=context).curve
    for before, after in pairwise(curve):
        assert before.bytes is not None and after.bytes is not None
        assert before.tok_s is not None and after.tok_s is not None
        assert before.bytes <= after.bytes
        assert before.tok_s >= after.tok_s


@quick
@given(models, rates, rates)
def test_the_ceiling_rises_in_proportion_to_bandwidth(
    model: Model, rate: float, other: float
) -> None:
    first = speed(model, custom(64 * GIB, rate)).ceiling.value
    second = speed(model, custom(64 * GIB, other)).ceiling.value
    assert first is not None and second is not None
    assert first / second == pytest.approx(rate / other)


@quick
@given(models, st.integers(0, 41), rates, rates)
def test_a_layer_in_slower_memory_never_makes_a_model_faster(
    model: Model, layers: int, gpu: float, host: float
) -> None:
    machine = combine(custom(24 * GIB, max(gpu, host)), custom(64 * GIB, min(gpu, host), gpu=False))
    fewer = speed(model, machine, gpu_layers=layers).ceiling.value
    more = speed(model, machine, gpu_layers=layers + 1).ceiling.value
    assert fewer is not None and more is not None
    assert fewer <= more * (1 + 1e-9)


@quick
@given(models, st.integers(0, 42), st.integers(0, 40), st.integers(0, 16_384))
def test_bytes_per_token_are_the_same_wherever_they_lie(
    model: Model, layers: int, experts: int, depth: int
) -> None:
    machine = combine(CARD, custom(64 * GIB, 51.2e9, gpu=False))
    whole = speed(model, machine, depth=depth).bytes_per_token.value
    split = speed(model, machine, depth=depth, gpu_layers=layers, cpu_moe=experts)
    assert split.bytes_per_token.value == whole
    # And the formula's inputs are what they say: time is the sum over the devices.
    inputs = split.ceiling.inputs
    pairs = [(inputs[n].value, inputs[n + 1].value) for n in range(0, len(inputs), 2)]
    assert split.ceiling.value is not None
    if "sum" in split.ceiling.formula:
        assert sum(int(size or 0) for size, _ in pairs) == whole
        time = sum(float(size or 0) / float(rate or 1) for size, rate in pairs)
        assert split.ceiling.value == pytest.approx(1 / time)
