"""A Windows computer: its memory modules, adapters and disk, from one question to PowerShell, and
the adapters' memory from DXGI.

``Win32_VideoController.AdapterRAM`` has 32 bits and ends at 4 GiB: it says how much there is at
least, never how much there is. The driver's entry in the registry has 64.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.language import mark, tr
from core.machine.catalogue import described, match
from core.machine.detect import dmi, dxgi, pci
from core.machine.detect.disk import unknown
from core.machine.detect.gpu import Reading, from_catalogue
from core.machine.machine import (
    Backend,
    Device,
    DeviceKind,
    Disk,
    DiskKind,
    unknown_bandwidth,
    unknown_bytes,
)
from core.machine.rows import GIB, Row, RowKind
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

DXGI, REGISTRY, WMI = "DXGI", mark("Windows registry"), "WMI"
SECONDS = 10.0
_CLASS = r"HKLM:\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}\0*"
_SCRIPT = (
    "$ErrorActionPreference='SilentlyContinue';"
    "[Console]::OutputEncoding=[Text.Encoding]::UTF8;"
    "@{"
    "memory=@(Get-CimInstance Win32_PhysicalMemory|Select-Object Capacity,Speed,"
    "ConfiguredClockSpeed,SMBIOSMemoryType,DataWidth,DeviceLocator,BankLabel);"
    "video=@(Get-CimInstance Win32_VideoController|Select-Object Name,AdapterRAM,PNPDeviceID);"
    f"registry=@(Get-ItemProperty '{_CLASS}'|ForEach-Object{{@{{name=$_.DriverDesc;"
    "bytes=$_.'HardwareInformation.qwMemorySize'}});"
    "disks=@(Get-PhysicalDisk|Select-Object DeviceId,FriendlyName,MediaType,BusType);"
    "system=(Get-Partition -DriveLetter $env:SystemDrive[0]).DiskNumber"
    "}|ConvertTo-Json -Depth 4 -Compress"
)
COMMAND = ("powershell.exe", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", _SCRIPT)
# SMBIOS 3.7, table 78.
_MEMORY_TYPES = {
    20: "DDR",
    21: "DDR2",
    24: "DDR3",
    26: "DDR4",
    27: "LPDDR",
    28: "LPDDR2",
    29: "LPDDR3",
    30: "LPDDR4",
    34: "DDR5",
    35: "LPDDR5",
}
_BUSES = {17: DiskKind.NVME, 7: DiskKind.USB, 12: DiskKind.CARD, 15: DiskKind.VIRTUAL}
_BUS_NAMES = {"NVMe": 17, "USB": 7, "SD": 12, "File Backed Virtual": 15}
_MEDIA = {3: DiskKind.HARD_DISK, 4: DiskKind.SSD, "HDD": DiskKind.HARD_DISK, "SSD": DiskKind.SSD}
_WMI_END = 4 * GIB - 2**20  # where AdapterRAM stops: 4,293,918,720
Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Told:
    """What PowerShell said. ``sizes`` are the registry's bytes by adapter name, ``video`` the
    adapters' names, their AdapterRAM and PCI ids."""

    modules: tuple[dmi.Module, ...] = ()
    sizes: Mapping[str, int] | None = None
    video: tuple[tuple[str, int, str], ...] = ()
    disk: Disk | None = None


def told(output: str) -> Told:
    """What the script printed; nothing where it printed something else. Never raises."""
    try:
        values = json.loads(output.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return Told()
    if not isinstance(values, dict):
        return Told()
    sizes: dict[str, int] = {}
    for entry in _list(values, "registry"):
        size = _size(entry.get("bytes"))
        if size:
            sizes[_text(entry, "name")] = max(size, sizes.get(_text(entry, "name"), 0))
    video = tuple(
        (_text(entry, "Name"), _whole(entry.get("AdapterRAM")) or 0, _text(entry, "PNPDeviceID"))
        for entry in _list(values, "video")
    )
    modules = (_module(entry) for entry in _list(values, "memory"))
    return Told(tuple(m for m in modules if m is not None), sizes, video, _disk(values))


def gpus(adapters: Sequence[dxgi.Adapter], told: Told, nvidia: Reading) -> Reading:
    """The GPUs: NVIDIA's as its own library tells them, the others as DXGI or the registry do.

    ``adapters`` may be empty where DXGI failed.
    """
    devices = list(nvidia.devices)
    problems = list(nvidia.problems)
    known = (pci.AMD, pci.INTEL) if nvidia.devices else (pci.AMD, pci.INTEL, pci.NVIDIA)
    listed = [a for a in adapters if not a.software and a.vendor in known]
    for adapter in listed or _from_wmi(told, known):
        device, found = _device(adapter, told)
        devices.append(device)
        problems += found
    return Reading(tuple(devices), tuple(problems))


def _from_wmi(told: Told, vendors: Sequence[str]) -> list[dxgi.Adapter]:
    """Adapters as WMI lists them, without sizes: those are looked up by name."""
    found = []
    for name, _, identity in told.video:
        vendor = next((v for v in vendors if f"VEN_{v}" in identity.upper()), "")
        if vendor:
            found.append(dxgi.Adapter(name, vendor, "", 0, 0))
    return found


def _device(adapter: dxgi.Adapter, told: Told) -> tuple[Device, tuple[Problem, ...]]:
    rows = match(adapter.name)
    if _is_integrated(adapter, rows):
        return _integrated(adapter, rows), ()
    memory = _memory(adapter, told)
    rows = match(adapter.name, memory.value) if memory.value is not None else rows
    problems: tuple[Problem, ...] = ()
    if memory.value is None:
        problems = (
            Problem(
                "memory_unknown",
                tr(
                    "How much memory {gpu} has is not known: {why}",
                    gpu=adapter.name,
                    why=tr(memory.note),
                ),
                Severity.WARNING,
                tr("Choose the card from the catalogue, or type its memory."),
            ),
        )
    unknown = unknown_bandwidth(DXGI, mark("Windows does not tell it."))
    device = Device(
        name=adapter.name,
        kind=DeviceKind.GPU,
        backend=_backend(adapter.vendor),
        memory=memory,
        used=_used(adapter, memory),
        bandwidth=from_catalogue(rows, unknown),
    )
    return described(device, rows), problems


def _memory(adapter: dxgi.Adapter, told: Told) -> Number[int]:
    """The card's own memory: what DXGI says, else the registry; never what WMI says."""
    if adapter.dedicated:
        return Number(adapter.dedicated, Unit.BYTES, Source(Rank.REPORTED, DXGI))
    size = (told.sizes or {}).get(adapter.name)
    if size:
        return Number(size, Unit.BYTES, Source(Rank.REPORTED, REGISTRY))
    least = max((ram for name, ram, _ in told.video if name == adapter.name), default=0)
    if least >= _WMI_END:
        return unknown_bytes(WMI, mark("it has 4 GiB or more, but WMI cannot count further."))
    if least:
        return Number(least, Unit.BYTES, Source(Rank.REPORTED, WMI))
    return unknown_bytes(WMI, mark("neither DXGI nor the registry tells it."))


def _used(adapter: dxgi.Adapter, memory: Number[int]) -> Number[int]:
    """What others hold: the card's memory less what Windows would give this program."""
    if adapter.budget is None or memory.value is None or adapter.budget > memory.value:
        return unknown_bytes(DXGI, mark("Windows does not tell it."))
    return Number(
        memory.value - adapter.budget,
        Unit.BYTES,
        Source(Rank.REPORTED, DXGI),
        formula=mark("memory - budget"),
        inputs=(
            Input(mark("memory"), memory.value, Unit.BYTES),
            Input(mark("budget"), adapter.budget, Unit.BYTES),
        ),
        note=mark("The budget is what Windows would give this program now."),
    )


def _is_integrated(adapter: dxgi.Adapter, rows: tuple[Row, ...]) -> bool:
    """Whether it shares the RAM: by its name, else by how little memory is its own."""
    if rows:
        return all(row.kind is RowKind.APU for row in rows)
    if adapter.vendor == pci.INTEL:
        return adapter.dedicated < 2 * GIB
    return adapter.vendor == pci.AMD and 0 < adapter.dedicated <= 4 * GIB < adapter.shared


def _integrated(adapter: dxgi.Adapter, rows: tuple[Row, ...]) -> Device:
    shared = unknown_bytes(DXGI, mark("It shares the computer's RAM."))
    memory = shared
    if adapter.dedicated + adapter.shared:
        memory = Number(
            adapter.dedicated + adapter.shared,
            Unit.BYTES,
            Source(Rank.REPORTED, DXGI),
            formula=mark("set aside by the firmware + lent by Windows"),
            inputs=(
                Input(mark("set aside by the firmware"), adapter.dedicated, Unit.BYTES),
                Input(mark("lent by Windows"), adapter.shared, Unit.BYTES),
            ),
            note=mark("Windows lends half of the RAM."),
        )
    device = Device(
        name=adapter.name,
        kind=DeviceKind.GPU,
        backend=Backend.VULKAN,
        memory=memory,
        used=shared,
        bandwidth=from_catalogue(rows, unknown_bandwidth(DXGI, mark("It is that of the RAM."))),
        unified=True,
    )
    return described(device, rows)


def _backend(vendor: str) -> Backend:
    return Backend.CUDA if vendor == pci.NVIDIA else Backend.VULKAN


def _module(entry: Values) -> dmi.Module | None:
    size = _whole(entry.get("Capacity"))
    if not size:
        return None
    speed = dmi.module_speed(_whole(entry.get("ConfiguredClockSpeed")), _whole(entry.get("Speed")))
    kind = _MEMORY_TYPES.get(_whole(entry.get("SMBIOSMemoryType")) or 0, "")
    channel = dmi.channel(_text(entry, "DeviceLocator"), _text(entry, "BankLabel"))
    return dmi.Module(size, kind, speed, _whole(entry.get("DataWidth")), channel)


def _disk(values: Values) -> Disk | None:
    """The disk that Windows lies on."""
    number = _whole(values.get("system"))
    for entry in _list(values, "disks"):
        if number is None or _whole(entry.get("DeviceId")) != number:
            continue
        bus, media = entry.get("BusType"), entry.get("MediaType")
        code = _BUS_NAMES.get(bus) if isinstance(bus, str) else _whole(bus)
        kind = _BUSES.get(code or 0)
        if kind is None and isinstance(media, int | str):
            kind = _MEDIA.get(media)
        return unknown(kind or DiskKind.UNKNOWN, _text(entry, "FriendlyName"))
    return None


def _list(values: Values, name: str) -> list[Values]:
    """A list of objects; one object alone counts as a list, as PowerShell writes it."""
    found = values.get(name)
    found = [found] if isinstance(found, dict) else found
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _text(entry: Values, name: str) -> str:
    value = entry.get(name)
    return " ".join(value.split())[:200] if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def _size(value: object) -> int | None:
    """A size in the registry: a number, or its bytes, the least first."""
    if isinstance(value, list) and len(value) == 8:
        numbers = [_whole(each) for each in value]
        if all(each is not None and each < 256 for each in numbers):
            return int.from_bytes(bytes(each or 0 for each in numbers), "little")
        return None
    return _whole(value)
