"""AMD GPUs on Linux, on /sys trees with the figures of real computers."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pynvml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.machine import Backend, Device, DeviceKind, detect
from core.machine.detect import Parts, amd, linux, pci, put_together
from core.machine.detect.gpu import Reading
from core.machine.detect.memory import read_ram
from core.provenance import Rank
from tests.support.fake_nvml import FakeNvml
from tests.support.sysfs import Bridge, pci_path, write

MIB, GIB = 2**20, 2**30


@dataclass(frozen=True)
class Card:
    """What the kernel shows of one GPU; sizes in bytes, clock in MHz."""

    device: str
    revision: str
    vram: int | None = None
    vram_used: int = 0
    gtt: int = 0
    gtt_used: int = 0
    width: int = 0
    clock: int = 0
    version: int = 0
    chips: str = ""
    display: str = "0x030000"


# lact's listing of a PowerColor RX 7900 XTX: 24,560 MiB, 959 GB/s, samsung, 16 GT/s x16.
RX_7900_XTX = Card(
    "744c", "c8", 24560 * MIB, 1536 * MIB, 16 * GIB, 0, 384, 1249, 110_000, "samsung"
)
RX_7800_XT = Card("747e", "c8", 17_163_091_968, 0, 16 * GIB, 0, 256, 1218, 110_001, "hynix")
# ROCm's listing of a server with eight of them; the class of accelerators without a screen.
MI300X = Card("74a1", "00", 196592 * MIB, 0, 755 * GIB, 0, 8192, 1300, 90_402, "", "0x120000")
# Radeon 8060S in three computers with 128 GB: 96 GiB set aside (31.1 GiB are left to Linux), the
# least set aside and 96 GiB lent (ROG Flow Z13), 108,000 MiB lent.
HALO_SET_ASIDE = Card("1586", "d1", 98304 * MIB, 300 * MIB, 15934 * MIB, 40 * MIB)
HALO_LENT = Card("1586", "d1", 4 * GIB, 512 * MIB, 103_079_215_104, 20 * MIB)
HALO_108 = Card("1586", "c1", 512 * MIB, 100 * MIB, 108_000 * MIB, 10 * MIB)
# A laptop's Ryzen 9 5900HS: dmesg says 512M of VRAM and 7695M of GTT.
CEZANNE = Card("1638", "c4", 512 * MIB, 200 * MIB, 7695 * MIB, 1_051_754_496)


def build(root: Path, card: Card, *, asleep: bool = False, driver: str = "amdgpu") -> pci.Graphics:
    """The card in a /sys tree below ``root``, as the bus lists it."""
    folder = pci_path(
        root,
        Bridge("0000:00:01.1", "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16"),
        Bridge("0000:03:00.0", "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16"),
    )
    files = {
        "class": card.display,
        "vendor": "0x1002",
        "device": f"0x{card.device}",
        "revision": f"0x{card.revision}",
        "power/runtime_status": "suspended" if asleep else "active",
        "drm/renderD128/uevent": "",
    }
    if card.vram is not None:
        files |= {
            "mem_info_vram_total": str(card.vram),
            "mem_info_vram_used": str(card.vram_used),
            "mem_info_gtt_total": str(card.gtt),
            "mem_info_gtt_used": str(card.gtt_used),
        }
    if card.chips:
        files["mem_info_vram_vendor"] = card.chips
    write(folder, files)
    if driver:
        module = root / "sys/bus/pci/drivers" / driver
        module.mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(module)
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    write(nodes, {"0/properties": "cpu_cores_count 16\nsimd_count 0\ndrm_render_minor 0"})
    if card.width:
        write(
            nodes,
            {
                "1/properties": "cpu_cores_count 0\nsimd_count 192\n"
                f"gfx_target_version {card.version}\nvendor_id 4098\ndrm_render_minor 128",
                "1/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {card.vram}\nflags 0\n"
                f"width {card.width}\nmem_clk_max {card.clock}",
            },
        )
    (found,) = pci.graphics(root / "sys/bus/pci/devices")
    return found


def only(reading: Reading) -> Device:
    (device,) = reading.devices
    return device


@pytest.mark.parametrize(
    ("card", "name", "gigabytes_per_second", "row"),
    [  # AMD: 960, 624 and 5300 GB/s
        (RX_7900_XTX, "AMD Radeon RX 7900 XTX", 959.2, "amd-radeon-rx-7900-xtx"),
        (RX_7800_XT, "AMD Radeon RX 7800 XT", 623.6, "amd-radeon-rx-7800-xt"),
        (MI300X, "AMD Instinct MI300X", 5324.8, "amd-radeon-instinct-mi300x"),
    ],
)
def test_a_card_is_read_with_memory_use_bandwidth_and_link(
    tmp_path: Path, card: Card, name: str, gigabytes_per_second: float, row: str
) -> None:
    reading = amd.read(build(tmp_path, card), tmp_path)
    device = only(reading)
    assert reading.problems == ()
    assert (device.name, device.kind, device.backend) == (name, DeviceKind.GPU, Backend.ROCM)
    assert device.memory.value == card.vram
    assert device.used.value == card.vram_used
    assert device.bandwidth.value is not None
    assert device.bandwidth.value / 1e9 == pytest.approx(gigabytes_per_second, abs=0.1)
    assert device.bandwidth.source.rank is Rank.REPORTED
    assert device.catalogue_id == row
    assert not device.unified
    assert device.flops.known
    assert device.link is not None
    assert device.link.most.value == pytest.approx(31.5e9, rel=0.001)


@pytest.mark.parametrize(
    ("device", "revision", "vram", "width", "clock", "published"),
    [  # bits and MHz as the topology has them, and AMD's GB/s
        ("7590", "c0", 16 * GIB, 128, 1258, 322.3),
        ("738c", "01", 32 * GIB, 4096, 1200, 1229),
        ("73bf", "c1", 16 * GIB, 256, 1000, 512),
        ("67df", "c1", 8 * GIB, 256, 2000, 256),
    ],
)
def test_width_times_clock_is_the_published_bandwidth(
    tmp_path: Path, device: str, revision: str, vram: int, width: int, clock: int, published: float
) -> None:
    card = Card(device, revision, vram, width=width, clock=clock, chips="samsung")
    found = only(amd.read(build(tmp_path, card), tmp_path)).bandwidth
    assert found.value is not None
    assert found.value / 1e9 == pytest.approx(published, rel=0.01)
    assert found.source.rank is Rank.REPORTED


def test_without_the_topology_the_name_tells_the_bandwidth(tmp_path: Path) -> None:
    card = Card("744c", "cc", 20464 * MIB, chips="samsung")
    device = only(amd.read(build(tmp_path, card), tmp_path))
    assert device.name == "AMD Radeon RX 7900 XT"
    assert device.bandwidth.value == 800e9
    assert device.bandwidth.source.rank is Rank.DATASHEET


def test_a_card_that_differs_from_the_table_is_warned_of(tmp_path: Path) -> None:
    overclocked = Card("747e", "c8", 16368 * MIB, width=256, clock=1300, chips="hynix")
    reading = amd.read(build(tmp_path, overclocked), tmp_path)
    assert [p.code for p in reading.problems] == ["bandwidth_differs"]
    assert only(reading).bandwidth.value == pytest.approx(665.6e9)


def test_a_card_that_no_list_knows_is_shown_by_its_numbers_with_the_bandwidth_of_its_clock(
    tmp_path: Path,
) -> None:
    new = Card("7fff", "c0", 48 * GIB, width=384, clock=1500, version=120_003, chips="samsung")
    device = only(amd.read(build(tmp_path, new), tmp_path))
    assert "1002:7fff" in device.name
    assert device.bandwidth.value == pytest.approx(1152e9)
    assert device.catalogue_id == ""
    assert device.flops.value is None


def test_the_systems_own_lists_name_what_ours_does_not(tmp_path: Path) -> None:
    card = build(tmp_path, Card("7fff", "c0", 48 * GIB, chips="samsung"))
    write(
        tmp_path,
        {
            "usr/share/hwdata/pci.ids": "1001  Other\n\t7fff  Wrong\n1002  Advanced Micro\n"
            "\t7ffe  Navi 58 [Radeon RX 9980]\n\t7fff  Navi 59 [Radeon RX 9990]\n"
            "1003  Next\n\t7fff  Wrong",
        },
    )
    assert only(amd.read(card, tmp_path)).name == "AMD Radeon RX 9990"
    write(tmp_path, {"usr/share/libdrm/amdgpu.ids": "1.0.0\n7FFF,\tC0,\tAMD Radeon RX 9990 XT"})
    assert only(amd.read(card, tmp_path)).name == "AMD Radeon RX 9990 XT"


@pytest.mark.parametrize(
    ("card", "ram_mib", "total_mib"),
    [
        (HALO_SET_ASIDE, 31_846, 98_304 + 15_934),
        (HALO_LENT, 126_000, 4_096 + 98_304),
        (HALO_108, 128_000, 512 + 108_000),
    ],
)
def test_strix_halo_is_one_memory_of_what_is_set_aside_and_what_is_lent(
    tmp_path: Path, card: Card, ram_mib: int, total_mib: int
) -> None:
    ram = read_ram(ram_mib * MIB, (ram_mib - 2_000) * MIB)
    device = only(amd.read(build(tmp_path, card), tmp_path, ram))
    assert device.unified
    assert device.name == "AMD Radeon 8060S"
    assert device.memory.value == total_mib * MIB
    assert device.used.value == card.vram_used + card.gtt_used
    assert device.bandwidth.value == 256e9
    assert device.link is None
    machine = put_together(Parts("Ryzen AI Max+ 395", Reading((device,)), ram))
    assert machine.devices == (device,)
    assert machine.problems == ()


def test_no_more_is_lent_than_there_is(tmp_path: Path) -> None:
    """A Strix Halo with 96 GiB set aside and a limit of 105 GB: together more than its 128 GB."""
    card = Card("1586", "d1", 96 * GIB, 0, 105 * 10**9, 0)
    ram = read_ram(31 * GIB, 20 * GIB)
    device = only(amd.read(build(tmp_path, card), tmp_path, ram))
    assert device.memory.value == (96 + 31) * GIB
    assert device.used.value == 11 * GIB  # others hold that of the RAM


def test_small_graphics_on_the_processor_are_no_machine_to_plan_for(tmp_path: Path) -> None:
    ram = read_ram(15 * GIB, 10 * GIB)
    device = only(amd.read(build(tmp_path, CEZANNE), tmp_path, ram))
    assert device.unified
    machine = put_together(Parts("AMD Ryzen 9 5900HS", Reading((device,)), ram))
    assert machine.gpus == ()
    assert [p.code for p in machine.problems] == ["integrated_gpu"]


def test_s17_a_card_goes_before_the_graphics_on_the_processor(tmp_path: Path) -> None:
    """S17: the device with most memory is the slow one that shares the RAM."""
    ram = read_ram(64 * GIB, 60 * GIB)
    igpu = only(amd.read(build(tmp_path / "a", HALO_LENT), tmp_path / "a", ram))
    card = only(amd.read(build(tmp_path / "b", RX_7900_XTX), tmp_path / "b", ram))
    machine = put_together(Parts("Ryzen", Reading((igpu, card)), ram))
    assert [d.name for d in machine.devices] == ["AMD Radeon RX 7900 XTX", "Ryzen"]
    (note,) = machine.problems
    assert note.code == "integrated_gpu"
    assert "8060S" in note.message


def test_u17_a_sleeping_card_is_described_without_asking_for_its_link(tmp_path: Path) -> None:
    """U17: newer kernels switch a card on to tell its link; memory is told without."""
    device = only(amd.read(build(tmp_path, RX_7800_XT, asleep=True), tmp_path))
    assert device.memory.value == RX_7800_XT.vram
    assert device.bandwidth.known
    assert device.link is not None
    assert device.link.now is None
    assert "catalogue" in device.link.most.source.origin


@pytest.mark.parametrize(
    ("driver", "code"), [("", "amd_without_driver"), ("vfio-pci", "gpu_lent_out")]
)
def test_a_card_without_its_driver_is_named(tmp_path: Path, driver: str, code: str) -> None:
    reading = amd.read(build(tmp_path, Card("7550", "c0"), driver=driver), tmp_path)
    assert reading.devices == ()
    (problem,) = reading.problems
    assert problem.code == code
    assert "AMD Radeon RX 9070 XT" in problem.message


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_content_of_a_file_makes_the_reader_raise(
    tmp_path_factory: pytest.TempPathFactory, one: str, other: str
) -> None:
    root = tmp_path_factory.mktemp("odd")
    card = build(root, Card("744c", "c8", 1, width=1, clock=1))
    for path in ("mem_info_vram_total", "mem_info_gtt_total", "product_name"):
        (card.folder / path).write_text(one, "utf-8", errors="replace")
    nodes = root / "sys/class/kfd/kfd/topology/nodes/1"
    (nodes / "properties").write_text(f"drm_render_minor 128\n{other}", "utf-8", errors="replace")
    (nodes / "mem_banks/0/properties").write_text(f"width {one}\nmem_clk_max {other}", "utf-8")
    amd.read(card, root)


def whole_computer(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Linux computer without NVIDIA's library, with two modules of DDR5-5600."""
    missing = FakeNvml(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    monkeypatch.setitem(sys.modules, "pynvml", missing)
    modules = "".join(
        f"E:MEMORY_DEVICE_{n}_SIZE=34359738368\nE:MEMORY_DEVICE_{n}_TYPE=DDR5\n"
        f"E:MEMORY_DEVICE_{n}_CONFIGURED_SPEED_MTS=5600\n"
        f"E:MEMORY_DEVICE_{n}_BANK_LOCATOR=P0 CHANNEL {letter}\n"
        for n, letter in enumerate("AB")
    )
    write(
        root,
        {
            "proc/cpuinfo": "model name\t: AMD Ryzen 7 8845HS w/ Radeon 780M Graphics",
            "run/udev/data/+dmi:id": modules,
            "dev/dri/renderD128": "",
        },
    )
    return root


def test_a_card_and_the_host_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(whole_computer(tmp_path, monkeypatch), RX_7900_XTX)
    machine = detect(root=tmp_path)
    gpu, host = machine.devices
    assert machine.name == "This computer: AMD Radeon RX 7900 XTX"
    assert gpu.bandwidth.value == pytest.approx(959.2e9, rel=0.001)
    assert host.bandwidth.value == 89.6e9
    assert host.memory_type == "DDR5"
    assert machine.problems == ()


def test_graphics_of_several_speeds_have_that_of_the_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Radeon 780M: DDR5-5600 makes 89.6 GB/s, LPDDR5X-7500 would make 120."""
    radeon_780m = Card("1900", "05", 4 * GIB, 300 * MIB, 28 * GIB, 0)
    build(whole_computer(tmp_path, monkeypatch), radeon_780m)
    (device,) = detect(root=tmp_path).devices
    assert device.unified
    assert device.bandwidth.value == 89.6e9
    assert device.catalogue_id == "amd-ryzen-7-8845hs-7840hs-radeon-780m-ddr5-5600"


def test_u06_two_cards_are_two_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = whole_computer(tmp_path, monkeypatch)
    build(root, RX_7900_XTX)
    twin = pci_path(root, Bridge("0000:00:02.1"), Bridge("0000:0a:00.0"))
    source = root / "sys/bus/pci/devices/0000:03:00.0"
    for name in ("vendor", "device", "revision", "mem_info_vram_total", "mem_info_vram_vendor"):
        write(twin, {name: (source / name).read_text().strip()})
    machine = detect(root=root)
    assert [g.name for g in machine.gpus] == [
        "AMD Radeon RX 7900 XTX #1",
        "AMD Radeon RX 7900 XTX #2",
    ]
    assert {g.memory.value for g in machine.gpus} == {24560 * MIB}
    assert machine.name == "This computer: 2x AMD Radeon RX 7900 XTX"


def test_a_driver_that_hangs_costs_its_time_limit_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(whole_computer(tmp_path, monkeypatch), RX_7900_XTX)
    release = threading.Event()
    monkeypatch.setattr(amd, "read", lambda *_: release.wait())
    monkeypatch.setattr(linux, "SECONDS", 0.1)
    try:
        machine = detect(root=tmp_path)
        assert [p.code for p in machine.problems] == ["gpu_driver_hangs"]
        assert machine.host is not None
    finally:
        release.set()
        for thread in threading.enumerate():
            if thread.name.startswith("gpu "):
                thread.join(30)


def test_in_a_container_without_its_device_file_a_card_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(whole_computer(tmp_path, monkeypatch), RX_7900_XTX)
    (tmp_path / "dev/dri/renderD128").unlink()
    (tmp_path / "dev/dri").rmdir()
    machine = detect(root=tmp_path)
    assert len(machine.gpus) == 1
    (problem,) = machine.problems
    assert problem.code == "gpu_out_of_reach"
    assert "--device /dev/dri" in problem.advice


@pytest.mark.parametrize(
    ("line", "vram_mib", "clock", "width", "row"),
    [  # lines of pci.ids, whose numbers stand for several parts
        ("Navi 31 [Radeon RX 7900 XT/7900 XTX]", 20464, 0, 0, "amd-radeon-rx-7900-xt"),
        (
            "Navi 22 [Radeon RX 6700/6700 XT/6750 XT / 6800M/6850M XT]",
            10224,
            0,
            0,
            "amd-radeon-rx-6700",
        ),
        (
            "Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]",
            16368,
            1000,
            256,
            "",  # three cards of one speed
        ),
    ],
)
def test_a_line_that_names_several_parts_is_settled_by_memory_or_clock(
    tmp_path: Path, line: str, vram_mib: int, clock: int, width: int, row: str
) -> None:
    card = Card("7ffe", "99", vram_mib * MIB, clock=clock, width=width, chips="samsung")
    found = build(tmp_path, card)
    write(tmp_path, {"usr/share/misc/pci.ids": f"1002  AMD\n\t7ffe  {line}\n1003  Next"})
    device = only(amd.read(found, tmp_path))
    assert device.name.startswith("AMD Radeon RX")
    assert device.catalogue_id == row
    assert device.bandwidth.known
