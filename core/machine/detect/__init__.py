"""What this computer has. One module per source; this one puts them together."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import replace
from pathlib import Path

from core.machine.catalogue import common_bandwidth, described, match
from core.machine.detect import apple, dmi, nvidia, pci, processor
from core.machine.detect.disk import disk_of
from core.machine.detect.limits import TookTooLongError, call_within, output_of, text_of
from core.machine.detect.memory import Ram, control_groups, read_ram
from core.machine.machine import (
    Backend,
    Device,
    DeviceKind,
    Machine,
    counted,
    unknown_bandwidth,
    unknown_bytes,
)
from core.problems import Problem, Severity
from core.provenance import Number, Rank, Source, Unit

__all__ = ["detect", "disk_of", "ram"]

# Without persistence mode a driver initialises every GPU when asked, a second or more each.
NVIDIA_SECONDS = 8.0


def detect(wake: bool = False, root: Path = Path("/")) -> Machine:
    """This computer: GPUs, then the host, or one unified device. Never raises, never guesses.

    What a source does not tell is a figure without a value and a note, or one of the machine's
    problems. A sleeping NVIDIA GPU is described from the catalogue and not asked, unless ``wake``
    is set. Takes well under a second; a driver that hangs, ``NVIDIA_SECONDS``. ``root`` is where
    a Linux system's folders lie.
    """
    memory = ram(root)
    disk = disk_of(Path("~").expanduser(), root)
    if sys.platform == "darwin":
        values = apple.sysctl_values(output_of(apple.SYSCTL) or "")
        mac = apple.device(values, output_of(apple.DISPLAYS) or "", memory)
        if mac is not None:
            return Machine("this", f"This computer: {mac.name}", (mac,), memory.problems, disk=disk)
    cpuinfo = text_of(root / "proc/cpuinfo")
    board = text_of(root / "proc/device-tree/model")
    name = processor.name_from_cpuinfo(cpuinfo) or board or processor.name_elsewhere()
    gpus, problems = _gpus(root, nvidia.Board(board, memory.total.value), wake)
    gpus = tuple(
        replace(g, memory=memory.total, used=memory.used) if g.unified else g for g in gpus
    )
    if any(g.unified for g in gpus):
        return Machine(
            "this", f"This computer: {_label(gpus)}", gpus, (*problems, *memory.problems), disk=disk
        )
    modules = dmi.modules(text_of(root / "run/udev/data/+dmi:id"))
    bandwidth, module_problems = dmi.bandwidth(modules)
    host = Device(
        name=name,
        kind=DeviceKind.HOST,
        backend=Backend.CPU,
        memory=memory.total,
        used=memory.used,
        bandwidth=bandwidth,
        cores=_cores(),
        memory_type=modules[0].type if modules else "",
    )
    return Machine(
        "this",
        f"This computer: {_label(gpus) or name}",
        (*_numbered(gpus), host),
        (*problems, *memory.problems, *module_problems, *_surroundings(cpuinfo)),
        disk=disk,
    )


def ram(root: Path = Path("/")) -> Ram:
    """RAM and its use now, a container's limit respected."""
    try:
        import psutil

        now = psutil.virtual_memory()
    except (ImportError, OSError, RuntimeError) as error:
        missing = unknown_bytes("operating system", f"It could not be read: {error}.")
        return Ram(missing, missing)
    membership = text_of(root / "proc/self/cgroup")
    levels = control_groups(root / "sys/fs/cgroup", membership)
    return read_ram(int(now.total), int(now.available), levels)


def _gpus(
    root: Path, board: nvidia.Board, wake: bool
) -> tuple[tuple[Device, ...], tuple[Problem, ...]]:
    cards = pci.graphics(root / "sys/bus/pci/devices")
    theirs = [card for card in cards if card.vendor == pci.NVIDIA]
    asleep = [card for card in theirs if card.asleep and not wake]
    awake = [card.address for card in theirs if card not in asleep] if asleep else None
    reading = nvidia.Reading(()) if awake == [] else _ask_nvml(awake, board)
    if not reading.devices and not theirs:
        by_name = nvidia.from_board(board) if board.model else None
        if by_name is not None:
            reading = nvidia.Reading((by_name,))
        elif sys.platform == "linux" and not _in_wsl():
            reading = nvidia.Reading(())  # the bus shows none, so that silence is no problem
    sleeping = [_sleeping(root, card) for card in asleep]
    problems = [*reading.problems, *(p for _, p in sleeping)]
    if theirs and not asleep and not reading.devices and not reading.problems:
        problems.append(_without_driver(theirs[0]))
    problems += [_not_read(card) for card in cards if card.vendor in (pci.AMD, pci.INTEL)]
    return (*reading.devices, *(device for device, _ in sleeping)), tuple(problems)


def _ask_nvml(addresses: list[str] | None, board: nvidia.Board) -> nvidia.Reading:
    """NVML's answer within the time limit."""
    try:
        import pynvml
    except ImportError:
        return nvidia.Reading(())
    try:
        return call_within(NVIDIA_SECONDS, "nvml", lambda: nvidia.read(pynvml, addresses, board))
    except TookTooLongError:
        return nvidia.Reading((), (_hangs(),))
    except Exception as error:  # a broken library must not stop the rest
        return nvidia.Reading((), (nvidia.no_answer(error),))


def _sleeping(root: Path, card: pci.Graphics) -> tuple[Device, Problem]:
    """A GPU that is switched off, as far as its name tells."""
    model = pci.nvidia_model(root / "proc/driver/nvidia/gpus", card.address)
    rows = match(model) if model else ()
    why = "The GPU is switched off to save power and was not asked."
    memory, bandwidth = unknown_bytes("NVML", why), unknown_bandwidth("NVML", why)
    row = common_bandwidth(rows)
    if row is not None:
        bandwidth = Number(row.bandwidth, Unit.BYTES_PER_SECOND, row.provenance, note=why)
        if len({r.memory_gb for r in rows}) == 1:
            memory = Number(row.nominal_bytes, Unit.BYTES, row.provenance, note=why)
    device = Device(
        name=model or "NVIDIA GPU",
        kind=DeviceKind.GPU,
        backend=Backend.CUDA,
        memory=memory,
        used=Number(0, Unit.BYTES, Source(Rank.ASSUMED, "a GPU that is switched off")),
        bandwidth=bandwidth,
    )
    device = described(device, rows)
    note = Problem(
        "gpu_asleep",
        f"{device.name} is switched off to save power; what is shown comes from its name.",
        Severity.NOTE,
        "Refresh to wake it and read its memory.",
    )
    return device, note


def _surroundings(cpuinfo: str) -> tuple[Problem, ...]:
    if _in_wsl():
        return (
            Problem(
                "virtual_machine",
                "This is Linux inside Windows (WSL): the RAM is what Windows lends it.",
                Severity.NOTE,
                "Raise it in .wslconfig, or run the Windows version to see the whole computer.",
            ),
        )
    if processor.is_virtual(cpuinfo):
        return (
            Problem(
                "virtual_machine",
                "This is a virtual machine: its memory modules are not shown, and neighbours may "
                "share its bandwidth.",
                Severity.NOTE,
                "Measure the memory bandwidth here.",
            ),
        )
    return ()


def _in_wsl() -> bool:
    return "microsoft" in platform.release().lower()


def _without_driver(card: pci.Graphics) -> Problem:
    return Problem(
        "nvidia_without_driver",
        f"An NVIDIA GPU is present ({card.vendor}:{card.device}), but its driver does not answer.",
        Severity.WARNING,
        "Install NVIDIA's driver, or choose the card from the catalogue.",
    )


def _not_read(card: pci.Graphics) -> Problem:
    maker = "AMD" if card.vendor == pci.AMD else "Intel"
    return Problem(
        "gpu_not_read",
        f"An {maker} graphics device is present ({card.vendor}:{card.device}); its memory is not "
        "read yet.",
        Severity.NOTE,
        "Choose it from the catalogue to plan for it.",
    )


def _hangs() -> Problem:
    return Problem(
        "nvidia_driver_hangs",
        f"The NVIDIA driver has not answered within {NVIDIA_SECONDS:.0f} seconds.",
        Severity.WARNING,
        "Try nvidia-smi in a terminal; if it hangs as well, restart the computer.",
    )


def _cores() -> Number[int] | None:
    try:
        import psutil

        count = psutil.cpu_count(logical=False)
    except (ImportError, OSError, RuntimeError):
        count = None
    if count is None:
        return None
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count
    source = Source(Rank.REPORTED, "operating system")
    note = f"{available} of the processors may be used here." if available < count else ""
    return Number(count, Unit.COUNT, source, note=note)


def _numbered(gpus: tuple[Device, ...]) -> tuple[Device, ...]:
    """Equal names told apart, in the driver's order."""
    names = [g.name for g in gpus]
    seen: dict[str, int] = {}
    told: list[Device] = []
    for gpu in gpus:
        seen[gpu.name] = seen.get(gpu.name, 0) + 1
        several = names.count(gpu.name) > 1
        told.append(replace(gpu, name=f"{gpu.name} #{seen[gpu.name]}") if several else gpu)
    return tuple(told)


def _label(gpus: tuple[Device, ...]) -> str:
    return " + ".join(counted([g.name for g in gpus]))
