"""Machines typed by hand, combined, and changed."""

from __future__ import annotations

import json

import pytest

from core.machine import (
    Backend,
    DeviceKind,
    as_dict,
    catalogue,
    combine,
    custom,
    with_host_bandwidth,
    with_ram,
)
from core.machine.machine import unknown_bandwidth
from core.machine.rows import CHECKED
from core.provenance import Number, Rank, Source, Unit

GIB = 2**30
MEASURED = Number(71.5e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "memory read", "2026-11-30"))


def test_a_machine_typed_by_hand_holds_what_was_typed() -> None:
    machine = custom(24 * GIB, 936e9, name="My card")
    gpu, host = machine.devices
    assert (machine.id, machine.name) == ("custom", "My card")
    assert gpu.memory.value == 24 * GIB
    assert gpu.bandwidth.value == 936e9
    assert gpu.memory.source == Source(Rank.REPORTED, "typed by you")
    assert (gpu.kind, gpu.backend) == (DeviceKind.GPU, Backend.CUDA)
    assert host.memory.value is None


def test_ram_alone_and_unified_memory_can_be_typed_as_well() -> None:
    (host,) = custom(64 * GIB, 80e9, gpu=False).devices
    assert (host.kind, host.backend) == (DeviceKind.HOST, Backend.CPU)
    (unified,) = custom(128 * GIB, 256e9, unified=True, backend=Backend.VULKAN).devices
    assert unified.unified
    assert unified.backend is Backend.VULKAN
    assert custom(8 * GIB).devices[0].bandwidth.value is None


@pytest.mark.parametrize(("memory", "bandwidth"), [(0, 1e9), (-1, 1e9), (GIB, 0), (GIB, -5)])
def test_figures_that_cannot_be_are_refused_with_a_sentence(memory: int, bandwidth: float) -> None:
    with pytest.raises(ValueError, match="write it like"):
        custom(memory, bandwidth)


def test_a_card_of_the_catalogue_and_ones_own_ram_make_a_computer() -> None:
    machine = combine(
        catalogue.machine("nvidia-geforce-rtx-4090"), custom(64 * GIB, 80e9, gpu=False)
    )
    gpu, host = machine.devices
    assert gpu.catalogue_id == "nvidia-geforce-rtx-4090"
    assert (host.memory.value, host.bandwidth.value) == (64 * GIB, 80e9)
    assert machine.name == "GeForce RTX 4090 + 64.0 GiB RAM"


def test_two_cards_and_a_platform_stay_three_devices() -> None:
    card = catalogue.machine("nvidia-geforce-rtx-3090")
    machine = combine(card, card, catalogue.machine("cpu-desktop-dual-channel-ddr5-5600"))
    assert [d.kind for d in machine.devices] == [
        DeviceKind.GPU,
        DeviceKind.GPU,
        DeviceKind.HOST,
    ]
    assert {d.bandwidth.value for d in machine.gpus} == {936.2e9}
    assert machine.name.startswith("2x GeForce RTX 3090")


def test_a_host_of_unknown_ram_does_not_replace_a_known_one() -> None:
    known = custom(32 * GIB, 50e9, gpu=False)
    card = catalogue.machine("nvidia-geforce-rtx-4090")
    assert combine(known, card).host == known.host


def test_one_memory_for_everything_cannot_be_combined() -> None:
    with pytest.raises(ValueError, match="Apple M4 Max"):
        combine(
            catalogue.machine("apple-m4-max-40-core-gpu"),
            catalogue.machine("nvidia-geforce-rtx-4090"),
        )
    with pytest.raises(ValueError, match="at least one"):
        combine()


def test_ram_can_be_set_on_a_host_a_board_and_a_mac() -> None:
    card = with_ram(catalogue.machine("nvidia-geforce-rtx-4090"), 64 * GIB)
    assert [d.memory.value for d in card.devices] == [24564 * 2**20, 64 * GIB]
    (board,) = with_ram(
        catalogue.machine("amd-ryzen-ai-max-395-radeon-8060s-strix-halo"), 64 * GIB
    ).devices
    assert board.memory.value == 64 * GIB
    (mac,) = with_ram(catalogue.machine("apple-m4-max-40-core-gpu"), 64 * GIB).devices
    assert mac.memory.value is not None
    assert mac.memory.value / 1e6 == pytest.approx(55662.79, rel=1e-4)  # llama.cpp's log of one
    with pytest.raises(ValueError, match="write it like"):
        with_ram(card, 0)


def test_a_measured_bandwidth_goes_to_the_host_and_leaves_the_gpu_alone() -> None:
    machine = with_host_bandwidth(
        with_ram(catalogue.machine("nvidia-geforce-rtx-4090"), 64 * GIB), MEASURED
    )
    assert machine.host is not None
    assert machine.host.bandwidth == MEASURED
    assert machine.gpus[0].bandwidth.value == 1008e9


def test_what_the_processor_reads_says_nothing_about_a_unified_gpu() -> None:
    before = catalogue.machine("amd-ryzen-ai-max-395-radeon-8060s-strix-halo")
    after = with_host_bandwidth(before, MEASURED)
    assert after.devices == before.devices
    (note,) = after.problems
    assert "71.5 GB/s" in note.message


def test_a_failed_measurement_changes_nothing() -> None:
    machine = custom(64 * GIB, 80e9, gpu=False)
    assert with_host_bandwidth(machine, unknown_bandwidth("memory read", "stopped")) == machine


def test_a_machine_becomes_plain_values_with_their_sources() -> None:
    told = json.loads(json.dumps(as_dict(catalogue.machine("nvidia-geforce-rtx-4090"))))
    gpu, host = told["devices"]
    assert told["schema"] == 1
    assert told["id"] == gpu["catalogue_id"] == "nvidia-geforce-rtx-4090"
    assert gpu["memory"]["value"] == 24564 * 2**20
    assert gpu["bandwidth"] == {
        "value": 1008e9,
        "unit": "B/s",
        "rank": "datasheet",
        "origin": gpu["bandwidth"]["origin"],
        "date": CHECKED,
        "formula": None,
        "inputs": {},
        "note": None,
    }
    assert host["memory"]["value"] is None
    assert host["memory"]["note"]
    assert host["catalogue_id"] is None


def test_a_unified_machine_of_unknown_bandwidth_takes_what_the_processor_reads() -> None:
    unknown = custom(32 * 2**30, unified=True)
    measured = Number(43e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "timed", "2026-11-30"))
    (device,) = with_host_bandwidth(unknown, measured).devices
    assert device.bandwidth.value == 43e9
    assert "GPU may be faster" in device.bandwidth.note
