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
from core.language import mark, tr, written
from core.problems import Problem, Severity
from core.units import format_bytes, format_exact_bytes, format_share

DEFAULT_ALIGNMENT = 32
SPECIMEN_KEY = "weighbridge.specimen"
GGML_MAX_NAME = 64  # with the zero byte at the end
GGML_MAX_DIMS = 4
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
    stated = written(value) if isinstance(value, int) else tr("no whole number")
    return alignment, [
        Problem(
            "alignment",
            tr(
                "general.alignment is {stated} ({type}); it has to be a power of two in a uint32. "
                "{alignment} is used. llama.cpp refuses this file.",
                stated=stated,
                type=entry.type.name.lower(),
                alignment=alignment,
            ),
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
                tr(
                    "{names} stands in the metadata more than once; the first value is used. "
                    "llama.cpp refuses this file.",
                    names=_names([e.key for e in repeated]),
                ),
                Severity.NOTE,
                offset=repeated[0].offset,
            )
        )
    empty = next((entry for entry in entries if not entry.key), None)
    if empty:
        problems.append(
            Problem(
                "empty-key",
                tr("A key of the metadata has no name. llama.cpp refuses this file."),
                Severity.NOTE,
                offset=empty.offset,
            )
        )
    return problems


def check_tensors(tensors: Sequence[Tensor], alignment: int) -> list[Problem]:
    """Names, shapes and offsets, without regard to how long the file is."""
    problems: list[Problem] = []

    def report(
        code: str, found: list[str], fault: str, severity: Severity, **facts: object
    ) -> None:
        if found:
            problems.append(Problem(code, tr(fault, names=_names(found), **facts), severity))

    report(
        "duplicate-tensor",
        _repeated(tensors),
        mark(
            "{names} stands in the tensor table more than once, and every row is counted. "
            "llama.cpp refuses this file."
        ),
        Severity.WARNING,
    )
    report(
        "long-name",
        [t.name for t in tensors if _name_bytes(t.name) >= GGML_MAX_NAME],
        mark("{names} has a name of {most} bytes or more. llama.cpp refuses this file."),
        Severity.NOTE,
        most=GGML_MAX_NAME,
    )
    report(
        "many-dimensions",
        [t.name for t in tensors if len(t.shape) > GGML_MAX_DIMS],
        mark("{names} has more than {most} dimensions. llama.cpp refuses this file."),
        Severity.NOTE,
        most=GGML_MAX_DIMS,
    )
    report(
        "overflow",
        [t.name for t in tensors if t.parameters >= 1 << 63],
        mark(
            "{names} has more elements than a 64-bit number can count, so its shape is damaged or "
            "made up. llama.cpp refuses this file."
        ),
        Severity.ERROR,
    )
    report(
        "impossible-size",
        [t.name for t in tensors if t.bytes > _IMPOSSIBLE and t.parameters < 1 << 63],
        mark(
            "{names} claims more than {size}, which no file holds: its shape is damaged or made up."
        ),
        Severity.ERROR,
        size=format_bytes(_IMPOSSIBLE),
    )
    report(
        "impossible-offset",
        [t.name for t in tensors if t.offset > _IMPOSSIBLE],
        mark(
            "{names} begins more than {size} into the data, where no file reaches: its offset is "
            "damaged or made up."
        ),
        Severity.ERROR,
        size=format_bytes(_IMPOSSIBLE),
    )
    report(
        "broken-row",
        [t.name for t in tensors if _breaks_row(t)],
        mark("{names} has rows that end inside a block of its type. llama.cpp refuses this file."),
        Severity.WARNING,
    )
    report(
        "misaligned",
        [t.name for t in tensors if t.offset % alignment],
        mark(
            "{names} begins at an offset that is no multiple of the alignment, {alignment}. "
            "llama.cpp refuses this file."
        ),
        Severity.ERROR,
        alignment=alignment,
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
        more = (
            tr(", and {count:,} more pairs", count=len(overlaps) - 1) if len(overlaps) > 1 else ""
        )
        problems.append(
            Problem(
                "overlap",
                tr(
                    "{first} (bytes {start:,} to {end:,} of the data) and {second} (from {next:,}) "
                    "overlap{more}. llama.cpp refuses this file.",
                    first=display(first.name),
                    start=first.offset,
                    end=first.offset + first.bytes,
                    second=display(second.name),
                    next=second.offset,
                    more=more,
                ),
                advice=tr("The file is damaged or was written wrongly; get it again."),
            )
        )
    elif [t.offset for t in stored] != [t.offset for t in tensors if t.bytes]:
        problems.append(
            Problem(
                "unordered",
                tr(
                    "The tensors lie in another order than the table lists them. Every size "
                    "stands, but llama.cpp refuses this file."
                ),
                Severity.NOTE,
            )
        )
    holes = [
        (a.name, b.offset - align(a.offset + a.bytes, alignment))
        for a, b in pairwise(stored)
        if b.offset > align(a.offset + a.bytes, alignment)
    ]
    if stored and stored[0].offset:
        holes.insert(0, (tr("the header"), stored[0].offset))
    if holes:
        problems.append(
            Problem(
                "gap",
                tr(
                    "{size:,} bytes of the data belong to no tensor, the first behind {name}. "
                    "llama.cpp refuses this file.",
                    size=sum(size for _, size in holes),
                    name=display(holes[0][0]),
                ),
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
                tr(
                    "Specimen: header only, without the {size} of weights. Dimensions: {origin}",
                    size=format_exact_bytes(end - data_offset),
                    origin=excerpt(specimen, 200),
                ),
                Severity.NOTE,
            )
        ]
    age = time.time() - modified_ns / 1e9
    fresh = 0 <= age < _FRESH_SECONDS
    advice = (
        tr(
            "It was written to in the last minute: if it is still being written, open it again "
            "later."
        )
        if fresh
        else tr("Finish the download, or get the file again.")
    )
    lengths = tr(
        "the file has {size} of the {needed} that its tensors need, {missing} are missing",
        size=format_exact_bytes(file_bytes),
        needed=format_exact_bytes(end),
        missing=format_exact_bytes(missing),
    )
    if file_bytes <= data_offset:
        message = tr("The header is complete, the data is missing: {lengths}.", lengths=lengths)
    else:
        available = file_bytes - data_offset
        first = min((t for t in stored if t.offset + t.bytes > available), key=lambda t: t.offset)
        message = tr(
            "The file is cut off: {share} is present, {lengths}. The first incomplete tensor is "
            "{name}.",
            share=format_share(file_bytes / end),
            lengths=lengths,
            name=display(first.name),
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
    name = excerpt(first) or tr("(no name)")
    if not others:
        return name
    return tr("{name} (and {count:,} more)", name=name, count=len(others))
