"""The disk below a file: its kind and its name, found without reading from it.

How fast it reads is not told by any system and is not guessed: a maker's figure holds for an empty
disk and many requests at once. ``core.machine.disk_speed`` times it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from core.language import mark
from core.machine.detect import pci
from core.machine.detect.limits import TookTooLongError, call_within, text_of
from core.machine.link import Link
from core.machine.machine import Disk, DiskKind, unknown_bandwidth

SECONDS = 0.5
ORIGIN = mark("operating system")
_UNTIMED = mark("No system tells it; timing how a large file is read does.")
_NETWORK = frozenset(
    re.findall(
        r"\S+",
        "nfs nfs4 cifs smb3 smbfs ncpfs 9p ceph glusterfs lustre beegfs afs "
        "fuse.sshfs fuse.rclone fuse.s3fs fuse.glusterfs",
    )
)
_IN_MEMORY = frozenset(("tmpfs", "ramfs"))


def disk_of(path: Path, root: Path = Path("/")) -> Disk:
    """The disk that holds the file or folder ``path``, unknown where nothing tells. Never raises.

    Takes about a millisecond, or ``SECONDS`` on a network folder that does not answer, and reads
    nothing from the disk. ``root`` is where a Linux system's folders lie.
    """
    if sys.platform != "linux":
        return unknown()
    try:
        number = call_within(SECONDS, f"disk of {path}", lambda: path.stat().st_dev)
        device = f"{os.major(number)}:{os.minor(number)}"
        return disk_of_device(device, text_of(root / "proc/self/mountinfo"), root)
    except TookTooLongError:
        return unknown(DiskKind.NETWORK)
    except (OSError, ValueError):
        return unknown()


def disk_of_device(device: str, mountinfo: str, root: Path = Path("/")) -> Disk:
    """The disk of a device number ("259:2"). ``mountinfo`` is the text of /proc/self/mountinfo:
    file systems that span disks (btrfs) have a number of their own, which only it explains."""
    kind, source = _mounted(device, mountinfo)
    if kind in _NETWORK:
        return unknown(DiskKind.NETWORK)
    if kind in _IN_MEMORY:
        return unknown(DiskKind.MEMORY)
    folder = _folder(root / "sys/dev/block" / device)
    if folder is None and source.startswith("/dev/"):
        folder = _folder(root / "sys/class/block" / Path(source).name)
    return unknown() if folder is None else _disk(folder)


def unknown(kind: DiskKind = DiskKind.UNKNOWN, name: str = "", link: Link | None = None) -> Disk:
    """A disk whose rate is not known."""
    return Disk(kind, name, unknown_bandwidth(ORIGIN, _UNTIMED), link)


def _mounted(device: str, mountinfo: str) -> tuple[str, str]:
    """Kind of file system and source of the last mount with this number; empty if there is none."""
    found = "", ""
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        if dash and left.split()[2:3] == [device]:
            words = right.split()
            found = words[0], words[1] if len(words) > 1 else ""
    return found


def _folder(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _disk(folder: Path, depth: int = 0) -> Disk:
    """The disk of a block device's folder in sysfs: the whole of a partition, and what lies below
    an encrypted or joined one where it is a single kind."""
    if (folder / "partition").exists():
        folder = folder.parent
    below = _entries(folder / "slaves") if depth < 8 else []
    if below:
        disks = [_disk(each, depth + 1) for each in below]
        if len(disks) == 1:
            return disks[0]
        kinds = {each.kind for each in disks}
        return unknown(kinds.pop() if len(kinds) == 1 else DiskKind.UNKNOWN)
    name = " ".join(text_of(folder / "device/model").split())
    place, kernel = folder.as_posix(), folder.name
    if kernel.startswith("nvme"):
        return unknown(DiskKind.NVME, name, _nvme_link(folder))
    if re.search(r"/usb\d+/", place):
        return unknown(DiskKind.USB, name)
    if kernel.startswith("mmcblk"):
        return unknown(DiskKind.CARD, text_of(folder / "device/name"))
    if kernel.startswith(("vd", "xvd")) or re.search(
        r"/(?:virtio|vmbus|xen)", place, re.IGNORECASE
    ):
        return unknown(DiskKind.VIRTUAL)
    vendor = text_of(folder / "device/vendor")
    if vendor in ("QEMU", "VMware", "Msft", "VBOX", "Google") or "QEMU" in name:
        return unknown(DiskKind.VIRTUAL)
    turns = {"0": DiskKind.SSD, "1": DiskKind.HARD_DISK}.get(text_of(folder / "queue/rotational"))
    if turns is None or not kernel.startswith(("sd", "hd")):
        return unknown(name=name)
    return unknown(turns, name)


def _entries(folder: Path) -> list[Path]:
    try:
        return [each.resolve() for each in sorted(folder.iterdir())]
    except (OSError, RuntimeError):
        return []


def _nvme_link(folder: Path) -> Link | None:
    """The link of an NVMe disk. Its block device hangs below the controller's PCI device, or below
    a subsystem whose first controller is then asked."""
    for above in folder.parents:
        if (above / "current_link_speed").exists():
            return pci.link(above)
        if above.name.startswith("nvme-subsys"):
            controller = next(iter(sorted(above.glob("nvme[0-9]*/device"))), None)
            device = None if controller is None else _folder(controller)
            return None if device is None else pci.link(device)
    return None
