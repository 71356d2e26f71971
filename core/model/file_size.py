"""What a GGUF file weighs on disk as llama-quantize writes it: header, padding and tensors."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from core.gguf.checks import DEFAULT_ALIGNMENT
from core.gguf.cursor import SCALARS
from core.gguf.header import Array, Entry, ModelFile, ValueType
from core.gguf.sizes import align

# Bytes of the fixed part: magic, version, number of tensors, number of keys.
_HEAD = 4 + 4 + 8 + 8
# Two keys are written anew as 32-bit numbers; those of shards go, as it writes one file.
_SET = ("general.quantization_version", "general.file_type")
_DROPPED = ("split.no", "split.count", "split.tensors.count")
_IMATRIX = "quantize.imatrix."


def file_bytes_as(file: ModelFile, sizes: Iterable[int], imatrix: bool = False) -> int | None:
    """Bytes of the one file that llama-quantize would write, with tensors of ``sizes`` bytes.

    ``sizes`` is parallel to ``file.tensors``. None where the header is not whole. With an
    importance matrix four keys name it (about 200 bytes): they count where ``file`` has them. A
    row of the tensor table counts as long as it is in ``file``; llama-quantize leaves out trailing
    dimensions of 1, 8 bytes each, which some recurrent models have.
    """
    if file.missing or any(header.data_offset is None for header in file.headers):
        return None
    if any(problem.code == "long-text" for problem in file.header.problems):
        return None  # a text that was not kept whole
    old = file.header.version == 1
    head = _HEAD + sum(_text_bytes(key) + 4 + 4 for key in _SET)
    head += sum(
        _entry_bytes(entry, old_lengths=old)
        for entry in file.header.entries
        if not entry.duplicate
        and entry.key not in _SET
        and entry.key not in _DROPPED
        and (imatrix or not entry.key.startswith(_IMATRIX))
    )
    head += sum(_text_bytes(t.name) + 4 + 8 * len(t.shape) + 4 + 8 for t in file.tensors)
    return _pad(head) + sum(map(_pad, sizes))


def _entry_bytes(entry: Entry, *, old_lengths: bool) -> int:
    """One key as version 3 writes it. Version 1 had lengths of 4 bytes instead of 8."""
    value = entry.value
    size = _text_bytes(entry.key) + 4
    if isinstance(value, str):
        return size + _text_bytes(value)
    if isinstance(value, Array):
        longer = 4 * value.count if old_lengths and value.element is ValueType.STRING else 0
        return size + 4 + 8 + (value.end - value.offset) + longer
    return size + struct.calcsize(f"={SCALARS[entry.type]}")


def _text_bytes(text: str) -> int:
    return 8 + len(text.encode("utf-8", "surrogateescape"))


def _pad(size: int) -> int:
    """llama-quantize pads to this, whatever general.alignment says (GGUF_DEFAULT_ALIGNMENT)."""
    return align(size, DEFAULT_ALIGNMENT)
