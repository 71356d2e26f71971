"""Machines put together by hand: typed, combined, or with a figure of one's own in place."""

from __future__ import annotations

from dataclasses import replace

from core import units
from core.language import mark, tr
from core.machine.apple_limit import working_set
from core.machine.catalogue import unknown_host
from core.machine.machine import (
    Backend,
    Device,
    DeviceKind,
    Machine,
    counted,
    nothing_used,
    spoken_name,
    unknown_bandwidth,
)
from core.problems import Problem, Severity
from core.provenance import Number, Rank, Source, Unit

_TYPED = Source(Rank.REPORTED, mark("typed by you"))
_BY_PROCESSOR = mark("Read by the processor; the GPU may be faster.")


def custom(
    memory_bytes: int,
    bandwidth_bytes_per_second: float | None = None,
    *,
    name: str = "",
    gpu: bool = True,
    backend: Backend = Backend.CUDA,
    unified: bool = False,
) -> Machine:
    """A machine typed by hand: one GPU beside a host of unknown RAM, a unified device, or RAM.

    ``backend`` is of the GPU; without one it is the CPU. Raises ValueError with a sentence where a
    figure is not positive.
    """
    if memory_bytes <= 0:
        raise ValueError(
            tr(
                "memory must be more than nothing; write it like {one} or {other}",
                one="24 GB",
                other="24 GiB",
            )
        )
    if bandwidth_bytes_per_second is not None and bandwidth_bytes_per_second <= 0:
        raise ValueError(tr("bandwidth must be more than nothing; write it like 936 GB/s"))
    bandwidth = (
        unknown_bandwidth(
            mark("typed by you"), mark("No bandwidth was given; it decides the speed.")
        )
        if bandwidth_bytes_per_second is None
        else Number(float(bandwidth_bytes_per_second), Unit.BYTES_PER_SECOND, _TYPED)
    )
    device = Device(
        name=name or ("GPU" if gpu else mark("Host")),
        kind=DeviceKind.GPU if gpu else DeviceKind.HOST,
        backend=backend if gpu else Backend.CPU,
        memory=Number(memory_bytes, Unit.BYTES, _TYPED),
        used=nothing_used(),
        bandwidth=bandwidth,
        unified=gpu and unified,
    )
    devices = (device, unknown_host()) if gpu and not unified else (device,)
    return Machine("custom", name or _figures(device), devices)


def combine(*machines: Machine) -> Machine:
    """One computer out of several machines: every GPU of them and one host.

    "An RTX 4090 and 64 GB at 80 GB/s" is the card's machine and a host typed by hand. The host is
    that of the last machine whose RAM is known. GPUs stay devices of their own: neither memory
    nor bandwidth is summed. Raises ValueError with a sentence where a machine is unified, whose
    one memory cannot be joined with another, or where none is given.
    """
    if not machines:
        raise ValueError(tr("nothing to combine; name at least one machine"))
    for each in machines:
        if each.host is None:
            raise ValueError(
                tr(
                    "{machine} has one memory for everything; it cannot be combined with others",
                    machine=spoken_name(each.name),
                )
            )
    hosts = [h for each in machines if (h := each.host) is not None]
    host = next((h for h in reversed(hosts) if h.memory.known), hosts[-1])
    gpus = tuple(gpu for each in machines for gpu in each.gpus)
    names = counted([g.name for g in gpus] or [host.name])
    if gpus and host.memory.value is not None:
        names.append(ram_words(host.memory.value))
    problems = tuple(dict.fromkeys(p for each in machines for p in each.problems))
    return Machine("custom", " + ".join(names), (*gpus, host), problems)


def with_ram(machine: Machine, ram_bytes: int) -> Machine:
    """The machine with so much RAM, typed by hand: of the host, or of a unified device.

    A Mac's GPU gets its share of it. Raises ValueError with a sentence if it is not positive.
    """
    if ram_bytes <= 0:
        raise ValueError(
            tr(
                "memory must be more than nothing; write it like {one} or {other}",
                one="64 GB",
                other="64 GiB",
            )
        )
    ram = Number(ram_bytes, Unit.BYTES, _TYPED)
    devices = tuple(
        replace(d, memory=working_set(ram) if d.backend is Backend.METAL else ram)
        if d.kind is DeviceKind.HOST or d.unified
        else d
        for d in machine.devices
    )
    return replace(machine, devices=devices)


def with_host_bandwidth(machine: Machine, bandwidth: Number[float]) -> Machine:
    """The machine with a figure for its RAM, measured or typed, in place of what was known.

    On a unified machine the processor's share of the bus says little about the GPU's (half of it
    on Strix Halo), so the GPU's figure stays and a note tells both. Where the GPU's is not known,
    the processor's is better than none: the GPU reads at least as fast.
    """
    if bandwidth.value is None:
        return machine
    if machine.host is None and machine.devices[0].bandwidth.value is None:
        words = f"{tr(bandwidth.note)} {tr(_BY_PROCESSOR)}" if bandwidth.note else _BY_PROCESSOR
        device = replace(machine.devices[0], bandwidth=replace(bandwidth, note=words))
        return replace(machine, devices=(device, *machine.devices[1:]))
    if machine.host is None:
        note = Problem(
            "measured_on_cpu",
            tr(
                "The processor alone reads {rate}; the GPU shares this memory and can be faster, "
                "so its own figure stays.",
                rate=units.format_bandwidth(bandwidth.value),
            ),
            Severity.NOTE,
        )
        return replace(machine, problems=(*machine.problems, note))
    devices = tuple(
        replace(d, bandwidth=bandwidth) if d.kind is DeviceKind.HOST else d for d in machine.devices
    )
    return replace(machine, devices=devices)


def ram_words(size: int) -> str:
    """What the name of a machine says of its RAM: "64.0 GiB RAM"."""
    return tr("{size} RAM", size=units.format_bytes(size))


def _figures(device: Device) -> str:
    assert device.memory.value is not None
    parts = [units.format_bytes(device.memory.value)]
    if device.bandwidth.value is not None:
        parts.append(units.format_bandwidth(device.bandwidth.value))
    return f"{tr(device.name)}, {', '.join(parts)}"
