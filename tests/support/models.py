"""Models made by hand, tensor by tensor, for tests of what is shown rather than computed.

Sizes come from the gguf package's own table; who reads how much is said by the test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import NamedTuple

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from core.gguf.header import Entry, Header, Kind, ModelFile, Tensor, Value, ValueType
from core.gguf.source import FilePlace
from core.machine.machine import Machine
from core.model.model import (
    WHOLE,
    CacheFacts,
    FormatShare,
    Model,
    Role,
    Shape,
    WeightBlock,
    Weights,
)
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.problems import Problem
from gui.document import Document, Resolve
from tests.support import plans


class Spec(NamedTuple):
    """One tensor. ``read`` is the share of it that one token reads, ``unknown_bytes`` the size of
    a type (then a number) that nobody knows."""

    name: str
    shape: tuple[int, ...]
    type: str | int
    role: Role = Role.OTHER
    layer: int | None = None
    read: float = 1.0
    shard: int = 0
    unknown_bytes: int = 0


def sized(spec: Spec) -> tuple[int, int, str]:
    """Type id, bytes and name of the type."""
    if isinstance(spec.type, int):
        return spec.type, spec.unknown_bytes, f"unknown {spec.type}"
    number = GGMLQuantizationType[spec.type]
    block, size = GGML_QUANT_SIZES[number]
    return int(number), prod(spec.shape) // block * size, spec.type


def weights_of(specs: Sequence[Spec], label: str) -> Weights:
    """The sums over these tensors."""
    sizes = [sized(spec) for spec in specs]
    blocks: dict[tuple[int | None, Role], list[int]] = {}
    formats: dict[str, list[int]] = {}
    for spec, (_, size, name) in zip(specs, sizes, strict=True):
        weights = prod(spec.shape)
        read = round(size * spec.read)
        used = round(weights * spec.read)
        for total, count in (
            (blocks.setdefault((spec.layer, spec.role), [0] * 4), (size, read, weights, used)),
            (formats.setdefault(name, [0] * 4), (1, weights, size, 0)),
        ):
            total[:] = [a + b for a, b in zip(total, count, strict=True)]
    return Weights(
        label=label,
        blocks=tuple(WeightBlock(*key, *sums) for key, sums in blocks.items()),
        formats=tuple(FormatShare(name, *sums[:3]) for name, sums in formats.items()),
        tensor_types=tuple(name for _, _, name in sizes),
        tensor_bytes=tuple(size for _, size, _ in sizes),
        bytes=sum(size for _, size, _ in sizes),
        read_per_token=sum(sums[1] for sums in blocks.values()),
        parameters=sum(sums[2] for sums in blocks.values()),
        active_parameters=sum(sums[3] for sums in blocks.values()),
        file_bytes=None,
    )


def tensors_of(specs: Sequence[Spec]) -> tuple[Tensor, ...]:
    """The tensor table, each tensor behind the one before."""
    offset = 0
    made = []
    for spec in specs:
        type_id, size, name = sized(spec)
        made.append(
            Tensor(spec.name, spec.shape, type_id, name, offset, size, prod(spec.shape), spec.shard)
        )
        offset += -(-size // 32) * 32
    return tuple(made)


def entry(
    key: str, value: Value, type: ValueType = ValueType.STRING, *, duplicate: bool = False
) -> Entry:
    """A key of the metadata; its place in the file does not matter here."""
    return Entry(key, type, value, 24, duplicate)


def shape_of(layers: int = 0, **changes: object) -> Shape:
    """Dimensions, nothing said unless asked for."""
    values: dict[str, object] = {
        "draft_layers": 0,
        "embedding": None,
        "context_length": None,
        "vocabulary": None,
        "heads": (),
        "kv_heads": (),
        "key_length": None,
        "value_length": None,
        "feed_forward": (),
        "experts": 0,
        "experts_used": 0,
        "expert_feed_forward": None,
    }
    return Shape(layers=layers, **(values | changes))  # type: ignore[arg-type]


def model_of(
    specs: Sequence[Spec] = (),
    *,
    entries: Sequence[Entry] = (),
    kind: Kind = Kind.MODEL,
    architecture: str = "llama",
    name: str = "A model by hand",
    label: str = "",
    mix: str = "",
    shape: Shape | None = None,
    cache: CacheFacts | None = None,
    path: Path = Path("model.gguf"),
    shards: int = 1,
    missing: tuple[str, ...] = (),
    problems: tuple[Problem, ...] = (),
    file_problems: tuple[Problem, ...] = (),
    header: Header | None = None,
) -> Model:
    """A model of these tensors and keys."""
    tensors = tensors_of(specs)
    weights = weights_of(specs, label)
    if header is None:
        header = Header(
            place=FilePlace(path),
            file_bytes=weights.bytes + 4096,
            modified_ns=0,
            version=3,
            data_offset=4096,
            entries=tuple(entries),
            metadata={e.key: e.value for e in entries if not e.duplicate},
            tensors=tensors,
        )
    return Model(
        file=ModelFile(header, (header,) * shards, kind, tensors, missing, file_problems),
        architecture=architecture,
        name=name,
        label=label,
        mix=mix,
        tied=False,
        shape=shape or shape_of(),
        weights=weights,
        cache=cache or CacheFacts(known=True),
        tensor_roles=tuple(spec.role for spec in specs),
        tensor_layers=tuple(spec.layer for spec in specs),
        tensor_reads=(WHOLE,) * len(specs),
        problems=problems,
    )


def resolving(tried: Mapping[str, Weights] | None = None) -> Resolve:
    """Plans by hand for any model; ``tried`` are the weights of its recipes."""

    def resolve(model: Model, machine: Machine, choice: Choice) -> Plan:
        weights = model.weights
        if choice.requantize is not None and tried:
            weights = tried[choice.requantize]
        standin = plans.model(
            weights=weights.bytes,
            read=max(1, weights.read_per_token),
            known=model.cache.known,
            trained=model.shape.context_length,
        )
        return replace(plans.resolve(standin, machine, choice), model=model, weights=weights)

    return resolve


def document_of(model: Model | None, tried: Mapping[str, Weights] | None = None) -> Document:
    """A document that shows this model on a machine with a GPU."""
    document = Document(resolving(tried))
    document.set_this_computer(plans.RTX_3090)
    document.set_model(model)
    return document
