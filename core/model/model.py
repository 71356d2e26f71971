"""The facts of a model, as values: what plans are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from core.gguf.header import ModelFile
from core.language import mark
from core.problems import Problem


class Role(StrEnum):
    """What a tensor is for. Decides how much of it one token reads."""

    EMBEDDING = mark("embedding")  # token_embd, untied: a look-up of one row
    LAYER_EMBEDDING = mark("per-layer embedding")  # Gemma 3n/4 E: look-ups as well
    ATTENTION = mark("attention")
    RECURRENT = mark("recurrent")  # ssm_*, time_mix_*, shortconv
    FEED_FORWARD = mark("feed forward")
    EXPERTS = mark("experts")  # *_exps: used / total of them is read
    SHARED_EXPERTS = mark("shared experts")
    ROUTER = mark("router")
    NORMS = mark("norms")
    HEAD = mark("head")  # output.weight, or token_embd where it is tied
    DRAFT = mark("draft block")  # nextn / multi-token prediction
    VISION = mark("vision and audio")  # v.*, a.*, mm.* inside one file
    OTHER = mark("other")


class Read(NamedTuple):
    """The part of a tensor that decoding one token reads: ``numerator / denominator`` of it, more
    than all where a model runs through its layers several times. ``multiplies`` is False for
    look-ups, which cost no operation."""

    numerator: int
    denominator: int
    multiplies: bool = True


WHOLE = Read(1, 1)


@dataclass(frozen=True, slots=True)
class WeightBlock:
    """Tensors of one role in one layer, summed.

    ``layer`` is None for what belongs to no layer. ``bytes`` are as stored; ``read_bytes`` is what
    decoding one token reads of them (``core.model.reading``).
    """

    layer: int | None
    role: Role
    bytes: int
    read_bytes: int
    parameters: int
    active_parameters: int


@dataclass(frozen=True, slots=True)
class FormatShare:
    """All tensors of one type."""

    type_name: str
    tensors: int
    parameters: int
    bytes: int

    @property
    def bits_per_weight(self) -> float:
        """Average over these tensors; 0 where there is no parameter."""
        return 8 * self.bytes / self.parameters if self.parameters else 0.0


@dataclass(frozen=True, eq=False)
class Weights:
    """Every tensor of a model, in one quantization: the file's own, or another recipe's.

    ``tensor_types`` is parallel to ``file.tensors``. ``file_bytes`` is what such a file weighs on
    disk with header and padding, or None where that cannot be told.
    """

    label: str
    blocks: tuple[WeightBlock, ...]
    formats: tuple[FormatShare, ...]
    tensor_types: tuple[str, ...]
    tensor_bytes: tuple[int, ...]
    bytes: int
    read_per_token: int
    parameters: int
    active_parameters: int
    file_bytes: int | None
    problems: tuple[Problem, ...] = ()

    @property
    def bits_per_weight(self) -> float:
        """Average over the whole model; 0 where there is no parameter."""
        return 8 * self.bytes / self.parameters if self.parameters else 0.0

    @cached_property
    def by_role(self) -> Mapping[Role, tuple[int, int]]:
        """Bytes of every role: stored, and read for one token."""
        sums: dict[Role, tuple[int, int]] = {}
        for block in self.blocks:
            stored, read = sums.get(block.role, (0, 0))
            sums[block.role] = (stored + block.bytes, read + block.read_bytes)
        return sums


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Layers that keep the same kind of cache row. ``core.model.cache_size`` turns it into bytes.

    ``layers`` are their indices. ``k_width`` and ``v_width`` are elements of one row in one layer
    (kv_heads x head size); ``v_width`` is 0 where only K is kept (latent attention, indexers).
    ``v_width_padded`` is the V row when flash attention is off: the engine then pads every layer's
    V to the widest. ``k_head`` and ``v_head`` are the head sizes, 0 where heads do not apply.
    ``window`` is in tokens, None for the whole context. ``stride`` is how many tokens one row
    stands for (compressed caches; else 1). ``sequence_streams`` marks caches that are kept per
    sequence whatever the unified setting. ``sharers`` counts layers without a cache of their own
    that read this one. ``read_limit`` caps the rows that decoding reads (sparse attention); None
    reads min(depth, window). ``read_share`` is the part of all rows that is read where that is not
    all of them (pooled indexers). ``v_read`` is False where V is allocated and never read.
    ``rule`` says which keys decided.
    """

    name: str
    layers: tuple[int, ...]
    k_width: int
    v_width: int
    v_width_padded: int = 0
    k_head: int = 0
    v_head: int = 0
    window: int | None = None
    stride: int = 1
    sequence_streams: bool = False
    sharers: int = 0
    read_limit: int | None = None
    read_share: tuple[int, int] = (1, 1)
    v_read: bool = True
    rule: str = ""


@dataclass(frozen=True, slots=True)
class StateGroup:
    """Layers with a recurrent state of fixed size: f32, one per sequence, whatever the context.

    ``r_elements`` and ``s_elements`` are per layer and sequence. Decoding reads and writes it
    once per token. ``rollback`` marks families whose state is kept once more for every drafted
    token.
    """

    name: str
    layers: tuple[int, ...]
    r_elements: int
    s_elements: int
    rollback: bool = False
    rule: str = ""

    @property
    def bytes_per_layer(self) -> int:
        """4 bytes per element, one sequence."""
        return 4 * (self.r_elements + self.s_elements)

    @property
    def bytes_per_sequence(self) -> int:
        """4 bytes per element, all layers."""
        return self.bytes_per_layer * len(self.layers)


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """What the layers keep while a model writes.

    ``known`` is False where no rule covers the architecture: ``groups`` and ``states`` are then
    empty, ``low`` and ``high`` bound the bytes per token of an f16 cache as far as the keys allow,
    and every figure made from them is unknown. ``problem`` says which rule is missing. Known and
    without groups or states is a model that keeps no cache at all (an encoder).

    ``layers`` is how many layers the engine counts, draft blocks included: the length of every
    figure by layer. ``draft_groups`` is what a built-in draft head keeps when it is used, in a
    context of its own. ``shared_layers`` reuse another layer's cache. ``flash_attention`` is False
    where the engine turns it off; ``same_types`` where it refuses different types for K and V.
    """

    known: bool
    groups: tuple[CacheGroup, ...] = ()
    states: tuple[StateGroup, ...] = ()
    draft_groups: tuple[CacheGroup, ...] = ()
    layers: int = 0
    shared_layers: int = 0
    flash_attention: bool = True
    same_types: bool = False
    rule: str = ""
    low: int | None = None
    high: int | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions that plans need; None where the file does not say.

    ``layers`` counts the blocks of the trunk that the file holds (``CacheFacts.layers`` those that
    an engine counts: more where a model runs through its blocks several times); ``draft_layers``
    the multi-token-prediction blocks after it.
    ``heads``, ``kv_heads`` and ``feed_forward`` have one entry per layer of the trunk.
    """

    layers: int
    draft_layers: int
    embedding: int | None
    context_length: int | None
    vocabulary: int | None
    heads: tuple[int, ...]
    kv_heads: tuple[int, ...]
    key_length: int | None
    value_length: int | None
    feed_forward: tuple[int, ...]
    experts: int
    experts_used: int
    expert_feed_forward: int | None


@dataclass(frozen=True, eq=False)
class Model:
    """One opened model. Compared by identity: a file is read once.

    ``label`` is what the file says of itself ("Q4_K_M", from general.file_type; "" where absent);
    ``mix`` says what is really inside. ``tied`` is True where the head is the token embedding.
    ``tensor_roles``, ``tensor_layers`` and ``tensor_reads`` are parallel to ``file.tensors``.
    ``problems`` are findings about facts (a key taken from another prefix, a label that lies);
    those of the file itself are in ``file.problems``.
    """

    file: ModelFile
    architecture: str
    name: str
    label: str
    mix: str
    tied: bool
    shape: Shape
    weights: Weights
    cache: CacheFacts
    tensor_roles: tuple[Role, ...]
    tensor_layers: tuple[int | None, ...]
    tensor_reads: tuple[Read, ...]
    problems: tuple[Problem, ...] = ()
