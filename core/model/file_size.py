"""What a GGUF file weighs on disk: its header as a writer would make it, and padded tensors."""

from __future__ import annotations

from collections.abc import Sequence

from core.gguf.header import Array, Entry, ModelFile, Tensor, ValueType

# Bytes of the fixed part: magic, version, number of tensors, number of keys.
_HEAD = 4 + 4 + 8 + 8
_SCALARS = {
    ValueType.UINT8: 1,
    ValueType.INT8: 1,
    ValueType.UINT16: 2,
    ValueType.INT16: 2,
    ValueType.UINT32: 4,
    ValueType.INT32: 4,
    ValueType.FLOAT32: 4,
    ValueType.BOOL: 1,
    ValueType.UINT64: 8,
    ValueType.INT64: 8,
    ValueType.FLOAT64: 8,
}
# llama-quantize writes these two and joins shards (llama-quant.cpp).
_ADDED = ("general.quantization_version", "general.file_type")
_SPLIT = "split."


def file_bytes_as(file: ModelFile, sizes: Sequence[int]) -> int | None:
    """Bytes of the file that llama-quantize would write, with tensors of ``sizes`` bytes.

    ``sizes`` is parallel to ``file.tensors``. None where the file is incomplete or of version 1,
    whose lengths are of another width.
    """
    header = file.header
    if not file.complete or header.version not in (2, 3) or header.data_offset is None:
        return None
    alignment = header.alignment
    keys = [e for e in header.entries if not e.duplicate and not e.key.startswith(_SPLIT)]
    head = _HEAD + sum(_entry_bytes(entry) for entry in keys if entry.key not in _ADDED)
    head += sum(_string_bytes(name) + 4 + 4 for name in _ADDED)
    head += sum(_info_bytes(tensor) for tensor in file.tensors)
    return _pad(head, alignment) + sum(_pad(size, alignment) for size in sizes)


def _entry_bytes(entry: Entry) -> int:
    value = entry.value
    size = _string_bytes(entry.key) + 4
    if isinstance(value, Array):
        return size + 4 + 8 + (value.end - value.offset)
    if isinstance(value, str):
        return size + _string_bytes(value)
    return size + _SCALARS[entry.type]


def _info_bytes(tensor: Tensor) -> int:
    """A row of the tensor table. A writer drops trailing dimensions of 1."""
    dimensions = len(tensor.shape)
    while dimensions > 1 and tensor.shape[dimensions - 1] == 1:
        dimensions -= 1
    return _string_bytes(tensor.name) + 4 + 8 * max(dimensions, 1) + 4 + 8


def _string_bytes(text: str) -> int:
    return 8 + len(text.encode("utf-8", "surrogateescape"))


def _pad(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
