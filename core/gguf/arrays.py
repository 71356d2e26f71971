"""Metadata values, and the pages of arrays that stay on disk."""

from __future__ import annotations

from core.gguf.cursor import (
    ARRAY_STEPS,
    MARK_EVERY,
    SCALARS,
    Cursor,
    Stop,
    layout_of,
)
from core.gguf.header import Array, Header, Value, ValueType
from core.gguf.source import OpenSource
from core.gguf.text import display
from core.language import mark, tr
from core.problems import Problem

# Arrays up to these sizes are kept: facts are made from one value per layer, and the longest of
# those known has 128 entries. A vocabulary stays on disk.
KEEP_NUMBERS = 4096
KEEP_ITEMS = 1024
KEEP_ITEM_BYTES = 1 << 16
MAX_PAGE = 64 << 20  # bytes of one page
_NUMBER_COST = 32  # what a Python number in a tuple takes, about
MAX_DEPTH = 8  # llama.cpp refuses arrays of arrays altogether


class PageError(Exception):
    """A page could not be read. ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_value(cursor: Cursor, kind: ValueType, what: str) -> Value:
    """One value that is no string. ``what`` names it in a sentence."""
    if kind is ValueType.ARRAY:
        return read_array(cursor, what)
    (number,) = cursor.unpack(cursor.layout.scalars[kind], what)
    return number


def value_type(number: int, cursor: Cursor, what: str = "") -> ValueType:
    """The type with this number. Raises Stop: what follows an unknown type cannot be found."""
    try:
        return ValueType(number)
    except ValueError:
        fault = (
            tr(
                "{what} has the value type {number}, which GGUF does not have",
                what=tr(what),
                number=number,
            )
            if what
            else tr("it has the value type {number}, which GGUF does not have", number=number)
        )
        raise Stop("unknown-value-type", fault, cursor.offset) from None


def read_array(cursor: Cursor, what: str, depth: int = 1, keep: bool = True) -> Array:
    """An array: walked over, and kept only where it is short."""
    number, count = cursor.unpack(cursor.layout.array_head, what)
    element = value_type(number, cursor, what)
    claim = tr("{what} with {count:,} elements", what=tr(what), count=count)
    offset = cursor.offset
    marks: list[int] = []
    if element in SCALARS:
        cursor.skip(count * cursor.layout.scalars[element].size, claim)
        keep = keep and count <= KEEP_NUMBERS and cursor.may_keep(count * _NUMBER_COST)
    else:
        if element is ValueType.STRING:
            marks = cursor.skip_strings(count, claim)
        else:
            marks = _skip_arrays(cursor, count, claim, depth)
        size = cursor.offset - offset
        keep = keep and count <= KEEP_ITEMS and size <= KEEP_ITEM_BYTES and cursor.may_keep(size)
    end = cursor.offset
    items = None
    if keep:
        cursor.seek(offset)
        items = read_items(cursor, element, count, what, depth)
        cursor.seek(end)
    return Array(element, count, offset, end, items, () if keep else tuple(marks))


def _skip_arrays(cursor: Cursor, count: int, what: str, depth: int) -> list[int]:
    if depth == MAX_DEPTH:
        raise Stop(
            "nested-too-deep",
            tr("{what} holds arrays more than {most} deep", what=tr(what), most=MAX_DEPTH),
            cursor.offset,
        )
    cursor.require(count * cursor.layout.array_head.size, what)
    cursor.spend(count * ARRAY_STEPS, what)
    marks = []
    for index in range(count):
        if index % MARK_EVERY == 0:
            marks.append(cursor.offset)
        read_array(cursor, what, depth + 1, keep=False)
    return marks


def read_items(
    cursor: Cursor, element: ValueType, count: int, what: str, depth: int = 1
) -> tuple[Value, ...]:
    """``count`` elements from where the cursor is."""
    if element in SCALARS:
        form = f"{cursor.layout.mark}{count}{SCALARS[element]}"
        return cursor.numbers(form, what)
    if element is ValueType.STRING:
        return _read_strings(cursor, count, what)
    return tuple(read_array(cursor, what, depth + 1) for _ in range(count))


def _read_strings(cursor: Cursor, count: int, what: str) -> tuple[str, ...]:
    strings = []
    left = MAX_PAGE
    for _ in range(count):
        size = cursor.length(what)
        left -= size
        if left < 0:
            raise _too_large(cursor.offset)
        strings.append(cursor.take(size, what).decode("utf-8", "surrogateescape"))
    return tuple(strings)


def unchanged_file(header: Header) -> OpenSource:
    """The file of a header, open for ``with``. Raises PageError where it cannot be opened or is
    not the file any more that the header was read from."""
    try:
        source = header.place.open()
    except (OSError, ValueError) as error:
        raise PageError(header.place.unreadable(error)) from error
    if (source.size, source.modified_ns) == (header.file_bytes, header.modified_ns):
        return source
    with source:
        raise PageError(
            Problem(
                "changed",
                tr("{name} was changed since it was opened.", name=display(header.path.name)),
                advice=tr("Open it again."),
                where=display(header.place.address),
            )
        )


def read_page(header: Header, array: Array, start: int, stop: int) -> tuple[Value, ...]:
    """Elements ``start`` to ``stop`` (as in a slice, both clamped) of an array of ``header``.

    The file is opened for this page only. Raises PageError where the file cannot be read, has
    changed since its header was read, or the page would take more than 64 MiB.
    """
    start = max(0, min(start, array.count))
    stop = max(start, min(stop, array.count))
    if array.items is not None or start == stop:
        return (array.items or ())[start:stop]
    where = display(header.place.address)
    with unchanged_file(header) as source:
        layout = layout_of(header.version or 3, header.byte_order)
        cursor = Cursor(source, layout)
        what = mark("the array")
        try:
            if array.element in SCALARS:
                size = layout.scalars[array.element].size
                if (stop - start) * size > MAX_PAGE:
                    raise _too_large(array.offset)
                cursor.seek(array.offset + start * size)
                return read_items(cursor, array.element, stop - start, what)
            cursor.seek(array.marks[start // MARK_EVERY])
            if array.element is ValueType.STRING:
                cursor.skip_strings(start % MARK_EVERY, what)
            else:
                for _ in range(start % MARK_EVERY):
                    read_array(cursor, what, keep=False)
            return read_items(cursor, array.element, stop - start, what)
        except Stop as error:
            raise PageError(
                Problem(
                    error.code,
                    tr("The page cannot be shown: {error}.", error=error),
                    advice=(
                        tr("Ask for fewer elements at once.")
                        if error.code == "page-too-large"
                        else tr("Open the file again.")
                    ),
                    where=where,
                    offset=error.offset,
                )
            ) from error
        except OSError as error:
            raise PageError(header.place.unreadable(error)) from error


def _too_large(offset: int) -> Stop:
    return Stop(
        "page-too-large", tr("it would take more than {most} MiB", most=MAX_PAGE >> 20), offset
    )
