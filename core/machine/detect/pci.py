"""Graphics devices on the PCI bus of a Linux system, found without waking one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.language import mark
from core.machine.detect.limits import text_of, whole
from core.machine.link import Link, generation_of, joined, pcie
from core.provenance import Rank, Source

NVIDIA, AMD, INTEL = "10de", "1002", "8086"


@dataclass(frozen=True, slots=True)
class Graphics:
    """One display controller. ``address`` is "0000:01:00.0", ``vendor`` and ``device`` are four
    hexadecimal digits, ``revision`` two. ``asleep`` means that a query would switch it on.
    ``driver`` is the kernel's driver, empty where none has taken it; ``folder`` is the device's."""

    address: str
    vendor: str
    device: str
    asleep: bool
    revision: str = ""
    driver: str = ""
    folder: Path = Path()


def graphics(devices: Path) -> tuple[Graphics, ...]:
    """Graphics devices below ``devices`` (/sys/bus/pci/devices), in bus order.

    The files read here are kept by the kernel; reading them does not touch the device.
    """
    try:
        folders = sorted(devices.iterdir())
    except OSError:
        return ()
    found = []
    for folder in folders:
        vendor = text_of(folder / "vendor").removeprefix("0x")
        kind = text_of(folder / "class")
        # Display controllers; Instinct cards are accelerators, as Intel's NPU is, which is no GPU.
        if not kind.startswith("0x03") and not (kind.startswith("0x12") and vendor == AMD):
            continue
        found.append(
            Graphics(
                folder.name,
                vendor,
                text_of(folder / "device").removeprefix("0x"),
                _asleep(folder),
                text_of(folder / "revision").removeprefix("0x"),
                _driver(folder),
                folder,
            )
        )
    return tuple(found)


def nvidia_model(proc: Path, address: str) -> str:
    """The model that the driver wrote below ``proc`` (/proc/driver/nvidia/gpus) when it loaded,
    which stays readable while the GPU sleeps; empty if there is none."""
    for line in text_of(proc / address / "information").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Model":
            return value.strip()
    return ""


def link(device: Path) -> Link | None:
    """The link of the PCI device in the folder ``device``; None where the system tells none.

    What counts is the narrowest and slowest piece of the way up to the processor: an AMD card has a
    switch of its own whose inner link is always wide, and a slot may have fewer lanes than the
    card. Newer kernels switch a sleeping device on to answer: do not ask for one.
    """
    try:
        place = device.resolve()
    except (OSError, RuntimeError):
        return None
    most, now = [], []
    for folder in (place, *place.parents):
        if not text_of(folder / "class").startswith("0x"):
            break
        most.append(_speed_and_width(folder, "max"))
        now.append(_speed_and_width(folder, "current"))
    source = Source(Rank.REPORTED, mark("PCI bus"))
    least = _narrowest(most)
    top = None if least is None else pcie(*least, source)
    if top is None:
        return None
    present = _narrowest(now)
    return joined(top, None if present is None else pcie(*present, source))


def _speed_and_width(folder: Path, which: str) -> tuple[int, int] | None:
    """Generation and lanes of one piece of the way ("max" or "current")."""
    words = text_of(folder / f"{which}_link_speed").split()
    lanes = whole(text_of(folder / f"{which}_link_width"))
    try:
        generation = generation_of(float(words[0])) if words else None
    except ValueError:
        return None
    # An unconnected or integrated device says 0 or 255 lanes.
    return (generation, lanes) if generation and lanes and lanes <= 32 else None


def _narrowest(pieces: list[tuple[int, int] | None]) -> tuple[int, int] | None:
    known = [piece for piece in pieces if piece is not None]
    if not known:
        return None
    return min(generation for generation, _ in known), min(lanes for _, lanes in known)


def _driver(folder: Path) -> str:
    try:
        return (folder / "driver").resolve(strict=True).name
    except (OSError, RuntimeError):
        return ""


def _asleep(folder: Path) -> bool:
    state = text_of(folder / "power_state")
    return state == "D3cold" or text_of(folder / "power" / "runtime_status") == "suspended"
