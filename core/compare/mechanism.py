"""What keeps a model's cache small, in words made of its cache facts."""

from __future__ import annotations

from core.model.model import CacheGroup, Model
from core.units import format_tokens

UNKNOWN = "not known"
NONE = "keeps no cache"
FULL = "whole context in every layer"


def mechanism(model: Model) -> str:
    """A few words: window, hybrid, latent, compressed, sparse, shared layers, grouped heads."""
    facts = model.cache
    if not facts.known:
        return UNKNOWN
    if not facts.groups and not facts.states:
        return NONE
    words = [*_windows(model), *_hybrid(model), *_rows(model)]
    if facts.shared_layers:
        words.append(f"shared: {_layers(facts.shared_layers)} read another one's cache")
    if not words:
        words = [FULL]
        if facts.states:
            words.append("a state of fixed size beside it")
    heads = _grouped(model)
    return "; ".join([*words, heads] if heads else words)


def _attention(model: Model) -> list[CacheGroup]:
    """Groups of layers that attend; an indexer only chooses what they read."""
    return [group for group in model.cache.groups if "indexer" not in group.name]


def _windows(model: Model) -> list[str]:
    groups = [g for g in _attention(model) if g.window is not None and g.stride == 1]
    total = len({layer for g in _attention(model) for layer in g.layers})
    return [
        f"window: {len(g.layers)} of {_layers(total)} {'keeps' if len(g.layers) == 1 else 'keep'} "
        f"{format_tokens(g.window or 0)} tokens"
        for g in groups
    ]


def _hybrid(model: Model) -> list[str]:
    """Layers with a state of fixed size in place of a cache."""
    kept = {layer for group in model.cache.groups for layer in group.layers}
    states = {layer for state in model.cache.states for layer in state.layers}
    only = states - kept
    if not only:
        return []
    if not kept:
        return ["recurrent: a state of fixed size in every layer, no cache"]
    return [f"hybrid: {len(only)} of {_layers(len(only | kept))} keep a state of fixed size"]


def _rows(model: Model) -> list[str]:
    words = []
    for group in _attention(model):
        if group.stride > 1:
            words.append(f"compressed: a row for {group.stride} tokens in {_in(group)}")
        elif group.v_width == 0 and group.window is None:
            words.append(f"latent: one row of {group.k_width} for all heads")
        if group.read_limit is not None:
            limit = format_tokens(group.read_limit)
            words.append(f"sparse: a token reads {limit} rows at most (all are kept)")
    return list(dict.fromkeys(words))


def _grouped(model: Model) -> str:
    """How many heads share a row of K and V, where that is the same in all layers."""
    if any(group.v_width == 0 for group in model.cache.groups):
        return ""
    heads = {
        (heads, kept)
        for heads, kept in zip(model.shape.heads, model.shape.kv_heads, strict=False)
        if kept
    }
    if len(heads) != 1:
        return ""
    ((count, kept),) = heads
    return f"grouped: {count} heads share {kept} of K and V" if kept < count else ""


def _in(group: CacheGroup) -> str:
    return _layers(len(group.layers))


def _layers(count: int) -> str:
    return "1 layer" if count == 1 else f"{count} layers"
