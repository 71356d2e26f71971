"""How many bytes llama-quantize writes, header and padding included."""

from __future__ import annotations

from collections.abc import Iterable

from core.gguf.header import Array, Entry, ModelFile, ValueType

# llama-quantize pads to this whatever general.alignment says (GGUF_DEFAULT_ALIGNMENT).
_ALIGNMENT = 32
_FIXED = {
    **dict.fromkeys((ValueType.UINT8, ValueType.INT8, ValueType.BOOL), 1),
    **dict.fromkeys((ValueType.UINT16, ValueType.INT16), 2),
    **dict.fromkeys((ValueType.UINT32, ValueType.INT32, ValueType.FLOAT32), 4),
    **dict.fromkeys((ValueType.UINT64, ValueType.INT64, ValueType.FLOAT64), 8),
}
# Written anew as 32-bit numbers, whether the source has them or not.
_SET = ("general.quantization_version", "general.file_type")
_DROPPED = ("split.no", "split.count", "split.tensors.count")
_IMATRIX_KEYS = "quantize.imatrix."


def quantized_file_bytes(
    file: ModelFile, tensor_bytes: Iterable[int], imatrix: bool = False
) -> int | None:
    """The size of the one file that llama-quantize would write; None where the header is not whole.

    With an importance matrix llama-quantize adds four keys with its name (about 200 bytes). They
    are counted where ``file`` has them, that is where it was made with one itself.
    """
    if file.missing or any(header.data_offset is None for header in file.headers):
        return None
    if any(problem.code == "long-text" for problem in file.header.problems):
        return None  # a text that was not kept whole
    kept = [
        entry
        for entry in file.header.entries
        if not entry.duplicate
        and entry.key not in (*_SET, *_DROPPED)
        and (imatrix or not entry.key.startswith(_IMATRIX_KEYS))
    ]
    old = file.header.version == 1
    header = (
        24
        + sum(8 + len(key) + 4 + 4 for key in _SET)
        + sum(_entry_bytes(entry, old_lengths=old) for entry in kept)
        + sum(
            8 + _text_bytes(tensor.name) + 4 + 8 * len(tensor.shape) + 4 + 8
            for tensor in file.tensors
        )
    )
    return _padded(header) + sum(_padded(size) for size in tensor_bytes)


def _entry_bytes(entry: Entry, *, old_lengths: bool) -> int:
    """One key as version 3 writes it. Version 1 had lengths of 4 bytes instead of 8."""
    value = entry.value
    size = 8 + _text_bytes(entry.key) + 4
    if isinstance(value, str):
        return size + 8 + _text_bytes(value)
    if isinstance(value, Array):
        longer = 4 * value.count if old_lengths and value.element is ValueType.STRING else 0
        return size + 12 + value.end - value.offset + longer
    return size + _FIXED[entry.type]


def _text_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
