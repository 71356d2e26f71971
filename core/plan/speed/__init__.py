"""How fast: the ceiling of decoding, what to expect, prefill, and how long it all takes."""

from core.plan.speed.durations import LoadTimes, decode_seconds, load_times, prefill_seconds
from core.plan.speed.own_runs import configuration
from core.plan.speed.speed import speed
from core.plan.speed.tensor_parallel import tensor_parallel

__all__ = [
    "LoadTimes",
    "configuration",
    "decode_seconds",
    "load_times",
    "prefill_seconds",
    "speed",
    "tensor_parallel",
]
