"""The metadata of a file, one key a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import proxy

from PySide6.QtCore import QObject, Qt

from core.gguf.header import Array, Entry, Header, Value
from core.language import mark, tr, trc
from gui.tables import values
from gui.tables.sheet import Column, Sheet, longest

DUPLICATE_HELP = mark(
    "This key occurs twice. The first value is used; llama.cpp refuses such a file."
)


class MetadataTable(Sheet):
    """Keys in file order until they are sorted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._header: Header | None = None
        self._entries: tuple[Entry, ...] = ()
        self._label = ""
        self._first: Mapping[int, tuple[Value, ...]] = {}

    @property
    def header(self) -> Header | None:
        """The header that is shown."""
        return self._header

    def set_header(self, header: Header | None, label: str = "") -> None:
        """Show another file. ``label`` is what its file type number means ("Q4_K_M")."""
        self._header = header
        self._entries = header.entries if header else ()
        self._label = label
        self._first = {}
        me: MetadataTable = proxy(self)
        self.set_source(self._made_columns(), len(self._entries), lambda: me._haystack_rows())

    def set_first_items(self, first: Mapping[int, tuple[Value, ...]]) -> None:
        """The first elements of long arrays, by row, once they have been read."""
        self._first = first
        self.repaint_cells()

    def first_items(self, source_row: int) -> tuple[Value, ...]:
        """The first elements of a long array, where they have been read."""
        return self._first.get(source_row, ())

    def entry(self, source_row: int) -> Entry:
        """The key of a source row."""
        return self._entries[source_row]

    def _value_text(self, row: int) -> str:
        entry = self._entries[row]
        text = values.preview(entry, self._first.get(row, ()))
        if entry.key == "general.file_type" and self._label and not entry.duplicate:
            return f"{text} ({self._label})"
        return text

    def _made_columns(self) -> Sequence[Column]:
        entries = self._entries
        me: MetadataTable = proxy(self)
        type_names = {values.type_name(entry) for entry in entries}

        def key_text(row: int) -> str:
            name = values.short(entries[row].key) or tr("(empty)")
            return tr("{name} (duplicate)", name=name) if entries[row].duplicate else name

        def key_tip(row: int) -> str:
            key = values.short(entries[row].key)
            return f"{key}\n{tr(DUPLICATE_HELP)}" if entries[row].duplicate else key

        return (
            Column(
                "key",
                trc("of metadata", "Key"),
                key_text,
                lambda row: entries[row].key,
                lambda: [entry.key.casefold() for entry in entries],
                tip=key_tip,
                stretch=1,
                # The ends differ; half of all keys begin with the same architecture.
                elide=Qt.TextElideMode.ElideLeft,
            ),
            Column(
                "value",
                tr("Value"),
                lambda row: me._value_text(row),
                lambda row: me._value_text(row),
                lambda: [_value_key(entry) for entry in entries],
                stretch=1,
                elide=Qt.TextElideMode.ElideRight,
            ),
            Column(
                "type",
                tr("Type"),
                lambda row: values.type_name(entries[row]),
                lambda row: values.type_name(entries[row]),
                lambda: [values.type_name(entry) for entry in entries],
                help=tr("How the value is stored; [ ] is an array"),
                widest=longest(type_names),
            ),
        )

    def _haystack_rows(self) -> list[str]:
        return [
            f"{entry.key}\n{_searched(entry)}\n{values.type_name(entry)}".casefold()
            for entry in self._entries
        ]


def _searched(entry: Entry) -> str:
    """Every letter of a string, every number of a short array; long arrays are searched apart."""
    if isinstance(entry.value, Array):
        items = entry.value.items or ()
        return " ".join(values.scalar_text(item, entry.value.element) for item in items)
    text = values.scalar_text(entry.value, entry.type)
    return text if isinstance(entry.value, str) else f"{text} {values.preview(entry)}"


def _value_key(entry: Entry) -> tuple[int, float, str]:
    """Numbers by size, then words, then arrays by length."""
    value = entry.value
    if isinstance(value, Array):
        return 2, value.count, ""
    if isinstance(value, str):
        return 1, 0, value[: values.PREVIEW_LETTERS].casefold()
    number = float(value)
    return 0, number if number == number else float("inf"), ""
