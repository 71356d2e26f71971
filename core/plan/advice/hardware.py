"""What no setting does: a second memory module, a card or RAM of another size."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import TypeAlias

from core.language import mark, tr
from core.machine.machine import Device, DeviceKind, Machine
from core.plan.advice.advice import Advice, Aim, starts
from core.plan.choice import Choice
from core.plan.plan import Plan, Verdict
from core.provenance import Number, Rank, Source, Unit

Attempt: TypeAlias = Callable[[Machine, Choice], Plan]

GIB = 2**30
# Sizes that cards and computers come in.
_CARDS = (8, 12, 16, 24, 32, 48, 80, 96, 128, 192)
_RAM = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_SUPPOSED = Source(Rank.ASSUMED, mark("a machine that you do not have"))
_MONEY = mark("another machine")
_SUPPOSED_SIZE = mark("As if it had this much memory.")
_PENALTY = 3.0


def advice(plan: Plan, aim: Aim, attempt: Attempt) -> Generator[Advice | None, None, None]:
    """Yields None before each trial."""
    for way in (_second_module, _more_memory):
        yield from way(plan, aim, attempt)


def _second_module(plan: Plan, aim: Aim, attempt: Attempt) -> Generator[Advice | None, None, None]:
    """One module in one channel, as detection has seen: a second one doubles what RAM reads."""
    single = any(p.code == "single_memory_module" for p in plan.machine.problems)
    host = plan.machine.host
    if aim is not Aim.SPEED or not single or host is None or not host.bandwidth.value:
        return
    doubled = Number(
        2 * host.bandwidth.value,
        Unit.BYTES_PER_SECOND,
        _SUPPOSED,
        note=mark("As if a second module of the same kind were in the other channel."),
    )
    problems = tuple(p for p in plan.machine.problems if p.code != "single_memory_module")
    changed = replace(
        _with(plan.machine, host, replace(host, bandwidth=doubled)), problems=problems
    )
    yield from _tried(
        plan,
        tr("a second memory module"),
        changed,
        attempt,
        tr("a module, and its fitting"),
    )


def _more_memory(plan: Plan, aim: Aim, attempt: Attempt) -> Generator[Advice | None, None, None]:
    """The smallest size of the device that is too small with which it fits."""
    over = [d.device for d in plan.memory.devices if d.verdict is Verdict.DOES_NOT_FIT]
    if aim is not Aim.FIT or len(over) != 1:
        return
    (device,) = over
    card = device.kind is DeviceKind.GPU and not device.unified
    if card and len(plan.machine.gpus) > 1:
        return
    for size in _CARDS if card else _RAM:
        if size * GIB <= (device.memory.value or 0):
            continue
        memory = Number(size * GIB, Unit.BYTES, _SUPPOSED, note=_SUPPOSED_SIZE)
        changed = _with(plan.machine, device, replace(device, memory=memory))
        what = (
            tr("a card with {size} GiB", size=size) if card else tr("{size} GiB of RAM", size=size)
        )
        found = False
        for each in _tried(plan, what, changed, attempt, tr(_MONEY)):
            found = found or each is not None
            yield each
        if found:
            return


def _tried(
    plan: Plan, words: str, machine: Machine, attempt: Attempt, cost: str
) -> Generator[Advice | None, None, None]:
    yield None
    machine = replace(machine, id="custom", name=_named(plan.machine, words))
    changed = attempt(machine, plan.choice)
    if starts(changed):
        yield Advice(words, {}, changed, cost, _PENALTY, machine)


def _named(machine: Machine, part: str) -> str:
    return tr("{machine}, with {part}", machine=machine.name, part=part)


def _with(machine: Machine, old: Device, new: Device) -> Machine:
    return replace(machine, devices=tuple(new if d is old else d for d in machine.devices))
