"""What the layers keep while a model writes, as figures. No Qt here."""

from __future__ import annotations

from core.language import mark, tr, trn, written
from core.model.cache_size import row_bytes
from core.model.model import CacheGroup, Model, StateGroup
from core.provenance import Input, Number, Rank, Source, Unit
from gui.panels.overview.facts import Fact

_METADATA = Source(Rank.DERIVED, mark("metadata of the file"))


def keeps(model: Model, type_k: str, type_v: str) -> list[Fact]:
    """What the layers keep while the model writes, one line per kind of layer.

    Caches are per token in the chosen cache types, states per sequence.
    """
    cache, layers = model.cache, model.shape.layers
    kept = {layer for group in cache.groups for layer in group.layers}
    kept |= {layer for state in cache.states for layer in state.layers}
    # Some engines keep the draft block's cache with the others.
    counted = max(layers, cache.layers) if max(kept, default=0) >= layers else layers
    facts = [_cache_fact(group, counted, type_k, type_v) for group in cache.groups]
    facts += [_state_fact(state, counted) for state in cache.states]
    if cache.shared_layers:
        words = tr(
            "{layers} read the cache of another layer", layers=_of(cache.shared_layers, layers)
        )
        facts.append(Fact(words, Number(0, Unit.BYTES, _METADATA, note=cache.rule)))
    rest = layers - len({layer for layer in kept if layer < layers}) - cache.shared_layers
    if kept and rest > 0:
        words = tr("{layers} keep nothing", layers=_of(rest, layers))
        facts.append(Fact(words, Number(0, Unit.BYTES, _METADATA, note=cache.rule)))
    for group in cache.draft_groups:
        words = tr("the draft block keeps {what}, when it is used", what=_span(group))
        facts.append(Fact(words, _cache_number(group, type_k, type_v)))
    return facts


def cache_bounds(model: Model) -> list[Fact]:
    """Where no rule is known: between what and what an f16 cache must lie."""
    source = Source(Rank.ESTIMATED, mark("metadata of the file, no rule for this architecture"))
    return [
        Fact(name, Number(value, Unit.BYTES_PER_TOKEN, source, note=mark("as far as the keys say")))
        for name, value in ((tr("At least"), model.cache.low), (tr("At most"), model.cache.high))
        if value is not None
    ]


def _of(count: int, layers: int) -> str:
    if count == layers:
        return trn("the one layer", "all {count} layers", layers)
    return tr("{count} of {layers} layers", count=count, layers=layers)


def _span(group: CacheGroup) -> str:
    if group.window is not None:
        words, plain = tr("a window of {count:,} tokens", count=group.window), "sliding window"
    elif group.stride > 1:
        words, plain = tr("one row for {count} tokens", count=group.stride), ""
    else:
        words, plain = tr("a full cache"), "full attention"
    return words if group.name == plain else f"{words} ({tr(group.name)})"


def _cache_fact(group: CacheGroup, layers: int, type_k: str, type_v: str) -> Fact:
    words = tr("{layers} keep {what}", layers=_of(len(group.layers), layers), what=_span(group))
    return Fact(words, _cache_number(group, type_k, type_v))


def _cache_number(group: CacheGroup, type_k: str, type_v: str) -> Number[int]:
    k_row, v_row = row_bytes(type_k, group.k_width), row_bytes(type_v, group.v_width)
    inputs = [
        Input(mark("layers"), len(group.layers)),
        Input(_row(tr("K row"), group.k_width, type_k), k_row, Unit.BYTES),
        Input(_row(tr("V row"), group.v_width, type_v), v_row, Unit.BYTES),
    ]
    formula = mark("layers × (K row + V row)")
    if group.stride > 1:
        inputs.append(Input(mark("tokens in a row"), group.stride))
        formula = mark("layers × (K row + V row) / tokens in a row")
    said = _rule(group)
    return Number(
        len(group.layers) * (k_row + v_row) // group.stride,
        Unit.BYTES_PER_TOKEN,
        _METADATA,
        formula,
        tuple(inputs),
        said if group.window is None else tr("{rule}; only until the window is full", rule=said),
    )


def _row(name: str, width: int, type_name: str) -> str:
    return f"{name} ({written(width)} × {type_name})"


def _rule(group: CacheGroup | StateGroup) -> str:
    """The kind of cache and the keys that decided it; many rules begin with the kind."""
    name, rule = tr(group.name), tr(group.rule)
    if not rule or rule.startswith(name):
        return rule or name
    return f"{name}: {rule}"


def _state_fact(group: StateGroup, layers: int) -> Fact:
    number = Number(
        group.bytes_per_sequence,
        Unit.BYTES,
        _METADATA,
        mark("layers × (R + S elements) × 4 bytes, for each sequence"),
        (
            Input(mark("layers"), len(group.layers)),
            Input(mark("R elements"), group.r_elements),
            Input(mark("S elements"), group.s_elements),
        ),
        _rule(group),
    )
    words = tr(
        "{layers} keep a recurrent state ({name})",
        layers=_of(len(group.layers), layers),
        name=tr(group.name),
    )
    return Fact(words, number)
