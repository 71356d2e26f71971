"""A computer, as far as a plan cares: devices with memory and bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.language import mark, tr
from core.machine.link import Link
from core.machine.rows import RowKind
from core.problems import Problem
from core.provenance import Number, Rank, Source, Unit

THIS_COMPUTER = mark("This computer")
# What the program itself calls a machine, or begins its name with, and what follows then.
_OWN_WORDS = (THIS_COMPUTER, mark("Host"))
_COLON = ": "


class DeviceKind(StrEnum):
    GPU = "gpu"
    HOST = "host"


class Backend(StrEnum):
    CPU = "cpu"
    CUDA = "cuda"
    METAL = "metal"
    VULKAN = "vulkan"
    ROCM = "rocm"
    SYCL = "sycl"


class DiskKind(StrEnum):
    NVME = "nvme"
    SSD = "ssd"
    HARD_DISK = "hard disk"
    CARD = "memory card"
    USB = "usb"
    NETWORK = "network"
    VIRTUAL = "virtual"  # a virtual machine's: what lies below it is not told
    MEMORY = "memory"  # a folder that lies in RAM
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk that files are loaded from.

    ``name`` is its model, without a serial number; empty where it is not told. ``read`` is the rate
    at which a large file is read, bytes per second: known only where it was measured. ``link`` is
    that of an NVMe disk, which bounds it.
    """

    kind: DiskKind
    name: str
    read: Number[float]
    link: Link | None = None


def unknown_flops(origin: str, note: str) -> Number[float]:
    """A rate of arithmetic that ``origin`` does not tell; ``note`` says why."""
    return Number(None, Unit.FLOPS, Source(Rank.REPORTED, origin), note=note)


_NO_FLOPS = unknown_flops(mark("catalogue"), mark("Nobody tells how fast it computes."))


@dataclass(frozen=True, slots=True)
class Device:
    """One memory and the processor beside it.

    ``memory`` is in bytes: what the processor can use at all. ``used`` is what others hold of it
    now (0, assumed, for a machine that is not this one). ``bandwidth`` is the peak read rate in
    bytes per second. ``unified`` marks a GPU whose memory is the host's RAM. ``cores`` are the
    physical cores of a host, or the GPU cores where a maker's bins differ by them; None where that
    says nothing. ``catalogue_id`` is the catalogue row it was recognised as, else empty.

    ``flops`` is the peak rate of dense 16-bit matrix arithmetic, ``flops32`` that of plain 32-bit
    arithmetic, both in operations per second. ``memory_type`` ("GDDR6X"), ``architecture``
    ("Ampere") and ``part`` (what kind of part) are the catalogue's words, "" and None where it has
    none. ``link`` joins a card to the host; None where there is none or nobody tells. ``margin`` is
    what its user wants to stay free, bytes; None for what is usual with its backend.
    """

    name: str
    kind: DeviceKind
    backend: Backend
    memory: Number[int]
    used: Number[int]
    bandwidth: Number[float]
    unified: bool = False
    cores: Number[int] | None = None
    catalogue_id: str = ""
    flops: Number[float] = _NO_FLOPS
    flops32: Number[float] = _NO_FLOPS
    memory_type: str = ""
    architecture: str = ""
    part: RowKind | None = None
    link: Link | None = None
    margin: int | None = None


@dataclass(frozen=True, slots=True)
class OwnRun:
    """A decode speed that the user measured on this machine; it corrects what is expected.

    ``model`` is ``core.model.fingerprint`` of the file, ``configuration`` what
    ``core.plan.speed.configuration`` says of the plan that was measured: the same in both is the
    same run at another depth. ``backend`` is a ``Backend`` value. ``expected`` is
    ``plan.speed.expected.uncorrected`` of that plan at that depth, tok/s.

    For whoever shows it: ``title`` and ``label`` name the model and its quantization, ``bytes`` are
    those of one token at that depth, ``ceiling`` (tok/s) is what the bandwidth allowed; None where
    it was not known. ``date`` is the day it was measured.
    """

    model: str
    configuration: str
    backend: str
    depth: int
    tok_s: float
    expected: float
    title: str = ""
    label: str = ""
    bytes: int | None = None
    ceiling: float | None = None
    date: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """A computer. ``devices`` lists GPUs first and the host last; there is always a host,
    except on a unified machine, whose one device is both.

    ``id`` is "this", "custom" or a catalogue id. ``name`` is what files get, in English but for
    figures that somebody typed; a reader is shown ``spoken_name`` of it. ``problems`` tell what
    detection could not see. ``runs`` are the user's own measurements on it. ``disk`` is the one
    below the user's own files, None for a machine that is not this one; the disk of a certain file
    is ``disk_of(path)``.
    """

    id: str
    name: str
    devices: tuple[Device, ...]
    problems: tuple[Problem, ...] = ()
    runs: tuple[OwnRun, ...] = ()
    disk: Disk | None = None

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The devices that are GPUs."""
        return tuple(d for d in self.devices if d.kind is DeviceKind.GPU)

    @property
    def host(self) -> Device | None:
        """The device that is the host; None on a unified machine."""
        return next((d for d in self.devices if d.kind is DeviceKind.HOST), None)


def with_margin(machine: Machine, margin: int | None) -> Machine:
    """The machine with so many bytes to stay free on each GPU, or in RAM where there is none;
    None for what is usual."""
    chosen = machine.gpus or machine.devices
    devices = tuple(replace(d, margin=margin) if d in chosen else d for d in machine.devices)
    return replace(machine, devices=devices)


def counted(names: Sequence[str]) -> list[str]:
    """Every name once, in order: "2x RTX 3090" where there are two."""
    return [f"{names.count(n)}x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names)]


def named_here(label: str) -> str:
    """The name of this computer, by what it has: "This computer: RTX 3090"."""
    return THIS_COMPUTER + _COLON + label


def bare_name(name: str) -> str:
    """The name of a machine without the words that this computer's begins with: "RTX 3090"."""
    return name.removeprefix(THIS_COMPUTER + _COLON)


def spoken_name(name: str) -> str:
    """The name of a machine as a reader is shown it: what the program calls it in their language,
    what makers and owners call it as it is."""
    own, colon, label = name.partition(_COLON)
    return tr(own) + colon + label if own in _OWN_WORDS else name


def unknown_bytes(origin: str, note: str) -> Number[int]:
    """A size that ``origin`` does not tell; ``note`` says why and what would help."""
    return Number(None, Unit.BYTES, Source(Rank.REPORTED, origin), note=note)


def unknown_bandwidth(origin: str, note: str) -> Number[float]:
    """A bandwidth that ``origin`` does not tell; ``note`` says why and what would help."""
    return Number(None, Unit.BYTES_PER_SECOND, Source(Rank.REPORTED, origin), note=note)


def nothing_used() -> Number[int]:
    """What others hold on a machine that is not this one."""
    return Number(0, Unit.BYTES, Source(Rank.ASSUMED, mark("a machine that runs nothing else")))
