"""NVIDIA GPUs as NVML shows them."""

from __future__ import annotations

import pynvml
import pytest

from core.machine import catalogue
from core.machine.detect import nvidia
from core.machine.detect.gpu import Reading
from core.machine.machine import Backend, DeviceKind
from core.provenance import Rank
from tests.support.fake_nvml import (
    GB10,
    H100,
    H200,
    MIB,
    ORIN,
    RTX_3060,
    RTX_3090,
    RTX_4090,
    RTX_5070_LAPTOP,
    RTX_5090,
    T4,
    FakeNvml,
    Gpu,
)

GIB = 2**30


# Clock and width as NVML reports them, and what the maker publishes (GB/s).
@pytest.mark.parametrize(
    ("card", "clock", "bits", "published"),
    [
        ("RTX 3090", 9751, 384, 936),
        ("RTX 4090", 10501, 384, 1008),
        ("RTX 5090", 14001, 512, 1792),
        ("RTX 5060 Ti", 14001, 128, 448),
        ("GTX 1080 Ti", 5505, 352, 484),
        ("T4", 5001, 256, 320),
        ("V100", 877, 4096, 900),
        ("A100 80 GB PCIe", 1512, 5120, 1935),
        ("A100 80 GB SXM", 1593, 5120, 2039),
        ("H100 SXM", 2619, 5120, 3350),
        ("GTX 1650 with GDDR5", 4001, 128, 128),
        ("GTX 1650 with GDDR6", 6001, 128, 192),
    ],
)
def test_twice_the_memory_clock_times_the_bus_is_the_published_bandwidth(
    card: str, clock: int, bits: int, published: float
) -> None:
    assert nvidia.peak_bandwidth(clock, bits) / 1e9 == pytest.approx(published, rel=0.003)


def test_the_fake_offers_only_what_pynvml_has() -> None:
    used = [name for name in dir(FakeNvml) if name.lower().startswith("nvml")]
    assert len(used) > 10
    assert all(hasattr(pynvml, name) for name in used)


@pytest.mark.parametrize(
    ("gpu", "memory", "gigabytes_per_second", "row"),
    [
        (RTX_3090, 24576 - 450, 936.1, "nvidia-geforce-rtx-3090"),
        (RTX_4090, 24564 - 484, 1008.1, "nvidia-geforce-rtx-4090"),
        (RTX_5090, 32607 - 507, 1792.1, "nvidia-geforce-rtx-5090"),
        (T4, 15360 - 390, 320.1, "nvidia-tesla-t4"),
        (H100, 81559 - 550, 3352.3, "nvidia-h100-sxm5-80-gb"),
    ],
)
def test_a_card_is_read_with_memory_use_and_bandwidth(
    gpu: Gpu, memory: int, gigabytes_per_second: float, row: str
) -> None:
    nvml = FakeNvml(gpu)
    reading = nvidia.read(nvml)
    (device,) = reading.devices
    assert reading.problems == ()
    assert (device.name, device.kind, device.backend) == (gpu.name, DeviceKind.GPU, Backend.CUDA)
    assert device.memory.value == memory * MIB
    assert device.used.value == gpu.used * MIB
    assert device.bandwidth.value is not None
    assert device.bandwidth.value / 1e9 == pytest.approx(gigabytes_per_second, abs=0.1)
    assert device.bandwidth.source.rank is Rank.REPORTED
    assert device.catalogue_id == row
    assert not device.unified
    assert nvml.open == 0, "NVML stays open"


def test_u01_a_laptop_gpu_never_gets_the_bandwidth_of_the_desktop_card() -> None:
    (device,) = nvidia.read(FakeNvml(RTX_5070_LAPTOP)).devices
    assert device.bandwidth.value == pytest.approx(384e9, rel=0.001)  # 128 bits at 24 Gbps
    assert device.catalogue_id == "nvidia-geforce-rtx-5070-mobile"


def test_a_laptop_gpu_without_clocks_is_looked_up_as_a_laptop_gpu() -> None:
    (device,) = nvidia.read(FakeNvml(Gpu("NVIDIA GeForce RTX 5070 Laptop GPU", 8151))).devices
    assert device.bandwidth.value == 384e9
    assert device.bandwidth.source.rank is Rank.DATASHEET
    assert "catalogue" in device.bandwidth.note


def test_a_name_that_stands_for_two_speeds_stays_unknown_without_clocks() -> None:
    (device,) = nvidia.read(FakeNvml(Gpu("NVIDIA GeForce GTX 1650", 4096))).devices
    assert device.bandwidth.value is None
    assert device.bandwidth.note
    assert device.catalogue_id == ""


def test_u06_several_cards_stay_devices_of_their_own() -> None:
    reading = nvidia.read(FakeNvml(RTX_3090, RTX_3060))
    assert [d.name for d in reading.devices] == [RTX_3090.name, RTX_3060.name]
    assert [round((d.memory.value or 0) / GIB) for d in reading.devices] == [24, 12]
    assert [round((d.bandwidth.value or 0) / 1e9) for d in reading.devices] == [936, 360]


def test_a_card_that_fell_off_the_bus_does_not_hide_the_other_one() -> None:
    lost = Gpu("NVIDIA GeForce RTX 3090", 24576, 450, 0, 9751, 384, lost=True)
    reading = nvidia.read(FakeNvml(lost, RTX_3060))
    assert [d.name for d in reading.devices] == [RTX_3060.name]
    (problem,) = reading.problems
    assert "GPU 0" in problem.message
    assert "lost" in problem.message.lower()


@pytest.mark.parametrize("gpu", [GB10, ORIN])
def test_a_gpu_in_the_computers_own_ram_is_unified(gpu: Gpu) -> None:
    board = nvidia.Board("NVIDIA Jetson AGX Orin Developer Kit", round(61.4 * GIB))
    (device,) = nvidia.read(FakeNvml(gpu), board=board).devices
    assert device.unified
    assert device.memory.value is None
    expected = {"NVIDIA GB10": 273.2e9, "Orin (nvgpu)": 204.8e9}  # NVIDIA: 273 and 204.8 GB/s
    assert device.bandwidth.value == expected[gpu.name or ""]


def test_a_jetson_without_nvml_is_known_by_its_board() -> None:
    small = nvidia.from_board(nvidia.Board("NVIDIA Jetson Orin Nano Developer Kit", 7 * GIB))
    assert small is not None
    assert small.unified
    assert small.bandwidth.value == 68.2e9
    assert nvidia.from_board(nvidia.Board("Raspberry Pi 5 Model B Rev 1.0", 8 * GIB)) is None


def test_a_gpu_that_supports_no_question_at_all_is_still_listed() -> None:
    (device,) = nvidia.read(FakeNvml(Gpu(None))).devices
    assert device.name == "NVIDIA GPU"
    assert (device.memory.value, device.used.value, device.bandwidth.value) == (None, None, None)
    assert not device.unified


def test_an_old_driver_without_the_second_memory_query_is_asked_the_first() -> None:
    (device,) = nvidia.read(FakeNvml(RTX_3090, second_version=False)).devices
    assert device.memory.value == 24576 * MIB
    assert device.used.value == (1200 + 450) * MIB
    assert "used" in device.used.note


def test_a_missing_library_is_no_problem_and_a_missing_driver_is_one() -> None:
    missing = FakeNvml(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    assert nvidia.read(missing) == Reading(())
    reading = nvidia.read(FakeNvml(init_error=pynvml.NVML_ERROR_DRIVER_NOT_LOADED))
    (problem,) = reading.problems
    assert reading.devices == ()
    assert problem.advice


def test_a_driver_without_a_gpu_gives_nothing() -> None:
    assert nvidia.read(FakeNvml()) == Reading(())


def test_a_memory_size_that_no_such_card_has_is_not_matched() -> None:
    modified = Gpu("NVIDIA GeForce RTX 4090", 49140, 500, 0, 10501, 384)
    (device,) = nvidia.read(FakeNvml(modified)).devices
    assert device.catalogue_id == ""
    assert device.memory.value == (49140 - 500) * MIB


def test_a_bandwidth_far_from_the_catalogue_is_used_and_said() -> None:
    overclocked = Gpu("NVIDIA GeForce RTX 4090", 24564, 484, 0, 11501, 384)
    reading = nvidia.read(FakeNvml(overclocked))
    (problem,) = reading.problems
    assert reading.devices[0].bandwidth.value == 2 * 11501e6 * 384 / 8
    assert problem.code == "bandwidth_differs"
    assert "1,104 GB/s" in problem.message
    assert "1,008 GB/s" in problem.message


def test_makers_rounding_is_no_disagreement() -> None:
    # The H200 reads 3201 MHz on 6144 bits, 4917 GB/s; NVIDIA says 4.8 TB/s.
    assert nvidia.read(FakeNvml(H200)).problems == ()


def test_slices_of_a_gpu_have_their_share_of_its_bandwidth() -> None:
    one = Gpu("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9856)
    half = Gpu("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 40448)
    whole = Gpu("NVIDIA A100-SXM4-80GB", 81920, 600, 0, 1593, 5120, mig=True, slices=(half, one))
    first, second = nvidia.read(FakeNvml(whole)).devices
    # MIG's memory slices are eighths with their controllers: 4 of 8 and 1 of 8 of 2039 GB/s.
    assert first.bandwidth.value == pytest.approx(2039e9 / 2, rel=0.001)
    assert second.bandwidth.value == pytest.approx(2039e9 / 8, rel=0.001)
    assert second.memory.value == 9856 * MIB
    assert second.bandwidth.source.rank is Rank.ESTIMATED
    assert second.name == one.name


def test_a_gpu_set_to_be_sliced_but_without_slices_warns() -> None:
    reading = nvidia.read(FakeNvml(Gpu("NVIDIA H100 PCIe", 81559, 0, 0, 1593, 5120, mig=True)))
    assert [p.code for p in reading.problems] == ["mig_without_slices"]


def test_a_share_of_a_gpu_in_a_virtual_machine_is_marked() -> None:
    mode = pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU
    reading = nvidia.read(
        FakeNvml(Gpu("NVIDIA A40-8Q", 8192, 0, 0, 7251, 384, virtualization=mode))
    )
    assert [p.code for p in reading.problems] == ["shared_gpu"]


def test_only_the_given_addresses_are_asked() -> None:
    nvml = FakeNvml(RTX_3090, RTX_3060)
    reading = nvidia.read(nvml, [RTX_3060.address])
    assert [d.name for d in reading.devices] == [RTX_3060.name]
    assert RTX_3090.address not in nvml.calls


def test_a_resting_link_is_told_from_what_slot_and_card_agree_on() -> None:
    """nvidia-smi -q of a 3090 at rest in a slot of eight lanes."""
    resting = Gpu(RTX_3090.name, 24576, 450, 0, 9751, 384, link=(4, 8, 1, 8))
    (device,) = nvidia.read(FakeNvml(resting)).devices
    assert device.link is not None
    assert device.link.most.value == pytest.approx(15.75e9, rel=0.001)
    assert device.link.now is not None
    assert device.link.now.value == pytest.approx(2e9, rel=0.001)


def test_a_recognised_card_knows_its_arithmetic_and_its_kind() -> None:
    (device,) = nvidia.read(FakeNvml(RTX_3090)).devices
    assert device.flops.value == pytest.approx(142e12, rel=0.01)  # NVIDIA: 142 dense FP16 TFLOPS
    assert device.flops.source.rank is Rank.DATASHEET
    assert (device.memory_type, device.architecture) == ("GDDR6X", "Ampere")
    (unknown,) = nvidia.read(FakeNvml(Gpu("NVIDIA GeForce RTX 9999", 24576))).devices
    assert unknown.flops.value is None
    assert unknown.flops.note


@pytest.mark.parametrize(
    ("id", "clock", "bits"),
    [  # clock and width as drivers and nvbench print them
        ("nvidia-geforce-rtx-3090", 9751, 384),
        ("nvidia-geforce-rtx-3060-12-gb", 7501, 192),
        ("nvidia-geforce-rtx-4090", 10501, 384),
        ("nvidia-geforce-rtx-5090", 14001, 512),
        ("nvidia-geforce-rtx-5060-ti-16-gb", 14001, 128),
        ("nvidia-geforce-gtx-1080-ti", 5505, 352),
        ("nvidia-geforce-gtx-1650", 4001, 128),
        ("nvidia-geforce-gtx-1650-gddr6", 6001, 128),
        ("nvidia-tesla-t4", 5001, 256),
        ("nvidia-tesla-v100-sxm2-32-gb", 877, 4096),
        ("nvidia-a100-pcie-80-gb", 1512, 5120),
        ("nvidia-a100-sxm4-80-gb", 1593, 5120),
        ("nvidia-h100-sxm5-80-gb", 2619, 5120),
        ("nvidia-rtx-a2000-12-gb", 6001, 192),
    ],
)
def test_clock_times_bus_agrees_with_the_catalogue_within_one_per_cent(
    id: str, clock: int, bits: int
) -> None:
    row = catalogue.row(id)
    assert nvidia.peak_bandwidth(clock, bits) == pytest.approx(row.bandwidth, rel=0.01)


def test_u01_gddr5_and_gddr6_under_one_name_are_told_apart_by_the_clock() -> None:
    for clock, bandwidth in ((4001, 128e9), (6001, 192e9)):
        card = Gpu("NVIDIA GeForce GTX 1650", 4096, 0, 0, clock, 128)
        (device,) = nvidia.read(FakeNvml(card)).devices
        assert device.bandwidth.value == pytest.approx(bandwidth, rel=0.001)
        assert device.catalogue_id
