"""The dimensions of a model as an engine resolves them: one value for each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.gguf.header import Tensor
from core.model import architectures
from core.model.keys import MOST_LAYERS, Keys

PerLayer = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """Layers and their widths; None where the file does not say.

    ``blocks`` are the layers of the file without draft blocks, ``trunk`` those that the engine
    counts: a model that runs its blocks several times keeps a cache for every pass. ``draft``
    blocks follow the trunk. The tuples have ``total`` entries. ``k_heads`` and ``v_heads`` are
    head sizes of full layers, ``k_heads_window`` and ``v_heads_window`` those of windowed ones.
    ``latent`` marks models that keep one latent row instead of K and V. ``derived`` is True where
    the head size is embedding / heads because no key gives it. ``passes`` has one entry per block:
    how often one token runs through it.
    """

    architecture: str
    blocks: int
    trunk: int
    draft: int
    embedding: int | None
    heads: PerLayer
    kv_heads: PerLayer
    feed_forward: PerLayer
    k_heads: PerLayer
    v_heads: PerLayer
    k_heads_window: PerLayer
    v_heads_window: PerLayer
    latent: bool
    derived: bool
    passes: tuple[int, ...]

    @property
    def total(self) -> int:
        """Trunk and draft blocks."""
        return self.trunk + self.draft


def outline_from(keys: Keys, tensors: Sequence[Tensor]) -> Outline:
    """Read the dimensions; nothing here raises on odd values."""
    architecture = keys.architecture
    stated = keys.count("block_count")
    counted = stated if stated <= MOST_LAYERS else 0
    draft = min(keys.count("nextn_predict_layers"), counted)
    if draft and architecture == "deepseek4" and not _has_draft(tensors, counted - draft):
        draft = 0  # declared, and left out when the file was made: llama.cpp then ignores the key
    blocks = counted - draft
    loops = _loops(keys, architecture, counted)

    trunk = blocks * loops
    total = trunk + draft
    nothing: PerLayer = (None,) * total

    def read(name: str) -> PerLayer | None:
        """None where the key is absent; what is there and of no use stands for nothing else."""
        values = keys.per_layer(name, counted)
        if values is None:
            return nothing if name in keys.unusable else None
        return values[:blocks] * loops + values[blocks:]

    embedding = keys.integer("embedding_length")
    heads = read("attention.head_count") or nothing
    kv_heads = read("attention.head_count_kv") or heads
    feed_forward = read("feed_forward_length") or nothing
    first = next((count for count in heads if count), None)
    whole = embedding // first if embedding and first else None
    k_stated, v_stated = read("attention.key_length"), read("attention.value_length")
    k_heads = k_stated or (whole,) * total
    v_heads = v_stated or (whole,) * total
    if architecture == "graniteswitch":  # one more layer with a single head routes to adapters
        trunk, total = trunk + 1, total + 1
        heads, kv_heads, feed_forward = (*heads, 1), (*kv_heads, 1), (*feed_forward, 0)
        k_heads, v_heads = _one_more(k_heads), _one_more(v_heads)
    mla = keys.count("attention.key_length_mla"), keys.count("attention.value_length_mla")
    return Outline(
        architecture=architecture,
        blocks=blocks,
        trunk=trunk,
        draft=draft,
        embedding=embedding,
        heads=heads,
        kv_heads=kv_heads,
        feed_forward=feed_forward,
        k_heads=k_heads,
        v_heads=v_heads,
        k_heads_window=read("attention.key_length_swa") or k_heads,
        v_heads_window=read("attention.value_length_swa") or v_heads,
        latent=all(mla),
        derived=whole is not None and not (k_stated and v_stated),
        passes=_passes(keys, blocks, loops),
    )


def first_of(values: PerLayer) -> int | None:
    """The first value that is neither absent nor 0."""
    return next((value for value in values if value), None)


def _one_more(values: PerLayer) -> PerLayer:
    return (*values, values[0] if values else None)


def _loops(keys: Keys, architecture: str, blocks: int) -> int:
    """How often a looped model runs through all its blocks (num_loops of nanbeige)."""
    loops = keys.count("num_loops") or 1
    if loops > 1 and architecture in architectures.KNOWN and architecture != "nanbeige":
        return 1
    return loops if loops * blocks <= MOST_LAYERS else 1


def _passes(keys: Keys, blocks: int, loops: int) -> tuple[int, ...]:
    """hrm_text counts every pass in block_count and stores two stacks: the low one runs
    h_cycles x l_cycles times, the high one h_cycles times."""
    stack = keys.count("hrm.layers_per_stack")
    high, low = keys.count("hrm.h_cycles"), keys.count("hrm.l_cycles")
    if stack and high and low and stack * high * (low + 1) == blocks:
        return (high * low,) * stack + (high,) * stack
    return (loops,) * blocks


def _has_draft(tensors: Sequence[Tensor], first: int) -> bool:
    name = f"blk.{first}.nextn.eh_proj.weight"
    return any(tensor.name == name for tensor in tensors)
