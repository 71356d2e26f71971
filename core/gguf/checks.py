"""What is wrong with a header that could be read: each kind of fault once, with its first place.

The rules are those of llama.cpp's own reader (gguf.cpp, build 11434), which refuses a file at the
first of them; here the file opens and the fault is named.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter

from core.gguf.header import Entry, Tensor, Value, ValueType
from core.gguf.sizes import align
from core.gguf.text import display, excerpt
from core.gguf.types import layout_of
from core.problems import Problem, Severity
from core.units import format_bytes, format_exact_bytes, format_share

DEFAULT_ALIGNMENT = 32
SPECIMEN_KEY = "weighbridge.specimen"
GGML_MAX_NAME = 64  # with the zero byte at the end
GGML_MAX_DIMS = 4
_REFUSED = "llama.cpp refuses this file."
_IMPOSSIBLE = 1 << 44  # 16 TiB: more than any model altogether
_FRESH_SECONDS = 60


def alignment_of(entry: Entry | None) -> tuple[int, list[Problem]]:
    """The alignment to use, from the entry of ``general.alignment``."""
    if entry is None:
        return DEFAULT_ALIGNMENT, []
    value = entry.value
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    alignment = number if number > 0 else DEFAULT_ALIGNMENT
    if number == alignment and entry.type is ValueType.UINT32 and number.bit_count() == 1:
        return alignment, []
    stated = f"{value:,}" if isinstance(value, int) else "no whole number"
    return alignment, [
        Problem(
            "alignment",
            f"general.alignment is {stated} ({entry.type.name.lower()}); it has to be a power of "
            f"two in a uint32. {alignment} is used. {_REFUSED}",
            Severity.WARNING,
            offset=entry.offset,
        )
    ]


def check_entries(entries: Sequence[Entry]) -> list[Problem]:
    """Duplicate and empty keys."""
    problems = []
    repeated = [entry for entry in entries if entry.duplicate]
    if repeated:
        problems.append(
            Problem(
                "duplicate-key",
                f"{_names([e.key for e in repeated])} stands in the metadata more than once; the "
                f"first value is used. {_REFUSED}",
                Severity.NOTE,
                offset=repeated[0].offset,
            )
        )
    empty = next((entry for entry in entries if not entry.key), None)
    if empty:
        problems.append(
            Problem(
                "empty-key",
                f"A key of the metadata has no name. {_REFUSED}",
                Severity.NOTE,
                offset=empty.offset,
            )
        )
    return problems


def check_tensors(tensors: Sequence[Tensor], alignment: int) -> list[Problem]:
    """Names, shapes and offsets, without regard to how long the file is."""
    problems: list[Problem] = []

    def report(code: str, found: list[str], fault: str, severity: Severity) -> None:
        if found:
            problems.append(Problem(code, f"{_names(found)} {fault}", severity))

    report(
        "duplicate-tensor",
        _repeated(tensors),
        f"stands in the tensor table more than once, and every row is counted. {_REFUSED}",
        Severity.WARNING,
    )
    report(
        "long-name",
        [t.name for t in tensors if _name_bytes(t.name) >= GGML_MAX_NAME],
        f"has a name of {GGML_MAX_NAME} bytes or more. {_REFUSED}",
        Severity.NOTE,
    )
    report(
        "many-dimensions",
        [t.name for t in tensors if len(t.shape) > GGML_MAX_DIMS],
        f"has more than {GGML_MAX_DIMS} dimensions. {_REFUSED}",
        Severity.NOTE,
    )
    report(
        "overflow",
        [t.name for t in tensors if t.parameters >= 1 << 63],
        "has more elements than a 64-bit number can count, so its shape is damaged or made up. "
        f"{_REFUSED}",
        Severity.ERROR,
    )
    report(
        "impossible-size",
        [t.name for t in tensors if t.bytes > _IMPOSSIBLE and t.parameters < 1 << 63],
        f"claims more than {format_bytes(_IMPOSSIBLE)}, which no file holds: its shape is damaged "
        "or made up.",
        Severity.ERROR,
    )
    report(
        "impossible-offset",
        [t.name for t in tensors if t.offset > _IMPOSSIBLE],
        f"begins more than {format_bytes(_IMPOSSIBLE)} into the data, where no file reaches: its "
        "offset is damaged or made up.",
        Severity.ERROR,
    )
    report(
        "broken-row",
        [t.name for t in tensors if _breaks_row(t)],
        f"has rows that end inside a block of its type. {_REFUSED}",
        Severity.WARNING,
    )
    report(
        "misaligned",
        [t.name for t in tensors if t.offset % alignment],
        f"begins at an offset that is no multiple of the alignment, {alignment}. {_REFUSED}",
        Severity.ERROR,
    )
    return problems + _check_order(tensors, alignment)


def _check_order(tensors: Sequence[Tensor], alignment: int) -> list[Problem]:
    expected = 0
    for tensor in tensors:
        if tensor.offset != expected:
            break
        expected = align(tensor.offset + tensor.bytes, alignment)
    else:
        return []
    problems = []
    stored = sorted((t for t in tensors if t.bytes), key=attrgetter("offset", "bytes"))
    overlaps = [(a, b) for a, b in pairwise(stored) if a.offset + a.bytes > b.offset]
    if overlaps:
        first, second = overlaps[0]
        more = f", and {len(overlaps) - 1:,} more pairs" if len(overlaps) > 1 else ""
        problems.append(
            Problem(
                "overlap",
                f"{display(first.name)} (bytes {first.offset:,} to "
                f"{first.offset + first.bytes:,} of the data) and {display(second.name)} (from "
                f"{second.offset:,}) overlap{more}. {_REFUSED}",
                advice="The file is damaged or was written wrongly; get it again.",
            )
        )
    elif [t.offset for t in stored] != [t.offset for t in tensors if t.bytes]:
        problems.append(
            Problem(
                "unordered",
                "The tensors lie in another order than the table lists them. Every size stands, "
                "but llama.cpp refuses this file.",
                Severity.NOTE,
            )
        )
    holes = [
        (a.name, b.offset - align(a.offset + a.bytes, alignment))
        for a, b in pairwise(stored)
        if b.offset > align(a.offset + a.bytes, alignment)
    ]
    if stored and stored[0].offset:
        holes.insert(0, ("the header", stored[0].offset))
    if holes:
        problems.append(
            Problem(
                "gap",
                f"{sum(size for _, size in holes):,} bytes of the data belong to no tensor, the "
                f"first behind {display(holes[0][0])}. {_REFUSED}",
                Severity.NOTE,
            )
        )
    return problems


def check_length(
    tensors: Sequence[Tensor],
    data_offset: int,
    file_bytes: int,
    modified_ns: int,
    specimen: Value | None,
) -> list[Problem]:
    """Whether the file is as long as its tensor table says, to the byte.

    A file cut in its last padding is whole. ``specimen`` is the value of SPECIMEN_KEY: with it a
    file without any data is meant to be one.
    """
    stored = [t for t in tensors if 0 < t.bytes <= _IMPOSSIBLE and t.offset <= _IMPOSSIBLE]
    if not stored:
        return []
    end = data_offset + max(t.offset + t.bytes for t in stored)
    missing = end - file_bytes
    if missing <= 0:
        return []
    if file_bytes <= data_offset and isinstance(specimen, str):
        return [
            Problem(
                "specimen",
                f"Specimen: header only, without the {format_bytes(end - data_offset)} of weights. "
                f"Dimensions: {excerpt(specimen, 200)}",
                Severity.NOTE,
            )
        ]
    age = time.time() - modified_ns / 1e9
    fresh = 0 <= age < _FRESH_SECONDS
    advice = (
        "It was written to in the last minute: if it is still being written, open it again later."
        if fresh
        else "Finish the download, or get the file again."
    )
    lengths = (
        f"the file has {format_exact_bytes(file_bytes)} of the {format_exact_bytes(end)} that its "
        f"tensors need, {format_exact_bytes(missing)} are missing"
    )
    if file_bytes <= data_offset:
        message = f"The header is complete, the data is missing: {lengths}."
    else:
        available = file_bytes - data_offset
        first = min((t for t in stored if t.offset + t.bytes > available), key=lambda t: t.offset)
        message = (
            f"The file is cut off: {format_share(file_bytes / end)} is present, {lengths}. The "
            f"first incomplete tensor is {display(first.name)}."
        )
    return [
        Problem(
            "truncated",
            message,
            advice=advice,
            offset=file_bytes,
            missing_bytes=missing,
        )
    ]


def _name_bytes(name: str) -> int:
    return len(name) if name.isascii() else len(name.encode("utf-8", "surrogateescape"))


def _breaks_row(tensor: Tensor) -> bool:
    layout = layout_of(tensor.type_id, tensor.type_name)
    return bool(layout and tensor.shape and tensor.shape[0] % layout.block_size)


def _repeated(tensors: Sequence[Tensor]) -> list[str]:
    counts = Counter(t.name for t in tensors)
    return [name for name, count in counts.items() if count > 1]


def _names(found: Iterable[str]) -> str:
    """The first of ``found`` by name, the others by number."""
    first, *others = found
    name = excerpt(first) or "(no name)"
    if not others:
        return name
    return f"{name} (and {len(others):,} more)"
