"""What calculators on the web would say of the cache, and why it is not so.

They charge every layer with the whole context: 2 x layers x heads of keys x head size x 2 bytes x
tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.language import tr, trn
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
        first = tr(
            "A simple formula, {factors}, would say {size} for the whole context.",
            factors=self.factors,
            size=said,
        )
        size = format_bytes(self.cache, units)
        if self.agrees:
            second = tr("It says the same here: every layer keeps every token.")
        elif self.reasons:
            why = "; ".join(self.reasons)
            second = tr("The plan reserves {size}, because {why}.", size=size, why=why)
        else:
            second = tr("The plan reserves {size}.", size=size)
        return f"{first} {second}"


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
    return SimpleFormula(
        2 * shape.layers * heads * size * _BYTES * tokens,
        trn(
            "2 x {layers} layers x {count} head x {size} x {bytes} bytes x {tokens} tokens",
            "2 x {layers} layers x {count} heads x {size} x {bytes} bytes x {tokens} tokens",
            heads,
            layers=shape.layers,
            size=size,
            bytes=_BYTES,
            tokens=format_tokens(tokens),
        ),
        cache,
        tuple(_reasons(plan)),
    )


def _reasons(plan: Plan) -> Iterator[str]:
    facts, settings, shape = plan.model.cache, plan.settings, plan.model.shape
    states = sum(len(group.layers) for group in facts.states)
    if states:
        yield trn(
            "{count} layer keeps a state of fixed size in place of rows",
            "{count} layers keep a state of fixed size in place of rows",
            states,
        )
    windows: dict[int, int] = {}
    for group in facts.groups:
        if group.window is not None and group.window < settings.context and not settings.swa_full:
            windows[group.window] = windows.get(group.window, 0) + len(group.layers)
    for window, count in windows.items():
        words = trn(
            "{count} layer keeps only the last {tokens} tokens",
            "{count} layers keep only the last {tokens} tokens",
            count,
            tokens=format_tokens(window),
        )
        if settings.slots > 1:
            words = tr("{words} of each of {slots} requests", words=words, slots=settings.slots)
        yield words
    for group in facts.groups:
        if group.stride > 1:
            yield trn(
                "{count} layer keeps one row for {stride} tokens",
                "{count} layers keep one row for {stride} tokens",
                len(group.layers),
                stride=group.stride,
            )
    if any(not group.v_width for group in facts.groups):
        yield tr("its attention keeps one compressed row in place of keys and values")
    if facts.shared_layers:
        yield trn(
            "{count} layer reads what another one keeps",
            "{count} layers read what another one keeps",
            facts.shared_layers,
        )
    if len({heads for heads in shape.kv_heads if heads}) > 1:
        yield tr("its layers have different numbers of heads")
    if len({group.k_head for group in facts.groups if group.k_head}) > 1:
        yield tr("its heads have different sizes")
    if not {settings.cache_k, settings.cache_v} <= (UNPACKED - {"f32"}):
        yield tr(
            "K is stored as {k_type} and V as {v_type}, not as f16",
            k_type=settings.cache_k,
            v_type=settings.cache_v,
        )
    if _for_each(plan):
        yield tr("the engine reserves it for each of {slots} requests", slots=settings.slots)


def _for_each(plan: Plan) -> bool:
    """Whether the engine reserves what was asked for several times."""
    settings = plan.settings
    return settings.slots > 1 and RULES[Engine(settings.engine)].per_request
