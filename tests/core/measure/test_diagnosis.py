"""Why a run is as fast as it is: each rule on the case that taught it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.measure.diagnosis import Finding, diagnose, point_of
from core.measure.history import DepthFigures, PlanSnapshot, snapshot
from core.measure.readings import GpuReading, Reading
from core.measure.run import Cell, Run, SampleKind
from tests.support import runs
from tests.support.specimen_plans import RAM, specimen_plan

GIB = 2**30
CARD = "NVIDIA GeForce RTX 3090"
# A round case: 936 GB/s and 5 GB of weights, 0.1 GB of cache for every 1,000 tokens.
BANDWIDTH = 936e9


def figures(depth: int, *, band: bool = True) -> DepthFigures:
    size = 5 * 10**9 + depth * 10**5
    ceiling = BANDWIDTH / size
    if not band:
        return DepthFigures(depth, size, ceiling)
    return DepthFigures(
        depth, size, ceiling, 0.6 * ceiling, 0.7 * ceiling, 0.8 * ceiling, 0.7 * ceiling
    )


def plan(*, band: bool = True, **changes: Any) -> PlanSnapshot:
    settings = {
        "requested_context": 16_384, "context": 16_384, "slots": 1, "unified_cache": False,
        "cache_k": "f16", "cache_v": "f16", "gpu_layers": 33, "backend": "cuda",
    } | changes.pop("settings", {})  # fmt: skip
    made = PlanSnapshot(
        model="Llama 3.1 8B",
        architecture="llama",
        label="Q4_K_M",
        path="/models/llama-8b.gguf",
        file_bytes=5 * 10**9,
        machine="A test machine",
        settings=settings,
        weights=5 * 10**9,
        curve=tuple(figures(depth, band=band) for depth in (0, 4096, 8192, 16_384)),
        bandwidth=BANDWIDTH,
        planned_gpus=("GeForce RTX 3090",),
    )
    return replace(made, **changes)


def at_share(share: float | dict[int, float], depths: Sequence[int] = (0, 4096, 16_000)) -> Run:
    """A run that reaches this share of the ceiling, or one for each depth."""
    shares = share if isinstance(share, dict) else dict.fromkeys(depths, share)
    rates = {d: [s * BANDWIDTH / (5e9 + (d + 31.5) * 1e5)] * 6 for d, s in shares.items()}
    return runs.run(rates)


def gpu(**changes: Any) -> GpuReading:
    made = GpuReading(
        CARD, use=0.97, clock=1800, memory_used=7 * GIB, memory_total=24 * GIB, limits=()
    )
    return replace(made, **changes)


def readings(*gpus: GpuReading, **changes: Any) -> tuple[Reading, ...]:
    """One reading a second, one for each of these GPUs in turn."""
    return tuple(
        Reading(at_ns=n * 10**9, gpus=(each,), other_cpu=0.02, server_cpu=1.0, **changes)
        for n, each in enumerate(gpus or (gpu(),) * 9)
    )


def found(run: Run, kept: PlanSnapshot | None = None) -> dict[str, Finding]:
    return {finding.code: finding for finding in diagnose(run, kept)}


def causes(run: Run, kept: PlanSnapshot) -> set[str]:
    return set(found(run, kept)) - {"reach", "normal", "slower", "faster", "no-band"}


def test_a_run_says_its_share_of_the_ceiling_and_that_it_is_normal() -> None:
    said = found(replace(at_share(0.7), telemetry=readings()), plan())
    assert set(said) == {"reach", "normal"}
    # 936 / 5.00315 = 187.1; 70 % of it is 131 tok/s, and 655 GB/s of 936.
    assert "70 % of the ceiling" in said["reach"].message
    assert "131 tok/s of 187 tok/s" in said["reach"].evidence
    assert "655.2 GB/s" in said["reach"].evidence
    # In the middle: 936 / 5.41315 = 172.9; 70 % of it is 121, expected are 60 to 80 %.
    assert said["normal"].evidence == (
        "Expected at depth 4,128: 104 to 138 tok/s; measured: 121 tok/s."
    )


def test_without_a_plan_or_a_ceiling_it_says_that_it_cannot_tell() -> None:
    assert set(found(at_share(0.7))) == {"cannot-tell"}
    bare = plan(curve=(DepthFigures(0), DepthFigures(16_384)))
    assert set(found(at_share(0.7), bare)) == {"cannot-tell"}


def test_without_published_runs_it_cannot_tell_whether_it_is_normal() -> None:
    assert "no-band" in found(at_share(0.7), plan(band=False))


def test_nothing_was_measured_nothing_is_said() -> None:
    assert diagnose(runs.run({}), plan()) == ()


def test_slow_without_a_reason_says_what_was_looked_at() -> None:
    said = found(replace(at_share(0.45), telemetry=readings()), plan())
    assert "slower" in said
    assert "clocks, limits and memory of the GPU" in said["cannot-tell-why"].evidence


def test_m46_a_smaller_context_is_told_in_amber() -> None:
    """M46: asked for 200,000, the server's /props says 152,576."""
    run = replace(at_share(0.7), target=replace(runs.TARGET, context=152_576))
    finding = found(run, plan(settings={"requested_context": 200_000}))["smaller-context"]
    assert finding.message == "Asked 200,000 → got 152,576 tokens of context."
    assert finding.amber
    # One request of four that split the context has a quarter of it, and that is no matter.
    four = plan(settings={"requested_context": 200_000, "slots": 4})
    run = replace(at_share(0.7), target=replace(runs.TARGET, context=50_000))
    assert "smaller-context" not in found(run, four)


def test_another_model_is_told_by_its_size_or_its_name() -> None:
    run = replace(at_share(0.7), target=replace(runs.TARGET, model_bytes=9 * 10**9))
    assert "other-model" in found(run, plan())
    run = replace(at_share(0.7), target=replace(runs.TARGET, model_path="/other/qwen.gguf"))
    assert "qwen.gguf" in found(run, plan())["other-model"].evidence
    run = replace(at_share(0.7), target=replace(runs.TARGET, model_path="D:/llama-8b.gguf"))
    assert "other-model" not in found(run, plan())


def test_another_cache_type_is_told() -> None:
    run = replace(at_share(0.7), target=replace(runs.TARGET, cache_k="q8_0", cache_v="q8_0"))
    assert "K q8_0, V q8_0" in found(run, plan())["other-cache"].message


def test_b07_layers_on_the_cpu_are_told_by_the_command_line_and_by_ollama() -> None:
    """B07: 18 of 33 layers on the CPU; /api/ps says size_vram < size."""
    slow = at_share(0.1)
    layers = replace(slow, target=replace(runs.TARGET, gpu_layers=15))
    assert "15 of 33 layers" in found(layers, plan())["split"].evidence
    ollama = replace(runs.TARGET, loaded_bytes=10 * GIB, gpu_bytes=4 * GIB)
    assert "4.00 GiB of 10.0 GiB" in found(replace(slow, target=ollama), plan())["split"].evidence


def test_a_split_shows_in_an_idle_gpu_and_busy_cores() -> None:
    telemetry = tuple(replace(r, server_cpu=8.0) for r in readings(*[gpu(use=0.3)] * 9))
    run = replace(at_share(0.1), target=replace(runs.TARGET, gpu_layers=20), telemetry=telemetry)
    assert "busy 30 % of the time while the server kept 8.0 CPU cores" in (
        found(run, plan())["split"].evidence
    )


def test_s17_and_u24_a_gpu_that_did_nothing_is_told() -> None:
    """S17: nine times below the ceiling, on the other device. U24: the GPU was not seen."""
    telemetry = tuple(replace(r, server_cpu=7.5) for r in readings(*[gpu(use=0.01)] * 9))
    run = replace(at_share(0.11), telemetry=telemetry)
    assert found(run, plan())["other-device"].message.startswith("It ran on the CPU")
    both = tuple(
        replace(r, gpus=(gpu(name="Intel Arc", use=0.99), gpu(use=0.0))) for r in readings()
    )
    finding = found(replace(at_share(0.11), telemetry=both), plan())["other-device"]
    assert finding.message == "It ran on another GPU."
    assert f"{CARD} was idle, Intel Arc was not." in finding.evidence
    # The one beside the processor is idle when all is well, however slow it is for other reasons.
    usual = tuple(
        replace(r, gpus=(gpu(name="Intel Arc", use=0.0), gpu(use=0.99))) for r in readings()
    )
    assert "other-device" not in found(replace(at_share(0.37), telemetry=usual), plan())


def test_s04_growing_shared_memory_is_spilling() -> None:
    """S04: dedicated 11.8 of 12 GiB, shared +1.6 GB, the GPU 98 % busy."""
    series = [
        gpu(
            use=0.98,
            memory_used=round(11.8 * GIB),
            memory_total=12 * GIB,
            spilled=round(n / 8 * 1.6e9),
        )
        for n in range(9)
    ]
    run = replace(at_share({0: 0.6, 16_000: 0.06}), telemetry=readings(*series))
    finding = found(run, plan())["spill"]
    assert "1.49 GiB of RAM" in finding.evidence
    assert "98 % full" in finding.evidence
    assert "falls from 60 % to 6.0 %" in finding.evidence
    # A card that is nearly full and busy while its own memory rests waits for RAM.
    waits = [
        gpu(use=0.98, memory_use=rate, memory_used=round(11.8 * GIB), memory_total=12 * GIB)
        for rate in (0.02, 0.8)
    ]
    idle, works = (replace(at_share(0.06), telemetry=readings(*[each] * 9)) for each in waits)
    assert "its memory only 2.0 %" in found(idle, plan())["spill"].evidence
    assert "spill" not in found(works, plan())
    # On a card whose driver does not tell: full, and much slower with depth than the curve.
    quiet = [gpu(memory_used=round(11.8 * GIB), memory_total=12 * GIB)] * 9
    assert "spill" in found(
        replace(at_share({0: 0.6, 16_000: 0.06}), telemetry=readings(*quiet)), plan()
    )
    assert "spill" not in found(replace(at_share(0.7), telemetry=readings(*quiet)), plan())


def test_a_single_stick_is_half_of_the_ceiling_at_every_depth() -> None:
    """domain.md 6: DDR4-3200, one stick 25.6 GB/s, two 51.2."""
    kept = snapshot(specimen_plan("Llama-3.1-8B", RAM, context=8192), (0, 4096))
    assert not kept.bandwidth_measured
    assert kept.several_channels
    rates = {}
    for depth in (0, 4096):
        there = kept.figures(depth + 31.5)
        assert there is not None
        assert there.ceiling
        rates[depth] = [there.ceiling / 2 * 0.94] * 6
    finding = found(runs.run(rates), kept)["single-stick"]
    assert "47 %, 47 % of 51.2 GB/s" in finding.evidence
    # Where the memory was measured, that is known already.
    assert "single-stick" not in found(runs.run(rates), replace(kept, bandwidth_measured=True))
    assert "single-stick" not in found(at_share(0.47), plan())


def test_s16_heat_and_falling_clocks_are_told_with_cold_and_steady_figures() -> None:
    """S16: 68.55 → 64.97 tok/s over ten bursts; a heat-soaked card fell to 375-628 MHz."""
    rates = [68.55 + n * (64.97 - 68.55) / 9 for n in range(10)]
    clocks = [1725, 1710, 1700, 1400, 900, 628, 600, 500, 375]
    series = [gpu(clock=c, limits=("heat",) if c < 1000 else ()) for c in clocks]
    finding = found(runs.run({0: rates}, telemetry=readings(*series)), plan())["throttle"]
    assert "held back by heat 56 % of the time" in finding.evidence
    assert "fell from 1,710 to 500 MHz" in finding.evidence
    assert "Cold 68.2, steady 65.4 passes/s (-4 %)" in finding.evidence
    assert finding.amber


def test_s16_a_power_cap_alone_is_a_remark() -> None:
    """S16: power limits that were reached but cost little."""
    series = [gpu(limits=("power",))] * 9
    said = found(replace(at_share(0.7), telemetry=readings(*series)), plan())
    assert "power-cap" in said
    assert not said["power-cap"].amber
    assert "throttle" not in said


def test_s16_running_on_the_battery_is_told() -> None:
    telemetry = readings(on_battery=True, battery=0.62)
    said = found(replace(at_share(0.4), telemetry=telemetry), plan())
    assert said["battery"].evidence == "Charge 62 %."


def test_s15_slow_for_good_after_a_long_prompt() -> None:
    """S15: 29 → 10 tok/s until the server is started anew; 700 MB more on the card."""
    shallow = runs.cell(0, [29.0] * 6)
    again = [runs.sample(10.0, kind=SampleKind.AGAIN, round=n) for n in range(3)]
    cells = (
        replace(shallow, samples=(*shallow.samples, *again)),
        runs.cell(10_000, [12.0] * 6),
    )
    series = [gpu(memory_used=15 * GIB + (700 * 2**20 if n > 4 else 0)) for n in range(9)]
    run = runs.run({}, cells=cells, telemetry=readings(*series))
    finding = found(run, plan())["slower-after"]
    assert "29.0 passes/s before, 10.0 after" in finding.evidence
    assert "700 MiB more" in finding.evidence


@pytest.mark.parametrize(
    ("k", "v", "expected"),
    [
        ("f16", "f16", False),
        ("q8_0", "q8_0", False),
        ("q4_0", "q4_0", False),
        ("q8_0", "q4_0", True),
        ("q5_1", "q5_1", True),
        ("q4_1", "q8_0", True),
    ],
)
def test_s02_a_cache_without_a_kernel_is_named_where_the_speed_falls_faster(
    k: str, v: str, expected: bool
) -> None:
    """S02: default CUDA builds attend f16, bf16, q4_0 and q8_0 with K = V."""
    kept = plan(settings={"cache_k": k, "cache_v": v})
    target = replace(runs.TARGET, cache_k=k, cache_v=v)
    falling = replace(at_share({0: 0.7, 16_000: 0.1}), target=target)
    assert ("no-kernel" in found(falling, kept)) is expected
    steady = replace(at_share(0.7), target=target)
    assert "no-kernel" not in found(steady, kept)


def test_a_model_that_is_read_from_disk_again_is_told() -> None:
    telemetry = tuple(
        replace(r, read_bytes=n * GIB, major_faults=n * 5000) for n, r in enumerate(readings())
    )
    finding = found(replace(at_share(0.02), telemetry=telemetry), plan())["paging"]
    assert "8.00 GiB were read from disk" in finding.evidence


def test_a_busy_computer_is_told_with_how_far_requests_differ() -> None:
    telemetry = tuple(replace(r, other_cpu=0.6, cpu_pressure=0.97) for r in readings())
    run = runs.run({0: [27.0, 20.0, 3.0, 18.0, 26.0, 9.0]}, telemetry=telemetry)
    said = found(run, plan())
    assert "Other programs used 60 % of the processor" in said["busy"].evidence
    assert "unsteady" in said


def test_b06_a_servers_own_figure_is_held_against_the_drivers() -> None:
    """B06: the server says 22 GB; the driver has 17,905 MiB in use."""
    target = replace(runs.TARGET, loaded_bytes=22 * 10**9, gpu_bytes=22 * 10**9)
    telemetry = readings(*[gpu(memory_used=17_905 * 2**20)] * 9)
    run = replace(at_share(0.7), target=target, telemetry=telemetry)
    said = found(run, plan(total=16_320 * 2**20))["memory-figures"]
    assert "counts 20.5 GiB; the driver has 17.5 GiB in use" in said.evidence
    assert "The plan has 15.9 GiB in all." in said.evidence
    close = replace(run, target=replace(target, loaded_bytes=None, gpu_bytes=18_000 * 2**20))
    assert "memory-figures" not in found(close, plan())


def test_a_small_model_on_a_fast_card_waits_for_launches() -> None:
    kept = plan(weights=5 * 10**8)
    telemetry = readings(*[gpu(use=0.5)] * 9)
    assert "overhead" in found(replace(at_share(0.3), telemetry=telemetry), kept)


def test_speculation_is_no_miracle_passes_are_held_against_the_ceiling() -> None:
    """64 tokens of which 40 were drafted and taken: 23 passes."""
    rate = 300.0
    samples = []
    for n in range(6):
        made = runs.sample(rate, round=n)
        told = dict(made.server_timings) | {"draft_n": 50, "draft_n_accepted": 40}
        samples.append(replace(made, server_timings=told))
    run = runs.run({}, cells=(Cell(0, samples=tuple(samples), finished=True),))
    said = found(run, plan())
    assert "240 of 300 drafted tokens were taken (80 %)" in said["speculation"].evidence
    assert f"{300 * 23 / 63:.1f} passes" in said["speculation"].evidence
    assert "above-ceiling" not in said


def test_faster_than_the_ceiling_says_what_may_be_wrong() -> None:
    said = found(at_share(1.3), plan())
    assert "130 % of it" in said["above-ceiling"].message
    tiny = plan(weights=10**6)
    assert "stays in the processor's cache" in found(at_share(1.3), tiny)["above-ceiling"].evidence


def test_b03_prefill_from_the_cache_is_no_prefill() -> None:
    """B03: 7,999 of 8,000 tokens cached in a request that was to be new."""
    cold = runs.sample(50.0, depth=8000, kind=SampleKind.COLD, cached=7999)
    cell = runs.cell(8000, [100.0] * 6)
    run = runs.run({}, cells=(replace(cell, samples=(cold, *cell.samples[1:])),))
    assert "8,000" in found(run, plan())["flattered-prefill"].evidence


def test_a_prompt_that_is_read_again_for_every_answer_is_told() -> None:
    samples = tuple(runs.sample(100.0, depth=8000, cached=0, round=n) for n in range(6))
    run = runs.run({}, cells=(Cell(8000, samples=samples, finished=True),))
    assert "read-again" in found(run, plan())


def test_text_that_arrives_late_is_a_matter_of_delivery() -> None:
    samples = []
    for n in range(6):
        made = runs.sample(100.0, round=n)
        told = dict(made.server_timings) | {"predicted_ms": 63 / 120 * 1000}
        samples.append(replace(made, server_timings=told))
    run = runs.run({}, cells=(Cell(0, samples=tuple(samples), finished=True),))
    assert "By 17 %" in found(run, plan())["delivery"].evidence


def test_a_good_run_has_no_causes() -> None:
    assert causes(replace(at_share(0.7), telemetry=readings()), plan()) == set()


def test_without_telemetry_no_rule_fails() -> None:
    empty = (Reading(at_ns=0), Reading(at_ns=10**9))
    for telemetry in ((), empty):
        for share in (0.05, 0.5, 0.7, 1.5):
            for kept in (plan(), plan(band=False), None):
                diagnose(replace(at_share(share), telemetry=telemetry), kept)


def test_a_measured_speed_means_bytes_per_second_and_a_share_of_the_ceiling() -> None:
    """domain.md 2: 936 GB/s over 16.1 GB of weights and 0.3 GB of cache is 57 tok/s; 57 passes a
    second of 16.4 GB are 934.8 GB/s. Two tokens after a depth of 0 lie at 1.5 in the middle."""
    there = DepthFigures(1, bytes=16_400_000_000, ceiling=936e9 / 16.4e9)
    kept = replace(plan(), at=(there,), curve=())
    two = runs.sample(57.0, tokens=2)
    point = point_of(Cell(0, samples=(two,), finished=True), kept)
    assert point is not None
    assert point.depth == 1.5
    assert point.bandwidth == pytest.approx(934.8e9)
    assert point.share == pytest.approx(57 / 57.07, rel=1e-4)
