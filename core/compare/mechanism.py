"""What keeps a model's cache small, in words made of its cache facts."""

from __future__ import annotations

from core.language import mark, tr, trn
from core.model.model import CacheGroup, Model
from core.units import format_tokens

UNKNOWN = mark("not known")
NONE = mark("keeps no cache")
FULL = mark("whole context in every layer")


def mechanism(model: Model) -> str:
    """A few words: window, hybrid, latent, compressed, sparse, shared layers, grouped heads."""
    facts = model.cache
    if not facts.known:
        return tr(UNKNOWN)
    if not facts.groups and not facts.states:
        return tr(NONE)
    words = [*_windows(model), *_hybrid(model), *_rows(model)]
    if facts.shared_layers:
        words.append(
            trn(
                "shared: 1 layer read another one's cache",
                "shared: {count} layers read another one's cache",
                facts.shared_layers,
            )
        )
    if not words:
        words = [tr(FULL)]
        if facts.states:
            words.append(tr("a state of fixed size beside it"))
    heads = _grouped(model)
    return "; ".join([*words, heads] if heads else words)


def _attention(model: Model) -> list[CacheGroup]:
    """Groups of layers that attend; an indexer only chooses what they read."""
    return [group for group in model.cache.groups if "indexer" not in group.name]


def _windows(model: Model) -> list[str]:
    groups = [g for g in _attention(model) if g.window is not None and g.stride == 1]
    total = len({layer for g in _attention(model) for layer in g.layers})
    return [
        trn(
            "window: {count} of {layers} keeps {tokens} tokens",
            "window: {count} of {layers} keep {tokens} tokens",
            len(g.layers),
            layers=_layers(total),
            tokens=format_tokens(g.window or 0),
        )
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
        return [tr("recurrent: a state of fixed size in every layer, no cache")]
    return [
        trn(
            "hybrid: {count} of {layers} keep a state of fixed size",
            "hybrid: {count} of {layers} keep a state of fixed size",
            len(only),
            layers=_layers(len(only | kept)),
        )
    ]


def _rows(model: Model) -> list[str]:
    words = []
    for group in _attention(model):
        if group.stride > 1:
            words.append(
                tr(
                    "compressed: a row for {count} tokens in {layers}",
                    count=group.stride,
                    layers=_in(group),
                )
            )
        elif group.v_width == 0 and group.window is None:
            words.append(tr("latent: one row of {width} for all heads", width=group.k_width))
        if group.read_limit is not None:
            limit = format_tokens(group.read_limit)
            words.append(
                tr("sparse: a token reads {limit} rows at most (all are kept)", limit=limit)
            )
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
    if kept >= count:
        return ""
    return tr("grouped: {count} heads share {kept} of K and V", count=count, kept=kept)


def _in(group: CacheGroup) -> str:
    return _layers(len(group.layers))


def _layers(count: int) -> str:
    return trn("1 layer", "{count} layers", count)
