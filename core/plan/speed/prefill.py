"""Reading a prompt: arithmetic more than bandwidth, since a chunk of tokens shares a pass.

    seconds = tokens x 2 x active parameters / useful operations per second
              + attention, which grows with the square of the prompt
              + chunks of ubatch tokens x (weights / bandwidth + what lies in RAM / PCI Express)

The useful operations are fitted on published runs that read 512 tokens at once; at larger depths
the attention term is arithmetic alone and was not checked.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from core.language import mark, tr
from core.machine.machine import Backend, DeviceKind
from core.model.model import Model, Weights
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.placement import Placement
from core.plan.plan import Settings
from core.plan.prompt_cost import AttentionCost, PromptCost
from core.plan.speed.calibration import calibration, prefill_rates, rates
from core.plan.speed.expectation import hardware_at, no_kernel
from core.plan.speed.reads import NO_BANDWIDTH, NOTHING_READ, UNLIMITED, CacheRows, Reads
from core.provenance import Input, Number, Unit

_FORMULA = mark("tokens / seconds of the prompt")
_SECONDS = mark(
    "tokens x 2 x active parameters / useful operations per second + attention + chunks x weights "
    "/ bandwidth"
)
_EMPTY = mark("With nothing to read there is no wait: choose a depth.")
_WHOLE = frozenset(("F16", "BF16", "F32"))


def prompt_cost(
    model: Model, weights: Weights, found: Reads, placement: Placement, settings: Settings
) -> PromptCost | str:
    """What prompts cost, or a sentence that says why that is not known."""
    if settings.engine == Engine.VLLM:
        return tr(
            "No data: none of the published runs behind this is of {engine}.",
            engine=RULES[Engine.VLLM].name,
        )
    slow = no_kernel(model, settings)
    if slow:
        return slow
    devices = placement.devices
    gpus = [d for d in found.used if devices[d].kind is DeviceKind.GPU]
    if not gpus or settings.backend == Backend.CPU:
        return mark(
            "How fast a processor reads a prompt is not known from published runs: measure it."
        )
    total = sum(found.weights)
    if not total:
        return NOTHING_READ
    experts = model.shape.experts > 0
    whole = _mostly_whole(weights)
    # What lies in RAM is computed on the first GPU, but for the shortest prompts.
    aside = sum(found.weights[d] for d in found.used if d not in gpus)
    operations = [0.0] * len(devices)
    token = chunk = waking = 0.0
    low, high = 0.0, float("inf")
    for d in gpus:
        hardware = hardware_at(placement, settings, d)
        if hardware is None:
            return devices[d].bandwidth.note or NO_BANDWIDTH
        fitted = prefill_rates(hardware, experts, whole)
        if fitted is None:
            return devices[d].flops.note or tr(
                "How fast {device} computes is not known.", device=tr(devices[d].name)
            )
        low, high = fitted.low, fitted.high
        operations[d] = fitted.operation
        mine = found.weights[d] + (aside if d == gpus[0] else 0)
        token += 2 * weights.active_parameters * mine / total * fitted.operation
        cost = rates(hardware)
        chunk += (found.weights[d] - found.expert_reads[d]) * fitted.read
        chunk += found.layers[d] * cost.layer + found.expert_layers[d] * cost.experts
        waking += found.expert_bytes[d] * fitted.read
    copied = _copied(found, placement, settings, gpus[0])
    if isinstance(copied, str):
        return copied
    used, count = model.shape.experts_used, model.shape.experts
    return PromptCost(
        token=token,
        attention=tuple(
            AttentionCost(
                each * sum(n * (operations[d] or operations[gpus[0]]) for d, n in _held(rows)),
                rows.stride,
                rows.most if rows.most < UNLIMITED else None,
            )
            for rows, each in zip(found.rows, operations_per_row(model), strict=True)
        ),
        chunk=chunk,
        experts=waking,
        woken=used / count if count and used else 1.0,
        copy=copied[0],
        host=copied[1],
        ubatch=max(settings.ubatch, 1),
        low=low,
        high=high,
    )


def _held(rows: CacheRows) -> list[tuple[int, int]]:
    """Devices and how many layers of a kind each has."""
    return [(d, layers) for d, layers in enumerate(rows.layers) if layers]


def _copied(
    found: Reads, placement: Placement, settings: Settings, gpu: int
) -> tuple[float, float] | str:
    """Seconds of copying to the GPU what lies in RAM, and of the CPU's reading it for a token."""
    copy = host = 0.0
    for d in found.used:
        device = placement.devices[d]
        if device.kind is DeviceKind.GPU or not found.weights[d]:
            continue
        link = placement.devices[gpu].link
        if link is None or not link.most.value:
            return mark("A part lies in RAM, and how fast the card is joined to it is not known.")
        hardware = hardware_at(placement, settings, d)
        if hardware is None:
            return device.bandwidth.note or mark("The bandwidth of the RAM is not known.")
        size = found.weights[d] - found.expert_reads[d] + found.expert_bytes[d]
        copy += size / link.most.value
        host += found.weights[d] * rates(hardware).read
    return copy, host


def prefill_figures(
    cost: PromptCost | str, settings: Settings
) -> tuple[Number[float], Number[float]]:
    """Tokens per second and seconds of a prompt that fills the chosen depth from nothing."""
    source = calibration().source
    if isinstance(cost, str) or not settings.depth:
        note = cost if isinstance(cost, str) else _EMPTY
        return (
            Number(None, Unit.TOKENS_PER_SECOND, source, _FORMULA, note=note),
            Number(None, Unit.SECONDS, source, _SECONDS, note=note),
        )
    tokens = settings.depth
    seconds = cost.seconds(0, tokens)
    inputs = (
        Input(mark("tokens"), tokens, Unit.TOKENS),
        Input(
            mark("attention"),
            sum(a.seconds * a.rows(0, tokens) for a in cost.attention),
            Unit.SECONDS,
        ),
        Input(mark("copied from RAM for a chunk"), cost.copy, Unit.SECONDS),
        Input(mark("chunk"), cost.ubatch, Unit.TOKENS),
        Input(mark("at best"), seconds / cost.high, Unit.SECONDS),
        Input(mark("at worst"), seconds / cost.low, Unit.SECONDS),
    )
    return (
        Number(tokens / seconds, Unit.TOKENS_PER_SECOND, source, _FORMULA, inputs, _note(cost)),
        Number(seconds, Unit.SECONDS, source, _SECONDS, inputs, _note(cost)),
    )


def _note(cost: PromptCost) -> str:
    words = tr(
        "For a prompt that fills the depth from nothing. About five of six published runs read "
        "{low:.2f} to {high:.2f} times as fast.",
        low=cost.low,
        high=cost.high,
    )
    if not cost.break_even:
        return words
    copied = tr(
        "What lies in RAM is copied to the GPU for every chunk; below about {tokens:,.0f} tokens "
        "the CPU would take no longer.",
        tokens=cost.break_even,
    )
    return f"{words} {copied}"


def _mostly_whole(weights: Weights) -> bool:
    whole = sum(each.bytes for each in weights.formats if each.type_name in _WHOLE)
    return 2 * whole > sum(each.bytes for each in weights.formats)


_per_row: WeakKeyDictionary[Model, tuple[float, ...]] = WeakKeyDictionary()


def operations_per_row(model: Model) -> tuple[float, ...]:
    """Of one layer of each cache group: a product with K and one with V for every head."""
    known = _per_row.get(model)
    if known is None:
        made = []
        for group in model.cache.groups:
            heads = [model.shape.heads[n] for n in group.layers if n < len(model.shape.heads)]
            mean = sum(heads) / len(heads) if heads else 0.0
            made.append(2 * mean * (group.k_head + (group.v_head or group.k_head)))
        known = _per_row[model] = tuple(made)
    return known
