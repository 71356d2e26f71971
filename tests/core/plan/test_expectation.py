"""What published runs lead to expect of a plan, and what the user's own runs make of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gguf import open_file
from core.machine import Machine, OwnRun, catalogue, combine, custom, with_ram
from core.machine.machine import Backend
from core.model import fingerprint, model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import CUDA_ATTENDS, Choice, Engine, GpuLayers
from core.plan.plan import PartKind, Plan
from core.plan.speed import (
    configuration,
    decode_seconds,
    load_times,
    prefill_seconds,
    tensor_parallel,
)
from core.plan.speed.calibration import rates
from core.plan.speed.features import Hardware
from core.plan.speed.published import published_runs
from core.provenance import Number, Rank, Source, Unit
from resources import specimens
from tests.support.memory import file_of

GIB = 2**30


@cache
def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@cache
def machine(id: str) -> Machine:
    made = catalogue.machine(id)
    return with_ram(made, 64 * GIB) if made.host is not None and made.gpus else made


CARD = "nvidia-geforce-rtx-3090"
MACHINES = (
    CARD,
    "amd-radeon-rx-7900-xtx",
    "intel-arc-b580",
    "nvidia-h100-sxm5-80-gb",
    "amd-ryzen-ai-max-395-radeon-8060s-strix-halo",
    "apple-m2-ultra-76-core-gpu",
    "cpu-desktop-dual-channel-ddr4-3600",
)
WORDS = ("Llama-3.1-8B", "Qwen3-30B", "Qwen3.6-35B", "LFM2", "Gemma-3-27B", "gpt-oss-20b")


def eight_billion() -> Model:
    """S01's model: 36 layers, 8 x 128 of K and of V, 4.8 GiB read for a token."""
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 36,
        "llama.embedding_length": 32,
        "llama.context_length": 262_144,
        "llama.attention.head_count": 32,
        "llama.attention.head_count_kv": 8,
        "llama.attention.key_length": 128,
        "llama.attention.value_length": 128,
    }
    rows = round(4.8 * GIB / 36 / 18)
    tensors = [(f"blk.{n}.ffn_up.weight", (32, rows), "Q4_0") for n in range(36)]
    return model_from(file_of(keys, tensors))


def test_s01_four_measured_depths_lie_in_the_band() -> None:
    # Qwen3-VL-8B on a card of 1,792 GB/s, measured by a maintainer.
    plan = resolve(eight_billion(), machine("nvidia-geforce-rtx-5090"), Choice(context=32_768))
    curve = {point.depth: point for point in plan.speed.curve}
    for depth, measured in ((0, 220), (4096, 201), (16_384, 161), (32_768, 126)):
        point = curve[depth]
        assert point.low is not None and point.high is not None
        assert point.low < measured < point.high, depth
        assert point.tok_s is not None and measured < point.tok_s


def test_s13_a_layer_split_adds_no_bandwidth() -> None:
    one = machine("nvidia-geforce-rtx-5090")
    two = combine(one, one)
    model = specimen("Gemma-3-27B")
    single, double = (resolve(model, m, Choice(context=4096)).speed for m in (one, two))
    assert double.ceiling.value == pytest.approx(single.ceiling.value)
    assert double.expected.mid.value == pytest.approx(single.expected.mid.value)


def test_s09_experts_in_the_same_memory_gain_nothing() -> None:
    shared = machine("amd-ryzen-ai-max-395-radeon-8060s-strix-halo")
    model = specimen("Qwen3-30B")
    plans = [
        resolve(model, shared, Choice(cpu_moe=n)).speed.expected.mid.value for n in (0, 20, 48)
    ]
    assert plans[0] == plans[1] == plans[2]


def test_s10_fewer_bits_are_not_promised_to_be_faster_where_they_were_not() -> None:
    # IQ3 ran at 10 tok/s where IQ4_XS ran at 15, on a Radeon.
    model, radeon = specimen("Llama-3.1-8B"), machine("amd-radeon-rx-7900-xtx")
    small, large = (
        resolve(model, radeon, Choice(requantize=ftype)).speed for ftype in ("IQ3_M", "IQ4_XS")
    )
    assert (small.ceiling.value or 0) > (large.ceiling.value or 0)
    assert (small.expected.low.value or 0) < (large.expected.low.value or 0)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(WORDS),
    st.sampled_from(MACHINES),
    st.sampled_from(("f16", "q8_0", "q4_0")),
    st.integers(0, 20),
    st.one_of(st.just("all"), st.integers(0, 30)),
)
def test_the_band_holds_its_middle_falls_with_depth_and_stays_below_the_ceiling(
    word: str, id: str, cache_type: str, cpu_moe: int, layers: GpuLayers
) -> None:
    choice = Choice(
        context=65_536,
        cache_k=cache_type,
        cache_v=cache_type,
        cpu_moe=cpu_moe,
        gpu_layers=layers,
    )
    with_bus = combine(machine(id), custom(64 * GIB, 60e9, gpu=False)) if _card(id) else machine(id)
    plan = resolve(specimen(word), with_bus, choice)
    assert plan.speed.expected.known
    assert plan.speed.expected.basis
    previous: float | None = None
    for point in plan.speed.curve:
        assert point.low is not None and point.mid is not None and point.high is not None
        assert point.tok_s is not None
        assert 0 < point.low <= point.mid <= point.high <= point.tok_s
        if previous is not None:
            assert point.mid <= previous
        previous = point.mid
    band = plan.speed.expected
    chosen = next(p for p in plan.speed.curve if p.depth == plan.settings.depth)
    assert (band.low.value, band.mid.value, band.high.value) == chosen[3:]


def _card(id: str) -> bool:
    made = machine(id)
    return bool(made.gpus) and made.host is not None


@pytest.mark.parametrize("kind", sorted(CUDA_ATTENDS))
def test_a_quantized_cache_promises_memory_and_no_speed(kind: str) -> None:
    model = specimen("Llama-3.1-8B")
    plain = resolve(model, machine(CARD), Choice(context=65_536)).speed
    other = resolve(model, machine(CARD), Choice(context=65_536, cache_k=kind, cache_v=kind)).speed
    assert (other.expected.mid.value or 0) <= (plain.expected.mid.value or 0) * 1.0001
    if kind not in ("f32", "f16", "bf16"):
        assert (other.ceiling.value or 0) > (plain.ceiling.value or 0)
        assert (other.expected.low.value or 0) < (plain.expected.low.value or 0)


def test_a_quantized_cache_at_196608_tokens_lies_in_the_band() -> None:
    # A reader's RTX 3090 with a 27B in Q4: 34.7, 31.7 and 17.0 tok/s with a q4_0 cache.
    runs = [r for r in published_runs() if r.machine_id == CARD and r.cache_type == "q4_0"]
    assert {run.depth for run in runs} == {16_384, 32_768, 196_608}
    model = specimen("Qwen3.6-27B")
    for run in runs:
        choice = Choice(context=run.depth, cache_k="q4_0", cache_v="q4_0")
        band = resolve(model, machine(CARD), choice).speed.expected
        assert band.low.value is not None and band.high.value is not None
        assert band.low.value < run.decode < band.high.value


def test_experts_in_ram_cost_their_time_on_the_bus_of_the_ram() -> None:
    model = specimen("Qwen3-30B")
    slow, fast = (combine(machine(CARD), custom(64 * GIB, b, gpu=False)) for b in (50e9, 100e9))
    choice = Choice(cpu_moe=48)
    there = resolve(model, machine(CARD), Choice()).speed.expected.mid.value
    values = [resolve(model, m, choice).speed.expected.mid.value for m in (slow, fast)]
    assert there is not None and values[0] is not None and values[1] is not None
    assert values[0] < values[1] < there


def test_no_data_is_said_where_there_is_none() -> None:
    model = specimen("Llama-3.1-8B")
    band = resolve(model, machine(CARD), Choice(engine=Engine.VLLM)).speed.expected
    assert not band.known
    assert band.mid.note == "No data: none of the published runs that are behind this is of vLLM."
    unknown = resolve(model, custom(24 * GIB), Choice()).speed
    assert not unknown.expected.known
    assert unknown.expected.mid.note == unknown.ceiling.note


def test_the_basis_is_told_and_a_stranger_has_a_wider_band() -> None:
    model = specimen("Llama-3.1-8B")
    band = resolve(model, machine(CARD), Choice()).speed.expected
    assert band.basis.startswith("CUDA, 241 runs on 46 cards")
    typed = resolve(model, custom(24 * GIB, 936e9), Choice()).speed.expected
    assert _width(typed_band := typed) > _width(band)
    assert "none of this architecture" not in typed_band.basis
    old = machine("nvidia-tesla-m40")
    assert "none of this architecture" in resolve(model, old, Choice()).speed.expected.basis


def _width(band: object) -> float:
    low, high = band.low.value, band.high.value  # type: ignore[attr-defined]
    assert isinstance(low, float)
    return float(high) / low


def test_a_processor_is_predicted_from_the_bandwidth_that_it_reaches() -> None:
    model = specimen("Llama-3.1-8B")
    ram = custom(64 * GIB, 60e9, gpu=False)
    timed = Number(60e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "timed"))
    measured = replace(ram, devices=(replace(ram.devices[0], bandwidth=timed),))
    rated = resolve(model, ram, Choice(depth=0)).speed.expected.mid.value
    found = resolve(model, measured, Choice(depth=0)).speed
    assert rated is not None and found.expected.mid.value is not None
    assert rated < found.expected.mid.value < (found.ceiling.value or 0)
    share = found.expected.mid.value / (found.ceiling.value or 1)
    assert 0.65 <= share <= 0.95  # of what was measured


def own(plan: Plan, tok_s: float, model: str = "") -> OwnRun:
    assert plan.speed.expected.uncorrected is not None
    return OwnRun(
        model=model or fingerprint(plan.model),
        configuration=configuration(plan.settings),
        backend=plan.settings.backend,
        depth=plan.settings.depth,
        tok_s=tok_s,
        expected=plan.speed.expected.uncorrected,
    )


def test_the_same_model_at_another_depth_is_corrected_in_full() -> None:
    model, card = specimen("Llama-3.1-8B"), machine(CARD)
    at = {d: resolve(model, card, Choice(context=32_768, depth=d)) for d in (0, 4096, 32_768)}
    middle = {d: plan.speed.expected.mid.value or 0.0 for d, plan in at.items()}
    tried = replace(card, runs=(own(at[0], 0.8 * middle[0]), own(at[32_768], 0.9 * middle[32_768])))
    found = {
        d: resolve(model, tried, Choice(context=32_768, depth=d)).speed for d in (0, 4096, 32_768)
    }
    assert found[0].expected.mid.value == pytest.approx(0.8 * middle[0])
    assert found[32_768].expected.mid.value == pytest.approx(0.9 * middle[32_768])
    between = (found[4096].expected.mid.value or 0.0) / middle[4096]
    assert 0.8 < between < 0.9
    assert found[0].expected.uncorrected == pytest.approx(middle[0])
    assert "corrected by 2 of your own runs of this model" in found[0].expected.basis


def test_another_model_is_corrected_half_way_in_the_logarithm() -> None:
    model, card = specimen("Llama-3.1-8B"), machine(CARD)
    plan = resolve(model, card, Choice())
    before = plan.speed.expected.mid.value or 0.0
    tried = replace(card, runs=(own(plan, 0.64 * before, model="another"),))
    after = resolve(model, tried, Choice()).speed.expected
    assert after.mid.value == pytest.approx(0.8 * before)
    assert "half-way" in after.basis
    elsewhere = replace(card, runs=(replace(own(plan, before / 3), backend="vulkan"),))
    assert resolve(model, elsewhere, Choice()).speed.expected.mid.value == pytest.approx(before)


def test_an_own_run_above_the_ceiling_promises_no_more_than_the_ceiling() -> None:
    model, card = specimen("Llama-3.1-8B"), machine(CARD)
    plan = resolve(model, card, Choice())
    tried = replace(card, runs=(own(plan, 10_000.0),))
    speed = resolve(model, tried, Choice()).speed
    assert speed.expected.high.value == speed.ceiling.value


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 30_000), st.integers(1, 2000), st.integers(1, 768))
def test_writing_takes_the_sum_of_its_parts(start: int, first: int, second: int) -> None:
    plan = resolve(specimen("Gemma-3-27B"), machine(CARD), Choice(context=32_768))
    whole = decode_seconds(plan, start, first + second)
    one, two = decode_seconds(plan, start, first), decode_seconds(plan, start + first, second)
    assert whole is not None and one is not None and two is not None
    for total, left, right in zip(whole, one, two, strict=True):
        assert total == pytest.approx(left + right, rel=1e-3)
    assert whole.low <= whole.mid <= whole.high


def test_writing_goes_no_further_than_the_context() -> None:
    plan = resolve(specimen("Llama-3.1-8B"), machine(CARD), Choice(context=4096))
    assert decode_seconds(plan, 4000, 96) is not None
    assert decode_seconds(plan, 4000, 97) is None
    assert decode_seconds(plan, 0, 0) == (0.0, 0.0, 0.0)
    one = decode_seconds(plan, 2000, 1)
    assert one is not None
    band = resolve(specimen("Llama-3.1-8B"), machine(CARD), Choice(context=4096, depth=2000))
    assert 1 / one.mid == pytest.approx(band.speed.expected.mid.value, rel=1e-3)


def test_loading_takes_the_file_at_the_rate_of_the_disk_and_warm_the_way_to_the_card() -> None:
    # A model of 19 GB from a disk of 2 GB/s takes about 10 s (A04).
    disk = Number(2e9, Unit.BYTES_PER_SECOND, _SAID)
    plan = resolve(specimen("Qwen3.6-35B"), machine(CARD), Choice())
    found = load_times(plan, disk)
    # The specimen is a header alone; the file that it was cut from has 21,718,480,960 bytes.
    assert found.cold.value == pytest.approx(21_718_480_960 / 2e9, rel=0.001)
    on_card = next(p for p in plan.memory.devices[0].parts if p.kind is PartKind.WEIGHTS)
    assert found.warm.value == pytest.approx((on_card.bytes.value or 0) / 31.5e9, rel=0.01)
    nobody = load_times(plan)
    assert nobody.cold.value is None and nobody.cold.note


def test_s02_a_cache_that_the_backend_cannot_attend_to_has_no_data() -> None:
    model, card = specimen("Llama-3.1-8B"), machine(CARD)
    for k, v, known in (
        ("f16", "f16", True),
        ("q8_0", "q8_0", True),
        ("q4_0", "q4_0", True),
        ("iq4_nl", "iq4_nl", False),
    ):
        speed = resolve(model, card, Choice(cache_k=k, cache_v=v)).speed
        assert speed.expected.known is known
        assert (speed.prefill.value is not None) is known
        if not known:
            assert "8 to 30 times slower" in speed.expected.mid.note


def test_s13_tensor_parallel_adds_bandwidth_and_pays_for_the_link() -> None:
    # 18.4 GiB on two cards of 1,792 GB/s: 90.7 tok/s in turns, 181 if the link were free.
    one = machine("nvidia-geforce-rtx-5090")
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 64,
        "llama.embedding_length": 5120,
        "llama.context_length": 8192,
        "llama.attention.head_count": 40,
    }
    rows = round(18.4 * GIB / 64 / (5120 / 32 * 18))
    tensors = [(f"blk.{n}.ffn_up.weight", (5120, rows), "Q4_0") for n in range(64)]
    model = model_from(file_of(keys, tensors))
    plan = resolve(model, combine(one, one), Choice(depth=0))
    assert plan.speed.ceiling.value == pytest.approx(90.7, abs=0.1)
    found = tensor_parallel(plan)
    assert found is not None and found.tok_s.value is not None and found.link.value is not None
    assert 90.7 < found.tok_s.value < 181.4
    assert 1 / found.tok_s.value - 1 / 181.4 == pytest.approx(found.link.value, rel=0.02)
    assert tensor_parallel(resolve(model, one, Choice(depth=0))) is None


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(WORDS), st.integers(0, 30_000), st.integers(1, 15_000), st.integers(1, 10_000)
)
def test_a_longer_prompt_takes_longer_and_a_longer_history_too(
    word: str, history: int, new: int, more: int
) -> None:
    plan = resolve(specimen(word), machine(CARD), Choice(context=65_536))
    base = prefill_seconds(plan, history, new)
    longer = prefill_seconds(plan, history, new + more)
    later = prefill_seconds(plan, history + more, new)
    assert base is not None and longer is not None and later is not None
    assert 0 < base.low < base.mid < base.high
    assert longer.mid > base.mid
    assert later.mid >= base.mid


def test_prefill_falls_with_depth_and_ttft_is_the_prompt_over_it() -> None:
    model = specimen("Llama-3.1-8B")
    rates_ = []
    for depth in (512, 8192, 65_536):
        speed = resolve(model, machine(CARD), Choice(context=65_536, depth=depth)).speed
        assert speed.prefill.value is not None and speed.ttft.value is not None
        assert speed.ttft.value == pytest.approx(depth / speed.prefill.value)
        rates_.append(speed.prefill.value)
    assert rates_[0] > rates_[1] > rates_[2]
    empty = resolve(model, machine(CARD), Choice(depth=0)).speed
    assert empty.prefill.value is None and empty.ttft.value is None
    assert "nothing to read" in empty.ttft.note


def test_s14_experts_in_ram_are_copied_over_pci_express_for_every_chunk() -> None:
    # 130 GiB of experts over PCIe 3.0 x8 (7.9 GB/s): 17.7 s a pass.
    keys = {
        "general.architecture": "qwen3moe",
        "qwen3moe.block_count": 1,
        "qwen3moe.embedding_length": 256,
        "qwen3moe.context_length": 8192,
        "qwen3moe.attention.head_count": 1,
        "qwen3moe.expert_count": 128,
        "qwen3moe.expert_used_count": 8,
    }
    rows = round(130 * GIB / 144 / 128)  # Q4_0: 144 bytes for 256 values
    tensors: list[tuple[str, tuple[int, ...], str]] = [
        ("blk.0.ffn_up_exps.weight", (256, rows, 128), "Q4_0")
    ]
    tensors.append(("blk.0.ffn_norm.weight", (256,), "F32"))
    tensors.append(("output.weight", (256, 1000), "F16"))
    model = model_from(file_of(keys, tensors))
    card = catalogue.machine("nvidia-geforce-rtx-3070")  # any card; its link is set
    link = replace(card.devices[0].link, most=Number(7.9e9, Unit.BYTES_PER_SECOND, _SAID))  # type: ignore[type-var]
    narrow = replace(card, devices=(replace(card.devices[0], link=link), *card.devices[1:]))
    plan = resolve(
        model, combine(narrow, custom(192 * GIB, 100e9, gpu=False)), Choice(cpu_moe=1, context=8192)
    )
    cost = plan.speed.prompt
    assert cost is not None
    assert cost.copy == pytest.approx(17.7, abs=0.05)
    short, long = cost.seconds(0, 16), cost.seconds(0, 2048)
    assert short < 17.7  # too few tokens to copy for
    assert long > 4 * 17.7
    assert cost.break_even is not None and 34 < cost.break_even < 2000


_SAID = Source(Rank.REPORTED, "test")


def test_nothing_is_read_faster_than_the_memory_allows() -> None:
    for backend in Backend:
        for architecture in ("", "Ada Lovelace", "Apple M2", "RDNA 4.0", "Xe2-HPG", "Volta"):
            found = rates(Hardware(backend, 500e9, architecture))
            assert min(found.read, found.cache, found.packed) >= 1 / 500e9
