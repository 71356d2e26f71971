"""The disk below a file, on /sys trees laid out as the kernel does."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.machine import DiskKind, disk_of
from core.machine.detect.disk import disk_of_device
from tests.support.sysfs import Bridge, pci_path, write

ROOT_MOUNT = "28 1 {} / / rw,relatime shared:1 - {} {} rw\n"


def block(root: Path, number: str, place: str, files: dict[str, str]) -> Path:
    """A block device at ``place`` below /sys/devices, listed by number and by name."""
    folder = root / "sys/devices" / place
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files)
    for listing, name in (("sys/dev/block", number), ("sys/class/block", folder.name)):
        (root / listing).mkdir(parents=True, exist_ok=True)
        (root / listing / name).symlink_to(folder)
    return folder


def test_a_partition_of_an_nvme_disk_is_that_disk_with_its_link(tmp_path: Path) -> None:
    """A Samsung 980 PRO in a slot of generation 3: its own four lanes are of generation 4."""
    pci_path(
        tmp_path,
        Bridge("0000:00:1d.0", "8.0 GT/s PCIe", "4", "8.0 GT/s PCIe", "4"),
        Bridge("0000:02:00.0", "16.0 GT/s PCIe", "4", "8.0 GT/s PCIe", "4"),
        display=False,
    )
    place = "pci0000:00/0000:00:1d.0/0000:02:00.0/nvme/nvme0/nvme0n1"
    model = "Samsung SSD 980 PRO 1TB                 "
    block(
        tmp_path,
        "259:0",
        place,
        {"device/model": model, "device/serial": "S5GXNX0R", "queue/rotational": "0"},
    )
    block(tmp_path, "259:2", f"{place}/nvme0n1p2", {"partition": "2"})
    disk = disk_of_device("259:2", ROOT_MOUNT.format("259:2", "ext4", "/dev/nvme0n1p2"), tmp_path)
    assert (disk.kind, disk.name) == (DiskKind.NVME, "Samsung SSD 980 PRO 1TB")
    assert disk.link is not None
    assert disk.link.most.value == pytest.approx(3.94e9, rel=0.001)
    assert disk.read.value is None
    assert disk.read.note


def test_btrfs_on_an_encrypted_disk_is_found_by_its_mount(tmp_path: Path) -> None:
    """Fedora's and openSUSE's default: the file system's number is none of a disk."""
    place = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    block(tmp_path, "8:0", place, {"device/model": "CT1000MX500SSD1", "queue/rotational": "0"})
    part = block(tmp_path, "8:3", f"{place}/sda3", {"partition": "3"})
    mapped = block(tmp_path, "254:0", "virtual/block/dm-0", {"queue/rotational": "0"})
    (mapped / "slaves").mkdir()
    (mapped / "slaves/sda3").symlink_to(part)
    (tmp_path / "sys/class/block/luks-1").symlink_to(mapped)
    mounts = ROOT_MOUNT.format("0:34", "btrfs", "/dev/mapper/luks-1")
    disk = disk_of_device("0:34", mounts, tmp_path)
    assert (disk.kind, disk.name) == (DiskKind.SSD, "CT1000MX500SSD1")


def test_a_raid_of_hard_disks_is_a_hard_disk_without_a_name(tmp_path: Path) -> None:
    parts = []
    for letter in "ab":
        place = f"pci0000:00/0000:00:17.0/ata{letter}/block/sd{letter}"
        files = {"device/model": "WDC WD40EFRX-68N", "queue/rotational": "1"}
        parts.append(block(tmp_path, f"8:{ord(letter)}", place, files))
    joined = block(tmp_path, "9:0", "virtual/block/md0", {"queue/rotational": "1"})
    (joined / "slaves").mkdir()
    for part in parts:
        (joined / "slaves" / part.name).symlink_to(part)
    disk = disk_of_device("9:0", "", tmp_path)
    assert (disk.kind, disk.name) == (DiskKind.HARD_DISK, "")


@pytest.mark.parametrize(
    ("number", "place", "files", "kind"),
    [
        ("8:16", "pci0000:00/0000:00:14.0/usb2/2-3/2-3:1.0/host6/block/sdb", {}, DiskKind.USB),
        (
            "179:0",
            "platform/soc/3f202000.mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0",
            {},
            DiskKind.CARD,
        ),
        ("254:0", "pci0000:00/0000:00:02.0/virtio1/block/vda", {}, DiskKind.VIRTUAL),
        (
            "8:0",
            "LNXSYSTM:00/LNXSYBUS:00/PNP0A03:00/VMBUS:00/fd1d2cbd/host0/block/sda",
            {"device/vendor": "Msft    ", "device/model": "Virtual Disk", "queue/rotational": "1"},
            DiskKind.VIRTUAL,
        ),
        ("7:0", "virtual/block/loop0", {"queue/rotational": "0"}, DiskKind.UNKNOWN),
    ],
)
def test_other_kinds_of_disks_are_told_apart(
    tmp_path: Path, number: str, place: str, files: dict[str, str], kind: DiskKind
) -> None:
    block(tmp_path, number, place, files)
    assert disk_of_device(number, "", tmp_path).kind is kind


@pytest.mark.parametrize(
    ("system", "source", "kind"),
    [
        ("nfs4", "nas:/models", DiskKind.NETWORK),
        ("cifs", "//nas/models", DiskKind.NETWORK),
        ("tmpfs", "tmpfs", DiskKind.MEMORY),
        ("overlay", "overlay", DiskKind.UNKNOWN),  # a container
        ("9p", "C:\\", DiskKind.NETWORK),  # Windows' disks inside WSL
    ],
)
def test_what_lies_on_no_disk_is_said(
    tmp_path: Path, system: str, source: str, kind: DiskKind
) -> None:
    mounts = ROOT_MOUNT.format("0:52", system, source)
    assert disk_of_device("0:52", mounts, tmp_path).kind is kind


def test_nothing_readable_is_unknown_and_raises_nothing(tmp_path: Path) -> None:
    assert disk_of_device("8:1", "x - \n - a\n\0", tmp_path).kind is DiskKind.UNKNOWN
    assert disk_of(tmp_path / "missing").kind is DiskKind.UNKNOWN
    assert disk_of(Path("nul\0byte")).kind is DiskKind.UNKNOWN
    assert disk_of(tmp_path).read.value is None
