"""What a graphics device of a Linux system is called, by its numbers on the PCI bus.

The kernel knows no names. AMD's library brings a list that tells parts of one chip apart by their
revision (amdgpu.ids); distributions bring another one of chips (pci.ids); for the parts of the
catalogue there is one in ``resources/graphics.csv``, which needs nothing of the system.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from core.machine.detect.limits import text_of

_MAKERS = {"1002": "AMD", "8086": "Intel", "10de": "NVIDIA"}
_PCI_IDS = ("usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids")
_AMDGPU_IDS = "usr/share/libdrm/amdgpu.ids"


def name_of(vendor: str, device: str, revision: str, root: Path = Path("/")) -> str:
    """The name of a device; its maker and numbers where no list has it. All four are lower-case
    hexadecimal digits as the bus shows them. Several parts under one number are joined by " / "."""
    own = _own().get((vendor, device, revision)) or _own().get((vendor, device, ""))
    if own:
        return own
    found = ""
    if vendor == "1002":
        found = _from_amd(text_of(root / _AMDGPU_IDS), device, revision)
    for path in _PCI_IDS:
        found = found or _from_pci_ids(text_of(root / path, 1 << 22), vendor, device)
    maker = _MAKERS.get(vendor, "")
    if found:
        return found if not maker or found.startswith(maker) else f"{maker} {found}"
    return f"{maker or 'A'} graphics device {vendor}:{device}"


@cache
def _own() -> dict[tuple[str, str, str], str]:
    import csv
    from importlib import resources

    text = resources.files("resources").joinpath("graphics.csv").read_text("utf-8")
    found = {}
    for row in csv.DictReader(text.splitlines()):
        for revision in row["revisions"].split() or [""]:
            found[row["vendor"], row["device"], revision] = row["name"]
    return found


def _from_amd(text: str, device: str, revision: str) -> str:
    """A line of amdgpu.ids: "744C,<tab>C8,<tab>AMD Radeon RX 7900 XTX"."""
    line = re.search(rf"^{device},\s*{revision},\s*(.+)$", text, re.MULTILINE | re.IGNORECASE)
    return line[1].strip() if line and device and revision else ""


def _from_pci_ids(text: str, vendor: str, device: str) -> str:
    """The device's line in the vendor's part of pci.ids; what is in brackets is its name, what
    stands before them the chip: "Navi 31 [Radeon RX 7900 XT/7900 XTX]"."""
    start = re.search(rf"^{vendor}\b.*$", text, re.MULTILINE) if vendor else None
    if start is None:
        return ""
    end = re.compile(r"^[0-9a-f]{4}\b", re.MULTILINE).search(text, start.end())
    part = text[start.end() : end.start() if end else len(text)]
    line = re.search(rf"^\t{device}\s+(.+)$", part, re.MULTILINE) if device else None
    if line is None:
        return ""
    named = re.search(r"\[(.+)\]", line[1])
    return _spelled_out(named[1]) if named else line[1].strip()


def _spelled_out(name: str) -> str:
    """ "Radeon RX 7900 XT/7900 XTX" as two whole names, joined by " / "."""
    first, *others = (part.strip() for part in name.split("/"))
    series = re.match(r"(?:[^\d\s]+\s+)*", first)
    if not others or series is None or not all(re.match(r"[A-Z]?\d", part) for part in others):
        return name.strip()
    return " / ".join([first, *(f"{series[0]}{part}" for part in others)])
