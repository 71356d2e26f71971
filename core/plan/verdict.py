"""Whether it fits: by device, over all of them, and the reason in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.language import mark, tr
from core.machine.machine import Backend, Device, DeviceKind
from core.model.model import Model
from core.plan.plan import DevicePlan, Part, PartKind, Plan, Verdict
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit
from core.units import UnitSystem, format_bytes

# How a verdict is said, and how where there is room for a word alone; translated where shown.
WORDS = {
    Verdict.FITS: mark("fits"),
    Verdict.TIGHT: mark("fits, but tight"),
    Verdict.DOES_NOT_FIT: mark("does not fit"),
    Verdict.UNKNOWN: mark("not known"),
}
SHORT_WORDS = WORDS | {Verdict.TIGHT: mark("tight"), Verdict.UNKNOWN: mark("unknown")}
REFUSED = mark("refused")  # where the engine would not start, whatever fits

MIB = 2**20
_BUDGET = Source(Rank.DERIVED, mark("the budget of each device"))
_LESS = mark("Less than this free is called tight.")
_PART = mark("A part of the model is missing.")
_STRANGE = ("shard-mismatch", "shard-tensors")  # what core.gguf says of such a set

_FIT = Source(Rank.REPORTED, mark("llama.cpp's own margin for a device (--fit-target)"))
_REFUSED = Source(
    Rank.REPORTED, mark("Vulkan drivers that refused loads, lmstudio-ai/lmstudio-bug-tracker#2133")
)
_TWENTIETH = Source(Rank.ASSUMED, mark("a twentieth of the memory, at least half a GiB"))
_OWN = Source(Rank.REPORTED, mark("your own setting for this machine"))

# What should stay free on a card of its own memory.
_MARGINS = {
    Backend.CUDA: (1024 * MIB, _FIT),
    Backend.ROCM: (1024 * MIB, _FIT),
    Backend.SYCL: (1024 * MIB, _FIT),
    Backend.VULKAN: (2048 * MIB, _REFUSED),
}


def margin(device: Device) -> int:
    """Bytes that should stay free on a device; less is called tight."""
    return _margin(device)[0]


def margin_of(device: Device) -> Number[int]:
    """The same, with who says so."""
    value, source = _margin(device)
    return Number(value, Unit.BYTES, source, note=_LESS)


def _margin(device: Device) -> tuple[int, Source]:
    if device.margin is not None:
        return device.margin, _OWN
    if device.backend in _MARGINS and device.kind is DeviceKind.GPU and not device.unified:
        return _MARGINS[device.backend]
    return max(512 * MIB, (device.memory.value or 0) // 20), _TWENTIETH


def judge_device(model: Model, device: Device, parts: Sequence[Part], free: int | None) -> Verdict:
    """One device. What is known already may be too much, however much is unknown; where nothing
    of the model lies, nothing can be too much."""
    if all(part.bytes.value == 0 for part in parts if part.kind is not PartKind.OTHERS):
        return Verdict.FITS
    capacity = device.memory.value
    known = sum(part.bytes.value or 0 for part in parts)
    if capacity is not None and known > capacity:
        return Verdict.DOES_NOT_FIT
    if free is None or lacks_tensors(model):
        return Verdict.UNKNOWN
    return Verdict.TIGHT if free < margin(device) else Verdict.FITS


def lacks_tensors(model: Model) -> bool:
    """Whether tensors are missing, with a shard or the end of a header, so that every total is a
    lower bound; or whether a shard is another model's, which comes to the same."""
    file = model.file
    cut = any(header.data_offset is None for header in file.headers)
    return bool(file.missing) or cut or any(p.code in _STRANGE for p in file.problems)


def why_refused(problems: Iterable[Problem]) -> str:
    """Why the engine would not start with such settings at all; empty where it would."""
    return next((p.message for p in problems if p.severity is Severity.ERROR), "")


def judge(devices: Sequence[DevicePlan]) -> Verdict:
    """The worst device decides. A host of unknown size counts only where layers lie on it."""
    return _deciding(devices)[0]


def reason(plan: Plan, system: UnitSystem = UnitSystem.GIB) -> str:
    """Why the verdict is what it is, in words."""
    verdict, plans = _deciding(plan.memory.devices)
    if verdict is Verdict.DOES_NOT_FIT:
        return "; ".join(_too_much(device, system) for device in plans)
    if verdict is Verdict.UNKNOWN:
        device = plans[0]
        if device.total.value is None:
            return tr(device.total.note)
        if lacks_tensors(plan.model):
            return tr("a part of the model is missing: every total is a lower bound")
        return tr("the memory of {device} is not known", device=tr(device.device.name))
    if verdict is Verdict.TIGHT:
        return "; ".join(tr("only {room}", room=_free(device, system)) for device in plans)
    return _free(decides(plan.memory.devices), system)


def decides(devices: Sequence[DevicePlan]) -> DevicePlan:
    """The device that the verdict is about: of those that it rests on, the one that lacks most, or
    that has least free."""
    verdict, plans = _deciding(devices)
    if verdict is Verdict.DOES_NOT_FIT:
        return max(plans, key=_over)
    return plans[0] if verdict is Verdict.UNKNOWN else min(plans, key=_left)


def room(devices: Sequence[DevicePlan]) -> Number[int]:
    """Bytes that are free where least is, among the devices that decide. Negative is what is
    lacking, summed over the devices that lack; None where the verdict is unknown."""
    verdict, plans = _deciding(devices)
    if verdict is Verdict.DOES_NOT_FIT:
        lacks = [(plan.device.name, _over(plan)) for plan in plans]
        inputs = tuple(Input(name, -over, Unit.BYTES) for name, over in lacks)
        words = "; ".join(_too_much(plan, UnitSystem.GIB) for plan in plans)
        total = -sum(over for _, over in lacks)
        return Number(total, Unit.BYTES, _BUDGET, mark("capacity - needed"), inputs, words)
    if verdict is Verdict.UNKNOWN:
        note = plans[0].total.note or plans[0].device.memory.note
        return Number(None, Unit.BYTES, _BUDGET, note=note or _PART)
    return decides(devices).free


def _deciding(devices: Sequence[DevicePlan]) -> tuple[Verdict, list[DevicePlan]]:
    """The verdict over all devices, the host last, and those that it rests on."""
    working = [plan for plan in devices if plan.works]
    host = devices[-1]
    judged = working if host.works or not host.device.memory.known else [*working, host]
    for verdict in (Verdict.DOES_NOT_FIT, Verdict.UNKNOWN, Verdict.TIGHT):
        found = [plan for plan in judged if plan.verdict is verdict]
        if found:
            return verdict, found
    return Verdict.FITS, working or [host]


def _left(plan: DevicePlan) -> int:
    return plan.free.value or 0


def _free(plan: DevicePlan, system: UnitSystem) -> str:
    size = format_bytes(plan.free.value or 0, system)
    return tr("{size} free on {device}", size=size, device=tr(plan.device.name))


def _too_much(plan: DevicePlan, system: UnitSystem) -> str:
    device = tr(plan.device.name)
    if plan.free.value is not None:
        size = format_bytes(-plan.free.value, system)
        return tr("{size} too much on {device}", size=size, device=device)
    size = format_bytes(_over(plan), system)
    return tr("at least {size} too much on {device}", size=size, device=device)


def _over(plan: DevicePlan) -> int:
    """What a device lacks, at least."""
    known = sum(part.bytes.value or 0 for part in plan.parts)
    return known - (plan.device.memory.value or 0)
