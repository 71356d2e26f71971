"""The decode speed to expect: what was fitted on published runs, for a plan.

    seconds = sum over the devices of (bytes read / what the device reaches)
              + a cost of every layer, and of every layer with experts

A token goes through the devices one after the other, so their times add. A quantized cache is read
no faster than the same cache in f16 would be: it saves memory, and whether it saves time depends
on the kernels (published runs: from a half to a quarter of the speed per byte).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from core.language import mark, tr, trn
from core.machine.machine import Backend, DeviceKind, OwnRun
from core.model.model import Model, Weights
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.legality import without_kernel
from core.plan.placement import Placement
from core.plan.plan import Band, Settings
from core.plan.speed.calibration import Group, calibration, group, machine_factor, rates
from core.plan.speed.features import Hardware, format_class, hardware_of
from core.plan.speed.own_runs import Correction, correction
from core.plan.speed.reads import NO_BANDWIDTH, NOTHING_READ, Reads
from core.provenance import Input, Number, Unit

# A quantized cache may cost so many times what it would in f16: 2.5 would pass through the one
# series of runs on CUDA (at 196,608 tokens), 1 through those on Vulkan.
_PACKED_SLOW = 2.5
# i-quants of up to three bits ran at two thirds of the speed of larger formats on Radeons, CPUs and
# older Macs (llama.cpp #9644, #5747; ik_llama.cpp #154, #602); few published runs are of them.
_SMALL = "small i-quants"
_SMALL_SLOW = 0.65
_SMALL_SHARE = 0.2  # of the bytes, from which it counts
_FORMULA = mark("1 / sum of (bytes / reached bandwidth + layers x cost of a layer)")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The band at the chosen depth, and (low, mid, high) at all depths, empty where unknown."""

    band: Band
    points: list[tuple[float, float, float]]


@dataclass(slots=True)
class _Costs:
    """Seconds on each device: of a byte of weights and of cache (as it is, and quantized), and of
    all its layers. ``low`` and ``high`` bound measured over expected speed."""

    read: list[float]
    cache: list[float | None]
    packed: list[float | None]
    layers: float
    low: float
    high: float
    groups: list[Group]
    own_part: int


def hardware_at(placement: Placement, settings: Settings, device: int) -> Hardware | None:
    """A device of a plan as the calibration knows it; None where its bandwidth is not known."""
    found = placement.devices[device]
    backend = Backend(settings.backend) if found.kind is DeviceKind.GPU else Backend.CPU
    return hardware_of(found, backend)


def unknown(note: str) -> Band:
    """No band, and why."""
    none: Number[float] = Number(
        None, Unit.TOKENS_PER_SECOND, calibration().source, _FORMULA, note=note
    )
    return Band(none, none, none)


def expect(
    model: Model,
    weights: Weights,
    found: Reads,
    placement: Placement,
    settings: Settings,
    depths: Sequence[int],
    ceilings: Sequence[float | None],
    runs: Sequence[OwnRun] = (),
) -> Expectation:
    """What to expect at all depths. It is never above the ceiling."""
    missing = _missing(model, found, placement, settings)
    if not missing and ceilings[0] is None:
        missing = mark("Nothing is read with an empty cache.")
    if missing:
        return Expectation(unknown(missing), [])
    costs = _costs(model, weights, found, placement, settings)
    base = costs.layers + sum(
        (found.weights[d] + found.states[d]) * costs.read[d] for d in found.used
    )
    fast = [base] * len(depths)
    mid, slow = list(fast), list(fast)
    packed = any(r.packed for r in found.rows)
    for r in found.rows:
        layer_bytes = r.bytes_at(depths)
        quick = r.seconds_per_byte(costs.cache)
        if r.packed:
            plain = quick * r.plain
            middle = max(plain, min(r.seconds_per_byte(costs.packed), _PACKED_SLOW * plain))
            fast = [t + b * quick for t, b in zip(fast, layer_bytes, strict=True)]
            slow = [t + b * plain * _PACKED_SLOW for t, b in zip(slow, layer_bytes, strict=True)]
            mid = [t + b * middle for t, b in zip(mid, layer_bytes, strict=True)]
        else:
            mid = [t + b * quick for t, b in zip(mid, layer_bytes, strict=True)]
            if packed:
                fast = [t + b * quick for t, b in zip(fast, layer_bytes, strict=True)]
                slow = [t + b * quick for t, b in zip(slow, layer_bytes, strict=True)]
    if not packed:
        fast = slow = mid
    own = correction(model, settings, runs)
    low, high = own.bounds(costs.low, costs.high)
    steady = own.factor(0) if not own.depths else None
    points = []
    for depth, top, quickest, middle, slowest in zip(
        depths, ceilings, fast, mid, slow, strict=True
    ):
        scale = own.factor(depth) if steady is None else steady
        rate = scale / middle
        most = top or rate
        if rate > most:
            rate = most
        bottom, best = low * scale / slowest, high * scale / quickest
        points.append((bottom if bottom < rate else rate, rate, best if best < most else most))
    chosen = depths.index(settings.depth)
    band = _band(points[chosen], 1 / mid[chosen], costs, own, found, placement, settings)
    return Expectation(band, points)


def no_kernel(model: Model, settings: Settings) -> str:
    """Why a quantized cache has no data at all; empty where it has a kernel."""
    lacking = without_kernel(model, settings)
    if not lacking:
        return ""
    return tr(
        "No data: on {backend} the processor computes attention for a {type} cache; prompts were "
        "read 8 to 30 times slower (llama.cpp #27109, #28456, #28633).",
        backend=settings.backend,
        type=lacking[0],
    )


def _missing(model: Model, found: Reads, placement: Placement, settings: Settings) -> str:
    """Why nothing can be expected; empty where something can."""
    slow = no_kernel(model, settings)
    if slow:
        return slow
    if settings.engine == Engine.VLLM:
        return tr(
            "No data: none of the published runs that are behind this is of {engine}.",
            engine=RULES[Engine.VLLM].name,
        )
    for d in found.used:
        bandwidth = placement.devices[d].bandwidth
        if not bandwidth.value:
            return bandwidth.note or NO_BANDWIDTH
    return "" if found.used else NOTHING_READ


def _costs(
    model: Model, weights: Weights, found: Reads, placement: Placement, settings: Settings
) -> _Costs:
    count = len(placement.devices)
    costs = _Costs([0.0] * count, [None] * count, [None] * count, 0.0, 1.0, 1.0, [], 0)
    experts = model.shape.experts > 0
    lows, highs = [], []
    for d in found.used:
        hardware = hardware_at(placement, settings, d)
        assert hardware is not None
        of = group(hardware)
        factor, own_part = machine_factor(hardware)
        mix = _mix(weights, hardware.backend, experts)
        plain = rates(hardware)
        read = sum(share * rates(hardware, name).read for name, share in mix)
        costs.read[d] = read / factor
        costs.cache[d] = plain.cache / factor
        costs.packed[d] = plain.packed / factor
        costs.layers += found.layers[d] * plain.layer / factor
        costs.layers += found.expert_layers[d] * plain.experts / factor
        small = dict(mix).get(_SMALL, 0.0) > _SMALL_SHARE and of.backend is not Backend.CUDA
        lows.append(of.low * (_SMALL_SLOW if small else 1.0))
        highs.append(of.high)
        costs.own_part += own_part
        if of not in costs.groups:
            costs.groups.append(of)
    costs.low, costs.high = min(lows), max(highs)
    return costs


_mixes: WeakKeyDictionary[Weights, dict[tuple[Backend, bool], tuple[tuple[str, float], ...]]] = (
    WeakKeyDictionary()
)


def _mix(weights: Weights, backend: Backend, experts: bool) -> tuple[tuple[str, float], ...]:
    """Classes of formats by their share of the bytes, made once."""
    known = _mixes.setdefault(weights, {})
    mix = known.get((backend, experts))
    if mix is None:
        sizes: dict[str, int] = {}
        for each in weights.formats:
            name = format_class(each.type_name, backend, experts=experts)
            sizes[name] = sizes.get(name, 0) + each.bytes
        total = sum(sizes.values())
        mix = tuple((name, size / total) for name, size in sizes.items()) if total else (("", 1.0),)
        known[backend, experts] = mix
    return mix


def _band(
    point: tuple[float, float, float],
    uncorrected: float,
    costs: _Costs,
    own: Correction,
    found: Reads,
    placement: Placement,
    settings: Settings,
) -> Band:
    made = calibration()
    basis = "; ".join([*(of.words for of in costs.groups), *([own.words] if own.words else [])])
    made_from = basis
    if costs.own_part:
        made_from = trn(
            "{basis} ({count} of the runs is of this very part)",
            "{basis} ({count} of the runs are of this very part)",
            costs.own_part,
            basis=basis,
        )
    inputs = [
        part
        for d in found.used
        for part in (
            Input(placement.devices[d].name, found.at(d, settings.depth), Unit.BYTES),
            Input(mark("of which it reads"), 1 / costs.read[d], Unit.BYTES_PER_SECOND),
        )
    ]
    inputs.append(Input(mark("all layers"), costs.layers, Unit.SECONDS))
    if own.factor(settings.depth) != 1.0:
        inputs.append(Input(mark("corrected by your own runs, times"), own.factor(settings.depth)))
    note = tr(
        "Made from {basis}. About five of six runs of unseen sources lie in the band; left out of "
        "the fit, the median machine is {off:.1%} off. For one request at a time.",
        basis=made_from,
        off=made.errors["median_by_machine"],
    )
    low, mid, high = (
        Number(value, Unit.TOKENS_PER_SECOND, made.source, _FORMULA, tuple(inputs), note)
        for value in point
    )
    return Band(low, mid, high, basis, uncorrected, costs.layers)
