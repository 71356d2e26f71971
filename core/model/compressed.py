"""Compressed attention (DeepSeek V4): a raw window, and one row for every 4 or 128 tokens."""

from __future__ import annotations

from dataclasses import dataclass

from core.language import mark, tr
from core.model import architectures
from core.model.indexers import INDEXER_KEY_LENGTH, RATIOS, TOP_K
from core.model.keys import Keys
from core.model.model import CacheGroup, StateGroup
from core.model.outline import Outline
from core.model.windows import WINDOW

FINE, COARSE = 4, 128  # tokens that one row stands for (llama-kv-cache-dsv4.cpp)


@dataclass(frozen=True, slots=True)
class Compressed:
    """``ratios`` are those of every layer; ``fitting`` is False where one of them has no rule."""

    ratios: tuple[int, ...]
    fitting: bool


def compressed_of(keys: Keys, outline: Outline) -> Compressed | None:
    """The ratios of a model with compressed caches, else None."""
    values = keys.per_layer(RATIOS, outline.total)
    if values is None or not any(values):
        return None
    ratios = tuple(value or 0 for value in values)
    known = outline.architecture == "deepseek4" or set(ratios) <= {0, FINE, COARSE}
    return Compressed(ratios, known and keys.count(WINDOW) > 0 and bool(keys.count(TOP_K)))


def compressed_groups(
    keys: Keys, outline: Outline, compressed: Compressed
) -> tuple[tuple[CacheGroup, ...], tuple[StateGroup, ...]] | None:
    """Caches and compressor states; None where a width is missing. Every sequence has caches of
    its own, whatever the unified setting."""
    head, kv_heads = outline.k_heads[0], outline.kv_heads[0]
    index = keys.count(INDEXER_KEY_LENGTH)
    if not head or not kv_heads or not index:
        return None
    fine = _layers(compressed, FINE)
    coarse = _layers(compressed, COARSE)
    width, top_k = head * kv_heads, keys.count(TOP_K)
    rule = f"{RATIOS}, attention.key_length"

    def group(
        name: str, layers: tuple[int, ...], k_width: int, stride: int, limit: int | None
    ) -> CacheGroup:
        return CacheGroup(
            name,
            layers,
            k_width,
            0,
            k_head=k_width,
            stride=stride,
            sequence_streams=True,
            read_limit=limit,
            rule=rule,
        )

    raw = CacheGroup(
        mark("raw window"),
        tuple(range(outline.total)),
        width,
        0,
        k_head=head,
        window=keys.count(WINDOW),
        sequence_streams=True,
        rule=tr("{key} on every layer, K only", key=WINDOW),
    )
    groups = [
        raw,
        group(mark("compressed 4:1"), fine, width, FINE, top_k),
        group(mark("compressed 128:1"), coarse, width, COARSE, None),
        group(mark("indexer"), fine, index, FINE, None),
    ]
    rollback = outline.architecture in architectures.ROLLBACK
    inner_fine = tuple(layer for layer in fine if layer < outline.trunk)
    inner_coarse = tuple(layer for layer in coarse if layer < outline.trunk)
    # Keys and scores of the tokens that are not yet compressed: two windows of 4, one of 128.
    states = [
        _state(mark("compressor 4:1"), inner_fine, 2 * FINE * 2 * head, rollback),
        _state(mark("compressor 128:1"), inner_coarse, COARSE * head, rollback),
        _state(mark("indexer compressor"), inner_fine, 2 * FINE * 2 * index, rollback),
    ]
    return tuple(g for g in groups if g.layers), tuple(s for s in states if s.layers)


def _state(name: str, layers: tuple[int, ...], elements: int, rollback: bool) -> StateGroup:
    return StateGroup(
        name, layers, elements, elements, rollback, tr("{key}, f32 keys and scores", key=RATIOS)
    )


def _layers(compressed: Compressed, ratio: int) -> tuple[int, ...]:
    return tuple(n for n, value in enumerate(compressed.ratios) if value == ratio)
