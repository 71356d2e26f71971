"""AMD GPUs on Linux, from what the kernel's driver writes into /sys, readable by everybody.

Memory is in the device's folder. Bandwidth follows from width and clock in the compute driver's
topology (KFD); the clock is multiplied by what its kind of memory moves per clock: checked against
AMD's figures for RX 7800 XT, RX 9060 XT (GDDR6), MI100 (HBM2) and MI300X (HBM3). Reading these
files switches no sleeping card on; asking for its present clock or link would, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.language import mark, tr
from core.machine.catalogue import described, match
from core.machine.detect import names, pci
from core.machine.detect.gpu import Reading, disagreement, from_catalogue
from core.machine.detect.limits import text_of, whole
from core.machine.detect.memory import Ram
from core.machine.machine import Backend, Device, DeviceKind, unknown_bandwidth, unknown_bytes
from core.machine.rows import GIB, Row, RowKind
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

ORIGIN = mark("amdgpu driver")
# Transfers per clock that the driver reports, and so bits per pin.
_PER_CLOCK = {"GDDR5": 4, "GDDR6": 16, "HBM2": 2, "HBM2e": 2, "HBM3": 4}
_TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"


@dataclass(frozen=True, slots=True)
class Memory:
    """What the driver tells of one GPU's memory, in bytes; None where it does not."""

    vram: int | None
    vram_used: int | None
    gtt: int | None
    gtt_used: int | None
    own_chips: bool  # it has memory chips of its own, whose maker is told


def read(card: pci.Graphics, root: Path = Path("/"), ram: Ram | None = None) -> Reading:
    """One AMD GPU. A GPU on the processor comes back as unified, with what the system lends it.

    ``root`` is where a Linux system's folders lie. ``ram`` bounds what can be lent: the limit may
    be set beyond it, and what is lent and unused may be taken by others.
    """
    memory = _memory(card.folder)
    name = _product_name(card.folder) or names.name_of(pci.AMD, card.device, card.revision, root)
    if memory.vram is None:
        return Reading((), (_without_driver(card, name),))
    node = _node(root / _TOPOLOGY, card.folder)
    found = match(name)
    integrated = is_integrated(memory, found)
    rows = found if integrated else match(name, memory.vram)
    if integrated:
        return Reading((_integrated(name, rows, memory, ram),))
    clocked = None if node is None else _bandwidth(node, rows)
    if clocked is not None and clocked.value is not None:
        rows = match(name, memory.vram, bandwidth=clocked.value)
        bandwidth, problems = clocked, disagreement(name, clocked.value, rows)
    else:
        why = mark("The driver tells neither memory clock nor bus width.")
        unknown = unknown_bandwidth(ORIGIN, why)
        bandwidth, problems = from_catalogue(rows, unknown), ()
    source = Source(Rank.REPORTED, ORIGIN)
    device = Device(
        name=name,
        kind=DeviceKind.GPU,
        backend=Backend.ROCM,
        memory=Number(memory.vram, Unit.BYTES, source),
        used=_told(memory.vram_used, mark("The driver does not tell it.")),
        bandwidth=bandwidth,
        link=None if card.asleep else pci.link(card.folder),
    )
    return Reading((described(device, rows),), problems)


def is_integrated(memory: Memory, rows: tuple[Row, ...]) -> bool:
    """Whether a GPU shares the computer's RAM: by its name, else by how little is its own.

    A part of RAM that the firmware set aside can be as large as a card's memory (96 GiB of 128),
    so the name counts first; where the catalogue does not have it, a GPU with little memory of its
    own, much lent to it and no memory chips that the driver could name is on the processor.
    """
    if rows:
        return all(row.kind is RowKind.APU for row in rows)
    vram, gtt = memory.vram or 0, memory.gtt or 0
    return not memory.own_chips and vram <= 4 * GIB <= gtt and gtt >= 4 * vram


def _integrated(name: str, rows: tuple[Row, ...], memory: Memory, ram: Ram | None) -> Device:
    """One memory for all: what the firmware set aside and what the system lends."""
    source = Source(Rank.REPORTED, ORIGIN)
    vram, gtt = memory.vram or 0, memory.gtt or 0
    ram_total = None if ram is None else ram.total.value
    ram_free = None if ram is None else ram.available
    lent = gtt if ram_total is None else min(gtt, ram_total)
    total = Number(
        vram + lent,
        Unit.BYTES,
        source,
        formula=mark("set aside by the firmware + min(lent by the system, RAM)"),
        inputs=(
            Input(mark("set aside by the firmware"), vram, Unit.BYTES),
            Input(mark("lent by the system (GTT)"), gtt, Unit.BYTES),
            Input(mark("RAM"), ram_total, Unit.BYTES),
        ),
        note=mark("The system lends half of the RAM by default; ttm.pages_limit raises it."),
    )
    used = _told(None, mark("The driver does not tell it."))
    if memory.vram_used is not None and memory.gtt_used is not None:
        lendable = max(0, lent - memory.gtt_used)
        if ram_free is not None:
            lendable = min(lendable, ram_free)
        used = Number(
            max(0, vram + lent - max(0, vram - memory.vram_used) - lendable),
            Unit.BYTES,
            source,
            formula=mark("total - free of what was set aside - what the system can still lend"),
            inputs=(
                Input(mark("used of what was set aside"), memory.vram_used, Unit.BYTES),
                Input(mark("used of what is lent"), memory.gtt_used, Unit.BYTES),
                Input(mark("available RAM"), ram_free, Unit.BYTES),
            ),
        )
    why = unknown_bandwidth(ORIGIN, mark("It is that of the RAM."))
    device = Device(
        name=name,
        kind=DeviceKind.GPU,
        backend=Backend.VULKAN,
        memory=total,
        used=used,
        bandwidth=from_catalogue(rows, why),
        unified=True,
    )
    return described(device, rows)


def _memory(folder: Path) -> Memory:
    def size(name: str) -> int | None:
        return whole(text_of(folder / name))

    chips = text_of(folder / "mem_info_vram_vendor") or text_of(folder / "board_info")
    return Memory(
        vram=size("mem_info_vram_total"),
        vram_used=size("mem_info_vram_used"),
        gtt=size("mem_info_gtt_total"),
        gtt_used=size("mem_info_gtt_used"),
        own_chips=bool(chips),
    )


def _product_name(folder: Path) -> str:
    """The board's own name, which only some professional cards have."""
    name = " ".join(text_of(folder / "product_name").split())
    return name if re.search(r"[A-Za-z]{3}", name) else ""


def _node(nodes: Path, folder: Path) -> Mapping[str, int] | None:
    """Width, clock and version of this GPU in the topology: "width", "mem_clk_max" and
    "gfx_target_version"; None where it is not listed."""
    try:
        minors = {
            int(each.name.removeprefix("renderD"))
            for each in (folder / "drm").iterdir()
            if re.fullmatch(r"renderD\d{1,6}", each.name)
        }
        listed = sorted(nodes.iterdir())
    except OSError:
        return None
    for node in listed:
        properties = _table(text_of(node / "properties"))
        if properties.get("drm_render_minor", 0) in minors:
            return {**properties, **_table(text_of(node / "mem_banks/0/properties"))}
    return None


def _table(text: str) -> dict[str, int]:
    pairs = (line.partition(" ") for line in text.splitlines())
    return {key: value for key, _, number in pairs if (value := whole(number.strip())) is not None}


def _bandwidth(node: Mapping[str, int], rows: tuple[Row, ...]) -> Number[float] | None:
    """Bytes per second from width and clock; None where the kind of memory is not known, or its
    transfers per clock are not."""
    kinds = {row.memory_type for row in rows} or {_memory_type(node.get("gfx_target_version", 0))}
    per_clock = _PER_CLOCK.get(kinds.pop()) if len(kinds) == 1 else None
    width, clock = node.get("width", 0), node.get("mem_clk_max", 0)
    if per_clock is None or not 32 <= width <= 16384 or not 100 <= clock <= 10_000:
        return None
    return Number(
        width / 8 * clock * 1e6 * per_clock,
        Unit.BYTES_PER_SECOND,
        Source(Rank.REPORTED, ORIGIN),
        formula=mark("bus bits / 8 x memory clock x transfers per clock"),
        inputs=(
            Input(mark("bus bits"), width),
            Input(mark("memory clock, MHz"), clock),
            Input(mark("transfers per clock"), per_clock),
        ),
    )


def _memory_type(version: int) -> str:
    """The kind of memory that cards of this chip generation have. ``version`` is major x 10000 +
    minor x 100 + step of "gfx1100"; empty for one that had several kinds."""
    if 100_000 <= version < 130_000:  # RDNA 1 to 4
        return "GDDR6"
    if version in (90_000, 90_006, 90_008, 90_010):  # Vega, MI50, MI100, MI200
        return "HBM2"
    return "HBM3" if version == 90_402 else ""


def _told(value: int | None, why: str) -> Number[int]:
    if value is None:
        return unknown_bytes(ORIGIN, why)
    return Number(value, Unit.BYTES, Source(Rank.REPORTED, ORIGIN))


def _without_driver(card: pci.Graphics, name: str) -> Problem:
    if card.driver == "vfio-pci":
        return Problem(
            "gpu_lent_out",
            tr("{gpu} is set aside for a virtual machine; nothing can run on it here.", gpu=name),
            Severity.NOTE,
        )
    return Problem(
        "amd_without_driver",
        tr(
            "A graphics device is present ({gpu}, {vendor}:{device}), but the amdgpu driver does "
            "not tell its memory.",
            gpu=name,
            vendor=card.vendor,
            device=card.device,
        ),
        Severity.WARNING,
        tr("Install or load the amdgpu driver, or choose the card from the catalogue."),
    )
