"""What several cards would do if they shared every layer instead of taking turns.

Each card then reads its part at the same time as the others, but after attention and after the feed
forward of every layer the parts have to be added up over the link. A plan is for cards that take
turns; this is the other way beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.language import mark
from core.machine.machine import DeviceKind
from core.plan.plan import Plan
from core.plan.speed.anatomy import placed
from core.provenance import Input, Number, Rank, Source, Unit

_SUMS = 2  # for every layer
_LATENCY = 10e-6  # seconds of one sum over PCI Express, beside its bytes: the least that is seen
_VALUE = 4  # bytes: activations are added up in f32
_SOURCE = Source(Rank.ASSUMED, mark("10 us for every sum over PCI Express"))
_FORMULA = mark(
    "1 / (bytes / sum of the bandwidths + layers x 2 x (latency + bytes of a sum / link))"
)


@dataclass(frozen=True, slots=True)
class TensorParallel:
    """``tok_s`` is a ceiling at the plan's depth, ``link`` the seconds of a token on the link."""

    tok_s: Number[float]
    link: Number[float]


def tensor_parallel(plan: Plan) -> TensorParallel | None:
    """None where fewer than two cards are used, a part lies in RAM, or a figure is not known."""
    placement, found = placed(plan)
    devices = [placement.devices[d] for d in found.used]
    if len(devices) < 2 or any(d.kind is not DeviceKind.GPU or d.unified for d in devices):
        return None
    width = plan.model.shape.embedding
    links = [d.link.most.value for d in devices if d.link is not None]
    bandwidth = sum(d.bandwidth.value or 0.0 for d in devices)
    total = plan.speed.bytes_per_token.value
    known = [link for link in links if link]
    if not (plan.speed.ceiling.known and total and width and len(known) == len(devices)):
        return None
    layers, cards, link = sum(found.layers), len(devices), min(known)
    # Every card sends and receives its part of a sum, once to add up and once to hand out.
    moved = 2 * (cards - 1) / cards * width * _VALUE
    seconds = layers * _SUMS * (_LATENCY + moved / link)
    inputs = (
        Input(mark("bytes per token"), total, Unit.BYTES),
        Input(mark("sum of the bandwidths"), bandwidth, Unit.BYTES_PER_SECOND),
        Input(mark("layers"), layers),
        Input(mark("link"), link, Unit.BYTES_PER_SECOND),
        Input(mark("bytes of a sum"), round(moved), Unit.BYTES),
        Input(mark("latency"), _LATENCY, Unit.SECONDS),
    )
    note = mark("If the cards shared every layer (tensor parallel) instead of taking turns.")
    return TensorParallel(
        Number(
            1 / (total / bandwidth + seconds),
            Unit.TOKENS_PER_SECOND,
            _SOURCE,
            _FORMULA,
            inputs,
            note,
        ),
        Number(seconds, Unit.SECONDS, _SOURCE, _FORMULA, inputs, note),
    )
