"""NVIDIA GPUs through NVML, the library that every driver brings.

Peak bandwidth is 2 x maximum memory clock x bus bits / 8 for every type of memory: NVML reports
half the data rate, as NVIDIA's nvbench assumes as well ("1008 GB/sec (384-bit DDR @10501MHz)").
The current clock is useless: it idles, and compute programs run a little below the maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from core.language import mark, tr
from core.machine.catalogue import described, match
from core.machine.detect.gpu import Reading, disagreement, from_catalogue
from core.machine.detect.limits import TookTooLongError, call_within
from core.machine.link import Link, joined, pcie
from core.machine.machine import Backend, Device, DeviceKind, unknown_bandwidth, unknown_bytes
from core.machine.rows import RowKind
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

ORIGIN = "NVML"
# Without persistence mode a driver initialises every GPU when asked, a second or more each.
SECONDS = 8.0
T = TypeVar("T")


class Nvml(Protocol):
    """What is used of the pynvml module."""

    @property
    def NVMLError(self) -> type[Exception]: ...

    NVML_CLOCK_MEM: int
    NVML_ERROR_LIBRARY_NOT_FOUND: int
    NVML_GPU_VIRTUALIZATION_MODE_VGPU: int
    nvmlMemory_v2: int  # noqa: N815

    def nvmlInit(self) -> None: ...
    def nvmlShutdown(self) -> None: ...
    def nvmlDeviceGetCount(self) -> int: ...
    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> Any: ...
    def nvmlDeviceGetHandleByPciBusId(self, address: str, /) -> Any: ...
    def nvmlDeviceGetName(self, handle: Any, /) -> str: ...
    def nvmlDeviceGetMemoryInfo(self, handle: Any, version: int | None = None, /) -> Any: ...
    def nvmlDeviceGetMemoryBusWidth(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetMaxClockInfo(self, handle: Any, clock: int, /) -> int: ...
    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetMaxPcieLinkWidth(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetVirtualizationMode(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetMigMode(self, handle: Any, /) -> Sequence[int]: ...
    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any, /) -> int: ...
    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Board:
    """A single-board computer whose GPU's own name says little: its model ("NVIDIA Jetson AGX Orin
    Developer Kit") and its RAM in bytes, which tells the versions apart."""

    model: str
    ram: int | None = None


def read(nvml: Nvml, addresses: Sequence[str] | None = None, board: Board | None = None) -> Reading:
    """Every GPU that NVML shows. Never raises what NVML raises; a missing library is no problem.

    ``nvml`` is the pynvml module. ``addresses`` are the PCI addresses to ask about, so that
    sleeping GPUs are left alone; None asks about all. A GPU without memory of its own comes back
    as unified with unknown memory: the caller knows the RAM.
    """
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        if getattr(error, "value", None) == nvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            return Reading(())
        return Reading((), (no_answer(error),))
    try:
        return _read_all(nvml, addresses, board)
    except nvml.NVMLError as error:
        return Reading((), (no_answer(error),))
    finally:
        _ask(nvml, nvml.nvmlShutdown)


def ask(addresses: Sequence[str] | None, board: Board | None) -> Reading:
    """NVML's answer within the time limit; nothing where its binding is missing. Never raises."""
    try:
        import pynvml
    except ImportError:
        return Reading(())
    try:
        return call_within(SECONDS, "nvml", lambda: read(pynvml, addresses, board))
    except TookTooLongError:
        return Reading((), (_hangs(),))
    except Exception as error:  # a broken library must not stop the rest
        return Reading((), (no_answer(error),))


def from_board(board: Board) -> Device | None:
    """The GPU of a Jetson whose system has no NVML, by the board's name; None for other boards."""
    rows = match(board.model, board.ram)
    if not rows or any(r.vendor != "NVIDIA" for r in rows):
        return None
    why = mark("The board's name does not tell its version.")
    unknown = unknown_bandwidth(mark("catalogue"), why)
    shared = unknown_bytes(mark("catalogue"), mark("It shares the computer's RAM."))
    device = Device(
        name=board.model,
        kind=DeviceKind.GPU,
        backend=Backend.CUDA,
        memory=shared,
        used=shared,
        bandwidth=from_catalogue(rows, unknown),
        unified=True,
    )
    return described(device, rows)


def _read_all(nvml: Nvml, addresses: Sequence[str] | None, board: Board | None) -> Reading:
    devices: list[Device] = []
    problems: list[Problem] = []
    keys: Sequence[str | int] = range(nvml.nvmlDeviceGetCount()) if addresses is None else addresses
    for key in keys:
        try:
            handle = (
                nvml.nvmlDeviceGetHandleByPciBusId(key)
                if isinstance(key, str)
                else nvml.nvmlDeviceGetHandleByIndex(key)
            )
        except nvml.NVMLError as error:
            problems.append(no_answer(error, f"GPU {key}"))
            continue
        for device, found in _devices(nvml, handle, board):
            devices.append(device)
            problems += found
    return Reading(tuple(devices), tuple(problems))


def _devices(
    nvml: Nvml, handle: Any, board: Board | None
) -> list[tuple[Device, tuple[Problem, ...]]]:
    """The GPU itself, or its slices where it is cut into some (MIG)."""
    whole = _device(nvml, handle, board)
    mode = _ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    if not mode or mode[0] != 1:
        return [whole]
    slices = []
    for index in range(_ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        part = _ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if part is not None:
            slices.append((_slice(nvml, part, whole[0]), ()))
    if slices:
        return [*slices]
    note = Problem(
        "mig_without_slices",
        tr(
            "{gpu} is set to be cut into slices (MIG) but has none: nothing can run on it.",
            gpu=whole[0].name,
        ),
        Severity.WARNING,
        tr("Make a slice with nvidia-smi mig, or switch MIG off."),
    )
    return [(whole[0], (*whole[1], note))]


def _device(nvml: Nvml, handle: Any, board: Board | None) -> tuple[Device, tuple[Problem, ...]]:
    name = _name(nvml, handle)
    memory, used = _memory(nvml, handle)
    bandwidth = _bandwidth(nvml, handle)
    rows = match(name, _total(memory), bandwidth=bandwidth.value)
    if not rows and memory is None and board is not None:
        rows = match(board.model, board.ram)
    unified = memory is None and any(r.kind is RowKind.APU for r in rows)
    problems: list[Problem] = []
    if bandwidth.value is None:
        bandwidth = from_catalogue(rows, bandwidth)
    else:
        problems += disagreement(name, bandwidth.value, rows)
    if _ask(nvml, nvml.nvmlDeviceGetVirtualizationMode, handle) == (
        nvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU
    ):
        problems.append(
            Problem(
                "shared_gpu",
                tr(
                    "{gpu} is a share of a GPU (vGPU): the bandwidth shown is the whole board's, "
                    "and other systems take turns on it.",
                    gpu=name,
                ),
                Severity.NOTE,
            )
        )
    if memory is None:
        what = mark("The driver does not tell it.")
        if unified:
            what = mark("It shares the computer's RAM.")
        memory = unknown_bytes(ORIGIN, what)
        used = unknown_bytes(ORIGIN, what)
    device = Device(
        name=name,
        kind=DeviceKind.GPU,
        backend=Backend.CUDA,
        memory=memory,
        used=used,
        bandwidth=bandwidth,
        unified=unified,
        link=None if unified else _link(nvml, handle),
    )
    return described(device, rows), tuple(problems)


def _link(nvml: Nvml, handle: Any) -> Link | None:
    """The card's link. "Most" is what card and slot agree on."""
    source = Source(Rank.REPORTED, ORIGIN)
    most = pcie(
        _ask(nvml, nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle) or 0,
        _ask(nvml, nvml.nvmlDeviceGetMaxPcieLinkWidth, handle) or 0,
        source,
    )
    if most is None:
        return None
    now = pcie(
        _ask(nvml, nvml.nvmlDeviceGetCurrPcieLinkGeneration, handle) or 0,
        _ask(nvml, nvml.nvmlDeviceGetCurrPcieLinkWidth, handle) or 0,
        source,
    )
    return joined(most, now)


def _slice(nvml: Nvml, part: Any, whole: Device) -> Device:
    """One MIG slice. Slices are cut at memory controllers, so that a share of the memory in
    eighths is the same share of the bandwidth (NVIDIA's MIG guide, "GPU memory slice")."""
    memory, used = _memory(nvml, part)
    board, peak = _total(whole.memory), whole.bandwidth.value
    why = mark("The driver does not tell it for a slice of a GPU.")
    bandwidth = unknown_bandwidth(ORIGIN, why)
    own = _total(memory)
    if own and board and peak:
        eighths = max(1, min(8, round(8 * own / board)))
        bandwidth = Number(
            peak * eighths / 8,
            Unit.BYTES_PER_SECOND,
            Source(Rank.ESTIMATED, ORIGIN),
            formula=mark("board's bandwidth x eighths of its memory / 8"),
            inputs=(
                Input(mark("board's bandwidth"), peak, Unit.BYTES_PER_SECOND),
                Input(mark("eighths"), eighths),
            ),
            note=mark("A slice of a GPU (MIG) has its share of the memory controllers."),
        )
    unknown = unknown_bytes(ORIGIN, mark("The driver does not tell it for this slice."))
    name = _ask(nvml, nvml.nvmlDeviceGetName, part) or f"slice of {whole.name}"
    return Device(
        name=name,
        kind=DeviceKind.GPU,
        backend=Backend.CUDA,
        memory=memory or unknown,
        used=used,
        bandwidth=bandwidth,
        memory_type=whole.memory_type,
        architecture=whole.architecture,
        part=whole.part,
        link=whole.link,
    )


def _name(nvml: Nvml, handle: Any) -> str:
    return _ask(nvml, nvml.nvmlDeviceGetName, handle) or "NVIDIA GPU"


def _memory(nvml: Nvml, handle: Any) -> tuple[Number[int] | None, Number[int]]:
    """Usable and used bytes; None where the driver does not support the question."""
    info = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
    source = Source(Rank.REPORTED, ORIGIN)
    if info is not None and info.total > 0:
        total, reserved = int(info.total), int(info.reserved)
        memory = Number(
            total - reserved,
            Unit.BYTES,
            source,
            formula=mark("total - reserved"),
            inputs=(
                Input(mark("total"), total, Unit.BYTES),
                Input(mark("reserved"), reserved, Unit.BYTES),
            ),
            note=mark("The driver and the firmware keep the reserved part for themselves."),
        )
        return memory, Number(int(info.used), Unit.BYTES, source)
    info = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)  # drivers before 510
    if info is not None and info.total > 0:
        memory = Number(
            int(info.total),
            Unit.BYTES,
            source,
            inputs=(Input(mark("total"), int(info.total), Unit.BYTES),),
        )
        note = mark("This driver counts what it keeps for itself as used.")
        return memory, Number(int(info.used), Unit.BYTES, source, note=note)
    return None, unknown_bytes(ORIGIN, mark("The driver does not tell it."))


def _total(memory: Number[int] | None) -> int | None:
    """The driver's total, before what it keeps."""
    if memory is None:
        return None
    totals = [i.value for i in memory.inputs if i.name == "total"]
    return int(totals[0]) if totals and totals[0] is not None else memory.value


def _bandwidth(nvml: Nvml, handle: Any) -> Number[float]:
    clock = _ask(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM)
    bits = _ask(nvml, nvml.nvmlDeviceGetMemoryBusWidth, handle)
    if not clock or not bits:
        why = mark("The driver tells neither memory clock nor bus width.")
        return unknown_bandwidth(ORIGIN, why)
    return Number(
        peak_bandwidth(clock, bits),
        Unit.BYTES_PER_SECOND,
        Source(Rank.REPORTED, ORIGIN),
        formula=mark("2 x maximum memory clock x bus bits / 8"),
        inputs=(Input(mark("maximum memory clock, MHz"), clock), Input(mark("bus bits"), bits)),
    )


def peak_bandwidth(clock_mhz: int, bus_bits: int) -> float:
    """Bytes per second from NVML's maximum memory clock (MHz) and bus width (bits)."""
    return 2 * clock_mhz * 1e6 * bus_bits / 8


def no_answer(error: Exception, what: str = "") -> Problem:
    """What to say when ``what``, or the driver as a whole, raised ``error``."""
    who = what or tr("The NVIDIA driver")
    return Problem(
        "nvidia_driver",
        tr("{who} gave no answer: {error}.", who=who, error=error),
        Severity.WARNING,
        tr("Check it with nvidia-smi; the rest of the computer is shown without it."),
    )


def _hangs() -> Problem:
    return Problem(
        "nvidia_driver_hangs",
        tr("The NVIDIA driver has not answered within {seconds:.0f} seconds.", seconds=SECONDS),
        Severity.WARNING,
        tr("Try nvidia-smi in a terminal; if it hangs as well, restart the computer."),
    )


def _ask(nvml: Nvml, function: Callable[..., T], *arguments: Any) -> T | None:
    """The answer, or None where this driver or this GPU does not give one."""
    try:
        return function(*arguments)
    except (nvml.NVMLError, UnicodeDecodeError):
        return None
