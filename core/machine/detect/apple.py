"""A Mac with Apple silicon: one memory for processor and GPU, known by the chip's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from core.language import mark, tr
from core.machine.apple_limit import working_set
from core.machine.catalogue import common_bandwidth, described, match
from core.machine.detect.limits import whole
from core.machine.detect.memory import Ram
from core.machine.machine import Backend, Device, DeviceKind, unknown_bandwidth
from core.provenance import Number, Rank, Source, Unit

SYSCTL = ("sysctl", "machdep.cpu.brand_string", "hw.physicalcpu", "iogpu.wired_limit_mb")
VIRTUAL = "(Virtual)"  # in the chip's name inside a virtual machine
DISPLAYS = ("system_profiler", "SPDisplaysDataType", "-json")


def sysctl_values(output: str) -> dict[str, str]:
    """The "name: value" lines of sysctl."""
    pairs = (line.partition(":") for line in output.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs if value.strip()}


def gpu_cores(displays: str) -> int | None:
    """The core count of the built-in GPU in system_profiler's JSON; bins differ by it."""
    import json

    try:
        entries = json.loads(displays)["SPDisplaysDataType"]
        cores = [str(entry["sppci_cores"]) for entry in entries if "sppci_cores" in entry]
    except (ValueError, KeyError, TypeError):
        return None
    return whole(cores[0]) if cores else None


def device(values: Mapping[str, str], displays: str, ram: Ram) -> Device | None:
    """The one device of a Mac, or None where the chip is not Apple's.

    ``values`` as sysctl_values gives them; ``displays`` the JSON text, "" where it is missing.
    """
    chip = values.get("machdep.cpu.brand_string", "")
    if not chip.startswith("Apple"):
        return None
    cores = gpu_cores(displays)
    rows = match(chip, gpu_cores=cores)
    row = common_bandwidth(rows)
    if row is not None:
        bandwidth = Number(row.bandwidth, Unit.BYTES_PER_SECOND, row.provenance)
    elif rows:
        choices = ", ".join(r.name for r in rows)
        bandwidth = unknown_bandwidth(
            mark("catalogue"),
            tr(
                "It depends on the number of GPU cores: {choices}. Choose one of them.",
                choices=choices,
            ),
        )
    else:
        why = tr("It does not know {chip}; type the figure.", chip=chip)
        bandwidth = unknown_bandwidth(mark("catalogue"), why)
    limit = working_set(ram.total, whole(values.get("iogpu.wired_limit_mb")) or 0)
    mac = Device(
        name=chip,
        kind=DeviceKind.GPU,
        backend=Backend.METAL,
        memory=limit,
        used=_used(ram, limit),
        bandwidth=bandwidth,
        unified=True,
        cores=_cores(cores),
    )
    return described(mac, rows)


def _cores(cores: int | None) -> Number[int] | None:
    if cores is None:
        return None
    return Number(cores, Unit.COUNT, Source(Rank.REPORTED, "system_profiler"))


def _used(ram: Ram, limit: Number[int]) -> Number[int]:
    """What others hold of the GPU's share: the rest of the RAM is theirs first."""
    if ram.used.value is None or ram.total.value is None or limit.value is None:
        return ram.used
    beyond = max(0, ram.used.value - (ram.total.value - limit.value))
    return replace(
        ram.used, value=beyond, formula=mark("used - (RAM - limit), at least 0"), inputs=()
    )
