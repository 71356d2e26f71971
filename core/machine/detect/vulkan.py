"""Cards that no other source tells of, as Vulkan shows them: the last resort.

Vulkan's heap sizes are what a driver lets programs ask for, which may be more than there is: an
RTX A2000 of 12 GiB was shown with 19. So a card that its own library or the kernel describes is
never asked about here, and what is read here is an estimate. ``vulkaninfo`` runs in a process of
its own, because loading every driver into this one may crash it; it wakes every GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.language import mark
from core.machine.catalogue import described, match
from core.machine.detect.gpu import from_catalogue
from core.machine.detect.pci import Graphics
from core.machine.machine import Backend, Device, DeviceKind, unknown_bandwidth, unknown_bytes
from core.provenance import Number, Rank, Source, Unit

COMMAND = ("vulkaninfo",)
SECONDS = 5.0
ORIGIN = "Vulkan"
_GPU = re.compile(r"^GPU\d+:", re.MULTILINE)
_FIELD = re.compile(r"^\s*(vendorID|deviceID|deviceType|deviceName)\s*=\s*(.*)$", re.MULTILINE)
_HEAP = re.compile(r"memoryHeaps\[\d+\]:(.*?)(?=memoryHeaps\[|memoryTypes|\Z)", re.DOTALL)
_SIZE = re.compile(r"\bsize\s*=\s*(\d+)")
_NOTE = mark(
    "Vulkan's sizes can be more than there is; choose the card from the catalogue if it is."
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One card with memory of its own. ``memory`` is its largest heap in bytes, None where that is
    not told; ``vendor`` and ``device`` are four hexadecimal digits."""

    name: str
    vendor: str
    device: str
    memory: int | None


def cards(output: str) -> tuple[Seen, ...]:
    """The cards in what ``vulkaninfo`` printed; neither processors nor GPUs that share the RAM."""
    seen = []
    for part in _GPU.split(output)[1:]:
        fields = {key: value.strip() for key, value in _FIELD.findall(part)}
        if fields.get("deviceType") != "PHYSICAL_DEVICE_TYPE_DISCRETE_GPU":
            continue
        heaps = [
            int(size[1][:20])
            for heap in _HEAP.findall(part)
            if "MEMORY_HEAP_DEVICE_LOCAL_BIT" in heap and (size := _SIZE.search(heap))
        ]
        name = " ".join(fields.get("deviceName", "").split())
        vendor, device = _digits(fields.get("vendorID")), _digits(fields.get("deviceID"))
        seen.append(Seen(name, vendor, device, max(heaps, default=None)))
    return tuple(seen)


def devices(unread: Iterable[Graphics], output: str) -> tuple[Device, ...]:
    """The cards on the bus that nothing else could read, where Vulkan sees them."""
    left = list(cards(output))
    found = []
    for card in unread:
        seen = next((s for s in left if (s.vendor, s.device) == (card.vendor, card.device)), None)
        if seen is not None:
            left.remove(seen)
            found.append(_device(seen))
    return tuple(found)


def _device(seen: Seen) -> Device:
    rows = match(seen.name, seen.memory)
    memory = unknown_bytes(ORIGIN, mark("It does not tell it."))
    if seen.memory:
        memory = Number(seen.memory, Unit.BYTES, Source(Rank.ESTIMATED, ORIGIN), note=_NOTE)
    device = Device(
        name=seen.name or "GPU",
        kind=DeviceKind.GPU,
        backend=Backend.VULKAN,
        memory=memory,
        used=unknown_bytes(ORIGIN, mark("It does not tell it.")),
        bandwidth=from_catalogue(rows, unknown_bandwidth(ORIGIN, mark("It does not tell it."))),
    )
    return described(device, rows)


def _digits(text: str | None) -> str:
    """ "0x10de" as "10de"; empty for anything else."""
    found = re.fullmatch(r"0x([0-9a-fA-F]{1,8})", text or "")
    return f"{int(found[1], 16):04x}" if found else ""
