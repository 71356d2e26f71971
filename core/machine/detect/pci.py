"""Graphics devices on the PCI bus of a Linux system, found without waking one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.machine.detect.limits import text_of

NVIDIA, AMD, INTEL = "10de", "1002", "8086"


@dataclass(frozen=True, slots=True)
class Graphics:
    """One display controller. ``address`` is "0000:01:00.0", ``vendor`` and ``device`` are four
    hexadecimal digits. ``asleep`` means that a query would switch it on."""

    address: str
    vendor: str
    device: str
    asleep: bool


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
        if not text_of(folder / "class").startswith("0x03"):  # display controllers
            continue
        found.append(
            Graphics(
                folder.name,
                text_of(folder / "vendor").removeprefix("0x"),
                text_of(folder / "device").removeprefix("0x"),
                _asleep(folder),
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


def _asleep(folder: Path) -> bool:
    state = text_of(folder / "power_state")
    return state == "D3cold" or text_of(folder / "power" / "runtime_status") == "suspended"
