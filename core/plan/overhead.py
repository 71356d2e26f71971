"""What a GPU holds beside the model: the driver's context, and what an engine sets aside."""

from __future__ import annotations

from itertools import pairwise

from core.language import mark
from core.machine.machine import Backend, Device, DeviceKind
from core.model.cache_size import bytes_per_token
from core.model.model import Model
from core.plan.plan import Settings
from core.provenance import Input, Number, Rank, Source, Unit

MIB = 2**20

# Measured CUDA contexts: RTX 4060 Ti 107 MiB, RTX 3090 about 330, RTX PRO 6000 555
# (ggml-org/llama.cpp#23604, unslothai/unsloth#6718). They grow with the multiprocessors (34, 82,
# 188); the bandwidth (GB/s) grows with those and is what is known of every card.
_CUDA_POINTS = ((288, 107), (936, 330), (1792, 555))
_CUDA_SOURCE = Source(
    Rank.ESTIMATED,
    mark("CUDA contexts measured on three cards, ggml-org/llama.cpp#23604"),
    "2026-05",
)
_CUDA_NOTE = mark(
    "Measured contexts reach from 107 to 555 MiB per process and GPU and grow with the card; its "
    "bandwidth stands for its size here."
)
_HIP_MIB = 410
_HIP_SOURCE = Source(
    Rank.ESTIMATED, mark("a HIP context as one report has it, ggml-org/llama.cpp#23604")
)
_NONE_SOURCE = Source(Rank.ASSUMED, mark("no separate context"))
_NONE_NOTE = mark("The process keeps nothing apart from its buffers that anybody has measured.")
_FORMULA = mark("from the card's bandwidth, between measured cards")


def overhead(device: Device, backend: str) -> Number[int]:
    """Bytes per process on this device. 0 for RAM and for Metal: no context of its own."""
    if device.kind is not DeviceKind.GPU:
        return Number(0, Unit.BYTES, _NONE_SOURCE, note=_NONE_NOTE)
    if backend == Backend.CUDA:
        rate = device.bandwidth.value
        return Number(
            _cuda_mib(None if rate is None else rate / 1e9) * MIB,
            Unit.BYTES,
            _CUDA_SOURCE,
            _FORMULA,
            (Input(mark("bandwidth"), rate, Unit.BYTES_PER_SECOND),),
            _CUDA_NOTE,
        )
    if backend == Backend.ROCM:
        return Number(_HIP_MIB * MIB, Unit.BYTES, _HIP_SOURCE)
    return Number(0, Unit.BYTES, _NONE_SOURCE, note=_NONE_NOTE)


def reserved(
    device: Device,
    share: float,
    needed: int,
    cache: int,
    context: Number[int],
    model: Model,
    settings: Settings,
) -> Number[int]:
    """What an engine that takes a ``share`` of a GPU holds beyond the ``needed`` bytes.

    ``cache`` of those is for the chosen context; ``context`` is the driver's, a part of the share.
    The rest of the share becomes more cache: how many tokens fit in all of it is an input.
    """
    if device.memory.value is None:
        return context
    own = context.value or 0
    whole = int(device.memory.value * share)
    room = max(0, whole - needed - own + cache)
    inputs = [
        Input(mark("share"), share, Unit.SHARE),
        Input(mark("capacity"), device.memory.value, Unit.BYTES),
        Input(mark("needed"), needed + own, Unit.BYTES),
        Input(mark("driver's context"), own, Unit.BYTES),
        Input(mark("room for cache"), room, Unit.BYTES),
    ]
    per_token = bytes_per_token(model.cache, settings.cache_k, settings.cache_v)
    if per_token:
        inputs.append(Input(mark("tokens of cache in it"), room // per_token, Unit.TOKENS))
    return Number(
        max(own, whole - needed),
        Unit.BYTES,
        Source(Rank.ESTIMATED, mark("vLLM docs, gpu_memory_utilization (0.9 unless set)")),
        mark("share x capacity - needed, at least the driver's context"),
        tuple(inputs),
        mark(
            "vLLM takes its share of the card whatever the context and fills it with cache. Its "
            "own work buffers are measured when it starts; llama.cpp's stand for them here."
        ),
    )


def _cuda_mib(rate: float | None) -> int:
    """Between the measured cards; the middle one where nobody tells the bandwidth."""
    if rate is None:
        return _CUDA_POINTS[1][1]
    for (low, less), (high, more) in pairwise(_CUDA_POINTS):
        if rate <= high:
            return round(less + max(0.0, (rate - low) / (high - low)) * (more - less))
    return _CUDA_POINTS[-1][1]
