"""How many bytes each tensor takes: by its type where that can be believed, else by the offsets.

Forks of llama.cpp hand out the same new type ids for different things, so from FIRST_CONTESTED on
a size from the table has to agree with the distance to the next tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
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
from core.problems import Problem, Severity

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
    tensors = []
    expected = 0
    orderly = True
    facts: dict[tuple[int, tuple[int, ...]], tuple[str, int, int]] = {}  # few shapes, many rows
    for name, shape, type_id, offset in rows:
        if (type_id, shape) not in facts:
            layout = BY_ID.get(type_id)
            size = layout.tensor_bytes(shape) if layout else 0
            facts[type_id, shape] = name_of(type_id), size, prod(shape)
        type_name, size, parameters = facts[type_id, shape]
        orderly = orderly and offset == expected
        expected = align(offset + size, alignment)
        tensors.append(Tensor(name, shape, type_id, type_name, offset, size, parameters))
    used = dict.fromkeys(tensor.type_id for tensor in tensors)
    problems = [problem for type_id in used for problem in _audience(type_id, tensors)]
    doubtful = [i for i in used if i >= FIRST_CONTESTED or i not in BY_ID]
    proven = orderly and all(type_id in BY_ID for type_id in doubtful)
    if not doubtful or (proven and not _doubts_last(tensors[-1], alignment, data_bytes)):
        return tuple(tensors), problems

    starts = sorted({tensor.offset for tensor in tensors})
    spans = {start: after - start for start, after in pairwise(starts)}
    rest = data_bytes - starts[-1] if data_bytes is not None and data_bytes > starts[-1] else None
    for type_id in doubtful:
        indices = [i for i, t in enumerate(tensors) if t.type_id == type_id and t.parameters]
        found = [tensors[i] for i in indices]
        if not found:
            continue
        layout, remarks = _decide(found, spans, rest, alignment)
        problems += remarks
        for index in indices:
            tensor = tensors[index]
            if layout:
                size = layout.tensor_bytes(tensor.shape)
                tensors[index] = tensor._replace(type_name=layout.name, bytes=size)
            else:
                tensors[index] = tensor._replace(bytes=_by_offsets(tensor, found, spans, rest))
    return tuple(tensors), problems


def _doubts_last(tensor: Tensor, alignment: int, data_bytes: int | None) -> bool:
    """Orderly offsets prove every size but the last, which the end of the file may prove."""
    if tensor.type_id < FIRST_CONTESTED or tensor.type_id not in OTHER_LAYOUTS:
        return False
    rest = -1 if data_bytes is None else data_bytes - tensor.offset
    return not tensor.bytes <= rest <= align(tensor.bytes, alignment)


def _decide(
    found: list[Tensor], spans: dict[int, int], rest: int | None, alignment: int
) -> tuple[TensorType | None, list[Problem]]:
    """The layout of all tensors of one type; None where only the offsets can tell."""
    type_id, first = found[0].type_id, found[0]
    known = [BY_ID[type_id]] if type_id in BY_ID else []
    layouts = [*known, *OTHER_LAYOUTS.get(type_id, ())]
    measured = [(tensor, spans[tensor.offset]) for tensor in found if tensor.offset in spans]

    def padded(layout: TensorType, tensor: Tensor) -> int:
        return align(layout.tensor_bytes(tensor.shape), alignment)

    if not known:
        return None, [_unknown(found)]
    if measured:
        fitting = [c for c in layouts if all(padded(c, t) == span for t, span in measured)]
        if not fitting and all(padded(known[0], t) <= span for t, span in measured):
            # Some fit and some leave room: holes in the file, not another type.
            fitting = [known[0]] if any(padded(known[0], t) == s for t, s in measured) else []
        if not fitting:
            return None, [_another_type(measured, known[0])]
        return fitting[0], _layout_remark(fitting[0], first)
    last = found[-1]
    fitting = [
        c
        for c in layouts
        if rest is not None and c.tensor_bytes(last.shape) <= rest <= padded(c, last)
    ]
    if len(fitting) == 1:
        return fitting[0], _layout_remark(fitting[0], first)
    return known[0], [_ambiguous(first, layouts)] if len(layouts) > 1 else []


def _by_offsets(
    tensor: Tensor, found: list[Tensor], spans: dict[int, int], rest: int | None
) -> int:
    """The distance to the next tensor. The last one is scaled from the others of its type, or
    takes what is left of the file."""
    if tensor.offset in spans:
        return spans[tensor.offset]
    measured = max(
        (t for t in found if t.offset in spans), key=lambda t: t.parameters, default=None
    )
    if measured:
        return tensor.parameters * spans[measured.offset] // measured.parameters
    return rest or 0


def _layout_remark(layout: TensorType, first: Tensor) -> list[Problem]:
    usual = BY_ID[layout.id]
    if layout is usual:
        return []
    return [
        Problem(
            "type-layout",
            f"Type {layout.id} is stored here as {layout.name} ({layout.bits_per_weight:.4g} bits, "
            f"{layout.note}) and not as {usual.name} ({usual.bits_per_weight:.4g} bits): the "
            f"spacing of the tensors says so, beginning with {display(first.name)}.",
            Severity.NOTE,
            advice=f"A program that takes it for {usual.name} reads it wrongly.",
        )
    ]


def _ambiguous(first: Tensor, layouts: list[TensorType]) -> Problem:
    choices = " or ".join(
        f"{c.name} ({c.bits_per_weight:.4g} bits, {c.tensor_bytes(first.shape):,} B)"
        for c in layouts
    )
    return Problem(
        "ambiguous-type",
        f"Type {first.type_id} of {display(first.name)} may be {choices}; nothing in the file "
        f"decides. It is counted as {layouts[0].name}.",
        Severity.WARNING,
        advice="Ask who made the file which of the two it is.",
    )


def _another_type(measured: list[tuple[Tensor, int]], table: TensorType) -> Problem:
    tensor, span = next((t, span) for t, span in measured if table.tensor_bytes(t.shape) != span)
    return Problem(
        "type-size",
        f"{display(tensor.name)} of type {table.id} occupies {span:,} B, where {table.name} would "
        f"take {table.tensor_bytes(tensor.shape):,} B: probably a fork's own type. Sizes of this "
        f"type are taken from the offsets ({8 * span / tensor.parameters:.4g} bits per weight).",
        Severity.WARNING,
        advice="Use the program that the file was made for.",
    )


def _unknown(found: list[Tensor]) -> Problem:
    first = found[0]
    others = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    note = note_of(first.type_id)
    what = f"{first.type_name} ({note})" if note else "a type that this version does not know"
    return Problem(
        "unknown-type",
        f"{display(first.name)}{others} of type {first.type_id}: {what}. The size is taken from "
        "the offsets.",
        Severity.WARNING,
        advice="Sizes are right to the padding between tensors; the contents stay unknown.",
    )


def _audience(type_id: int, tensors: Sequence[Tensor]) -> list[Problem]:
    """Who reads a type that not everybody reads."""
    if type_id not in BY_ID or not BY_ID[type_id].note:
        return []
    kind = BY_ID[type_id]
    count = sum(tensor.type_id == type_id for tensor in tensors)
    return [
        Problem(
            "limited-type",
            f"{count:,} tensor{'s' if count > 1 else ''} of type {kind.name}: {kind.note}.",
            Severity.NOTE,
        )
    ]
