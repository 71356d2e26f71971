"""What each layer keeps while a model writes: rules by kind of layer, told from keys and shapes.

The rules are those of llama.cpp b11434. A layer is full, windowed, chunked, latent, sparse or
recurrent; which one follows from the keys, then from the tensors, and only where neither says from
the architecture's name (``core.model.architectures``). What no rule covers is unknown, never
guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.gguf.header import Kind, Tensor
from core.gguf.text import excerpt
from core.language import mark, tr
from core.model import architectures
from core.model.architectures import KNOWN
from core.model.compressed import compressed_groups, compressed_of
from core.model.doubt import doubt_of
from core.model.indexers import Indexer, indexer_of
from core.model.keys import Keys
from core.model.model import CacheFacts, CacheGroup
from core.model.outline import Outline
from core.model.recurrence import Recurrence, recurrence_of
from core.model.roles import KEYS, Survey
from core.model.windows import Windows, windows_of
from core.problems import Problem, Severity

SHARED_LAYERS = "attention.shared_kv_layers"
_NO_MODEL = frozenset((Kind.PROJECTOR, Kind.ADAPTER, Kind.IMATRIX, Kind.CONTROL_VECTOR))
# Keys that decide nothing here, or whose absence in use the shapes of the tensors make up for.
_SPARED = frozenset(
    (
        *("context_length", "vocab_size", "attention.head_count", "attention.head_count_kv"),
        *("attention.key_length", "attention.value_length"),
    )
)
_PROJECTION = re.compile(r"blk\.([0-9]{1,6})\.attn_([kv])\.weight")
# What layers keep: plain, and latent.
_FULL = (mark("full attention"), mark("latent attention"))
_SPARSE = (mark("sparse attention"), mark("sparse latent attention"))
_WINDOWED = (mark("sliding window"), mark("latent sliding window"))
_CHUNKED = (mark("chunked attention"), mark("latent chunked attention"))
_ASK = mark("Measure it: an engine's log says what it reserves.")


@dataclass(frozen=True, slots=True)
class _Row:
    """What one layer keeps for one token, and how: layers that are alike form a group."""

    name: str
    k_width: int
    v_width: int
    k_head: int
    v_head: int
    window: int | None
    limit: int | None


def cache_of(
    keys: Keys, outline: Outline, survey: Survey, tensors: Sequence[Tensor], kind: Kind
) -> CacheFacts:
    """The cache and the states of a model. Never raises; unknown is a value."""
    without = _without_cache(outline, kind)
    if without:
        return CacheFacts(known=True, layers=outline.total, rule=without)
    facts = _decided(keys, outline, survey, tensors)
    unusable = [
        n for n in keys.unusable if n not in _SPARED and not n.startswith(("expert_", "experts_"))
    ]
    if facts.known and unusable:
        # To go on as if it were absent would be a guess: a window that is text is a window.
        why = tr("The key {key} cannot be used", key=excerpt(keys.full(unusable[0])))
        return _unknown(outline, "odd-key", why)
    return facts


def _decided(keys: Keys, outline: Outline, survey: Survey, tensors: Sequence[Tensor]) -> CacheFacts:
    if not outline.trunk:
        return _unknown(
            outline,
            "no-layers",
            tr("The key {key} is missing or 0", key=excerpt(keys.full("block_count"))),
        )
    last = max(survey.marks, default=-1)
    # An encoder and a decoder have counts of their own.
    judged = outline.architecture in KNOWN and not survey.decoder
    if judged and last >= outline.blocks + outline.draft:
        return _unknown(outline, "contradiction", _too_many(keys, outline, last))
    recurrence = recurrence_of(keys, outline, survey)
    windows = windows_of(keys, outline, recurrence.layers)
    doubt = _doubt(keys, outline, survey, recurrence, windows)
    if doubt:
        return _unknown(outline, "unknown-cache", doubt, low=_compressed_growth(keys, outline))
    compressed = compressed_of(keys, outline) if not recurrence.states else None
    if compressed is not None and compressed.fitting:
        made = compressed_groups(keys, outline, compressed)
        if made is None:
            return _unknown(outline, "missing-key", _missing(keys, outline))
        groups, states = made
        return CacheFacts(
            known=True,
            groups=groups,
            states=states,
            draft_groups=_draft_groups(outline, windows, Indexer(), latent=False) or (),
            layers=outline.total,
            same_types=True,
            rule=tr("compressed attention: attention.compress_ratios"),
        )
    return _plain(keys, outline, survey, tensors, recurrence, windows)


def _plain(
    keys: Keys,
    outline: Outline,
    survey: Survey,
    tensors: Sequence[Tensor],
    recurrence: Recurrence,
    windows: Windows,
) -> CacheFacts:
    own, shared = _own_layers(keys, outline)
    attending = _attending(outline, survey, recurrence)
    end = outline.total if _draft_in_main(outline) else outline.trunk
    layers = tuple(n for n in range(min(own, end)) if attending[n])
    widths = _widths(outline, windows, tensors, layers)
    if widths is None:
        return _unknown(outline, "missing-key", _missing(keys, outline))
    clash = "" if outline.latent else _clash(tensors, widths)
    if clash:
        return _unknown(outline, "contradiction", clash)
    if not any(sum(pair) for pair in widths.values()) and not recurrence.states:
        return _unknown(outline, "missing-key", _missing(keys, outline))
    hybrid = bool(recurrence.states)
    indexer = indexer_of(keys, outline, survey, layers, hybrid)
    widest = max((v for _, v in widths.values()), default=0)
    widest = max(widest, *(_v_width(outline, windows, n) for n in range(outline.total)), 0)
    sharers = _sharers(outline, windows, attending, own, shared)
    groups = _grouped(outline, windows, indexer, widths, widest, sharers, shared)
    names = dict.fromkeys(group.name for group in (*groups, *indexer.groups))
    names |= dict.fromkeys(state.name for state in recurrence.states)
    return CacheFacts(
        known=True,
        groups=(*groups, *indexer.groups),
        states=recurrence.states,
        draft_groups=_draft_groups(outline, windows, indexer, latent=outline.latent) or (),
        layers=outline.total,
        shared_layers=sum(sharers.values()),
        flash_attention=outline.architecture not in architectures.NO_FLASH_ATTENTION,
        same_types=outline.latent,
        rule=" + ".join(map(tr, names)),
    )


def _without_cache(outline: Outline, kind: Kind) -> str:
    architecture = outline.architecture
    if kind in _NO_MODEL or (kind is Kind.DIFFUSION and architecture not in KNOWN):
        return tr("no cache: the file is no text model but a {kind}", kind=tr(kind.value))
    if architecture in architectures.DIFFUSION_TEXT:
        return tr(
            "no cache: {architecture} works on the whole text in every step",
            architecture=architecture,
        )
    if architecture in architectures.ENCODERS:
        return tr(
            "no cache: {architecture} reads a text at once and writes none",
            architecture=architecture,
        )
    if architecture in architectures.READS_TARGET_CACHE:
        return tr(
            "no cache of its own: {architecture} reads that of the model it drafts for",
            architecture=architecture,
        )
    return ""


def _attending(outline: Outline, survey: Survey, recurrence: Recurrence) -> tuple[bool, ...]:
    """Layers with attention. A recurrent one has it too where it projects keys beside its state;
    where each layer is one thing alone, one with a feed-forward width is just that."""
    if outline.architecture in architectures.RECURRENT:
        return (False,) * outline.total
    parallel = outline.architecture in architectures.PARALLEL
    single = bool(recurrence.states) and 0 in outline.feed_forward
    return tuple(
        outline.kv_heads[n] != 0
        and (not recurrence.layers[n] or parallel or bool(survey.marks.get(n, 0) & KEYS))
        and not (single and n < outline.trunk and outline.feed_forward[n])
        for n in range(outline.total)
    )


def _own_layers(keys: Keys, outline: Outline) -> tuple[int, str]:
    """How many of the first layers own their cache, and by which rule."""
    shared = keys.count(SHARED_LAYERS)
    if shared and (outline.architecture == "gemma4" or outline.architecture not in KNOWN):
        return max(outline.total - shared, 0), SHARED_LAYERS
    if outline.architecture == "gemma3n":
        own = min(architectures.GEMMA3N_OWN_CACHE, outline.total)
        return own, tr("the first {count} own one, by default for gemma3n (assumed)", count=own)
    return outline.total, ""


def _sharers(
    outline: Outline, windows: Windows, attending: tuple[bool, ...], own: int, rule: str
) -> dict[bool, int]:
    """Layers that read another's cache: windowed ones that of the last windowed owner, full ones
    that of the last full one."""
    counts = {True: 0, False: 0}
    if rule:
        for n in range(own, outline.trunk):
            if attending[n]:
                counts[windows.layers[n]] += 1
    return counts


def _widths(
    outline: Outline, windows: Windows, tensors: Sequence[Tensor], layers: tuple[int, ...]
) -> dict[int, tuple[int, int]] | None:
    """Elements of one K and one V row for each layer, from the keys or else from the shapes of the
    projections; None where neither gives them."""
    widths = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for n in layers:
        heads = outline.kv_heads[n]
        k_head, v_head = _heads(outline, windows, n)
        if heads is not None and k_head is not None and (outline.latent or v_head is not None):
            widths[n] = heads * k_head, 0 if outline.latent else heads * (v_head or 0)
            continue
        shapes = shapes or {tensor.name: tensor.shape for tensor in tensors}
        k, v = (shapes.get(f"blk.{n}.attn_{part}.weight") for part in "kv")
        if k is None or v is None or len(k) < 2 or len(v) < 2 or outline.latent:
            return None
        widths[n] = k[1], v[1]
    return widths


def _too_many(keys: Keys, outline: Outline, last: int) -> str:
    return tr(
        "There are tensors of layer {layer:,}, where {key} says {count:,} layers: "
        "llama.cpp refuses this file",
        layer=last,
        key=excerpt(keys.full("block_count")),
        count=outline.blocks + outline.draft,
    )


def _clash(tensors: Sequence[Tensor], widths: dict[int, tuple[int, int]]) -> str:
    """Where the keys and the shape of a projection say different widths; empty where none do.

    No model of llama.cpp's own has one: it refuses such a file.
    """
    for tensor in tensors:
        match = _PROJECTION.fullmatch(tensor.name)
        if match is None or len(tensor.shape) < 2 or int(match[1]) not in widths:
            continue
        said = widths[int(match[1])]["kv".index(match[2])]
        if said != tensor.shape[1]:
            return tr(
                "{tensor} has {rows:,} rows, where the keys say {said:,}: llama.cpp "
                "refuses this file",
                tensor=tensor.name,
                rows=tensor.shape[1],
                said=said,
            )
    return ""


def _heads(outline: Outline, windows: Windows, n: int) -> tuple[int | None, int | None]:
    if windows.layers[n]:
        return outline.k_heads_window[n], outline.v_heads_window[n]
    return outline.k_heads[n], outline.v_heads[n]


def _v_width(outline: Outline, windows: Windows, n: int) -> int:
    return (
        0 if outline.latent else (outline.kv_heads[n] or 0) * (_heads(outline, windows, n)[1] or 0)
    )


def _grouped(
    outline: Outline,
    windows: Windows,
    indexer: Indexer,
    widths: dict[int, tuple[int, int]],
    widest: int,
    sharers: dict[bool, int],
    shared: str = "",
) -> tuple[CacheGroup, ...]:
    rows: dict[_Row, list[int]] = {}
    for n, (k_width, v_width) in widths.items():
        if k_width or v_width:
            rows.setdefault(_row(outline, windows, indexer, n, k_width, v_width), []).append(n)
    # Sharers read what the last layer of their kind keeps.
    last = {row.window is not None: row for row in sorted(rows, key=lambda row: rows[row][-1])}
    groups = []
    for row, layers in rows.items():
        windowed = row.window is not None
        readers = sharers[windowed] if last[windowed] is row else 0
        rule = _rule(outline, windows)
        if readers:
            more = tr("{count} more layers read it ({rule})", count=readers, rule=shared)
            rule = f"{rule}; {more}"
        groups.append(
            CacheGroup(
                row.name,
                tuple(layers),
                row.k_width,
                row.v_width,
                v_width_padded=widest if row.v_width else 0,
                k_head=row.k_head,
                v_head=row.v_head,
                window=row.window,
                sharers=readers,
                read_limit=row.limit,
                rule=rule,
            )
        )
    return tuple(groups)


def _row(
    outline: Outline, windows: Windows, indexer: Indexer, n: int, k_width: int, v_width: int
) -> _Row:
    k_head, v_head = _heads(outline, windows, n)
    windowed = windows.layers[n]
    sparse = n in indexer.sparse and not windowed
    if windowed:
        names = _CHUNKED if windows.chunked else _WINDOWED
    else:
        names = _SPARSE if sparse else _FULL
    return _Row(
        names[outline.latent],
        k_width,
        v_width,
        k_head or 0,
        0 if outline.latent else v_head or 0,
        windows.size if windowed else None,
        indexer.limit if sparse else None,
    )


def _rule(outline: Outline, windows: Windows) -> str:
    if outline.latent:
        width = tr("attention.key_length x attention.head_count_kv, one row for K and V")
    elif outline.derived:
        width = tr("attention.head_count_kv x (embedding / heads: head size derived)")
    else:
        width = tr("attention.head_count_kv x attention.key_length and value_length")
    return tr("{rule}; row: {width}", rule=windows.rule, width=width)


def _draft_in_main(outline: Outline) -> bool:
    """Most engines' caches leave a draft block out until it is used; some memories do not."""
    return outline.draft > 0 and outline.architecture in architectures.DRAFT_IN_MAIN_CACHE


def _draft_groups(
    outline: Outline, windows: Windows, indexer: Indexer, latent: bool
) -> tuple[CacheGroup, ...] | None:
    """The draft block's own context: an ordinary cache with the block's layers alone."""
    draft = range(outline.trunk, outline.total)
    widths = {}
    for n in draft:
        heads, (k_head, v_head) = outline.kv_heads[n], _heads(outline, windows, n)
        if not heads or not k_head or (not latent and not v_head):
            return None
        widths[n] = heads * k_head, 0 if latent else heads * (v_head or 0)
    if not widths:
        return ()
    widest = max(v for _, v in widths.values())
    sparse = Indexer(sparse=frozenset(draft), limit=indexer.limit)
    choice = sparse if indexer.draft_groups else Indexer()
    groups = _grouped(outline, windows, choice, widths, widest, {True: 0, False: 0})
    return (*groups, *indexer.draft_groups)


def _doubt(
    keys: Keys, outline: Outline, survey: Survey, recurrence: Recurrence, windows: Windows
) -> str:
    """Why the keys do not decide; empty where they do."""
    if recurrence.missing:
        return tr("The key {key} is missing or 0", key=excerpt(keys.full(recurrence.missing)))
    if not recurrence.decided:
        return tr(
            "{architecture} has recurrent layers ({rule}) of a kind that is not modelled",
            architecture=excerpt(outline.architecture),
            rule=recurrence.rule,
        )
    if not windows.decided:
        return tr(
            "{architecture} has a sliding window of {size:,} tokens, and no key says which "
            "layers use it",
            architecture=excerpt(outline.architecture),
            size=windows.size,
        )
    return doubt_of(keys, outline, survey)


def _unknown(outline: Outline, code: str, why: str, low: int | None = None) -> CacheFacts:
    """No figure, and a range as far as the keys allow: from nothing that grows to full attention
    in every layer, f16."""
    high: int | None = 0
    for n in range(outline.trunk):
        heads, k_head, v_head = outline.kv_heads[n], outline.k_heads[n], outline.v_heads[n]
        if heads is None or k_head is None or v_head is None:
            high = None
            break
        high = (high or 0) + 2 * heads * (k_head + v_head)
    if not outline.trunk:
        high = None
    bounded = high is not None
    return CacheFacts(
        known=False,
        layers=outline.total,
        rule=mark("unknown"),
        low=(low or 0) if bounded else None,
        high=high,
        problem=Problem(
            code,
            tr("{why}; how much its cache takes is not known.", why=why),
            Severity.WARNING,
            tr(_ASK),
        ),
    )


def _compressed_growth(keys: Keys, outline: Outline) -> int:
    """Bytes per token that compressed rows alone would add, f16; 0 without ratios."""
    compressed = compressed_of(keys, outline)
    if compressed is None:
        return 0
    rows = zip(compressed.ratios, outline.k_heads, outline.kv_heads, strict=False)
    return sum(2 * (k or 0) * (heads or 0) // ratio for ratio, k, heads in rows if ratio)


def _missing(keys: Keys, outline: Outline) -> str:
    """Which key a row needs and the file does not have."""
    for name, values in (
        ("attention.head_count", outline.heads),
        ("attention.head_count_kv", outline.kv_heads),
        ("attention.key_length", outline.k_heads),
        ("attention.value_length", outline.v_heads),
    ):
        gap = next((n for n, value in enumerate(values) if value is None), None)
        if gap is not None:
            key = excerpt(keys.full(name))
            if not keys.has(name):
                return tr("The key {key} is missing", key=key)
            return tr("The key {key} is missing for layer {layer}", key=key, layer=gap)
    return tr("The key {key} is missing or 0", key=excerpt(keys.full("attention.head_count")))
