"""A small GGUF writer for tests, good files and hostile ones alike.

It shares nothing with the reader under test: value types, counts, offsets and byte order are
whatever the caller says, so that a file can lie. Tensor data is a hole in a sparse file.

    write(path, {"general.architecture": "llama", "llama.block_count": u32(2)},
          [TensorSpec("blk.0.attn_q.weight", "Q4_K", (256, 8))])
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_FORMATS = {
    U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "?",
    U64: "Q", I64: "q", F64: "d",
}  # fmt: skip


class Typed(NamedTuple):
    """A metadata value with its type said outright. ``element`` is the type inside an array;
    ``claimed`` may say another length than the array has."""

    type: int
    value: object
    element: int = U8
    claimed: int | None = None


Plain: TypeAlias = bool | int | float | str | bytes | Typed | Sequence[object]
Metadata: TypeAlias = Mapping[str, Plain] | Iterable[tuple[str | bytes, Plain]]


class TensorSpec(NamedTuple):
    """One tensor. ``type`` is a name that the gguf package knows, or a type id.

    ``offset`` None puts it behind the tensor before. ``stored`` is its bytes: needed for ids that
    the package does not know, where the next offset or the file's length depends on it.
    """

    name: str | bytes
    type: str | int
    shape: Sequence[int]
    offset: int | None = None
    stored: int | None = None

    @property
    def type_id(self) -> int:
        if isinstance(self.type, int):
            return self.type
        return int(GGMLQuantizationType[self.type])

    @property
    def size(self) -> int:
        if self.stored is not None:
            return self.stored
        block, size = GGML_QUANT_SIZES[GGMLQuantizationType(self.type_id)]
        elements = 1
        for dimension in self.shape:
            elements *= dimension
        return elements // block * size


def u8(value: int) -> Typed:
    return Typed(U8, value)


def u16(value: int) -> Typed:
    return Typed(U16, value)


def u32(value: int) -> Typed:
    return Typed(U32, value)


def i32(value: int) -> Typed:
    return Typed(I32, value)


def u64(value: int) -> Typed:
    return Typed(U64, value)


def f32(value: float) -> Typed:
    return Typed(F32, value)


def array(element: int, items: Sequence[object], count: int | None = None) -> Typed:
    """An array of ``element``; ``count`` overrides what the file claims."""
    return Typed(ARRAY, items, element, count)


class Encoder:
    """Bytes of one version and byte order."""

    def __init__(self, version: int = 3, byte_order: str = "little") -> None:
        self.mark = "<" if byte_order == "little" else ">"
        self.version = version
        self.length_format = "I" if version == 1 else "Q"

    def pack(self, code: str, *values: object) -> bytes:
        return struct.pack(self.mark + code, *values)

    def length(self, value: int) -> bytes:
        return self.pack(self.length_format, value)

    def string(self, text: str | bytes) -> bytes:
        data = text.encode() if isinstance(text, str) else text
        return self.length(len(data)) + data

    def payload(self, typed: Typed) -> bytes:
        if typed.type == STRING:
            assert isinstance(typed.value, str | bytes)
            return self.string(typed.value)
        if typed.type == ARRAY:
            assert isinstance(typed.value, Sequence)
            count = len(typed.value) if typed.claimed is None else typed.claimed
            head = self.pack("I", typed.element) + self.length(count)
            if typed.element in _FORMATS:
                code = f"{len(typed.value)}{_FORMATS[typed.element]}"
                return head + self.pack(code, *typed.value)
            if typed.element == STRING:
                return head + b"".join(map(self.string, typed.value))
            return head + b"".join(self.payload(infer(item)) for item in typed.value)
        return self.pack(_FORMATS[typed.type], typed.value)

    def entry(self, key: str | bytes, value: Plain) -> bytes:
        typed = infer(value)
        return self.string(key) + self.pack("I", typed.type) + self.payload(typed)

    def tensor(self, spec: TensorSpec, offset: int) -> bytes:
        return (
            self.string(spec.name)
            + self.pack("I", len(spec.shape))
            + b"".join(map(self.length, spec.shape))
            + self.pack("IQ", spec.type_id, offset)
        )


def infer(value: Plain | object) -> Typed:
    """The type that a converter would give: u32, f32, bool, string; arrays by their first item."""
    match value:
        case Typed():
            return value
        case bool():
            return Typed(BOOL, value)
        case int():
            return Typed(U32 if value >= 0 else I32, value)
        case float():
            return Typed(F32, value)
        case str() | bytes():
            return Typed(STRING, value)
        case list() | tuple():
            if not value:
                return array(I32, value)
            element = infer(value[0]).type
            return array(I32 if element == U32 else element, value)
    raise TypeError(value)


def pad(position: int, alignment: int = 32) -> int:
    return -(-position // alignment) * alignment


def header_bytes(
    metadata: Metadata = (),
    tensors: Sequence[TensorSpec] = (),
    *,
    version: int = 3,
    byte_order: str = "little",
    alignment: int = 32,
    key_count: int | None = None,
    tensor_count: int | None = None,
    padded: bool = True,
) -> bytes:
    """The header of a file: magic to the tensor table, padded to the data section.

    ``alignment`` is only used, not written: put ``general.alignment`` into ``metadata`` too.
    ``key_count`` and ``tensor_count`` override what the file claims.
    """
    encoder = Encoder(version, byte_order)
    pairs = list(metadata.items() if isinstance(metadata, Mapping) else metadata)
    body = b"".join(encoder.entry(key, value) for key, value in pairs)
    infos, position = [], 0
    for spec in tensors:
        offset = position if spec.offset is None else spec.offset
        infos.append(encoder.tensor(spec, offset))
        position = pad(offset + spec.size, alignment)
    head = (
        b"GGUF"
        + encoder.pack("I", version)
        + encoder.length(len(tensors) if tensor_count is None else tensor_count)
        + encoder.length(len(pairs) if key_count is None else key_count)
        + body
        + b"".join(infos)
    )
    return head + bytes(pad(len(head), alignment) - len(head)) if padded else head


def data_bytes(tensors: Sequence[TensorSpec], alignment: int = 32) -> int:
    """Bytes of the data section, each tensor padded, the last one too."""
    position = end = 0
    for spec in tensors:
        offset = position if spec.offset is None else spec.offset
        position = pad(offset + spec.size, alignment)
        end = max(end, position)
    return end


def write(
    path: Path,
    metadata: Metadata = (),
    tensors: Sequence[TensorSpec] = (),
    *,
    version: int = 3,
    byte_order: str = "little",
    alignment: int = 32,
    key_count: int | None = None,
    tensor_count: int | None = None,
    data: bool = True,
) -> Path:
    """Write a file; with ``data`` it has its full length, and the data takes no disk."""
    head = header_bytes(
        metadata,
        tensors,
        version=version,
        byte_order=byte_order,
        alignment=alignment,
        key_count=key_count,
        tensor_count=tensor_count,
    )
    with path.open("wb") as file:
        file.write(head)
        if data:
            file.truncate(len(head) + data_bytes(tensors, alignment))
    return path
