"""Pieces of a Linux system's /sys, as the kernel lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bridge:
    """A PCI device and its link; None where the file does not exist."""

    address: str
    max_speed: str | None = None
    max_width: str | None = None
    speed: str | None = None
    width: str | None = None


def write(root: Path, files: dict[str, str]) -> None:
    """Small text files below ``root``, by their paths."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def pci_path(root: Path, *way: Bridge, display: bool = True) -> Path:
    """PCI devices one below the other, from the root port down; the folder of the last one, which
    is listed on the bus as well."""
    folder = root / "sys/devices/pci0000:00"
    for bridge in way:
        folder /= bridge.address
        files = {"class": "0x060400"}
        pairs = (
            ("max_link_speed", bridge.max_speed),
            ("max_link_width", bridge.max_width),
            ("current_link_speed", bridge.speed),
            ("current_link_width", bridge.width),
        )
        files |= {name: text for name, text in pairs if text is not None}
        write(folder, files)
    write(folder, {"class": "0x030000" if display else "0x010802"})
    bus = root / "sys/bus/pci/devices"
    bus.mkdir(parents=True, exist_ok=True)
    (bus / way[-1].address).symlink_to(folder)
    return folder
