"""Intel GPUs on Linux: the drivers' tables of memory regions, as their headers lay them out."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine import Backend, Device
from core.machine.detect import Parts, dmi, intel, pci, put_together
from core.machine.detect.gpu import Reading
from core.machine.detect.memory import read_ram
from core.provenance import Rank
from tests.support.sysfs import Bridge, pci_path, write

MIB, GIB = 2**20, 2**30
NOT_TOLD = 2**64 - 1
DUAL = dmi.modules(
    "".join(
        f"E:MEMORY_DEVICE_{n}_SIZE=17179869184\nE:MEMORY_DEVICE_{n}_TYPE=DDR5\n"
        f"E:MEMORY_DEVICE_{n}_CONFIGURED_SPEED_MTS=5200\n"
        f"E:MEMORY_DEVICE_{n}_LOCATOR=Controller{n}-ChannelA-DIMM0\n"
        for n in (0, 1)
    )
)


def xe_table(*regions: tuple[int, int, int]) -> bytes:
    """drm_xe_query_mem_regions with (class, size, used) each."""
    rows = [
        struct.pack("<HHIQQQQ6Q", kind, n, 4096, size, used, size, used, *[0] * 6)
        for n, (kind, size, used) in enumerate(regions)
    ]
    return struct.pack("<II", len(rows), 0) + b"".join(rows)


def i915_table(*regions: tuple[int, int, int]) -> bytes:
    """drm_i915_query_memory_regions with (class, probed, unallocated) each."""
    rows = [
        struct.pack("<HHIQQ8Q", kind, 0, 0, size, free, *[0] * 8) for kind, size, free in regions
    ]
    return struct.pack("<I3I", len(rows), 0, 0, 0) + b"".join(rows)


def build(root: Path, device: str, driver: str = "xe", *, asleep: bool = False) -> pci.Graphics:
    folder = pci_path(
        root,
        Bridge("0000:00:01.0", "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "8"),
        Bridge("0000:01:00.0", "16.0 GT/s PCIe", "8", "16.0 GT/s PCIe", "8"),
        Bridge("0000:03:00.0", "2.5 GT/s PCIe", "1", "2.5 GT/s PCIe", "1"),
    )
    write(
        folder,
        {
            "vendor": "0x8086",
            "device": f"0x{device}",
            "power/runtime_status": "suspended" if asleep else "active",
            "drm/renderD128/uevent": "",
            "drm/card0/uevent": "",
        },
    )
    module = root / "sys/bus/pci/drivers" / driver
    module.mkdir(parents=True, exist_ok=True)
    (folder / "driver").symlink_to(module)
    (found,) = pci.graphics(root / "sys/bus/pci/devices")
    return found


def refuse(node: Path, driver: str) -> bytes:
    raise PermissionError(13, "not in the group render")


def forbid(node: Path, driver: str) -> bytes:
    raise AssertionError("the driver was asked, which switches the card on")


def only(reading: Reading) -> Device:
    (device,) = reading.devices
    return device


@pytest.mark.parametrize(
    ("device", "driver", "table", "name", "mib", "used", "bandwidth"),
    [  # totals as drivers report them; GB/s as Intel publishes them
        (
            "e20b",
            "xe",
            xe_table((0, 32 * GIB, 0), (1, 12216 * MIB, 900 * MIB)),
            "Intel Arc B580",
            12216,
            900 * MIB,
            456e9,
        ),
        (
            "e211",
            "xe",
            xe_table((0, 64 * GIB, 0), (1, 24480 * MIB, 0)),
            "Intel Arc Pro B60",
            24480,
            None,
            456e9,
        ),
        (
            "56a0",
            "i915",
            i915_table((0, 32 * GIB, 32 * GIB), (1, 16288 * MIB, 16000 * MIB)),
            "Intel Arc A770",
            16288,
            288 * MIB,
            560e9,
        ),
        (
            "56a1",
            "i915",
            i915_table((0, 16 * GIB, 16 * GIB), (1, 8096 * MIB, 8096 * MIB)),
            "Intel Arc A750",
            8096,
            None,
            512e9,
        ),
    ],
)
def test_a_card_tells_its_memory_and_the_table_its_bandwidth(
    tmp_path: Path,
    device: str,
    driver: str,
    table: bytes,
    name: str,
    mib: int,
    used: int | None,
    bandwidth: float,
) -> None:
    asked: list[Path] = []

    def ask(node: Path, of: str) -> bytes:
        asked.append(node)
        assert of == driver
        return table

    found = only(intel.read(build(tmp_path, device, driver), tmp_path, ask=ask))
    assert asked == [tmp_path / "dev/dri/renderD128"]
    assert (found.name, found.backend, found.unified) == (name, Backend.VULKAN, False)
    assert found.memory.value == mib * MIB
    assert found.used.value == used
    assert found.used.known or found.used.note
    assert found.bandwidth.value == bandwidth
    assert found.bandwidth.source.rank is Rank.DATASHEET
    assert found.catalogue_id


def test_without_the_right_to_ask_the_drivers_files_or_the_name_tell(tmp_path: Path) -> None:
    card = build(tmp_path, "e20c")
    by_name = only(intel.read(card, tmp_path, ask=refuse))
    assert by_name.memory.value == 10 * GIB
    assert by_name.memory.source.rank is Rank.DATASHEET
    write(card.folder, {"tile0/physical_vram_size_bytes": str(10160 * MIB)})
    assert only(intel.read(card, tmp_path, ask=refuse)).memory.value == 10160 * MIB


def test_u17_a_sleeping_card_is_not_asked(tmp_path: Path) -> None:
    found = only(intel.read(build(tmp_path, "56a5", "i915", asleep=True), tmp_path, ask=forbid))
    assert found.memory.value == 6 * GIB
    assert found.bandwidth.value == 186e9


def test_graphics_on_the_processor_have_their_share_of_the_ram(tmp_path: Path) -> None:
    """Lunar Lake with memory on the package; Mesa lends three quarters of it."""
    ram = read_ram(32 * GIB, 29 * GIB)
    reading = intel.read(build(tmp_path, "64a0"), tmp_path, ram, forbid)
    (one,) = put_together(Parts("Core Ultra 7 258V", reading, ram)).devices
    assert one.unified
    assert one.memory.value == 24 * GIB
    assert one.memory.source.rank is Rank.ESTIMATED
    assert one.used.value == 0  # what others hold lies beyond the share
    assert one.bandwidth.value == 136.5e9


@pytest.mark.parametrize("device", ["a7a0", "9a49"])
def test_graphics_of_unknown_strength_leave_the_plan_to_the_processor(
    tmp_path: Path, device: str
) -> None:
    """Iris Xe of Raptor Lake and Tiger Lake, two modules of DDR5-5200."""
    ram = read_ram(32 * GIB, 29 * GIB)
    reading = intel.read(build(tmp_path, device), tmp_path, ram, forbid)
    machine = put_together(Parts("Core", reading, ram, DUAL))
    (host,) = machine.devices
    assert host.memory.value == 32 * GIB
    assert host.bandwidth.value == 83.2e9
    assert [p.code for p in machine.problems] == ["integrated_gpu"]
    assert "Iris Xe" in machine.problems[0].message


def test_graphics_that_the_catalogue_does_not_know_are_no_gpu(tmp_path: Path) -> None:
    card = build(tmp_path, "a780", "i915")
    table = i915_table((0, 32 * GIB, 32 * GIB))
    assert intel.read(card, tmp_path, ask=lambda node, driver: table) == Reading(())


def test_a_card_set_aside_for_a_virtual_machine_is_said_to_be(tmp_path: Path) -> None:
    reading = intel.read(build(tmp_path, "e20b", "vfio-pci"), tmp_path, ask=forbid)
    assert reading.devices == ()
    assert [p.code for p in reading.problems] == ["gpu_lent_out"]


@given(st.binary(max_size=400), st.sampled_from(["xe", "i915"]))
def test_no_table_at_all_makes_the_reader_raise(table: bytes, driver: str) -> None:
    for region in intel.regions(table, driver):
        assert 0 < region.size < 2**64
        assert region.used is None or 0 <= region.used <= region.size


def test_a_table_that_is_cut_off_or_does_not_know_is_no_memory() -> None:
    whole = xe_table((0, GIB, 0), (1, GIB, 5))
    assert intel.regions(whole, "xe") == (intel.Region(GIB, 5),)
    assert intel.regions(whole[:-1], "xe") == ()
    assert intel.regions(i915_table((1, NOT_TOLD, NOT_TOLD)), "i915") == ()


def test_the_kernels_answer_is_asked_for_without_a_crash(tmp_path: Path) -> None:
    for driver in ("xe", "i915"):
        with pytest.raises(OSError, match="o"):
            intel.ask_kernel(Path("/dev/null"), driver)
        with pytest.raises(OSError, match="o"):
            intel.ask_kernel(tmp_path / "renderD128", driver)
