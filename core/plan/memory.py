"""The memory budget: what lies on every device, and what is free."""

from __future__ import annotations

from collections.abc import Sequence

from core.language import mark, tr, trn
from core.machine.machine import Device, DeviceKind
from core.model.cache_size import CacheSize, bytes_per_token
from core.model.model import CacheFacts, CacheGroup, Model, StateGroup
from core.plan.buffers import OUTPUT_FORMULA
from core.plan.choice import Engine
from core.plan.companions import Beside
from core.plan.engines import RULES
from core.plan.growth import growth
from core.plan.overhead import overhead, reserved
from core.plan.placement import Placement, WeightTable
from core.plan.plan import DevicePlan, MemoryPlan, Part, PartKind, Settings, Verdict
from core.plan.sizes import Sizes, cache_settings, sizes_of
from core.plan.verdict import judge, judge_device, margin, margin_of
from core.provenance import Input, Number, Rank, Source, Unit, origin_words

_FILE = Source(Rank.DERIVED, mark("the file's tensor table, placed as llama.cpp b11434 does"))
_CACHE = Source(Rank.DERIVED, mark("cache rule of llama.cpp b11434"))
_SUM = Source(Rank.DERIVED, mark("sum of the parts"))
_NO_RULE = mark("No rule covers this architecture.")
_NO_GRAPH = mark("Work buffers follow the graph, which is not known.")
_UNKNOWN = Source(Rank.DERIVED, mark("no rule for this architecture"))
_WEIGHTS_FORMULA = mark("sum of the tensors on this device, each padded to its alignment")
_TIED_NOTE = mark("The token embedding lies here once more: it is the output matrix as well.")
_CACHE_FORMULA = mark("cells x bytes per cell, over the layers on this device")
_STATE_FORMULA = mark("bytes per sequence x slots, over the layers on this device")
_FREE_FORMULA = mark("capacity - total")
_TOTAL_FORMULA = mark("sum of the parts")


def memory(
    model: Model,
    table: WeightTable,
    placement: Placement,
    settings: Settings,
    beside: Beside,
) -> MemoryPlan:
    """The plan of memory, with the verdict over all devices."""
    sizes = sizes_of(model, table, placement, settings)
    devices = tuple(
        _device_plan(number, model, table, placement, settings, sizes, beside)
        for number in range(len(placement.devices))
    )
    return _totals(model, settings, sizes, devices, judge(devices))


def _device_plan(
    number: int,
    model: Model,
    table: WeightTable,
    placement: Placement,
    settings: Settings,
    sizes: Sizes,
    beside: Beside,
) -> DevicePlan:
    device = placement.devices[number]
    parts = [Part(PartKind.OTHERS, device.used)] if device.used.value != 0 else []
    parts.append(Part(PartKind.WEIGHTS, _weights(number, table, placement, sizes)))
    if sizes.size is None:
        # Where not even the layers are known, they would go with the output.
        if number in (placement.layers or (placement.output,)):
            parts.append(Part(PartKind.CACHE, _unknown_cache(model, settings)))
            parts.append(Part(PartKind.COMPUTE, _unknown_compute()))
    else:
        _add_known(parts, number, model.cache, placement, settings, sizes, sizes.size)
    parts += beside.parts[number]
    works = number in {*placement.layers, placement.output} | beside.working
    if works:
        cost = overhead(device, settings.backend)
        share = RULES[Engine(settings.engine)].reserved_share
        if share is not None and device.kind is DeviceKind.GPU:
            needed = sum(p.bytes.value or 0 for p in parts if p.kind is not PartKind.OTHERS)
            cost = reserved(device, share, needed, sizes.cache_on(number), cost, model, settings)
        if cost.value:
            parts.append(Part(PartKind.OVERHEAD, cost))

    total = _sum(parts)
    capacity = device.memory.value
    free_value = None if total.value is None or capacity is None else capacity - total.value
    free = Number(
        free_value,
        Unit.BYTES,
        device.memory.source,
        _FREE_FORMULA,
        (
            Input(mark("capacity"), capacity, Unit.BYTES),
            Input(mark("total"), total.value, Unit.BYTES),
            Input(mark("tight below"), margin(device), Unit.BYTES),
        ),
        total.note if total.value is None else device.memory.note or _margin_note(device),
    )
    verdict = judge_device(model, device, parts, free_value)
    more = growth(model.cache, settings) if number == placement.host else ()
    return DevicePlan(device, tuple(parts), total, free, verdict, more, works)


def _margin_note(device: Device) -> str:
    return tr(
        "Less than the margin free is called tight: a load can still fail. Margin: {who}.",
        who=origin_words(margin_of(device).source),
    )


def _weights(number: int, table: WeightTable, placement: Placement, sizes: Sizes) -> Number[int]:
    tied = table.tied and number == placement.output and number != placement.host
    return Number(
        sizes.weights[number],
        Unit.BYTES,
        _FILE,
        _WEIGHTS_FORMULA,
        (
            Input(mark("layers"), placement.layers.count(number)),
            Input(
                mark("output layer here"), mark("yes") if number == placement.output else mark("no")
            ),
        ),
        _TIED_NOTE if tied else "",
    )


def rules_in_words(groups: Sequence[CacheGroup | StateGroup]) -> str:
    """How many layers keep what, and by which rule; a line for each kind."""
    return "\n".join(
        trn(
            "{kind} in {count} layer: {rule}.",
            "{kind} in {count} layers: {rule}.",
            len(group.layers),
            kind=_capital(tr(group.name)),
            rule=tr(group.rule),
        )
        for group in groups
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _add_known(
    parts: list[Part],
    number: int,
    facts: CacheFacts,
    placement: Placement,
    settings: Settings,
    sizes: Sizes,
    size: CacheSize,
) -> None:
    assert sizes.cache is not None and sizes.state is not None and sizes.buffers is not None
    if sizes.cache[number]:
        cache = Number(
            sizes.cache[number],
            Unit.BYTES,
            _CACHE,
            _CACHE_FORMULA,
            (
                Input(mark("context reserved"), size.context, Unit.TOKENS),
                Input(mark("K type"), settings.cache_k),
                Input(mark("V type"), settings.cache_v),
                *(Input(tr("cells of {layers}", layers=tr(g.name)), g.cells) for g in size.groups),
            ),
            rules_in_words(facts.groups),
        )
        parts.append(Part(PartKind.CACHE, cache))
    if sizes.state[number]:
        state = Number(
            sizes.state[number],
            Unit.BYTES,
            _CACHE,
            _STATE_FORMULA,
            (Input(mark("slots"), settings.slots),),
            rules_in_words(facts.states),
        )
        parts.append(Part(PartKind.STATE, state))
    compute = sizes.buffers.compute[number]
    if compute.value != 0:
        parts.append(Part(PartKind.COMPUTE, compute))
    if number == placement.host:
        parts.append(Part(PartKind.OUTPUT, sizes.buffers.output))


def _unknown_cache(model: Model, settings: Settings) -> Number[int]:
    facts = model.cache
    inputs = []
    if facts.low is not None:
        inputs.append(Input(mark("at least, f16"), facts.low * settings.context, Unit.BYTES))
    if facts.high is not None:
        inputs.append(Input(mark("at most, f16"), facts.high * settings.context, Unit.BYTES))
    note = facts.problem.message if facts.problem else _NO_RULE
    return Number(None, Unit.BYTES, _UNKNOWN, "", tuple(inputs), note)


def _unknown_compute() -> Number[int]:
    return Number(None, Unit.BYTES, _UNKNOWN, note=_NO_GRAPH)


def _sum(parts: list[Part]) -> Number[int]:
    missing = next((part for part in parts if part.bytes.value is None), None)
    inputs = tuple(Input(part.kind.value, part.bytes.value, Unit.BYTES) for part in parts)
    if missing is not None:
        return Number(None, Unit.BYTES, _SUM, _TOTAL_FORMULA, inputs, missing.bytes.note)
    value = sum(part.bytes.value or 0 for part in parts)
    return Number(value, Unit.BYTES, _SUM, _TOTAL_FORMULA, inputs)


def _totals(
    model: Model,
    settings: Settings,
    sizes: Sizes,
    devices: tuple[DevicePlan, ...],
    verdict: Verdict,
) -> MemoryPlan:
    def number(value: int | None, source: Source, formula: str = "") -> Number[int]:
        note = "" if value is not None else _NO_RULE
        return Number(value, Unit.BYTES, source, formula, (), note)

    parts = [part for plan in devices for part in plan.parts]
    size = sizes.size
    if size is None or sizes.buffers is None:
        cache = k = v = state = per_token = compute = output = None
    else:
        k, v, state = size.k_bytes, size.v_bytes, size.state_bytes
        cache = k + v
        per_token = bytes_per_token(model.cache, settings.cache_k, settings.cache_v)
        by_device = sizes.buffers.compute
        compute = sum(n.value or 0 for n in by_device) if all(n.known for n in by_device) else None
        output = sizes.buffers.output.value
    source = _CACHE if size else _UNKNOWN
    buffer_source = sizes.buffers.output.source if sizes.buffers else _UNKNOWN
    compute_source = sizes.buffers.compute[0].source if sizes.buffers else _UNKNOWN
    return MemoryPlan(
        cache=number(cache, source, mark("K + V")),
        cache_k=number(k, source, mark("cells x bytes of a K row, over the layers that keep one")),
        cache_v=number(v, source, mark("cells x bytes of a V row, over the layers that keep one")),
        cache_per_token=Number(
            per_token,
            Unit.BYTES_PER_TOKEN,
            source,
            mark("bytes of a K row + bytes of a V row, over the layers that keep them"),
            (Input(mark("K type"), settings.cache_k), Input(mark("V type"), settings.cache_v)),
        ),
        state=number(state, source, _STATE_FORMULA),
        compute=number(compute, compute_source, mark("sum over the devices")),
        output=number(output, buffer_source, OUTPUT_FORMULA),
        total=_sum(parts),
        devices=devices,
        verdict=verdict,
    )


__all__ = ["cache_settings", "memory"]
