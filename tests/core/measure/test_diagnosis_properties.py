"""What holds of a diagnosis whatever was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine.machine import DeviceKind
from core.measure.diagnosis import Finding, diagnose
from core.measure.history import snapshot
from core.measure.readings import GpuReading, Reading
from core.measure.run import Run, SampleKind
from tests.core.measure.test_diagnosis import at_share, gpu, plan
from tests.support import runs
from tests.support.plans import device, machine
from tests.support.specimen_plans import specimen_plan

GIB = 2**30
RATES = st.floats(1.0, 500.0)


def series(**changes: Sequence[object]) -> tuple[Reading, ...]:
    """A reading a second of one card; each change has a value for every reading."""
    count = len(next(iter(changes.values())))
    card = GpuReading("card", use=0.97, memory_used=7 * GIB, memory_total=24 * GIB, limits=())
    return tuple(
        Reading(
            at_ns=n * 10**9,
            gpus=(replace(card, **{name: values[n] for name, values in changes.items()}),),  # type: ignore[arg-type]
            other_cpu=0.0,
        )
        for n in range(count)
    )


def found(run: Run) -> dict[str, Finding]:
    return {finding.code: finding for finding in diagnose(run, None)}


def with_again(before: float, after: float) -> Run:
    shallow = runs.cell(0, [before] * 6)
    again = [runs.sample(after, kind=SampleKind.AGAIN, round=n) for n in range(3)]
    cells = (
        replace(shallow, samples=(*shallow.samples, *again)),
        runs.cell(10_000, [before * 0.8] * 6),
    )
    return runs.run({}, cells=cells)


@given(RATES, st.floats(0.05, 1.5))
def test_s15_a_fifth_slower_for_good_is_told_and_less_is_not(before: float, share: float) -> None:
    """S15: a short probe after the long one; more than 20 % slower is a finding."""
    if abs(share - 0.8) < 1e-3:
        return  # stamps are whole nanoseconds
    run = with_again(before, before * share)
    said = found(run)
    assert ("slower-after" in said) is (share < 0.8)
    if share < 0.8:
        assert said["slower-after"].amber


def test_s15_the_build_of_the_server_goes_with_the_result() -> None:
    """S15: it had worked with an earlier build."""
    assert with_again(29.0, 10.0).target.version == "b11434-abcdef0"


@given(st.lists(RATES, min_size=6, max_size=30))
def test_s16_steady_is_told_only_where_it_is_less_than_cold(rates: list[float]) -> None:
    """S16: one figure misleads; both are told where the end is slower than the beginning."""
    words = found(runs.run({0: rates}, telemetry=series(clock=[1800] * 9)))
    third = len(rates) // 3
    told = "throttle" in words and "Cold " in words["throttle"].evidence
    if min(rates[-third:]) >= max(rates[:third]):
        assert not told
    if max(rates[-third:]) < 0.96 * min(rates[:third]):
        assert told


@pytest.mark.parametrize(("fallen", "flagged"), [(0.84, True), (0.86, False), (1.0, False)])
def test_s16_a_clock_that_fell_by_more_than_15_per_cent_is_told(
    fallen: float, flagged: bool
) -> None:
    """S16: a clock drop of more than 15 % is a finding."""
    clocks = [1800] * 6 + [round(1800 * fallen)] * 3
    said = found(runs.run({0: [50.0] * 6}, telemetry=series(clock=clocks)))
    assert ("throttle" in said) is flagged


@given(st.lists(st.sampled_from([(), ("power",), ("heat",), ("hardware",)]), min_size=6))
def test_s16_limits_are_read_and_not_assumed(limits: list[tuple[str, ...]]) -> None:
    """S16: power limits were set but not verified; what the driver says counts, and heat before
    power."""
    said = found(runs.run({0: [50.0] * 6}, telemetry=series(limits=list(limits))))
    shares = {
        name: sum(name in each for each in limits) / len(limits)
        for name in ("power", "heat", "hardware")
    }
    hot = shares["heat"] >= 0.2 or shares["hardware"] >= 0.2
    assert ("throttle" in said) is hot
    assert ("power-cap" in said) is (not hot and shares["power"] >= 0.2)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.02, 0.49))
def test_s17_another_gpu_is_named_only_where_the_planned_one_was_idle(
    planned: float, other: float, share: float
) -> None:
    """S17: inference landed on the other device; which one was idle tells."""
    readings = tuple(
        Reading(
            at_ns=n * 10**9,
            gpus=(gpu(use=planned), gpu(name="Intel Arc", use=other)),
            server_cpu=0.2,
        )
        for n in range(9)
    )
    said = {f.code: f for f in diagnose(replace(at_share(share), telemetry=readings), plan())}
    assert ("other-device" in said) is (planned < 0.1)
    if planned < 0.1:
        elsewhere = said["other-device"].message == "It ran on another GPU."
        assert elsewhere is (other >= 0.1)


def test_s17_a_plan_remembers_which_gpus_it_counts_on() -> None:
    """S17: the GPU beside the processor has most memory, and is left out of the plan."""
    card = device(
        "NVIDIA GeForce RTX 4080 Laptop GPU",
        kind=DeviceKind.GPU,
        memory=12 * GIB,
        used=0,
        bandwidth=432e9,
    )
    beside = replace(
        device(
            "Intel Iris Xe", kind=DeviceKind.GPU, memory=round(31.8 * GIB), used=0, bandwidth=76.8e9
        ),
        unified=True,
    )
    ram = device("RAM", memory=64 * GIB, bandwidth=76.8e9)
    for gpus in ((card, beside), (beside, card)):
        kept = snapshot(specimen_plan("Llama-3.1-8B", machine(*gpus, ram), context=8192))
        assert kept.planned_gpus == (card.name,)
        assert kept.bandwidth == 432e9
