"""Macs: chip, bin and the share of memory that Metal gives away."""

from __future__ import annotations

import json

import pytest

from core.machine.apple_limit import working_set
from core.machine.detect import apple
from core.machine.detect.memory import read_ram
from core.machine.machine import Backend
from core.provenance import Number, Rank, Source, Unit

GIB = 2**30


def displays(chip: str, cores: int) -> str:
    """system_profiler SPDisplaysDataType -json of a Mac with one screen."""
    entry = {
        "_name": chip,
        "spdisplays_mtlgpufamilysupport": "spdisplays_metal3",
        "spdisplays_ndrvs": [{"_name": "Color LCD", "spdisplays_main": "spdisplays_yes"}],
        "spdisplays_vendor": "sppci_vendor_Apple",
        "sppci_bus": "spdisplays_builtin",
        "sppci_cores": str(cores),
        "sppci_device_type": "spdisplays_gpu",
        "sppci_model": chip,
    }
    return json.dumps({"SPDisplaysDataType": [entry]})


def sysctl(chip: str, wired: int = 0) -> dict[str, str]:
    return apple.sysctl_values(
        f"machdep.cpu.brand_string: {chip}\nhw.physicalcpu: 14\niogpu.wired_limit_mb: {wired}\n"
    )


# recommendedMaxWorkingSetSize as llama.cpp logs it (MB = 10^6 bytes), macOS 15 and later.
@pytest.mark.parametrize(
    ("ram_gib", "megabytes"),
    [
        (8, 5726.63),
        (16, 12713.12),
        (24, 19069.67),
        (32, 26800.60),
        (36, 30150.67),
        (48, 40200.90),
        (64, 55662.79),
        (96, 83494.17),
        (128, 115448.73),
        (512, 498216.21),
    ],
)
def test_the_working_set_is_what_metal_reports(ram_gib: int, megabytes: float) -> None:
    ram = Number(ram_gib * GIB, Unit.BYTES, Source(Rank.REPORTED, "sysctl"))
    limit = working_set(ram)
    assert limit.value is not None
    assert limit.value / 1e6 == pytest.approx(megabytes, rel=0.0001)
    assert limit.source.rank is Rank.ESTIMATED


def test_a_raised_limit_is_taken_as_it_is_but_never_beyond_the_ram() -> None:
    ram = Number(128 * GIB, Unit.BYTES, Source(Rank.REPORTED, "sysctl"))
    assert working_set(ram, 114688).value == 112 * GIB
    assert working_set(ram, 114688).source.rank is Rank.REPORTED
    assert working_set(ram, 10**9).value == 128 * GIB


@pytest.mark.parametrize(
    ("chip", "cores", "gigabytes_per_second"),
    [
        ("Apple M1", 7, 68.25),
        ("Apple M2 Max", 30, 409.6),
        ("Apple M3 Max", 30, 307.2),
        ("Apple M3 Max", 40, 409.6),
        ("Apple M4 Max", 32, 409.6),
        ("Apple M4 Max", 40, 546),
        ("Apple M4 Pro", 20, 273),
    ],
)
def test_a_mac_is_one_device_whose_bin_decides_the_bandwidth(
    chip: str, cores: int, gigabytes_per_second: float
) -> None:
    device = apple.device(sysctl(chip), displays(chip, cores), read_ram(64 * GIB, 50 * GIB))
    assert device is not None
    assert device.unified
    assert device.backend is Backend.METAL
    assert device.bandwidth.value == gigabytes_per_second * 1e9
    assert device.catalogue_id.endswith(f"-{cores}-core-gpu")
    assert device.cores is not None
    assert device.cores.value == cores


def test_without_the_core_count_only_a_chip_of_one_speed_is_known() -> None:
    ram = read_ram(64 * GIB, 50 * GIB)
    bins = apple.device(sysctl("Apple M4 Max"), "", ram)
    assert bins is not None
    assert bins.bandwidth.value is None
    assert "M4 Max (32-core GPU)" in bins.bandwidth.note
    same = apple.device(sysctl("Apple M2 Max"), "no json", ram)
    assert same is not None
    assert same.bandwidth.value == 409.6e9


def test_a_chip_newer_than_the_catalogue_is_shown_with_unknown_bandwidth() -> None:
    device = apple.device(
        sysctl("Apple M9 Ultra"), displays("Apple M9 Ultra", 99), read_ram(64 * GIB, 60 * GIB)
    )
    assert device is not None
    assert device.name == "Apple M9 Ultra"
    assert device.bandwidth.value is None
    assert device.memory.value is not None


def test_programs_that_fit_beside_the_gpus_share_do_not_reduce_it() -> None:
    def used(in_use: int) -> int | None:
        ram = read_ram(64 * GIB, (64 - in_use) * GIB)
        device = apple.device(sysctl("Apple M4 Pro"), displays("Apple M4 Pro", 20), ram)
        return device.used.value if device is not None else None

    # 81 % of 64 GiB is the GPU's: 12.16 GiB lie beyond it.
    assert used(10) == 0
    assert used(20) == 20 * GIB - (64 * GIB - round(64 * GIB * 0.81))


def test_an_intel_mac_is_not_apple_silicon() -> None:
    values = sysctl("Intel(R) Core(TM) i9-9980HK CPU @ 2.40GHz")
    assert apple.device(values, "", read_ram(32 * GIB, 16 * GIB)) is None
    assert apple.device({}, "", read_ram(32 * GIB, 16 * GIB)) is None


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"SPDisplaysDataType": [{"sppci_cores": "many"}]}', "42"]
)
def test_a_strange_answer_of_system_profiler_gives_no_core_count(text: str) -> None:
    assert apple.gpu_cores(text) is None
