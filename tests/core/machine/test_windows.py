"""Windows computers: what PowerShell and DXGI told on real ones, and a DXGI built by hand."""

from __future__ import annotations

import ctypes
import json
import sys
from ctypes import POINTER, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine import Backend, DiskKind
from core.machine.detect import Parts, dmi, dxgi, put_together, windows
from core.machine.detect.dxgi import Adapter
from core.machine.detect.gpu import Reading
from core.machine.detect.memory import read_ram
from core.machine.detect.nvidia import read
from core.provenance import Rank
from tests.support.fake_nvml import RTX_4090, FakeNvml

MIB, GIB = 2**20, 2**30
NO_NVIDIA = Reading(())


def output(**parts: object) -> str:
    """What the script prints, with these parts of it."""
    empty = {"memory": [], "video": [], "registry": [], "disks": [], "system": 0}
    return json.dumps(empty | parts)


def video(name: str, ram: int, vendor: str) -> dict[str, object]:
    return {"Name": name, "AdapterRAM": ram, "PNPDeviceID": f"PCI\\VEN_{vendor}&DEV_0000&REV_C0"}


def module(speed: int, configured: int, locator: str = "", bank: str = "") -> dict[str, object]:
    return {
        "Capacity": 16 * GIB,
        "Speed": speed,
        "ConfiguredClockSpeed": configured,
        "SMBIOSMemoryType": 34,
        "DataWidth": 64,
        "DeviceLocator": locator,
        "BankLabel": bank,
    }


# U03: WMI, the registry and DXGI of one RX 9070 XT.
RX_9070_XT = "AMD Radeon RX 9070 XT"
WMI = video(RX_9070_XT, 4_293_918_720, "1002")
REGISTRY = {"name": RX_9070_XT, "bytes": 17_163_091_968}
DXGI = Adapter(RX_9070_XT, "1002", "7550", 16_304 * MIB, 16_255 * MIB, 15_500 * MIB)


def test_u03_dxgi_tells_the_memory_of_a_card_and_wmi_never_does() -> None:
    told = windows.told(output(video=[WMI], registry=[REGISTRY]))
    (device,) = windows.gpus([DXGI], told, NO_NVIDIA).devices
    assert device.memory.value == 16_304 * MIB
    assert device.memory.source.origin == "DXGI"
    assert device.used.value == 804 * MIB
    assert device.bandwidth.value == 644.6e9
    assert device.backend is Backend.VULKAN


def test_u03_without_dxgi_the_registry_tells_it() -> None:
    told = windows.told(output(video=[WMI], registry=[REGISTRY]))
    (device,) = windows.gpus([], told, NO_NVIDIA).devices
    assert device.memory.value == 17_163_091_968  # 15.98 GiB
    assert device.memory.source.origin == "Windows registry"
    assert device.catalogue_id == "amd-radeon-rx-9070-xt"


def test_u03_with_neither_it_is_unknown_and_not_four_gib() -> None:
    reading = windows.gpus([], windows.told(output(video=[WMI])), NO_NVIDIA)
    (device,) = reading.devices
    assert device.memory.value is None
    assert "4 GiB or more" in device.memory.note
    (problem,) = reading.problems
    assert problem.code == "memory_unknown"
    assert "4293918720" not in json.dumps([str(device), str(problem)])


def test_a_size_in_the_registry_may_be_bytes() -> None:
    """Some drivers write REG_BINARY, the least byte first."""
    listed = list((24 * GIB).to_bytes(8, "little"))
    told = windows.told(output(registry=[{"name": "Card", "bytes": listed}]))
    assert told.sizes == {"Card": 24 * GIB}
    short = windows.told(output(registry=[{"name": "Card", "bytes": [0, 240, 255, 127]}]))
    assert short.sizes == {}


def test_a_card_of_nvidia_is_told_by_its_own_library_alone() -> None:
    """oshi/oshi#2521: an RTX 4090 beside UHD Graphics 770."""
    told = windows.told(
        output(
            video=[
                video("NVIDIA GeForce RTX 4090", 4_293_918_720, "10DE"),
                video("Intel(R) UHD Graphics 770", 1_073_741_824, "8086"),
            ]
        )
    )
    adapters = [
        Adapter("NVIDIA GeForce RTX 4090", "10de", "2684", 24_142 * MIB, 32_000 * MIB),
        Adapter("Intel(R) UHD Graphics 770", "8086", "4680", 128 * MIB, 32_000 * MIB),
        Adapter("Microsoft Basic Render Driver", "1414", "008c", 0, 32_000 * MIB, None, True),
    ]
    reading = windows.gpus(adapters, told, read(FakeNvml(RTX_4090)))
    machine = put_together(Parts("Core i9", reading, read_ram(64 * GIB, 50 * GIB)))
    assert [d.name for d in machine.devices] == ["NVIDIA GeForce RTX 4090", "Core i9"]
    assert machine.devices[0].memory.source.origin == "NVML"
    assert [p.code for p in machine.problems] == ["integrated_gpu"]


def test_without_nvidias_library_its_card_is_told_by_dxgi() -> None:
    adapter = Adapter("NVIDIA GeForce RTX 3060", "10de", "2503", 12_115 * MIB, 16 * GIB)
    (device,) = windows.gpus([adapter], windows.Told(), NO_NVIDIA).devices
    assert device.backend is Backend.CUDA
    assert device.bandwidth.value == 360e9


def test_an_arc_card_whose_wmi_says_two_gib_has_what_dxgi_says() -> None:
    """oshi/oshi#2907: WMI says 2 GB of an Arc A770."""
    told = windows.told(output(video=[video("Intel(R) Arc(TM) A770", 2_147_479_552, "8086")]))
    adapter = Adapter("Intel(R) Arc(TM) A770", "8086", "56a0", 16_256 * MIB, 16 * GIB)
    (device,) = windows.gpus([adapter], told, NO_NVIDIA).devices
    assert device.memory.value == 16_256 * MIB
    assert device.catalogue_id == "intel-arc-a770"


@pytest.mark.parametrize(
    ("adapter", "bandwidth"),
    [
        (
            Adapter("AMD Radeon(TM) 8060S Graphics", "1002", "1586", 96 * GIB, 15 * GIB, 95 * GIB),
            256e9,
        ),
        (Adapter("Intel(R) Arc(TM) 140V GPU (16GB)", "8086", "64a0", 128 * MIB, 16 * GIB), 136.5e9),
    ],
)
def test_graphics_on_the_processor_are_one_memory_with_what_windows_lends(
    adapter: Adapter, bandwidth: float
) -> None:
    reading = windows.gpus([adapter], windows.Told(), NO_NVIDIA)
    machine = put_together(Parts("CPU", reading, read_ram(31 * GIB, 20 * GIB)))
    (device,) = machine.devices
    assert device.unified
    assert device.memory.value == adapter.dedicated + adapter.shared
    assert device.bandwidth.value == bandwidth
    assert device.used.value is not None


@pytest.mark.parametrize(
    ("memory", "gigabytes_per_second", "problems"),
    [
        # A Ryzen 7600X whose profile is off; its modules' names tell no channels.
        ([module(4800, 4800), module(4800, 4800)], None, []),
        # An Intel board, run below its rated speed.
        ([module(6000, 5600, "DIMM_A2"), module(6000, 5600, "DIMM_B2")], 89.6, []),
        # An AMD board's names.
        (
            [
                module(5600, 5600, "DIMM 0", "P0 CHANNEL A"),
                module(5600, 5600, "DIMM 0", "P0 CHANNEL B"),
            ],
            89.6,
            [],
        ),
        # A laptop with one module; PowerShell writes one object without a list.
        (module(5600, 5600, "Controller0-ChannelA-DIMM0"), 44.8, ["single_memory_module"]),
        # The clock, half of the transfers, instead of the speed.
        ([module(4800, 2400, "DIMM_A1"), module(4800, 2400, "DIMM_B1")], 76.8, []),
    ],
)
def test_memory_modules_make_the_bandwidth_of_the_ram(
    memory: object, gigabytes_per_second: float | None, problems: list[str]
) -> None:
    told = windows.told(output(memory=memory))
    bandwidth, found = dmi.bandwidth(told.modules)
    expected = None if gigabytes_per_second is None else gigabytes_per_second * 1e9
    assert bandwidth.value == expected
    assert bandwidth.note
    assert [p.code for p in found] == problems
    if expected:
        assert bandwidth.source.rank is Rank.ESTIMATED


@pytest.mark.parametrize(
    ("bus", "media", "kind"),
    [
        (17, 4, DiskKind.NVME),
        ("NVMe", "SSD", DiskKind.NVME),
        (11, 4, DiskKind.SSD),
        ("SATA", "HDD", DiskKind.HARD_DISK),
        (15, 0, DiskKind.VIRTUAL),
        (7, 0, DiskKind.USB),
        (8, 0, DiskKind.UNKNOWN),
    ],
)
def test_the_disk_of_windows_has_its_kind(bus: int | str, media: int | str, kind: DiskKind) -> None:
    disks = [
        {"DeviceId": "0", "FriendlyName": "Other", "MediaType": 3, "BusType": 11},
        {"DeviceId": "1", "FriendlyName": "WD_BLACK SN850X", "MediaType": media, "BusType": bus},
    ]
    disk = windows.told(output(disks=disks, system=1)).disk
    assert disk is not None
    assert (disk.kind, disk.name) == (kind, "WD_BLACK SN850X")
    assert windows.told(output(disks=disks, system=None)).disk is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
ENTRY = st.dictionaries(
    st.sampled_from(
        ["Capacity", "Speed", "Name", "AdapterRAM", "PNPDeviceID", "name", "bytes", "DeviceId"]
    ),
    json_values,
)


@given(
    st.dictionaries(
        st.sampled_from(["memory", "video", "registry", "disks", "system"]),
        json_values | st.lists(ENTRY, max_size=3),
    ),
    st.text(),
)
def test_no_output_at_all_makes_the_reader_raise(parts: dict[str, object], text: str) -> None:
    for written in (json.dumps(parts), text):
        found = windows.told(written)
        windows.gpus([], found, NO_NVIDIA)
        dmi.bandwidth(found.modules)


def test_the_question_shows_no_window_and_asks_for_no_serial_number() -> None:
    assert "SerialNumber" not in " ".join(windows.COMMAND)
    assert "-NonInteractive" in windows.COMMAND


class FakeDxgi:
    """DXGI as its headers lay it out: objects that are pointers to tables of functions."""

    def __init__(self, *adapters: Adapter, newer: bool = True) -> None:
        self._adapters = adapters
        self._newer = newer
        self._keep: list[Any] = []
        self.released = 0
        self._objects = [self._adapter(n, a) for n, a in enumerate(adapters)]
        self._factory = self._object({12: (self._enum, c_uint32, POINTER(c_void_p))})

    def CreateDXGIFactory1(self, identity: bytes, out: Any) -> int:
        assert identity == dxgi._FACTORY1
        out._obj.value = self._factory
        return 0

    def _enum(self, this: int, index: int, out: Any) -> int:
        if index >= len(self._objects):
            return -2005270526  # DXGI_ERROR_NOT_FOUND
        out[0] = self._objects[index]
        return 0

    def _adapter(self, number: int, adapter: Adapter) -> int:
        def describe(this: int, out: Any) -> int:
            told = out.contents
            ctypes.memmove(
                out, (adapter.name + "\0").encode("utf-16-le"), 2 * len(adapter.name) + 2
            )
            told.vendor, told.device = int(adapter.vendor, 16), int(adapter.device, 16)
            told.dedicated_video, told.shared_system = adapter.dedicated, adapter.shared
            told.luid[0] = number % 2 + 1 if adapter.name == "twice" else 100 + number
            told.flags = 2 if adapter.software else 0
            return 0

        def budget(this: int, node: int, segment: int, out: Any) -> int:
            out.contents.budget = adapter.budget or 0
            return 0

        newest = self._object({14: (budget, c_uint32, c_uint32, POINTER(dxgi._Budget))})

        def query(this: int, identity: bytes, out: Any) -> int:
            if not self._newer:
                return -2147467262  # E_NOINTERFACE
            out[0] = newest
            return 0

        return self._object(
            {
                0: (query, c_char_p, POINTER(c_void_p)),
                10: (describe, POINTER(dxgi._Description)),
            }
        )

    def _object(self, methods: dict[int, tuple[Any, ...]]) -> int:
        def release(this: int) -> int:
            self.released += 1
            return 0

        table = (c_void_p * 20)()
        for index, (function, *arguments) in {2: (release,), **methods}.items():
            kind = ctypes.CFUNCTYPE(c_int32, c_void_p, *arguments)
            made = kind(function)
            self._keep.append(made)
            table[index] = ctypes.cast(made, c_void_p).value
        pointer = c_void_p(ctypes.addressof(table))
        self._keep += [table, pointer]
        return ctypes.addressof(pointer)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows' calling convention is another")
def test_dxgi_is_asked_by_its_tables_of_functions() -> None:
    software = Adapter("Microsoft Basic Render Driver", "1414", "008c", 0, 8 * GIB, None, True)
    fake = FakeDxgi(DXGI, software)
    assert dxgi.adapters(fake) == (DXGI, software)
    assert fake.released == 1 + 2 * 2  # the factory, both adapters and their newer interface
    older = FakeDxgi(DXGI, newer=False)
    assert dxgi.adapters(older)[0].budget is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows' calling convention is another")
def test_an_adapter_that_is_listed_twice_is_one() -> None:
    same = Adapter("twice", "1002", "7550", GIB, GIB, GIB)
    assert len(dxgi.adapters(FakeDxgi(same, DXGI, same))) == 2


def test_a_dxgi_that_fails_is_no_adapter() -> None:
    class Broken:
        def CreateDXGIFactory1(self, identity: bytes, out: object) -> int:
            return -1

    assert dxgi.adapters(Broken()) == ()
    with pytest.raises(OSError, match="dxgi"):
        dxgi.adapters()  # there is none on this system


def test_the_structures_have_the_headers_sizes() -> None:
    assert ctypes.sizeof(dxgi._Description) == 312
    assert dxgi._Description.dedicated_video.offset == 272
    assert dxgi._Description.flags.offset == 304
    assert ctypes.sizeof(dxgi._Budget) == 32
    assert ctypes.sizeof(c_size_t) == ctypes.sizeof(c_uint64)
