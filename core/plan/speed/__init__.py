"""How fast: the ceiling of decoding, what to expect, prefill, and how long it all takes."""

from core.plan.speed.durations import decode_seconds, load_seconds, prefill_seconds
from core.plan.speed.own_runs import configuration
from core.plan.speed.speed import speed

__all__ = ["configuration", "decode_seconds", "load_seconds", "prefill_seconds", "speed"]
