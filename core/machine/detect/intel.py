"""Intel GPUs on Linux: memory by a question to the kernel's driver, bandwidth from the catalogue.

The two drivers answer in tables of memory regions (xe_drm.h, i915_drm.h); no file tells the bus
width or the clock's multiplier. A GPU on the processor has no region of its own.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.language import mark, tr
from core.machine.catalogue import described, match
from core.machine.detect import names, pci
from core.machine.detect.gpu import Reading, from_catalogue
from core.machine.detect.limits import text_of, whole
from core.machine.detect.memory import Ram
from core.machine.machine import Backend, Device, DeviceKind, unknown_bandwidth, unknown_bytes
from core.machine.rows import GIB, Row, RowKind
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

ORIGIN = mark("Intel graphics driver")
_XE_QUERY, _XE_REGIONS = 0xC0286440, 1
_I915_QUERY, _I915_REGIONS = 0xC0106479, 4
_ENTRY = 88  # bytes of one region in both tables
_UNKNOWN = 2**64 - 1

Ask = Callable[[Path, str], bytes]


@dataclass(frozen=True, slots=True)
class Region:
    """One memory of the GPU's own: bytes, and how many of them others hold; None if not told."""

    size: int
    used: int | None


def read(
    card: pci.Graphics,
    root: Path = Path("/"),
    ram: Ram | None = None,
    ask: Ask | None = None,
) -> Reading:
    """One Intel GPU. One on the processor comes back as unified, with its share of ``ram``.

    ``ask(node, driver)`` gives the driver's table for a device file below /dev/dri.
    """
    name = names.name_of(pci.INTEL, card.device, card.revision, root)
    rows = match(name)
    if rows and all(row.kind is RowKind.APU for row in rows):
        return Reading((_integrated(name, rows, ram),))
    if card.driver == "vfio-pci":
        note = tr("{gpu} is set aside for a virtual machine; nothing can run on it here.", gpu=name)
        return Reading((), (Problem("gpu_lent_out", note, Severity.NOTE),))
    region = None if card.asleep else _region(card, root, ask or ask_kernel)
    size = _size_in_files(card.folder) if region is None else region.size
    if not size and not rows:
        return Reading(())  # graphics on the processor that the catalogue does not know
    rows = match(name, size) if size else rows
    source = Source(Rank.REPORTED, ORIGIN)
    memory = _from_name(rows)
    used = unknown_bytes(ORIGIN, mark("It tells this to administrators only."))
    if size:
        memory = Number(size, Unit.BYTES, source)
    if region is not None and region.used is not None:
        used = Number(region.used, Unit.BYTES, source)
    device = Device(
        name=name,
        kind=DeviceKind.GPU,
        backend=_backend(rows),
        memory=memory,
        used=used,
        bandwidth=from_catalogue(rows, unknown_bandwidth(ORIGIN, mark("No driver tells it."))),
        link=None if card.asleep else pci.link(card.folder),
    )
    return Reading((described(device, rows),))


def regions(table: bytes, driver: str) -> tuple[Region, ...]:
    """The GPU's own memories in a driver's table ("xe" or "i915"); what is cut off is left out."""
    header = 8 if driver == "xe" else 16
    if len(table) < header:
        return ()
    (count,) = struct.unpack_from("<I", table)
    found = []
    for start in range(header, min(len(table) - _ENTRY + 1, header + count * _ENTRY), _ENTRY):
        kind, _, _, size, other = struct.unpack_from("<HHIQQ", table, start)
        if kind != 1 or size in (0, _UNKNOWN):  # 0 is the computer's RAM
            continue
        if driver == "xe":
            # Without the right to look, the driver says 0, which no card with a screen is.
            found.append(Region(size, other if 0 < other <= size else None))
        else:
            # Without the right to look, all of it is said to be free.
            held = size - other if other < size else None
            found.append(Region(size, held))
    return tuple(found)


def ask_kernel(node: Path, driver: str) -> bytes:
    """The driver's table of memory regions. Raises OSError, also where asking is not allowed."""
    import ctypes
    import fcntl
    import os

    handle = os.open(node, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if driver == "xe":
            # extensions, query, size, data, two reserved; the first call tells the size
            query = bytearray(struct.pack("<QIIQQQ", 0, _XE_REGIONS, 0, 0, 0, 0))
            fcntl.ioctl(handle, _XE_QUERY, query, True)
            (size,) = struct.unpack_from("<I", query, 12)
            table = ctypes.create_string_buffer(min(size, 1 << 16))
            query[:] = struct.pack(
                "<QIIQQQ", 0, _XE_REGIONS, len(table), ctypes.addressof(table), 0, 0
            )
            fcntl.ioctl(handle, _XE_QUERY, query, True)
            return table.raw
        item = ctypes.create_string_buffer(struct.pack("<QiIQ", _I915_REGIONS, 0, 0, 0), 24)
        query = bytearray(struct.pack("<IIQ", 1, 0, ctypes.addressof(item)))
        fcntl.ioctl(handle, _I915_QUERY, query, True)
        (size,) = struct.unpack_from("<i", item.raw, 8)
        if size <= 0:
            return b""
        table = ctypes.create_string_buffer(min(size, 1 << 16))
        item.raw = struct.pack("<QiIQ", _I915_REGIONS, len(table), 0, ctypes.addressof(table))
        fcntl.ioctl(handle, _I915_QUERY, query, True)
        return table.raw
    finally:
        os.close(handle)


def _region(card: pci.Graphics, root: Path, ask: Ask) -> Region | None:
    """All memory of the GPU's own; None where the driver gives no answer."""
    if card.driver not in ("xe", "i915"):
        return None
    try:
        nodes = sorted(each.name for each in (card.folder / "drm").iterdir())
    except OSError:
        return None
    for name in nodes:
        if not re.fullmatch(r"renderD\d+", name):
            continue
        try:
            found = regions(ask(root / "dev/dri" / name, card.driver), card.driver)
        except (OSError, ValueError):
            continue
        if found:
            held = [each.used for each in found if each.used is not None]
            used = sum(held) if len(held) == len(found) else None
            return Region(sum(each.size for each in found), used)
    return None


def _size_in_files(folder: Path) -> int | None:
    """What some versions of the drivers write: xe per tile, i915 for the card."""
    tiles = [whole(text_of(each)) for each in folder.glob("tile[0-9]*/physical_vram_size_bytes")]
    known = [size for size in tiles if size]
    if known and len(known) == len(tiles):
        return sum(known)
    cards = [whole(text_of(each)) for each in folder.glob("drm/card[0-9]*/lmem_total_bytes")]
    return next((size for size in cards if size), None)


def _from_name(rows: tuple[Row, ...]) -> Number[int]:
    why = mark("The driver does not tell it to this user.")
    if rows and len({row.memory_gb for row in rows}) == 1:
        return Number(rows[0].nominal_bytes, Unit.BYTES, rows[0].provenance, note=why)
    return unknown_bytes(ORIGIN, why)


def _backend(rows: tuple[Row, ...]) -> Backend:
    """What llama.cpp runs best there, as the catalogue has it."""
    datacenter = bool(rows) and all(row.kind is RowKind.DATACENTER for row in rows)
    return Backend.SYCL if datacenter else Backend.VULKAN


def _integrated(name: str, rows: tuple[Row, ...], ram: Ram | None) -> Device:
    unknown = unknown_bandwidth(ORIGIN, mark("It is that of the RAM."))
    device = Device(
        name=name,
        kind=DeviceKind.GPU,
        backend=Backend.VULKAN,
        memory=_lent(ram),
        used=unknown_bytes(ORIGIN, mark("It shares the computer's RAM.")),
        bandwidth=from_catalogue(rows, unknown),
        unified=True,
    )
    return described(device, rows)


def _lent(ram: Ram | None) -> Number[int]:
    """What Mesa's Vulkan driver gives programs of the RAM (anv_compute_sys_heap_size)."""
    total = None if ram is None else ram.total.value
    if total is None:
        return unknown_bytes(ORIGIN, mark("It shares the computer's RAM."))
    share = 0.75 if total > 4 * GIB else 0.5
    return Number(
        round(total * share),
        Unit.BYTES,
        Source(Rank.ESTIMATED, mark("Mesa's Vulkan driver")),
        formula=mark("RAM x share"),
        inputs=(Input(mark("RAM"), total, Unit.BYTES), Input(mark("share"), share, Unit.SHARE)),
        note=mark("The driver lends a GPU on the processor three quarters of the RAM."),
    )
