"""Layers that keep a state of fixed size instead of, or beside, a cache."""

from __future__ import annotations

from dataclasses import dataclass

from core.language import mark, tr
from core.model import architectures
from core.model.keys import Keys
from core.model.model import StateGroup
from core.model.outline import Outline, first_of
from core.model.roles import FUSED, GATE, KEYS, STATE, Survey
from core.model.windows import INTERVAL, WINDOW

RECURRENT_LAYERS = "attention.recurrent_layers"


@dataclass(frozen=True, slots=True)
class Recurrence:
    """``layers`` tells for every layer whether it is recurrent. ``states`` are what they keep.

    ``decided`` is False where layers are recurrent and no rule gives the size of their state;
    ``missing`` then names the key that a rule would need, if that is why.
    """

    layers: tuple[bool, ...]
    states: tuple[StateGroup, ...]
    rule: str
    decided: bool = True
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Size:
    """Elements of one layer's state, and the keys they follow from."""

    name: str
    r_elements: int
    s_elements: int
    rule: str


def recurrence_of(keys: Keys, outline: Outline, survey: Survey) -> Recurrence:
    """Which layers are recurrent, and what one sequence keeps in each."""
    size = _size(keys, outline)
    layers, rule = _layers(keys, outline, survey, size is not None)
    recurrent = tuple(layer for layer in range(outline.trunk) if layers[layer])
    if not recurrent:
        return Recurrence(layers, (), "")
    if size is None:
        size = _lightning(outline, survey, recurrent)
    if size is None or not (size.r_elements or size.s_elements):
        return Recurrence(layers, (), rule, False, _missing(keys, outline))
    rollback = outline.architecture in architectures.ROLLBACK
    states = [
        StateGroup(
            size.name,
            recurrent,
            size.r_elements,
            size.s_elements,
            rollback,
            tr("{rule}; layers by {keys}", rule=size.rule, keys=rule),
        )
    ]
    extra = _ngram_history(keys, outline)
    if extra is not None:
        states.append(
            StateGroup(
                extra.name, _ngram_layers(keys, outline), extra.r_elements, 0, rollback, extra.rule
            )
        )
    return Recurrence(layers, tuple(states), rule)


def _layers(
    keys: Keys, outline: Outline, survey: Survey, sized: bool
) -> tuple[tuple[bool, ...], str]:
    architecture = outline.architecture
    draft = (False,) * outline.draft
    if architecture in architectures.RECURRENT | architectures.PARALLEL:
        return (True,) * outline.trunk + draft, tr(
            "the architecture {architecture}", architecture=architecture
        )
    # Of the architectures it knows, the engine reads these two keys for those with intervals only.
    believed = architecture in architectures.INTERVALS or architecture not in architectures.KNOWN
    stated = keys.per_layer(RECURRENT_LAYERS, outline.total) if believed else None
    if stated is not None and any(stated[: outline.trunk]):
        return tuple(bool(value) for value in stated[: outline.trunk]) + draft, RECURRENT_LAYERS
    by_name = architectures.INTERVALS.get(architecture)
    interval = keys.count(INTERVAL) if believed else 0
    # A new name with an interval and no window: the layers between are of some other kind.
    alternating = interval and not keys.count(WINDOW)
    if not (sized or by_name or alternating or _tensors_say(survey, outline)):
        return (False,) * outline.total, ""
    if interval or by_name:
        every = interval or by_name or 1
        said = (
            f"{INTERVAL} {every}"
            if interval
            else (
                tr(
                    "every {number}th is attention, by default for {architecture} (assumed)",
                    number=every,
                    architecture=architecture,
                )
            )
        )
        return tuple((n + 1) % every != 0 for n in range(outline.trunk)) + draft, said
    kv_heads = outline.kv_heads[: outline.trunk]
    if any(count == 0 for count in kv_heads):
        return _without_heads(outline) + draft, "attention.head_count_kv 0"
    marked = tuple(bool(survey.marks.get(n, 0) & STATE) for n in range(outline.trunk))
    return marked + draft, tr("the tensors of each layer")


def _without_heads(outline: Outline) -> tuple[bool, ...]:
    """No KV heads means recurrent, unless each layer is one thing alone: then a layer without
    heads and with a feed-forward width is just that (Nemotron-H)."""
    single = 0 in outline.feed_forward[: outline.trunk] and any(outline.feed_forward)
    return tuple(
        outline.kv_heads[n] == 0 and not (single and outline.feed_forward[n])
        for n in range(outline.trunk)
    )


def _tensors_say(survey: Survey, outline: Outline) -> bool:
    return any(mark & STATE for n, mark in survey.marks.items() if n < outline.trunk)


def _size(keys: Keys, outline: Outline) -> _Size | None:
    """The kinds of llama.cpp, in its own order (llama_hparams::n_embd_r and n_embd_s)."""
    embedding = outline.embedding or 0
    wkv = keys.count("wkv.head_size")
    if wkv:
        shifts = keys.integer("token_shift_count")
        shifts = 2 if shifts is None else shifts
        return _Size(
            "RWKV", shifts * embedding, wkv * embedding, "token_shift_count, wkv.head_size"
        )
    short = keys.count("shortconv.l_cache")
    if short:
        return _Size(mark("short convolution"), embedding * (short - 1), 0, "shortconv.l_cache")
    convolution = keys.count("ssm.conv_kernel")
    kda = keys.count("kda.head_dim")
    if kda:
        heads = first_of(outline.heads) or 0
        kept = convolution - 1 if convolution else 3
        return _Size(
            mark("Kimi delta attention"),
            3 * kept * heads * kda,
            kda * kda * heads,
            "kda.head_dim, ssm.conv_kernel, attention.head_count",
        )
    inner, state = keys.count("ssm.inner_size"), keys.count("ssm.state_size")
    if not inner or not state:
        return None
    groups = keys.count("ssm.group_count")
    kept = convolution - 1 if convolution else 0
    delta = outline.architecture.startswith(("qwen3", "qwen4"))
    return _Size(
        mark("gated delta net") if delta else mark("Mamba"),
        kept * (inner + 2 * groups * state),
        state * inner,
        "ssm.conv_kernel, ssm.inner_size, ssm.state_size, ssm.group_count",
    )


def _lightning(outline: Outline, survey: Survey, recurrent: tuple[int, ...]) -> _Size | None:
    """Linear attention without keys of its own: a fused and gated projection, no keys apart."""
    known = outline.architecture in architectures.LIGHTNING
    shaped = bool(survey.marks) and all(
        survey.marks.get(n, 0) & (FUSED | GATE | KEYS | STATE) == FUSED | GATE for n in recurrent
    )
    heads, size = first_of(outline.heads), first_of(outline.k_heads)
    if not (known or shaped) or not heads or not size:
        return None
    return _Size(
        mark("lightning attention"),
        0,
        size * size * heads,
        tr("attention.head_count x attention.key_length squared"),
    )


def _ngram_history(keys: Keys, outline: Outline) -> _Size | None:
    """The convolution over n-gram embeddings of qwen4exp keeps its last rows."""
    kernel, ngram = keys.count("ple.conv_kernel"), keys.count("ple.ngram_size")
    streams = keys.count("hyper_connection.count")
    heads = (ngram - 1) * keys.count("ple.heads_per_ngram") if ngram else 0
    if not kernel or heads < 1 or not outline.embedding or not _ngram_layers(keys, outline):
        return None
    elements = (kernel - 1) * ngram * streams * outline.embedding
    return _Size(mark("n-gram history"), elements, 0, "ple.conv_kernel, ple.ngram_size")


def _ngram_layers(keys: Keys, outline: Outline) -> tuple[int, ...]:
    """ple.layers lists indices."""
    return tuple(layer for layer in keys.indices("ple.layers") if layer < outline.trunk)


def _missing(keys: Keys, outline: Outline) -> str:
    """The first key that a known kind of state needs and the file does not have, or ""."""
    needed: tuple[str, ...] = ()
    if "rwkv" in outline.architecture or keys.count("wkv.head_size"):
        needed = ("wkv.head_size", "embedding_length")
    elif keys.count("shortconv.l_cache"):
        needed = ("embedding_length",)
    elif keys.count("kda.head_dim"):
        needed = ("attention.head_count",)
    elif outline.architecture in architectures.KNOWN:
        needed = ("ssm.inner_size", "ssm.state_size")
    return next((name for name in needed if not keys.count(name)), "")
