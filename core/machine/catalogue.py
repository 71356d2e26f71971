"""Machines that can be bought: look one up, search, and make a Machine of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import TypeVar

from core.language import mark, tr
from core.machine.apple_limit import working_set
from core.machine.link import written
from core.machine.machine import (
    Backend,
    Device,
    DeviceKind,
    Machine,
    nothing_used,
    unknown_bandwidth,
    unknown_bytes,
    unknown_flops,
)
from core.machine.matching import common_bandwidth, match
from core.machine.rows import DISCRETE, MIB, Row, RowKind, all_rows
from core.provenance import Number, Rank, Unit

__all__ = [
    "Row",
    "RowKind",
    "all",
    "common_bandwidth",
    "described",
    "find",
    "machine",
    "match",
    "row",
    "search",
]

T = TypeVar("T")
_KIND_WORDS = {
    RowKind.DESKTOP_GPU: mark("desktop graphics card"),
    RowKind.LAPTOP_GPU: mark("laptop graphics mobile notebook"),
    RowKind.DATACENTER: mark("datacenter server graphics card"),
    RowKind.APU: mark("apu integrated graphics unified igpu"),
    RowKind.APPLE: mark("apple mac macbook unified"),
    RowKind.CPU: mark("cpu ram processor"),
}
_DRIVER_KEEPS = mark(
    "The driver keeps a few MiB; error correction, where it is on, takes a sixteenth."
)
_FITTED = mark("The most that can be fitted; say what is.")
_FITTED_AND_LENT = mark(
    "The most that can be fitted; say what is. The system lends the GPU part of this: on Linux "
    "the GTT limit, half by default and raised with ttm.pages_limit; on Windows half unless the "
    "firmware sets more aside."
)
_FITTED_MAC = mark(
    "The most that can be fitted; say what is. Newer macOS gives the GPU this share by default, "
    "macOS 14 and earlier less (two thirds to three quarters). The limit can be raised with sysctl "
    "iogpu.wired_limit_mb."
)
_OWN_RAM = mark(
    "The computer around the card is not part of the catalogue; say how much RAM it has."
)


def all() -> tuple[Row, ...]:
    """Every row, in the order of the file."""
    return all_rows()


def row(id: str) -> Row:
    """One row. Raises LookupError with a sentence that names what it may have meant."""
    found = find(id)
    if found is not None:
        return found
    from difflib import get_close_matches

    close = [each.id for each in search(id.replace("-", " "))[:3]]
    close = close or get_close_matches(id, [each.id for each in all_rows()], n=3)
    if not close:
        raise LookupError(tr("the catalogue has no machine {id!r}", id=id))
    raise LookupError(
        tr(
            "the catalogue has no machine {id!r}; did you mean {others}?",
            id=id,
            others=tr(" or ").join(close),
        )
    )


def find(id: str) -> Row | None:
    """One row, or None where there is none of this id."""
    return _by_id().get(id)


@cache
def _by_id() -> dict[str, Row]:
    return {each.id: each for each in all_rows()}


def search(words: str) -> tuple[Row, ...]:
    """The rows that hold every word in name, maker, kind, memory or id, best first.

    A word that is a word of the name counts more than a part of one; then shorter names, then
    newer parts. No words: every row.
    """
    wanted = words.lower().split()
    if not wanted:
        return all_rows()
    found = [each for each in all_rows() if _holds(each, wanted)]
    return tuple(sorted(found, key=lambda each: _order(each, wanted)))


@cache
def machine(id: str) -> Machine:
    """A machine made of a catalogue row. Raises LookupError as ``row`` does.

    A graphics card comes with a host of unknown RAM; a chip with graphics that shares its RAM is
    one unified device; a processor alone is a host.
    """
    each = row(id)
    bandwidth = Number(each.bandwidth, Unit.BYTES_PER_SECOND, each.provenance)
    backend = _backend(each)
    kind = DeviceKind.HOST if backend is Backend.CPU else DeviceKind.GPU
    unified = each.kind not in DISCRETE and kind is DeviceKind.GPU
    device = Device(
        name=each.name,
        kind=kind,
        backend=backend,
        memory=_memory(each),
        used=nothing_used(),
        bandwidth=bandwidth,
        unified=unified,
        cores=_cores(each),
    )
    device = described(device, (each,))
    devices = (device,) * each.devices
    if each.kind in DISCRETE:
        devices = (*devices, unknown_host())
    return Machine(each.id, each.name, devices)


def described(device: Device, rows: tuple[Row, ...]) -> Device:
    """The device with what the catalogue says of its kind: arithmetic, memory type, architecture.

    ``rows`` are those that its name may stand for; only what they agree on counts, and of rates of
    arithmetic the least. A link that was read from the computer stays.
    """
    if not rows:
        return device
    first = rows[0]

    def agreed(of: Callable[[Row], T]) -> T | None:
        return of(first) if _all_equal(of(each) for each in rows) else None

    pcie = "" if device.unified else agreed(lambda each: each.pcie) or ""
    return replace(
        device,
        catalogue_id=first.id if len(rows) == 1 else "",
        flops=_flops(rows, [each.fp16_tflops for each in rows]),
        flops32=_flops(rows, [each.fp32_tflops for each in rows]),
        memory_type=agreed(lambda each: each.memory_type) or "",
        architecture=agreed(lambda each: each.architecture) or "",
        part=agreed(lambda each: each.kind),
        link=device.link or written(pcie, first.provenance),
    )


def _all_equal(values: Iterable[object]) -> bool:
    """Whether there is at most one value among them."""
    return len(set(values)) <= 1


def unknown_host() -> Device:
    """The computer around a card of the catalogue."""
    return Device(
        name=mark("Host"),
        kind=DeviceKind.HOST,
        backend=Backend.CPU,
        memory=unknown_bytes(mark("catalogue"), _OWN_RAM),
        used=nothing_used(),
        bandwidth=unknown_bandwidth(mark("catalogue"), _OWN_RAM),
    )


def _flops(rows: tuple[Row, ...], tflops: list[float | None]) -> Number[float]:
    """The rate of the rows; the least of them where they differ."""
    known = [rate for rate in tflops if rate is not None]
    if len(known) < len(rows):
        note = mark("The catalogue does not tell how fast it computes.")
        return unknown_flops(mark("catalogue"), note)
    least = min(known)
    source = rows[known.index(least)].provenance
    if _all_equal(known):
        return Number(least * 1e12, Unit.FLOPS, source)
    names = ", ".join(row.name for row in rows)
    note = tr("At least this: its name stands for {names}.", names=names)
    return Number(least * 1e12, Unit.FLOPS, replace(source, rank=Rank.ESTIMATED), note=note)


def _memory(each: Row) -> Number[int]:
    if each.driver_mib is not None:
        source = replace(each.provenance, rank=Rank.REPORTED)
        return Number(each.driver_mib * MIB, Unit.BYTES, source)
    if each.fixed_memory:
        return Number(each.nominal_bytes, Unit.BYTES, each.provenance, note=_DRIVER_KEEPS)
    lent = each.kind is RowKind.APU and each.vendor in ("AMD", "Intel")
    source = replace(each.provenance, rank=Rank.ASSUMED)
    ram = Number(each.nominal_bytes, Unit.BYTES, source, note=_FITTED_AND_LENT if lent else _FITTED)
    if each.kind is RowKind.APPLE:
        return replace(working_set(ram), note=_FITTED_MAC)
    return ram


def _backend(each: Row) -> Backend:
    """What llama.cpp runs best there; Snapdragon has no backend among these but the processor."""
    if each.kind is RowKind.CPU or each.vendor == "Qualcomm":
        return Backend.CPU
    if each.vendor == "NVIDIA":
        return Backend.CUDA
    if each.vendor == "Apple":
        return Backend.METAL
    if each.vendor == "AMD" and each.kind in DISCRETE:
        return Backend.ROCM
    if each.kind is RowKind.DATACENTER:
        return Backend.SYCL
    return Backend.VULKAN


def _cores(each: Row) -> Number[int] | None:
    if each.gpu_cores is None:
        return None
    return Number(each.gpu_cores, Unit.COUNT, each.provenance)


def _holds(each: Row, wanted: list[str]) -> bool:
    text = _haystack(each)
    return not any(word not in text for word in wanted)


def _haystack(each: Row) -> str:
    kind = _KIND_WORDS[each.kind]
    parts = (each.name, each.vendor, kind, tr(kind), each.kind, each.id)
    return f"{' '.join(parts)} {each.memory_gb}gb".lower()


def _order(each: Row, wanted: list[str]) -> tuple[int, int, int, str]:
    own = each.name.lower().replace("(", " ").replace(")", " ").split()
    return (-len(set(wanted) & set(own)), len(own), -(each.year or 0), each.name)
