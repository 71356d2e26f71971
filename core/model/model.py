"""The facts of a model, as values: what plans are made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.gguf.header import ModelFile
from core.problems import Problem


class Role(StrEnum):
    """What a tensor is for. Decides how much of it one token reads."""

    EMBEDDING = "embedding"  # token_embd, untied: a look-up of one row
    LAYER_EMBEDDING = "per-layer embedding"  # Gemma 3n/4 E: look-ups as well
    ATTENTION = "attention"
    RECURRENT = "recurrent"  # ssm_*, time_mix_*, shortconv
    FEED_FORWARD = "feed forward"
    EXPERTS = "experts"  # *_exps: used / total of them is read
    SHARED_EXPERTS = "shared experts"
    ROUTER = "router"
    NORMS = "norms"
    HEAD = "head"  # output.weight, or token_embd where it is tied
    DRAFT = "draft block"  # nextn / multi-token prediction
    VISION = "vision and audio"  # v.*, a.*, mm.* inside one file
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class WeightBlock:
    """Tensors of one role in one layer, summed.

    ``layer`` is None for what belongs to no layer. ``bytes`` are as stored; ``read_bytes`` is what
    decoding one token reads of them (domain.md section 2).
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


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Layers that keep the same kind of cache row.

    ``layers`` are their indices. ``k_width`` and ``v_width`` are elements of one row in one layer
    (kv_heads x head size); ``v_width`` is 0 where only K is kept (latent attention, indexers).
    ``window`` is in tokens, None for the whole context. ``stride`` is how many tokens one row
    stands for (compressed caches; else 1). ``sequence_streams`` marks caches that are kept per
    sequence whatever the unified setting. ``window_per_stream`` marks windows that a unified
    cache does not multiply by its slots. ``read_limit`` caps the rows decoding reads (sparse
    attention); None reads min(depth, window). ``rule`` says which keys decided.
    """

    name: str
    layers: tuple[int, ...]
    k_width: int
    v_width: int
    window: int | None = None
    stride: int = 1
    k_head: int = 0
    v_head: int = 0
    sequence_streams: bool = False
    window_per_stream: bool = False
    read_limit: int | None = None
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
    def bytes_per_sequence(self) -> int:
        """4 bytes per element, all layers."""
        return 4 * (self.r_elements + self.s_elements) * len(self.layers)


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """What the layers keep while a model writes.

    ``known`` is False where no rule covers the architecture: ``groups`` and ``states`` are then
    empty, ``low`` and ``high`` bound the bytes per token of an f16 cache as far as the keys allow,
    and every figure made from them is unknown. ``problem`` says which rule is missing.
    """

    known: bool
    groups: tuple[CacheGroup, ...] = ()
    states: tuple[StateGroup, ...] = ()
    rule: str = ""
    low: int | None = None
    high: int | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions that plans need; None where the file does not say.

    ``layers`` counts the trunk; ``draft_layers`` the multi-token-prediction blocks after it.
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
    problems: tuple[Problem, ...] = ()
