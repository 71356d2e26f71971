"""What a GPU's driver keeps for a process before anything is loaded."""

from __future__ import annotations

from core.machine.machine import Backend, Device, DeviceKind
from core.provenance import Input, Number, Rank, Source, Unit

MIB = 2**20

# Measured CUDA contexts: RTX 4060 Ti 107 MiB, RTX 3090 about 330, RTX PRO 6000 555
# (ggml-org/llama.cpp#23604, unslothai/unsloth#6718), by their CUDA cores.
_CUDA_POINTS = ((4352, 107), (10496, 330), (24064, 555))
_CUDA_SOURCE = Source(
    Rank.ESTIMATED, "CUDA contexts measured on three cards, ggml-org/llama.cpp#23604", "2026-05"
)
_CUDA_NOTE = (
    "Measured contexts reach from 107 to 555 MiB per process and GPU, about in proportion to the "
    "card's cores. A measurement replaces this."
)
_HIP_MIB = 410
_HIP_SOURCE = Source(Rank.ESTIMATED, "a HIP context of about 0.4 GiB, ggml-org/llama.cpp#23604")
_NONE_SOURCE = Source(Rank.ASSUMED, "no separate context")
_NONE_NOTE = "The process keeps nothing apart from its buffers that anybody has measured."
_FORMULA = "from the number of cores, between measured cards"


def overhead(device: Device, backend: str) -> Number[int]:
    """Bytes per process on this device. 0 for RAM and for Metal: no context of its own."""
    if device.kind is not DeviceKind.GPU:
        return Number(0, Unit.BYTES, _NONE_SOURCE, note=_NONE_NOTE)
    if backend == Backend.CUDA:
        cores = device.cores.value if device.cores is not None else None
        return Number(
            _cuda_mib(cores) * MIB,
            Unit.BYTES,
            _CUDA_SOURCE,
            _FORMULA,
            (Input("cores", cores),),
            _CUDA_NOTE,
        )
    if backend == Backend.ROCM:
        return Number(_HIP_MIB * MIB, Unit.BYTES, _HIP_SOURCE)
    return Number(0, Unit.BYTES, _NONE_SOURCE, note=_NONE_NOTE)


def _cuda_mib(cores: int | None) -> int:
    """Between the measured cards; the middle one where nobody tells the cores."""
    (first, least), *rest = _CUDA_POINTS
    if cores is None:
        return _CUDA_POINTS[1][1]
    low_cores, low = first, least
    for high_cores, high in rest:
        if cores <= high_cores:
            share = max(0.0, (cores - low_cores) / (high_cores - low_cores))
            return round(low + share * (high - low))
        low_cores, low = high_cores, high
    return low
