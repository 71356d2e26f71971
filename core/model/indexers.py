"""Sparse attention: small key caches that choose which rows the large cache is read for."""

from __future__ import annotations

from dataclasses import dataclass

from core.language import mark, tr
from core.model import architectures
from core.model.keys import Keys
from core.model.model import CacheGroup
from core.model.outline import Outline
from core.model.roles import INDEXER, Survey

INDEXER_KEY_LENGTH = "attention.indexer.key_length"
TOP_K = "attention.indexer.top_k"
TYPES = "attention.indexer.types"
BLOCK_SIZE = "attention.indexer.block_size"
POOL = "attention.indexer.kpool"
RATIOS = "attention.compress_ratios"


@dataclass(frozen=True, slots=True)
class Indexer:
    """``groups`` are the indexer's own caches, ``sparse`` the layers that read only ``limit`` rows
    of the main cache, ``draft_groups`` those of the draft block."""

    groups: tuple[CacheGroup, ...] = ()
    draft_groups: tuple[CacheGroup, ...] = ()
    sparse: frozenset[int] = frozenset()
    limit: int | None = None


def indexer_of(
    keys: Keys, outline: Outline, survey: Survey, attention: tuple[int, ...], hybrid: bool
) -> Indexer:
    """The indexer of a model that has one; an empty one otherwise.

    ``attention`` are the layers of the main cache, draft blocks left out unless they are in it.
    """
    head, top_k = keys.count(INDEXER_KEY_LENGTH), keys.count(TOP_K)
    if not head or not attention:
        return Indexer()
    block = keys.count(BLOCK_SIZE)
    if block and not outline.latent:
        return _block_sparse(keys, outline, survey, attention, head, top_k * block)
    if not top_k:
        return Indexer()
    slots, pool, rule = 1, 1, tr("{key}, one key head", key=INDEXER_KEY_LENGTH)
    ratios = [r for r in keys.per_layer(RATIOS, outline.total) or () if r]
    if hybrid and not outline.latent and ratios:
        slots, pool = 2, ratios[0]  # a key and the pooled key in one row
        rule = tr("{key} x 2 for {ratios}", key=INDEXER_KEY_LENGTH, ratios=RATIOS)
    elif keys.count(POOL):
        slots, pool = 3, keys.count(POOL)  # a key, a gate and the pooled key
        rule = tr("{key} x 3 for {pool}", key=INDEXER_KEY_LENGTH, pool=POOL)
    owners, said = _owners(keys, outline, survey, attention)
    sparse = slots > 1 or outline.latent

    def group(layers: tuple[int, ...]) -> CacheGroup:
        return CacheGroup(
            mark("indexer"),
            layers,
            k_width=head * slots,
            v_width=0,
            k_head=head * slots,
            read_share=(1, slots * pool),
            rule=tr("{rule}; layers by {keys}", rule=rule, keys=said),
        )

    # The draft block of a latent model is dense; the pooled kinds keep their indexer there.
    draft = tuple(range(outline.trunk, outline.total)) if slots > 1 else ()
    return Indexer(
        (group(owners),) if owners else (),
        (group(draft),) if draft else (),
        frozenset(attention) if sparse else frozenset(),
        top_k if sparse else None,
    )


def _block_sparse(
    keys: Keys,
    outline: Outline,
    survey: Survey,
    attention: tuple[int, ...],
    head: int,
    limit: int,
) -> Indexer:
    """Blocks of keys are chosen (MiniMax M3). The engine reserves a V that nobody reads."""
    if outline.architecture in architectures.KNOWN or not _marked(survey, attention):
        dense = keys.count("leading_dense_block_count")
        layers = tuple(layer for layer in attention if layer >= dense)
        said = "leading_dense_block_count"
    else:
        layers, said = _marked(survey, attention), tr("the tensors of each layer")
    if not layers:
        return Indexer()
    value = outline.v_heads[layers[0]] or 0
    group = CacheGroup(
        mark("indexer"),
        layers,
        k_width=head,
        v_width=value,
        v_width_padded=value,
        k_head=head,
        v_head=value,
        v_read=False,
        rule=tr(
            "{key} and an unused value row; layers by {keys}", key=INDEXER_KEY_LENGTH, keys=said
        ),
    )
    return Indexer((group,), (), frozenset(layers), limit or None)


def _owners(
    keys: Keys, outline: Outline, survey: Survey, attention: tuple[int, ...]
) -> tuple[tuple[int, ...], str]:
    """Layers without an indexer of their own use the choice of the layer before."""
    layers = tuple(layer for layer in attention if layer < outline.trunk)
    types = keys.per_layer(TYPES, outline.trunk)
    if types is not None and any(types):
        return tuple(layer for layer in layers if types[layer]), TYPES
    if outline.architecture == "glm-dsa":
        if keys.count("context_length") >= architectures.GLM_5_2_CONTEXT:
            own = tuple(n for n in layers if n < 2 or n % 4 == 2)
            return own, tr("the list of GLM 5.2 (assumed: the keys do not say)")
        return layers, tr("every layer")
    if outline.architecture in architectures.KNOWN or not _marked(survey, layers):
        return layers, tr("every layer")
    return _marked(survey, layers), tr("the tensors of each layer")


def _marked(survey: Survey, layers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(layer for layer in layers if survey.marks.get(layer, 0) & INDEXER)
