"""How a cache grows while a model writes, and what every token reads: with a cache and without."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.cache_size import cache_read, row_bytes, state_moved
from core.model.model import CacheGroup
from core.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Lane:
    """Layers that keep the same. ``row`` is bytes of one row in all these layers together, for
    every token where ``stride`` is 1; ``state`` is the fixed size of those that keep a state
    instead. ``window`` and ``limit`` are tokens, None where all is kept and read."""

    name: str
    layers: int
    rule: str
    row: int = 0
    state: int = 0
    stride: int = 1
    window: int | None = None
    limit: int | None = None

    def kept_from(self, depth: int) -> int:
        """The first token whose row is still of use when ``depth`` tokens have been read."""
        return max(0, depth - self.window) if self.window is not None else 0

    def kept(self, depth: int) -> int:
        """Bytes that are of use then. A state has its size from the first token on."""
        if self.state:
            return self.state
        return (depth - self.kept_from(depth)) // self.stride * self.row


@dataclass(frozen=True, slots=True)
class Moment:
    """What the next token costs with ``depth`` tokens before it.

    With a cache: bytes of weights, cache and state, and operations of one token. Without: the same
    weights, and the operations of all ``depth`` + 1 tokens once more.
    """

    depth: int
    weights: int
    cache: int
    state: int
    operations: int
    operations_without: int


@dataclass(frozen=True, slots=True)
class Story:
    """Lanes from the first kind of layer to the last, and what a token costs at any depth."""

    plan: Plan
    lanes: tuple[Lane, ...]

    @property
    def context(self) -> int:
        """Tokens that are reserved: where the story ends."""
        return self.plan.settings.context

    def moment(self, depth: int) -> Moment:
        """What the next token costs with ``depth`` tokens before it."""
        settings, weights, facts = self.plan.settings, self.plan.weights, self.plan.model.cache
        each = 2 * weights.active_parameters
        return Moment(
            depth,
            weights.read_per_token,
            cache_read(facts, depth, settings.cache_k, settings.cache_v),
            state_moved(facts),
            each,
            each * (depth + 1),
        )


def story(plan: Plan) -> Story | None:
    """The story of a plan; None where it is not known what the layers keep."""
    facts, settings = plan.model.cache, plan.settings
    if not facts.known:
        return None
    lanes = [_lane(group, settings.cache_k, settings.cache_v) for group in facts.groups]
    lanes += (
        Lane(state.name, len(state.layers), state.rule, state=state.bytes_per_sequence)
        for state in facts.states
    )
    return Story(plan, tuple(lanes))


def _lane(group: CacheGroup, type_k: str, type_v: str) -> Lane:
    row = row_bytes(type_k, group.k_width) + row_bytes(type_v, group.v_width)
    return Lane(
        group.name,
        len(group.layers),
        group.rule,
        row * len(group.layers),
        stride=group.stride,
        window=group.window,
        limit=group.read_limit,
    )
