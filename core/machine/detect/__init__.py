"""What this computer has. One module per source; this one puts them together.

The readers of GPUs are imported when this computer is looked at, after the window was painted.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from core.language import mark, tr
from core.machine.catalogue import described, match
from core.machine.detect import dmi, processor
from core.machine.detect.disk import disk_of
from core.machine.detect.gpu import Reading
from core.machine.detect.limits import TookTooLongError, call_within, output_of, text_of
from core.machine.detect.memory import Ram, control_groups, read_ram
from core.machine.machine import (
    Backend,
    Device,
    DeviceKind,
    Disk,
    Machine,
    counted,
    named_here,
    unknown_bytes,
)
from core.machine.places import home_of
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

__all__ = ["detect", "disk_of", "ram"]

_VIRTUAL = Problem(
    "virtual_machine",
    mark(
        "This is a virtual machine: its memory modules are not shown, and neighbours may share its "
        "bandwidth."
    ),
    Severity.NOTE,
    mark("Measure the memory bandwidth here."),
)


def detect(wake: bool = False, root: Path = Path("/")) -> Machine:
    """This computer: GPUs, then the host, or one unified device. Never raises, never guesses.

    What a source does not tell is a figure without a value and a note, or one of the machine's
    problems. A sleeping GPU is described from the catalogue and not asked, unless ``wake`` is set.
    Takes well under a second; a driver that hangs, its time limit. ``root`` is where a Linux
    system's folders lie.
    """
    memory = ram(root)
    disk = disk_of(home_of(), root)
    if sys.platform == "darwin":
        from core.machine.detect import apple

        values = apple.sysctl_values(output_of(apple.SYSCTL) or "")
        mac = apple.device(values, output_of(apple.DISPLAYS) or "", memory)
        if mac is not None:
            name = named_here(mac.name)
            problems = (*memory.problems, *((_VIRTUAL,) if apple.VIRTUAL in mac.name else ()))
            return Machine("this", name, (mac,), problems, disk=disk)
    cpuinfo = text_of(root / "proc/cpuinfo")
    board = text_of(root / "proc/device-tree/model")
    name = processor.name_from_cpuinfo(cpuinfo) or board or processor.name_elsewhere()
    if sys.platform == "win32":
        return put_together(_windows(name, memory))
    from core.machine.detect import linux, nvidia

    reading = linux.gpus(root, nvidia.Board(board, memory.total.value), wake, memory)
    modules = dmi.modules(text_of(root / "run/udev/data/+dmi:id"))
    found = Parts(name, reading, memory, modules, disk, _cores())
    return put_together(found, _surroundings(cpuinfo))


def _windows(name: str, memory: Ram) -> Parts:
    from core.machine.detect import dxgi, nvidia, windows

    told = windows.told(output_of(windows.COMMAND, windows.SECONDS) or "")
    try:
        adapters = call_within(windows.SECONDS, "dxgi", dxgi.adapters)
    except (TookTooLongError, OSError, AttributeError):  # it hangs, or there is none
        adapters = ()
    reading = windows.gpus(adapters, told, nvidia.ask(None, None))
    return Parts(name, reading, memory, told.modules, told.disk, _cores())


@dataclass(frozen=True, slots=True)
class Parts:
    """What the sources told: the processor's name, the GPUs, RAM, its modules, and the disk."""

    processor: str
    gpus: Reading
    ram: Ram
    modules: tuple[dmi.Module, ...] = ()
    disk: Disk | None = None
    cores: Number[int] | None = None


def put_together(parts: Parts, problems: tuple[Problem, ...] = ()) -> Machine:
    """One machine out of its parts.

    A GPU on the processor counts only where there is no card and the catalogue knows what it can
    do: engines prefer the card, and small ones are no faster than the processor they sit on. It
    then is the whole machine, as one memory serves both.
    """
    cards = tuple(d for d in parts.gpus.devices if not d.unified)
    shared = tuple(d for d in parts.gpus.devices if d.unified)
    chosen = () if cards else tuple(d for d in shared if _is_known(d))[:1]
    bandwidth, about_modules = dmi.bandwidth(parts.modules)
    told = (
        *parts.gpus.problems,
        *(_left_out(d, cards) for d in shared if d not in chosen),
        *parts.ram.problems,
    )
    if chosen:
        device = _with_ram(chosen[0], parts.ram, bandwidth, single=bool(about_modules))
        name = named_here(device.name)
        return Machine("this", name, (device,), (*told, *about_modules), disk=parts.disk)
    host = Device(
        name=parts.processor,
        kind=DeviceKind.HOST,
        backend=Backend.CPU,
        memory=parts.ram.total,
        used=parts.ram.used,
        bandwidth=bandwidth,
        cores=parts.cores,
        memory_type=parts.modules[0].type if parts.modules else "",
    )
    label = " + ".join(counted([d.name for d in cards])) or parts.processor
    return Machine(
        "this",
        named_here(label),
        (*_numbered(cards), host),
        (*told, *about_modules, *problems),
        disk=parts.disk,
    )


def _is_known(device: Device) -> bool:
    """Whether it is known that this GPU on the processor computes faster than the processor."""
    return device.flops.known or device.flops32.known or device.backend is Backend.CUDA


def _with_ram(device: Device, memory: Ram, modules: Number[float], *, single: bool) -> Device:
    """A GPU on the processor with the RAM that it shares, where its driver does not tell it.

    With a ``single`` memory module the catalogue's bandwidth, which is that of two, does not hold.
    """
    if device.memory.value is None:
        device = replace(device, memory=memory.total, used=memory.used)
    available = memory.available
    if device.used.value is None and device.memory.value is not None and available is not None:
        free = min(device.memory.value, available)
        used = replace(
            memory.used,
            value=device.memory.value - free,
            formula=mark("memory - min(memory, available RAM)"),
            inputs=(
                Input(mark("memory"), device.memory.value, Unit.BYTES),
                Input(mark("available RAM"), available, Unit.BYTES),
            ),
        )
        device = replace(device, used=used)
    if modules.value is not None and (single or device.bandwidth.value is None):
        rows = match(device.name, bandwidth=modules.value)
        device = described(replace(device, bandwidth=modules), rows)
    return device


def _left_out(device: Device, cards: tuple[Device, ...]) -> Problem:
    if cards:
        return Problem(
            "integrated_gpu",
            tr(
                "{gpu} on the processor is left out: it shares the RAM, and the card is faster.",
                gpu=device.name,
            ),
            Severity.NOTE,
            tr("See that the engine runs on the card; it tells at its start which GPU it took."),
        )
    return Problem(
        "integrated_gpu",
        tr(
            "{gpu} on the processor is left out: it shares the RAM, and the catalogue does not "
            "know whether it is faster than the processor.",
            gpu=device.name,
        ),
        Severity.NOTE,
    )


def ram(root: Path = Path("/")) -> Ram:
    """RAM and its use now, a container's limit respected."""
    try:
        import psutil

        now = psutil.virtual_memory()
    except (ImportError, OSError, RuntimeError) as error:
        why = tr("It could not be read: {why}.", why=error)
        missing = unknown_bytes(mark("operating system"), why)
        return Ram(missing, missing)
    membership = text_of(root / "proc/self/cgroup")
    levels = control_groups(root / "sys/fs/cgroup", membership)
    return read_ram(int(now.total), int(now.available), levels)


def _surroundings(cpuinfo: str) -> tuple[Problem, ...]:
    if processor.in_wsl():
        return (
            Problem(
                "virtual_machine",
                tr("This is Linux inside Windows (WSL): the RAM is what Windows lends it."),
                Severity.NOTE,
                tr("Raise it in .wslconfig, or run the Windows version to see the whole computer."),
            ),
        )
    return (_VIRTUAL,) if processor.is_virtual(cpuinfo) else ()


def _cores() -> Number[int] | None:
    try:
        import psutil

        count = psutil.cpu_count(logical=False)
    except (ImportError, OSError, RuntimeError):
        count = None
    if count is None:
        return None
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count
    source = Source(Rank.REPORTED, mark("operating system"))
    limited = available < count
    note = tr("{count} of the processors may be used here.", count=available) if limited else ""
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
