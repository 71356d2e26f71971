"""What is read from the file again after it was opened: pages of arrays. No Qt here.

The functions run off the GUI thread. They raise `PageError` where the file has gone or changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from core import tabular
from core.gguf import display, read_page
from core.gguf.header import Array, Entry, Header, Value
from core.language import tr, trc
from gui.tables import values

CancelledCheck: TypeAlias = Callable[[], bool]

# Elements read at once where a whole array is walked.
_STRIDE = 8192


def first_items(header: Header, cancelled: CancelledCheck) -> Mapping[int, tuple[Value, ...]]:
    """The first elements of every array that stays on disk, by its row."""
    first = {}
    for row, entry in enumerate(header.entries):
        if cancelled():
            break
        if isinstance(entry.value, Array) and entry.value.items is None:
            first[row] = read_page(header, entry.value, 0, values.PREVIEW_ITEMS)
    return first


def find(
    header: Header, array: Array, words: str, start: int, cancelled: CancelledCheck
) -> int | None:
    """The first element from ``start`` on in which ``words`` occur, in any case; after the last
    element it goes on with the first. None where there is none, or nobody waits any more."""
    needle = words.casefold()
    for low, high in ((start, array.count), (0, start)):
        for index, item in _walk(header, array, low, high, cancelled):
            if needle in values.scalar_text(item, array.element).casefold():
                return index
    return None


def whole(header: Header, array: Array, cancelled: CancelledCheck) -> Array:
    """The same array with its items, and those of the arrays in it."""
    if array.count and array.items is None:
        found = tuple(item for _, item in _walk(header, array, 0, array.count, cancelled))
        array = replace(array, items=found)
    items = tuple(
        whole(header, item, cancelled) if isinstance(item, Array) else item
        for item in array.items or ()
    )
    return replace(array, items=items)


def json_of(header: Header, entries: Sequence[Entry], cancelled: CancelledCheck) -> str:
    """These keys as a JSON array of objects, every array complete; "" if cancelled."""
    rows = []
    for entry in entries:
        value = entry.value
        if isinstance(value, Array):
            value = whole(header, value, cancelled)
        if cancelled():
            return ""
        rows.append([entry.key, values.type_name(entry), values.json_value(value, entry.type)])
    return tabular.json_objects(("key", "type", "value"), rows)


def array_json(header: Header, array: Array, cancelled: CancelledCheck) -> str:
    """One array as JSON."""
    return tabular.json_text(values.json_value(whole(header, array, cancelled), array.element))


def markdown_of(entries: Sequence[Entry], first: Mapping[int, tuple[Value, ...]]) -> str:
    """These keys as a Markdown table; strings whole, of arrays the count and the beginning."""
    rows = []
    for row, entry in enumerate(entries):
        if isinstance(entry.value, str):
            text = display(entry.value, lines=True)
        elif isinstance(entry.value, Array):
            text = values.preview(entry, first.get(row, ()))
        else:
            text = values.scalar_text(entry.value, entry.type)
        rows.append([display(entry.key), values.type_name(entry), text])
    titles = (trc("of metadata", "Key"), tr("Type"), tr("Value"))
    return tabular.markdown(titles, rows, (False, False, False))


def _walk(
    header: Header, array: Array, low: int, high: int, cancelled: CancelledCheck
) -> Iterator[tuple[int, Value]]:
    for start in range(low, high, _STRIDE):
        if cancelled():
            return
        page = read_page(header, array, start, min(start + _STRIDE, high))
        yield from enumerate(page, start)
