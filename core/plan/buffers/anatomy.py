"""What the graph of a model is made of: shapes by layer, and which cache each layer reads.

Nothing here knows an architecture by name; the tensors that a layer has say what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from core.gguf.header import Array, Tensor, Value
from core.model.cache_size import CacheSize
from core.model.keys import LARGEST
from core.model.model import CacheGroup, Model
from core.model.model import Shape as ModelShape

Shape = tuple[int, ...]
_RECURRENT = ("ssm_", "shortconv.", "time_mix_")
_MOST_DIGITS = 6  # of a layer's number
ENGINE_LAYERS = 512  # LLAMA_MAX_LAYERS (llama-hparams.h): the engine takes no more


@dataclass(frozen=True, eq=False)
class LayerAnatomy:
    """One block of the trunk: its tensors' shapes by name ("attn_q.weight") and its heads.

    ``cache`` is the number of the cache that it reads, None without attention; ``own_cache`` is
    False where it reads a cache that another layer fills; ``index_cache`` is the indexer's.
    """

    index: int
    shapes: Mapping[str, Shape]
    heads: int
    kv_heads: int
    head_k: int
    head_v: int
    cache: int | None
    own_cache: bool
    index_cache: int | None
    recurrent: bool
    windowed: bool = False

    def has(self, *names: str) -> bool:
        """Whether all these weights are there ("attn_q")."""
        return all(f"{name}.weight" in self.shapes or name in self.shapes for name in names)

    def rows(self, name: str) -> int:
        """Width of what multiplying by this weight gives; 0 without it."""
        shape = self.shapes.get(f"{name}.weight")
        return shape[1] if shape is not None and len(shape) > 1 else 0

    @property
    def recurrent_tensors(self) -> bool:
        """Whether its tensors keep a state, whatever else it has."""
        return any(name.startswith(_RECURRENT) for name in self.shapes)

    @property
    def signature(self) -> tuple[object, ...]:
        """Two layers with equal signatures run the same operations."""
        return (
            tuple(sorted(self.shapes.items())),
            self.heads,
            self.kv_heads,
            self.head_k,
            self.head_v,
            self.cache,
            self.own_cache,
            self.index_cache,
            self.recurrent,
            self.windowed,
        )


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A whole model. ``globals`` are the shapes of tensors that belong to no layer; layers with
    equal ``kinds`` run the same operations, and beyond ENGINE_LAYERS there are none.
    ``group_cache`` says which cache the groups of the cache rule belong to, ``index_caches`` which
    of them an indexer reads. ``draft_head`` marks draft blocks, which read the model's last rows
    beside the tokens."""

    architecture: str
    metadata: Mapping[str, Value]
    globals: Mapping[str, Shape]
    layers: tuple[LayerAnatomy, ...]
    embedding: int
    vocabulary: int
    caches: int
    kinds: tuple[int, ...] = ()
    group_cache: tuple[int, ...] = ()
    index_caches: tuple[int, ...] = ()
    draft_head: bool = False

    @cached_property
    def has_encoder(self) -> bool:
        """Whether a decoder comes behind an encoder; all its rows then give logits."""
        return any(layer.has("cross_attn_q") for layer in self.layers)

    def cells(self, size: CacheSize) -> tuple[tuple[int, ...], int]:
        """Cells of one stream of every cache, and the number of streams."""
        counts = [0] * self.caches
        streams = 1
        for number, group in zip(self.group_cache, size.groups, strict=True):
            counts[number] = group.cells
            streams = group.streams
        return tuple(counts), streams

    def number(self, key: str, default: float = 0) -> float:
        """A number of this architecture's metadata; the first one of an array.

        One that no model has (not finite, or beyond LARGEST) counts as absent.
        """
        value = self.metadata.get(f"{self.architecture}.{key}")
        if isinstance(value, Array):
            value = value.items[0] if value.items else None
        if not isinstance(value, int | float) or not abs(value) <= LARGEST:
            return default
        return value

    def integer(self, key: str, default: int = 0) -> int:
        """A count or a width of this architecture's metadata, never below 0."""
        return max(0, int(self.number(key, default)))


def split_tensors(
    tensors: tuple[Tensor, ...],
) -> tuple[dict[int, dict[str, Shape]], dict[str, Shape]]:
    """Shapes by layer and name, and those of no layer."""
    layers: dict[int, dict[str, Shape]] = {}
    rest: dict[str, Shape] = {}
    for tensor in tensors:
        # Of an encoder and a decoder the graph of the decoder is reserved.
        first, _, tail = tensor.name.removeprefix("dec.").partition(".")
        number, _, name = tail.partition(".")
        plain = number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS
        if first == "blk" and plain:
            layers.setdefault(int(number), {})[name] = tensor.shape
        else:
            rest[tensor.name] = tensor.shape
    return layers, rest


# Groups whose rows an indexer or a compressor keeps beside those that attention reads.
_BESIDE = ("index", "csa", "hca", "compressed")


def dissect(model: Model, draft_head: bool = False) -> Anatomy:
    """The anatomy of a model, from its file and its cache rule; of its draft blocks alone for
    ``draft_head``."""
    by_layer, rest = split_tensors(model.file.tensors)
    shape = model.shape
    groups = model.cache.draft_groups if draft_head else model.cache.groups
    caches: dict[tuple[object, ...], int] = {}
    group_cache: list[int] = []
    for group in groups:
        key = _cache_key(group)
        group_cache.append(caches.setdefault(key, len(caches)))
    index_caches = tuple(
        sorted({n for g, n in zip(groups, group_cache, strict=True) if "index" in g.name})
    )
    main: dict[int, tuple[int, CacheGroup]] = {}
    beside: dict[int, int] = {}
    for group, number in zip(groups, group_cache, strict=True):
        for index in group.layers:
            if _beside(group):
                beside[index] = number
            else:
                main[index] = (number, group)
    states = () if draft_head else model.cache.states
    stateful = {index for state in states for index in state.layers}
    layers = []
    kinds: dict[tuple[object, ...], int] = {}
    numbers = []
    metadata = model.file.header.metadata
    known = shape.layers if shape.layers <= ENGINE_LAYERS else 0
    drafts = range(known, known + shape.draft_layers if known else 0)
    for index in drafts if draft_head else range(known):
        found = main.get(index)
        own = found is not None
        if found is None and index not in stateful:
            found = _borrowed(index, main, by_layer)
        layer = LayerAnatomy(
            index=index,
            shapes=by_layer.get(index, {}),
            heads=_at(shape.heads, index, draft_head),
            kv_heads=_at(shape.kv_heads, index, draft_head),
            head_k=found[1].k_head if found else _head(shape.key_length, shape, index),
            head_v=found[1].v_head if found else _head(shape.value_length, shape, index),
            cache=found[0] if found else None,
            own_cache=own,
            index_cache=beside.get(index),
            recurrent=index in stateful,
            windowed=found is not None and found[1].window is not None,
        )
        layers.append(layer)
        numbers.append(kinds.setdefault(layer.signature, len(kinds)))
    out = rest.get("output.weight") or rest.get("token_embd.weight")
    return Anatomy(
        architecture=model.architecture,
        metadata=metadata,
        globals=rest,
        layers=tuple(layers),
        kinds=tuple(numbers),
        embedding=shape.embedding or 0,
        vocabulary=out[1] if out and len(out) > 1 else shape.vocabulary or 0,
        caches=len(caches),
        group_cache=tuple(group_cache),
        index_caches=index_caches,
        draft_head=draft_head,
    )


def _at(counts: tuple[int, ...], index: int, draft_head: bool) -> int:
    """Heads of a layer; a draft block has as many as the last layer that has any."""
    if index < len(counts):
        return counts[index]
    return next((count for count in reversed(counts) if count), 0) if draft_head else 0


def _head(stated: int | None, shape: ModelShape, layer: int) -> int:
    """A head's size where no cache tells it."""
    if stated:
        return stated
    heads = shape.heads[layer] if layer < len(shape.heads) else 0
    return (shape.embedding or 0) // heads if heads else 0


def _beside(group: CacheGroup) -> bool:
    return any(word in group.name for word in _BESIDE)


def _cache_key(group: CacheGroup) -> tuple[object, ...]:
    """Groups with one key share cells, a mask and the rows' numbers."""
    return (group.window, group.stride, group.sequence_streams, _beside(group))


def _borrowed(
    index: int,
    main: Mapping[int, tuple[int, CacheGroup]],
    by_layer: Mapping[int, Mapping[str, Shape]],
) -> tuple[int, CacheGroup] | None:
    """The cache of the last layer before whose Q has the same width."""
    q = by_layer.get(index, {}).get("attn_q.weight")
    for before in range(index - 1, -1, -1):
        if before in main and by_layer.get(before, {}).get("attn_q.weight") == q:
            return main[before]
    return None


__all__ = ["Anatomy", "LayerAnatomy", "Shape", "dissect", "split_tensors"]
