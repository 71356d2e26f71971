"""A table model that sorts and filters an index list of its own.

A proxy model asks Python for every cell: 17 s to sort 100,000 rows. A list of keys and `sorted`
take 0.1 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from core import tabular
from core.language import tr
from core.tabular import TextFormat

_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_DISPLAY, _ALIGNMENT = int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.TextAlignmentRole)
_TIP, _SPOKEN = int(Qt.ItemDataRole.ToolTipRole), int(Qt.ItemDataRole.AccessibleTextRole)
_ROLES = frozenset((_DISPLAY, _ALIGNMENT, _TIP, _SPOKEN))


def longest(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts with the most letters, a few of them: which is the widest only a font can tell."""
    found = set(texts)
    most = max(map(len, found), default=0)
    return tuple(sorted(text for text in found if len(text) == most)[:16])


@dataclass(frozen=True)
class Column:
    """One column over the rows of a source, which are counted from 0.

    ``name`` is what programs call it (CSV, JSON), ``title`` what the header shows. ``text`` is
    what a cell shows, ``exact`` what CSV and JSON hold, ``keys`` the sort keys of all rows.
    ``number`` columns are aligned right and show the largest first. ``widest`` is the longest text
    of a column with a width of its own, or several that may be; ``stretch`` columns share the room
    that is left and give way to ``wanted`` ones behind them.
    """

    name: str
    title: str
    text: Callable[[int], str]
    exact: Callable[[int], Any]
    keys: Callable[[], Sequence[Any]]
    number: bool = False
    help: str = ""
    tip: Callable[[int], str] | None = None
    widest: str | tuple[str, ...] = ""
    stretch: int = 0
    wanted: bool = False
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle


class Sheet(QAbstractTableModel):
    """Rows of a source in the order and the selection that the user asked for.

    Sorting and filtering reset the model; the view brings back the selection. Columns and haystack
    hold the sheet weakly, if at all: in a ring it would wait for Python's collector, which may run
    in any thread, and Qt does not survive a view that is destroyed in another one.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns: tuple[Column, ...] = ()
        self._count = 0
        self._generation = 0
        self._haystack: Callable[[], Sequence[str]] = tuple
        self._keys: dict[int, Sequence[Any]] = {}
        self._words: tuple[str, ...] = ()
        self._found: Sequence[str] | None = None
        self._sorted_by = -1
        self._order = Qt.SortOrder.AscendingOrder
        self._sorted: Sequence[int] = range(0)
        self._rows: Sequence[int] = range(0)

    # What is shown.

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, left to right."""
        return self._columns

    @property
    def total(self) -> int:
        """Rows of the source."""
        return self._count

    @property
    def generation(self) -> int:
        """Changes when the rows are those of another source."""
        return self._generation

    @property
    def rows(self) -> Sequence[int]:
        """Source rows in the order shown."""
        return self._rows

    @property
    def sorted_by(self) -> int:
        """The column that decides the order; -1 for the order of the file."""
        return self._sorted_by

    @property
    def sort_order(self) -> Qt.SortOrder:
        """Which way the rows are sorted."""
        return self._order

    def set_source(
        self, columns: Sequence[Column], count: int, haystack: Callable[[], Sequence[str]]
    ) -> None:
        """Show ``count`` other rows. ``haystack`` gives one casefolded text a row to search in.

        The filter stays, the order returns to that of the file.
        """
        self.beginResetModel()
        self._columns = tuple(columns)
        self._count = count
        self._generation += 1
        self._haystack = haystack
        self._found = None
        self._keys.clear()
        self._sorted_by = -1
        self._arrange()
        self.endResetModel()

    def grow(
        self, columns: Sequence[Column], count: int, haystack: Callable[[], Sequence[str]]
    ) -> None:
        """The same rows, perhaps with other values, and more behind them: order, filter and
        selection stay."""
        self.beginResetModel()
        self._columns = tuple(columns)
        self._count = count
        self._haystack = haystack
        self._found = None
        self._keys.clear()
        self._arrange()
        self.endResetModel()

    def update_columns(self, columns: Sequence[Column], changed: Sequence[int]) -> None:
        """The same rows with other values in the ``changed`` columns."""
        self._columns = tuple(columns)
        for column in changed:
            self._keys.pop(column, None)
        if self._sorted_by in changed:
            self.beginResetModel()
            self._arrange()
            self.endResetModel()
        elif self._rows:
            last = len(self._rows) - 1
            self.dataChanged.emit(self.index(0, min(changed)), self.index(last, max(changed)))
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, min(changed), max(changed))

    def repaint_cells(self) -> None:
        """The same values in other words (units)."""
        if self._rows and self._columns:
            last = self.index(len(self._rows) - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def set_filter(self, text: str) -> None:
        """Show the rows in which every word of ``text`` occurs, in any case."""
        words = self.needles(text.casefold())
        if words == self._words:
            return
        self.beginResetModel()
        self._words = words
        self._filter()
        self.endResetModel()

    def needles(self, folded: str) -> tuple[str, ...]:
        """What must occur in the haystack of a row that a casefolded filter text shows."""
        return tuple(folded.split())

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, or with -1 return to the order of the file."""
        self.beginResetModel()
        self._sorted_by = column if column < len(self._columns) else -1
        self._order = order
        self._arrange()
        self.endResetModel()

    def position(self, source_row: int) -> int | None:
        """Where a source row is shown; None where the filter hides it."""
        try:
            return self._rows.index(source_row)
        except ValueError:
            return None

    def copied(self, source_rows: Sequence[int], columns: Sequence[int], form: TextFormat) -> str:
        """These rows as text: Markdown as on the screen, CSV and JSON exact."""
        chosen = [self._columns[c] for c in columns]
        names = [c.name for c in chosen]
        if form is TextFormat.MARKDOWN:
            titles = [c.title for c in chosen]
            right = [c.number for c in chosen]
            return tabular.markdown(titles, _table(chosen, source_rows, exact=False), right)
        exact = _table(chosen, source_rows, exact=True)
        if form is TextFormat.CSV:
            return tabular.comma_separated(names, exact)
        return tabular.json_objects(names, exact)

    # What Qt asks.

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        """Rows shown."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        """All columns; the view hides some."""
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def data(
        self,
        index: QModelIndex | QPersistentModelIndex,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """Text, alignment, tooltip and the words for a screen reader."""
        if role not in _ROLES:  # most of what Qt asks, some thousand times for every paint
            return None
        column, row = self._columns[index.column()], self._rows[index.row()]
        if role == _DISPLAY:
            return column.text(row)
        if role == _ALIGNMENT:
            return _RIGHT if column.number else _LEFT
        if role == _TIP:
            return _plain((column.tip or column.text)(row))
        return f"{column.title}: {column.text(row) or tr('none')}"

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Titles over the columns."""
        if orientation is not Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        column = self._columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.help or None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column.number else _LEFT
        return None

    # How the index list is made.

    def _arrange(self) -> None:
        if self._sorted_by < 0:
            self._sorted = range(self._count)
        else:
            keys = self._keys.get(self._sorted_by)
            if keys is None:
                keys = self._keys[self._sorted_by] = self._columns[self._sorted_by].keys()
            descending = self._order is Qt.SortOrder.DescendingOrder
            self._sorted = sorted(range(self._count), key=keys.__getitem__, reverse=descending)
        self._filter()

    def _filter(self) -> None:
        if not self._words:
            self._rows = self._sorted
            return
        if self._found is None:
            self._found = self._haystack()
        found = self._found
        rows: Sequence[int] = self._sorted
        for word in self._words:
            rows = [row for row in rows if word in found[row]]
        self._rows = rows


def _plain(tip: str) -> str:
    """A tensor may be named "<img src=...>"; Qt would take a tip with that for markup."""
    if "<" not in tip and "&" not in tip:
        return tip
    return "<span>" + escape(tip).replace("\n", "<br>") + "</span>"


def _table(columns: Sequence[Column], rows: Sequence[int], exact: bool) -> Iterator[list[Any]]:
    cells = [column.exact if exact else column.text for column in columns]
    return ([cell(row) for cell in cells] for row in rows)
