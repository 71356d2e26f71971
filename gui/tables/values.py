"""Metadata values as text: to look at, to copy exactly, and as JSON. Nothing here knows Qt."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from core.gguf import display
from core.gguf.header import Array, Entry, Value, ValueType
from core.language import style, tr, trn, written

# Beyond this a cell of the table is not read anyway.
PREVIEW_LETTERS = 200
PREVIEW_ITEMS = 8

_TYPE_NAMES = {
    ValueType.UINT8: "u8",
    ValueType.INT8: "i8",
    ValueType.UINT16: "u16",
    ValueType.INT16: "i16",
    ValueType.UINT32: "u32",
    ValueType.INT32: "i32",
    ValueType.FLOAT32: "f32",
    ValueType.BOOL: "bool",
    ValueType.STRING: "string",
    ValueType.ARRAY: "array",
    ValueType.UINT64: "u64",
    ValueType.INT64: "i64",
    ValueType.FLOAT64: "f64",
}


def type_name(entry: Entry) -> str:
    """The type as the field writes it: "u32", "string", "[f32]"."""
    if isinstance(entry.value, Array):
        return f"[{_TYPE_NAMES[entry.value.element]}]"
    return _TYPE_NAMES[entry.type]


def scalar_text(value: Value, type: ValueType) -> str:
    """A value exactly, without decoration: digits, true or false, or the string itself."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and type is ValueType.FLOAT32:
        return shortest_f32(value)
    if isinstance(value, Array):
        return array_words(value)
    return str(value)


def exact_bytes(text: str) -> bytes:
    """The bytes of a string as they stand in the file, valid UTF-8 or not."""
    return text.encode("utf-8", "surrogateescape")


def preview(entry: Entry, first: Sequence[Value] = ()) -> str:
    """One line for a cell. ``first`` are the first elements of a long array, where known."""
    value = entry.value
    if isinstance(value, Array):
        items = value.items if value.items is not None else first
        return array_words(value, items)
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return written(value)
    return _spoken(value, entry.type)


def short(text: str) -> str:
    """The beginning of a name, every odd character shown."""
    return display(text[:PREVIEW_LETTERS]) + ("…" if len(text) > PREVIEW_LETTERS else "")


def one_line(text: str) -> str:
    """The beginning of a string on one line; where a line ends stands a sign."""
    cut = text[:PREVIEW_LETTERS]
    line = display(" ⏎ ".join(cut.splitlines()) if "\n" in cut or "\r" in cut else cut)
    return f"{line}…" if len(text) > PREVIEW_LETTERS else line


def array_words(array: Array, items: Sequence[Value] = ()) -> str:
    """How many of what, their range where they are numbers, and the first of them."""
    words = _count_words(array)
    numbers = [v for v in items if isinstance(v, int | float) and not isinstance(v, bool)]
    if numbers and len(numbers) == array.count and array.count > 1:
        low, high = min(numbers), max(numbers)
        low_text, high_text = (_spoken(v, array.element) for v in (low, high))
        span = tr("{low} to {high}", low=low_text, high=high_text)
        words += f", {tr('all {value}', value=low_text) if low == high else span}"
    if not items:
        return words
    # Where a comma stands before the tenths it cannot stand between numbers as well.
    fractions = any(isinstance(v, float) for v in items[:PREVIEW_ITEMS])
    between = "; " if fractions and style().decimal == "," else ", "
    shown = between.join(item_text(v, array.element) for v in items[:PREVIEW_ITEMS])
    return f"{words}: {shown}" + (f"{between}…" if array.count > PREVIEW_ITEMS else "")


def _count_words(array: Array) -> str:
    match array.element:
        case ValueType.STRING:
            return trn("{count:,} string", "{count:,} strings", array.count)
        case ValueType.BOOL:
            return trn("{count:,} flag", "{count:,} flags", array.count)
        case ValueType.ARRAY:
            return trn("{count:,} array", "{count:,} arrays", array.count)
    return trn("{count:,} number", "{count:,} numbers", array.count)


def item_text(value: Value, element: ValueType) -> str:
    """One element of an array, in a cell."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Array):
        return f"[{array_words(value, value.items or ())}]"
    return _spoken(value, element)


def _spoken(value: Value, type: ValueType) -> str:
    """A value for reading: like `scalar_text`, its tenths behind the reader's own sign."""
    text = scalar_text(value, type)
    return written(float(text), "") if isinstance(value, float) else text


def shortest_f32(value: float) -> str:
    """The fewest digits that read back as the same 32-bit float: "1e-06", not its double."""
    if not math.isfinite(value):
        return str(value)
    for digits in range(1, 9):
        rounded = float(f"{value:.{digits}g}")
        if _as_f32(rounded) == _as_f32(value):
            return repr(rounded)
    return repr(float(f"{value:.9g}"))


def _as_f32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # the largest of all, rounded up
        return b""


def json_value(value: Value, type: ValueType) -> Any:
    """A value for JSON; a float that JSON has no number for becomes a word ("nan", "inf").

    An array must have its items.
    """
    if isinstance(value, Array):
        return [json_value(item, value.element) for item in value.items or ()]
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return float(shortest_f32(value)) if type is ValueType.FLOAT32 else value
    return value
