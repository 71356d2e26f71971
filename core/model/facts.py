"""A file in, a model out."""

from __future__ import annotations

from core.gguf.header import Array, Kind, ModelFile
from core.model import architectures
from core.model.cache import cache_of
from core.model.keys import Keys
from core.model.labels import label_of, label_problem, mix_of
from core.model.model import Model, Shape
from core.model.outline import Outline, outline_from
from core.model.reading import EXPERTS, EXPERTS_USED, final_roles, reads_of
from core.model.roles import Survey, survey
from core.model.weights import weights_from
from core.problems import Problem


def model_from(file: ModelFile) -> Model:
    """The facts of a file of any kind, as far as it says them.

    Never raises on what a file may hold: absent keys, other types, absurd values. What is not
    known is None or unknown, and a Problem says which key is missing.
    """
    metadata = file.header.metadata
    keys = Keys(metadata)
    outline = outline_from(keys, file.tensors)
    surveyed = survey(file.tensors)
    tied = _is_tied(file, outline, surveyed)
    roles = final_roles(file.tensors, surveyed, outline, tied)
    reads, unsaid = reads_of(file.tensors, roles, surveyed, outline, keys)
    label = label_of(metadata)
    weights = weights_from(
        file.tensors,
        roles,
        surveyed.layers,
        reads,
        label=label,
        file_bytes=file.file_bytes if file.complete else None,
    )
    cache = cache_of(keys, outline, surveyed, file.tensors, file.kind)
    shape = _shape(keys, outline, file, surveyed)
    found = [*keys.problems, *unsaid]
    found += [p for p in (label_problem(label, weights), cache.problem) if p is not None]
    name = metadata.get("general.name")
    return Model(
        file=file,
        architecture=outline.architecture,
        name=name if isinstance(name, str) else "",
        label=label,
        mix=mix_of(weights.formats, weights.bytes, weights.blocks),
        tied=tied,
        shape=shape,
        weights=weights,
        cache=cache,
        tensor_roles=roles,
        tensor_layers=surveyed.layers,
        tensor_reads=reads,
        problems=_distinct(found),
    )


def _is_tied(file: ModelFile, outline: Outline, surveyed: Survey) -> bool:
    """Whether the token embedding is also the head: a model that writes text and has no other."""
    if surveyed.head or file.kind not in (Kind.MODEL, Kind.DIFFUSION, Kind.SPEECH, Kind.SHARD):
        return False
    if outline.architecture in architectures.ENCODERS or file.missing:
        return False
    return any(tensor.name == "token_embd.weight" for tensor in file.tensors)


def _shape(keys: Keys, outline: Outline, file: ModelFile, surveyed: Survey) -> Shape:
    experts = keys.count(EXPERTS)
    used = keys.per_layer(EXPERTS_USED, outline.blocks) or ()
    trunk = outline.blocks
    return Shape(
        layers=trunk,
        draft_layers=outline.draft,
        embedding=outline.embedding,
        context_length=keys.integer("context_length"),
        vocabulary=_vocabulary(keys, file),
        heads=_known(outline.heads[:trunk]),
        kv_heads=_known(outline.kv_heads[:trunk]),
        key_length=_first(outline.k_heads),
        value_length=_first(outline.v_heads),
        feed_forward=_known(outline.feed_forward[:trunk]),
        experts=experts,
        experts_used=max((value or 0 for value in used), default=0),
        expert_feed_forward=keys.integer("expert_feed_forward_length"),
    )


def _vocabulary(keys: Keys, file: ModelFile) -> int | None:
    tokens = file.header.metadata.get("tokenizer.ggml.tokens")
    if isinstance(tokens, Array) and tokens.count:
        return tokens.count
    stated = keys.integer("vocab_size")
    if stated:
        return stated
    for tensor in file.tensors:
        if tensor.name == "token_embd.weight" and len(tensor.shape) > 1:
            return tensor.shape[1]
    return None


def _known(values: tuple[int | None, ...]) -> tuple[int, ...]:
    """All of them or nothing: a gap in the middle would shift what follows."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else ()


def _first(values: tuple[int | None, ...]) -> int | None:
    return values[0] if values else None


def _distinct(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys(problems))
