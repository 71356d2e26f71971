"""What calculators on the web would say of the cache, and why it is not so.

They charge every layer with the whole context: 2 x layers x heads of keys x head size x 2 bytes x
tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.plan.choice import UNPACKED, Engine
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.units import UnitSystem, format_bytes, format_tokens

_BYTES = 2  # of a value in f16
_SAME = 0.03


@dataclass(frozen=True, slots=True)
class SimpleFormula:
    """Its ``bytes``, the ``factors`` in words, and the plan's own ``cache`` in bytes with the
    ``reasons`` for which the two differ."""

    bytes: int
    factors: str
    cache: int
    reasons: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether the two say the same, but for the padding of an engine."""
        return abs(self.bytes - self.cache) <= _SAME * self.cache

    def words(self, units: UnitSystem) -> str:
        """The two figures and what lies between them."""
        said = format_bytes(self.bytes, units)
        first = f"A simple formula, {self.factors}, would say {said} for the whole context."
        if self.agrees:
            return f"{first} It says the same here: every layer keeps every token."
        because = f", because {'; '.join(self.reasons)}" if self.reasons else ""
        return f"{first} The plan reserves {format_bytes(self.cache, units)}{because}."


def simple_formula(plan: Plan) -> SimpleFormula | None:
    """None where the file lacks one of the factors, or what layers keep is not known."""
    shape, cache = plan.model.shape, plan.memory.cache.value
    heads = max(shape.kv_heads, default=0)
    size = shape.key_length
    if size is None and shape.embedding and max(shape.heads, default=0):
        size = shape.embedding // max(shape.heads)
    if not cache or not shape.layers or not heads or not size:
        return None
    tokens = plan.settings.context
    if _for_each(plan):
        tokens //= plan.settings.slots
    many = "head" if heads == 1 else "heads"
    return SimpleFormula(
        2 * shape.layers * heads * size * _BYTES * tokens,
        f"2 x {shape.layers} layers x {heads} {many} x {size} x {_BYTES} bytes x "
        f"{format_tokens(tokens)} tokens",
        cache,
        tuple(_reasons(plan)),
    )


def _reasons(plan: Plan) -> Iterator[str]:
    facts, settings, shape = plan.model.cache, plan.settings, plan.model.shape
    states = sum(len(group.layers) for group in facts.states)
    if states:
        yield f"{_layers(states)} a state of fixed size in place of rows"
    windows: dict[int, int] = {}
    for group in facts.groups:
        if group.window is not None and group.window < settings.context and not settings.swa_full:
            windows[group.window] = windows.get(group.window, 0) + len(group.layers)
    for window, count in windows.items():
        each = f" of each of {settings.slots} requests" if settings.slots > 1 else ""
        yield f"{_layers(count)} only the last {format_tokens(window)} tokens{each}"
    for group in facts.groups:
        if group.stride > 1:
            yield f"{_layers(len(group.layers))} one row for {group.stride} tokens"
    if any(not group.v_width for group in facts.groups):
        yield "its attention keeps one compressed row in place of keys and values"
    if facts.shared_layers:
        yield f"{facts.shared_layers} layers read what another one keeps"
    if len({heads for heads in shape.kv_heads if heads}) > 1:
        yield "its layers have different numbers of heads"
    if len({group.k_head for group in facts.groups if group.k_head}) > 1:
        yield "its heads have different sizes"
    if not {settings.cache_k, settings.cache_v} <= (UNPACKED - {"f32"}):
        yield f"K is stored as {settings.cache_k} and V as {settings.cache_v}, not as f16"
    if _for_each(plan):
        yield f"the engine reserves it for each of {settings.slots} requests"


def _for_each(plan: Plan) -> bool:
    """Whether the engine reserves what was asked for several times."""
    settings = plan.settings
    return settings.slots > 1 and RULES[Engine(settings.engine)].per_request


def _layers(count: int) -> str:
    return "1 layer keeps" if count == 1 else f"{count} layers keep"
