"""Cards as vulkaninfo prints them, where nothing else tells of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine import Backend, detect
from core.machine.detect import linux, vulkan
from core.machine.detect.pci import Graphics
from core.provenance import Rank
from tests.support.fake_nvml import FakeNvml, Gpu
from tests.support.sysfs import Bridge, pci_path, write

MIB, GIB = 2**20, 2**30


def gpu(
    number: int, vendor: str, device: str, kind: str, name: str, *heaps: tuple[int, bool]
) -> str:
    """A GPU's part of vulkaninfo's output; heaps are bytes and whether they are the device's."""
    lines = [
        f"GPU{number}:",
        "VkPhysicalDeviceProperties:",
        "---------------------------",
        "\tapiVersion        = 1.4.305 (4210993)",
        f"\tvendorID          = 0x{vendor}",
        f"\tdeviceID          = 0x{device}",
        f"\tdeviceType        = PHYSICAL_DEVICE_TYPE_{kind}",
        f"\tdeviceName        = {name}",
        "",
        "VkPhysicalDeviceMemoryProperties:",
        "=================================",
        f"memoryHeaps: count = {len(heaps)}",
    ]
    for index, (size, own) in enumerate(heaps):
        flags = (
            "flags: count = 1\n\t\t\tMEMORY_HEAP_DEVICE_LOCAL_BIT" if own else "flags:\n\t\t\tNone"
        )
        lines.append(f"\tmemoryHeaps[{index}]:\n\t\tsize   = {size} (0x0) (1 GiB)\n\t\t{flags}")
    return "\n".join([*lines, "memoryTypes: count = 11", "\tmemoryTypes[0]:", ""])


# Heaps as vulkaninfo printed them on real computers.
RTX_4090 = gpu(0, "10de", "2684", "DISCRETE_GPU", "NVIDIA GeForce RTX 4090", (25_757_220_864, True))
RX_7800_XT = gpu(
    0,
    "1002",
    "747e",
    "DISCRETE_GPU",
    "AMD Radeon RX 7800 XT (RADV NAVI32)",
    (68_530_012_160, False),
    (17_095_983_104, True),
)
KRACKAN = gpu(
    1,
    "1002",
    "1114",
    "INTEGRATED_GPU",
    "AMD Radeon 840M Graphics (RADV KRACKAN1)",
    (6_270_984_192, False),
    (12_541_968_384, True),
)
LLVMPIPE = gpu(
    2, "10005", "0000", "CPU", "llvmpipe (LLVM 22.1.8, 256 bits)", (33_609_865_216, True)
)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (RTX_4090 + LLVMPIPE, [("NVIDIA GeForce RTX 4090", "10de", "2684", 25_757_220_864)]),
        (
            RX_7800_XT + KRACKAN,
            [("AMD Radeon RX 7800 XT (RADV NAVI32)", "1002", "747e", 17_095_983_104)],
        ),
        (KRACKAN + LLVMPIPE, []),
        ("", []),
    ],
)
def test_cards_are_seen_and_neither_processors_nor_what_shares_the_ram(
    output: str, expected: list[tuple[str, str, str, int]]
) -> None:
    seen = vulkan.cards(output)
    assert [(s.name, s.vendor, s.device, s.memory) for s in seen] == expected


def test_a_card_that_only_vulkan_sees_is_an_estimate() -> None:
    unread = [Graphics("0000:01:00.0", "10de", "2684", asleep=False, driver="nouveau")]
    (device,) = vulkan.devices(unread, RTX_4090)
    assert device.memory.value == 25_757_220_864
    assert device.memory.source.rank is Rank.ESTIMATED
    assert "more than there is" in device.memory.note
    assert device.backend is Backend.VULKAN
    assert device.bandwidth.value == 1008e9
    assert vulkan.devices(unread, RX_7800_XT) == ()


def system(root: Path, driver: str, *, asleep: bool = False) -> Path:
    """A computer with an RTX A2000 12GB."""
    folder = pci_path(root, Bridge("0000:01:00.0"))
    state = "suspended" if asleep else "active"
    write(folder, {"vendor": "0x10de", "device": "0x2571", "power/runtime_status": state})
    module = root / "sys/bus/pci/drivers" / driver
    module.mkdir(parents=True)
    (folder / "driver").symlink_to(module)
    return root


A2000 = gpu(0, "10de", "2571", "DISCRETE_GPU", "NVIDIA RTX A2000 12GB", (19_491 * MIB, True))


def test_u14_what_nvidias_library_tells_is_never_replaced_by_vulkans_heaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U14: Vulkan said 19,491 MiB of a card with 12,282 MiB."""
    asked: list[object] = []

    def output_of(*arguments: object) -> str:
        asked.append(arguments)
        return A2000

    monkeypatch.setattr(linux, "output_of", output_of)
    nvml = FakeNvml(Gpu("NVIDIA RTX A2000 12GB", 12282, 0, 0, 6001, 192))
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    (device,) = detect(root=system(tmp_path, "nvidia")).gpus
    assert device.memory.value == 12282 * MIB
    assert asked == []


@pytest.mark.parametrize(
    ("driver", "asleep", "found"),
    [("nouveau", False, 1), ("nouveau", True, 0), ("vfio-pci", False, 0)],
)
def test_vulkan_is_asked_only_for_a_card_with_a_driver_and_wakes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str, asleep: bool, found: int
) -> None:
    asked: list[object] = []

    def output_of(*arguments: object) -> str:
        asked.append(arguments)
        return A2000

    monkeypatch.setattr(linux, "output_of", output_of)
    missing = FakeNvml(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    monkeypatch.setitem(sys.modules, "pynvml", missing)
    machine = detect(root=system(tmp_path, driver, asleep=asleep))
    by_vulkan = [d for d in machine.gpus if d.memory.source.origin == "Vulkan"]
    assert len(by_vulkan) == len(asked) == found


@given(st.text(max_size=300))
def test_no_output_at_all_makes_the_reader_raise(text: str) -> None:
    vulkan.cards(text)
    vulkan.cards(f"GPU0:\n deviceType = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU\n{text}memoryHeaps[0]:")
