"""How many bytes each tensor takes: by its type where that can be believed, else by the offsets.

Forks of llama.cpp hand out the same new type ids for different things, so from FIRST_CONTESTED on
a size from the table has to agree with the distance to the next tensor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from operator import sub
from typing import TypeAlias

from core.gguf.header import Tensor
from core.gguf.text import display
from core.gguf.types import (
    BY_ID,
    FIRST_CONTESTED,
    OTHER_LAYOUTS,
    TensorType,
    name_of,
    note_of,
)
from core.language import either, tr, trn
from core.problems import Problem, Severity

_MOST_REMARKS = 8  # about types

# A tensor as the table has it: name, shape, type id, offset.
Row: TypeAlias = tuple[str, tuple[int, ...], int, int]


def align(position: int, alignment: int) -> int:
    """The first multiple of ``alignment`` that is not before ``position``."""
    return -(-position // alignment) * alignment


def size_tensors(
    rows: Sequence[Row], alignment: int, data_bytes: int | None
) -> tuple[tuple[Tensor, ...], list[Problem]]:
    """Tensors with their bytes, and what had to be said on the way.

    ``data_bytes`` is what the file holds after its header, None where that is not known.
    """
    counts = Counter(row[2] for row in rows)
    problems = [p for type_id, count in counts.items() for p in _audience(type_id, count)]
    doubtful = [i for i in counts if i >= FIRST_CONTESTED or i not in BY_ID]
    layouts = {type_id: BY_ID.get(type_id) for type_id in counts}
    offsets: dict[int, dict[int, int]] = {}
    if doubtful and not _proven(rows, alignment, data_bytes):
        starts = sorted({row[3] for row in rows})
        spans = dict(zip(starts, map(sub, starts[1:], starts), strict=False))
        rest = max(data_bytes - starts[-1], 0) if data_bytes is not None else None
        found_by_type: dict[int, list[Row]] = {type_id: [] for type_id in doubtful}
        for row in rows:
            if row[2] in found_by_type and 0 not in row[1]:
                found_by_type[row[2]].append(row)
        remarks: list[Problem] = []
        for type_id, found in found_by_type.items():
            if found:
                layouts[type_id], more = _decide(found, spans, rest, alignment)
                remarks += more
            if layouts[type_id] is None:
                offsets[type_id] = _by_offsets(found, spans, rest)
        problems += _first_of(remarks)

    tensors = []
    facts: dict[tuple[int, tuple[int, ...]], tuple[str, int, int]] = {}  # few shapes, many rows
    for name, shape, type_id, offset in rows:
        fact = facts.get((type_id, shape))
        if fact is None:
            layout = layouts[type_id]
            size = layout.tensor_bytes(shape) if layout else 0
            fact = layout.name if layout else name_of(type_id), size, prod(shape)
            facts[type_id, shape] = fact
        type_name, size, parameters = fact
        if type_id in offsets and parameters:
            size = offsets[type_id][offset]
        tensors.append(Tensor(name, shape, type_id, type_name, offset, size, parameters))
    return tuple(tensors), problems


def _first_of(remarks: list[Problem]) -> list[Problem]:
    """A damaged table can name thousands of types."""
    if len(remarks) <= _MOST_REMARKS + 1:
        return remarks
    rest = len(remarks) - _MOST_REMARKS
    more = Problem(
        "more-types",
        tr(
            "{count:,} more types are odd in such a way; their sizes are taken from the offsets, "
            "too.",
            count=rest,
        ),
        Severity.WARNING,
        advice=tr("So many different types are a sign of a damaged tensor table."),
    )
    return [*remarks[:_MOST_REMARKS], more]


def _proven(rows: Sequence[Row], alignment: int, data_bytes: int | None) -> bool:
    """Whether every offset follows from the sizes before it, the end of the file from the last.

    The end matters only where the last type may mean something else.
    """
    expected = 0
    for _, shape, type_id, offset in rows:
        layout = BY_ID.get(type_id)
        if layout is None or offset != expected:
            return False
        expected = align(offset + layout.tensor_bytes(shape), alignment)
    _, shape, type_id, offset = rows[-1]
    if type_id not in OTHER_LAYOUTS:
        return True
    size = BY_ID[type_id].tensor_bytes(shape)
    return data_bytes is not None and size <= data_bytes - offset <= align(size, alignment)


def _decide(
    found: list[Row], spans: dict[int, int], rest: int | None, alignment: int
) -> tuple[TensorType | None, list[Problem]]:
    """The layout of all tensors of one type; None where only the offsets can tell."""
    name, _, type_id, _ = found[0]
    if type_id not in BY_ID:
        return None, [_unknown(found)]
    usual = BY_ID[type_id]
    layouts = [usual, *OTHER_LAYOUTS.get(type_id, ())]
    measured = [(row, spans[row[3]]) for row in found if row[3] in spans]

    def padded(layout: TensorType, row: Row) -> int:
        return align(layout.tensor_bytes(row[1]), alignment)

    if measured:
        fitting = [c for c in layouts if all(padded(c, row) == span for row, span in measured)]
        if fitting:
            return fitting[0], _layout_remark(fitting[0], name)
        exact = sum(padded(usual, row) == span for row, span in measured)
        if exact and all(padded(usual, row) <= span for row, span in measured):
            return usual, []  # some fit and some leave room: holes in the file, not another type
        return None, [_another_type(measured, usual)]
    last = found[-1]
    fitting = [
        c
        for c in layouts
        if rest is not None and c.tensor_bytes(last[1]) <= rest <= padded(c, last)
    ]
    if len(fitting) == 1:
        return fitting[0], _layout_remark(fitting[0], name)
    return usual, [_ambiguous(last, layouts)] if len(layouts) > 1 else []


def _by_offsets(found: list[Row], spans: dict[int, int], rest: int | None) -> dict[int, int]:
    """Bytes by offset: the distance to the next tensor. The last one is scaled from the largest
    other of its type, or takes what is left of the file."""
    measured = max(
        (row for row in found if row[3] in spans), key=lambda r: prod(r[1]), default=None
    )
    sizes = {}
    for _, shape, _, offset in found:
        if offset in spans:
            sizes[offset] = spans[offset]
        elif measured:
            sizes[offset] = prod(shape) * spans[measured[3]] // prod(measured[1])
        else:
            sizes[offset] = rest or 0
    return sizes


def _layout_remark(layout: TensorType, name: str) -> list[Problem]:
    usual = BY_ID[layout.id]
    if layout is usual:
        return []
    return [
        Problem(
            "type-layout",
            tr(
                "Type {number} is stored here as {name} ({bits:.4g} bits, {note}) and not as "
                "{usual} ({usual_bits:.4g} bits): the spacing of the tensors says so, beginning "
                "with {tensor}.",
                number=layout.id,
                name=layout.name,
                bits=layout.bits_per_weight,
                note=tr(layout.note),
                usual=usual.name,
                usual_bits=usual.bits_per_weight,
                tensor=display(name),
            ),
            Severity.NOTE,
            advice=tr("A program that takes it for {type} reads it wrongly.", type=usual.name),
        )
    ]


def _ambiguous(row: Row, layouts: list[TensorType]) -> Problem:
    choices = either(
        [
            tr(
                "{name} ({bits:.4g} bits, {size:,} B)",
                name=c.name,
                bits=c.bits_per_weight,
                size=c.tensor_bytes(row[1]),
            )
            for c in layouts
        ]
    )
    return Problem(
        "ambiguous-type",
        tr(
            "Type {number} of {tensor} may be {choices}; nothing in the file decides. It is "
            "counted as {type}.",
            number=row[2],
            tensor=display(row[0]),
            choices=choices,
            type=layouts[0].name,
        ),
        Severity.WARNING,
        advice=tr("Ask who made the file which of the two it is."),
    )


def _another_type(measured: list[tuple[Row, int]], usual: TensorType) -> Problem:
    (name, shape, type_id, _), span = next(
        (row, span) for row, span in measured if usual.tensor_bytes(row[1]) != span
    )
    return Problem(
        "type-size",
        tr(
            "{tensor} of type {number} occupies {span:,} B, where {type} would take {size:,} B: "
            "probably a fork's own type. Sizes of this type are taken from the offsets "
            "({bits:.4g} bits per weight).",
            tensor=display(name),
            number=type_id,
            span=span,
            type=usual.name,
            size=usual.tensor_bytes(shape),
            bits=8 * span / prod(shape),
        ),
        Severity.WARNING,
        advice=tr("Use the program that the file was made for."),
    )


def _unknown(found: list[Row]) -> Problem:
    name, _, type_id, _ = found[0]
    tensors = display(name)
    if len(found) > 1:
        tensors = tr("{names} and {count:,} more", names=tensors, count=len(found) - 1)
    what = tr("a type that this version does not know")
    if note := note_of(type_id):
        what = f"{name_of(type_id)} ({tr(note)})"
    return Problem(
        "unknown-type",
        tr(
            "{tensors} of type {number}: {what}. The size is taken from the offsets.",
            tensors=tensors,
            number=type_id,
            what=what,
        ),
        Severity.WARNING,
        advice=tr("Sizes are right to the padding between tensors; the contents stay unknown."),
    )


def _audience(type_id: int, count: int) -> list[Problem]:
    """Who reads a type that not everybody reads."""
    if type_id not in BY_ID or not BY_ID[type_id].note:
        return []
    kind = BY_ID[type_id]
    return [
        Problem(
            "limited-type",
            trn(
                "{count:,} tensor of type {type}: {note}.",
                "{count:,} tensors of type {type}: {note}.",
                count,
                type=kind.name,
                note=tr(kind.note),
            ),
            Severity.NOTE,
        )
    ]
