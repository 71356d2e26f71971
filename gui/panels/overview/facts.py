"""The figures of the overview, each with its formula, its inputs and its source. No Qt here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.gguf import excerpt
from core.gguf.header import Kind
from core.language import mark, tr, written
from core.model.model import FormatShare, Model, Role, Weights
from core.plan.plan import Plan
from core.provenance import Input, Number, Rank, Source, Unit, format_value
from core.units import UnitSystem

_TABLE = Source(Rank.DERIVED, mark("tensor table of the file"))
# Files that are loaded on top of a model.
_COMPANIONS = (Kind.PROJECTOR, Kind.ADAPTER, Kind.CONTROL_VECTOR)
_METADATA = Source(Rank.REPORTED, mark("metadata of the file"))


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a list: what it is, the figure, and other words for it where it needs some."""

    name: str
    number: Number[int] | Number[float]
    text: str | None = None


def headline(model: Model, units: UnitSystem) -> list[Fact]:
    """Size, parameters, bits and dimensions, leaving out what does not apply.

    Totals of a family with a missing part are marked as lower bounds.
    """
    weights, shape = model.weights, model.shape
    facts = []
    whole = size_of_whole_file(model)
    if whole is not None:
        facts.append(Fact(tr("Size of the whole file"), whole))
    name = tr("Size on disk") if model.file.local else tr("Would be downloaded")
    facts.append(_bounded(Fact(name, size_on_disk(model)), model, units))
    if weights.parameters:
        parameters = Fact(tr("Parameters"), parameter_count(weights))
        facts.append(_bounded(parameters, model, units))
        active = active_parameter_count(model)
        if shape.experts or weights.active_parameters != weights.parameters:
            share = format_value(weights.active_parameters / weights.parameters, Unit.SHARE)
            text = f"{format_value(weights.active_parameters, Unit.PARAMETERS)}, {share}"
            facts.append(_bounded(Fact(tr("Used for each token"), active, text), model, units))
        facts.append(Fact(tr("Bits per weight"), bits_per_weight(weights)))
    if model.file.kind in _COMPANIONS:
        added = Number(
            weights.bytes,
            Unit.BYTES,
            _TABLE,
            mark("sum of all tensors"),
            note=mark("Its work buffers come on top."),
        )
        text = f"≥ {format_value(weights.bytes, Unit.BYTES, units)}"
        facts.append(Fact(tr("Adds to the model's memory"), added, text))
    if shape.layers:
        drafting = tr(
            "{layers} + {draft} for drafting", layers=shape.layers, draft=shape.draft_layers
        )
        number = _said(model, "block_count", shape.layers)
        facts.append(Fact(tr("Layers"), number, drafting if shape.draft_layers else None))
    for name, key, value, unit in (
        (tr("Trained context"), "context_length", shape.context_length, Unit.TOKENS),
        (tr("Vocabulary"), "vocab_size", shape.vocabulary, Unit.TOKENS),
        (tr("Embedding length"), "embedding_length", shape.embedding, Unit.COUNT),
    ):
        if value is not None:
            facts.append(Fact(name, _said(model, key, value, unit)))
    if shape.experts:
        text = tr("{used} of {all}", used=shape.experts_used, all=shape.experts)
        facts.append(
            Fact(
                tr("Experts for each token"),
                _said(
                    model,
                    "expert_used_count",
                    shape.experts_used,
                    inputs=(Input(mark("experts in a layer"), shape.experts),),
                ),
                text,
            )
        )
    for name, key, heads in (
        (tr("Attention heads"), "attention.head_count", shape.heads),
        (tr("KV heads"), "attention.head_count_kv", shape.kv_heads),
    ):
        if any(heads):
            facts.append(_per_layer(model, name, key, heads))
    return facts


def size_on_disk(model: Model) -> Number[int]:
    """Bytes of all files found."""
    headers = model.file.headers
    return Number(
        model.file.file_bytes,
        Unit.BYTES,
        Source(Rank.REPORTED, mark("file system") if model.file.local else mark("server")),
        mark("sum of the files found") if len(headers) > 1 else "",
        tuple(Input(h.path.name, h.file_bytes, Unit.BYTES) for h in headers[:12])
        if len(headers) > 1
        else (),
        _missing_note(model),
    )


def bits_per_weight(weights: Weights) -> Number[float]:
    """Average over all tensors."""
    return Number(
        weights.bits_per_weight if weights.parameters else None,
        Unit.BITS_PER_WEIGHT,
        _TABLE,
        mark("8 × bytes of all tensors / parameters"),
        (
            Input(mark("bytes of all tensors"), weights.bytes, Unit.BYTES),
            Input(mark("parameters"), weights.parameters),
        ),
    )


def weights_source(model: Model, weights: Weights) -> Source:
    """Who says what the tensors weigh: the file, or the recipe that is tried out."""
    if weights is model.weights:
        return _TABLE
    origin = tr("llama-quantize's recipe {recipe} on this tensor table", recipe=weights.label)
    return Source(Rank.DERIVED, origin)


_MOST_FORMATS = 30  # real files have up to ten; a row costs widgets


@dataclass(frozen=True, slots=True)
class FormatRow:
    """All tensors of one type: share of all bytes, bytes, bits per weight, number of tensors."""

    name: str
    share: float
    bytes: Number[int]
    bits: Number[float]
    tensors: Number[int]


def by_format(model: Model, weights: Weights) -> list[FormatRow]:
    """Formats, the heaviest first; a file that names very many has the lightest in one row."""
    source = weights_source(model, weights)
    shares = sorted(weights.formats, key=lambda f: (-f.bytes, f.type_name))
    rest = shares[_MOST_FORMATS - 1 :]
    if len(rest) > 1:
        sums = (sum(s.tensors for s in rest), sum(s.parameters for s in rest))
        others = FormatShare(
            tr("{count:,} others", count=len(rest)), *sums, sum(s.bytes for s in rest)
        )
        shares = [*shares[: _MOST_FORMATS - 1], others]
    return [_format_row(share, weights, source) for share in shares]


@dataclass(frozen=True, slots=True)
class RoleRow:
    """All tensors of one role: share of the total, bytes."""

    role: Role
    share: float
    bytes: Number[int]


def by_role(model: Model, weights: Weights) -> list[RoleRow]:
    """Stored bytes of every role, the heaviest first."""
    source = weights_source(model, weights)
    sums = _sums(weights, read=False)
    return [
        RoleRow(
            role,
            count / weights.bytes if weights.bytes else 0.0,
            Number(
                count,
                Unit.BYTES,
                source,
                mark("sum of the tensors of this role"),
                (Input(mark("of all tensors"), weights.bytes, Unit.BYTES),),
            ),
        )
        for role, count in sums
    ]


def read_by_role(model: Model, weights: Weights, total: int) -> list[RoleRow]:
    """Bytes that writing one token reads of every role, the most first.

    ``total`` is what the shares are of.
    """
    source = weights_source(model, weights)
    stored = dict(_sums(weights, read=False))
    rows = []
    for role, count in _sums(weights, read=True):
        formula, inputs = _read_rule(model, role, stored[role])
        number = Number(count, Unit.BYTES_PER_TOKEN, source, formula, inputs)
        rows.append(RoleRow(role, count / total if total else 0.0, number))
    return rows


def unread(model: Model, weights: Weights) -> list[tuple[Role, int]]:
    """Roles that are stored but that one token does not read at all."""
    read = dict(_sums(weights, read=True))
    return [(role, count) for role, count in _sums(weights, read=False) if not read.get(role)]


def cache_read(plan: Plan) -> Number[int] | None:
    """What one token reads of the cache and moves of the state, at the chosen depth.

    None where nothing is kept.
    """
    if plan.model.cache.known and not plan.model.cache.groups and not plan.model.cache.states:
        return None
    total = plan.speed.bytes_per_token
    weights = plan.weights.read_per_token
    return Number(
        None if total.value is None else total.value - weights,
        Unit.BYTES_PER_TOKEN,
        total.source,
        mark("bytes per token - weights read per token"),
        (
            Input(mark("bytes per token"), total.value, Unit.BYTES),
            Input(mark("weights read per token"), weights, Unit.BYTES),
            Input(mark("depth"), plan.settings.depth, Unit.TOKENS),
            Input(mark("K and V cache types"), f"{plan.settings.cache_k}, {plan.settings.cache_v}"),
        ),
        total.note,
    )


def is_lower_bound(model: Model) -> bool:
    """Whether tensors are missing, with a shard or behind the end of a header, so that totals are
    only bounds."""
    cut = any(header.data_offset is None and header.tensors for header in model.file.headers)
    return cut or bool(model.file.missing)


def decodes(model: Model) -> bool:
    """Whether it writes token by token, so that bytes per token mean something."""
    return model.file.kind in (Kind.MODEL, Kind.SHARD, Kind.UNKNOWN)


def size_of_whole_file(model: Model) -> Number[int] | None:
    """Where the data of the tensors is not all there: what the file would weigh with it."""
    file, whole = model.file, model.file.whole_bytes
    if whole is None:
        return None
    start = file.header.data_offset or 0
    return Number(
        whole,
        Unit.BYTES,
        _TABLE,
        mark("start of the data + end of the last tensor in it"),
        (
            Input(mark("start of the data"), start, Unit.BYTES),
            Input(mark("end of the last tensor"), whole - start, Unit.BYTES),
            Input(mark("on disk"), file.file_bytes, Unit.BYTES),
        ),
        mark("The data of the tensors is not all there."),
    )


def _bounded(fact: Fact, model: Model, units: UnitSystem) -> Fact:
    if not is_lower_bound(model):
        return fact
    text = fact.text or format_value(fact.number.value, fact.number.unit, units)
    return Fact(fact.name, fact.number, f"≥ {text}")


def _missing_note(model: Model) -> str:
    return mark("Lower bound: a part of the model was not found.") if model.file.missing else ""


def parameter_count(weights: Weights) -> Number[int]:
    return Number(
        weights.parameters,
        Unit.PARAMETERS,
        _TABLE,
        mark("sum over tensors of the product of their dimensions"),
        (
            Input(mark("tensors"), len(weights.tensor_types)),
            Input(mark("exactly"), written(weights.parameters)),
        ),
    )


def active_parameter_count(model: Model) -> Number[int]:
    shape, weights = model.shape, model.weights
    return Number(
        weights.active_parameters,
        Unit.PARAMETERS,
        _TABLE,
        mark("parameters, but of the experts only those used and of a look-up only one row"),
        (
            Input(mark("experts used"), shape.experts_used),
            Input(mark("experts"), shape.experts),
            Input(mark("exactly"), written(weights.active_parameters)),
        ),
    )


def _said(
    model: Model,
    key: str,
    value: int,
    unit: Unit = Unit.COUNT,
    formula: str = "",
    inputs: tuple[Input, ...] = (),
) -> Number[int]:
    """What the file says under a key of its architecture, named where that very key is there."""
    whole = f"{model.architecture}.{key}"
    source = _METADATA
    if whole in model.file.header.metadata:
        source = Source(_METADATA.rank, f"{tr(_METADATA.origin)}, {excerpt(whole)}")
    return Number(value, unit, source, formula, inputs)


def _per_layer(model: Model, name: str, key: str, heads: tuple[int, ...]) -> Fact:
    low, high = min(heads), max(heads)
    if low == high:
        return Fact(name, _said(model, key, high))
    inputs = (Input(mark("smallest"), low), Input(mark("sum over layers"), sum(heads)))
    number = _said(model, key, high, Unit.COUNT, mark("largest of all layers"), inputs)
    return Fact(name, number, tr("{low} to {high} by layer", low=low, high=high))


def _format_row(share: FormatShare, weights: Weights, source: Source) -> FormatRow:
    tensors = Input(mark("tensors"), share.tensors)
    return FormatRow(
        share.type_name,
        share.bytes / weights.bytes if weights.bytes else 0.0,
        Number(
            share.bytes,
            Unit.BYTES,
            source,
            mark("sum of the tensors of this type"),
            (tensors, Input(mark("of all tensors"), weights.bytes, Unit.BYTES)),
        ),
        Number(
            share.bits_per_weight if share.parameters else None,
            Unit.BITS_PER_WEIGHT,
            source,
            mark("8 × bytes / parameters"),
            (
                Input(mark("bytes"), share.bytes, Unit.BYTES),
                Input(mark("parameters"), share.parameters),
            ),
        ),
        Number(share.tensors, Unit.COUNT, source),
    )


def _sums(weights: Weights, *, read: bool) -> list[tuple[Role, int]]:
    sums = ((role, sizes[read]) for role, sizes in weights.by_role.items())
    return sorted((item for item in sums if item[1]), key=lambda item: -item[1])


_READ_RULES: Mapping[Role, str] = {
    Role.EMBEDDING: mark("one row: the token is looked up"),
    Role.LAYER_EMBEDDING: mark("one row: the token is looked up"),
    Role.EXPERTS: mark("stored × experts used / experts"),
    Role.HEAD: mark("all of it: every token of the vocabulary is scored"),
}


def _read_rule(model: Model, role: Role, stored: int) -> tuple[str, tuple[Input, ...]]:
    inputs = [Input(mark("stored"), stored, Unit.BYTES)]
    if role is Role.EXPERTS:
        inputs.append(Input(mark("experts used"), model.shape.experts_used))
        inputs.append(Input(mark("experts"), model.shape.experts))
    return _READ_RULES.get(role, mark("all of it")), tuple(inputs)
