"""A table of figures that know how they were come by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from core.compare.columns import Column as FactColumn
from core.compare.columns import heading
from core.provenance import explain
from core.units import UnitSystem
from gui.tables.sheet import Column, Sheet, longest

R = TypeVar("R")


class FactSheet(Sheet, Generic[R]):
    """Rows of a comparison in the columns of ``core.compare.tables``. A cell's tip explains it.

    ``editable`` is the name of a column whose cells can be typed; what was typed comes as
    ``typed_into`` with the row. The order that the user chose stays when the rows change.
    """

    typed_into = Signal(int, str)

    def __init__(self, editable: str = "", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._editable = editable
        self._facts: tuple[FactColumn[R], ...] = ()
        self._items: tuple[R, ...] = ()
        self._units = UnitSystem.GIB

    @property
    def facts(self) -> tuple[FactColumn[R], ...]:
        """The columns as values."""
        return self._facts

    @property
    def items(self) -> tuple[R, ...]:
        """All rows, in the order they came."""
        return self._items

    def shown(self) -> list[R]:
        """The rows in the order shown."""
        return [self._items[n] for n in self.rows]

    def show(self, columns: Sequence[FactColumn[R]], items: Sequence[R], units: UnitSystem) -> None:
        """Show these rows."""
        before, order = self.sorted_by, self.sort_order
        self._facts, self._items, self._units = tuple(columns), tuple(items), units
        made = [self._column(fact) for fact in self._facts]
        count = len(items)
        self.set_source(made, count, lambda: [""] * count)
        if 0 <= before < len(self._facts):
            self.sort(before, order)

    def column_named(self, name: str) -> int:
        """The place of a column."""
        return next(n for n, fact in enumerate(self._facts) if fact.name == name)

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        """One column can be typed into."""
        flags = super().flags(index)
        if index.isValid() and self._facts[index.column()].name == self._editable:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def data(
        self,
        index: QModelIndex | QPersistentModelIndex,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """What is edited begins as what is shown."""
        if role == Qt.ItemDataRole.EditRole:
            role = Qt.ItemDataRole.DisplayRole
        return super().data(index, role)

    def setData(
        self,
        index: QModelIndex | QPersistentModelIndex,
        value: Any,
        role: int = Qt.ItemDataRole.EditRole,
    ) -> bool:
        """Pass on what was typed; whoever shows the rows decides what becomes of it."""
        if role != Qt.ItemDataRole.EditRole or not index.isValid():
            return False
        self.typed_into.emit(self.rows[index.row()], str(value))
        return True

    def _column(self, fact: FactColumn[R]) -> Column:
        items, units = self._items, self._units
        texts = [fact.text(item, units) for item in items]
        return Column(
            fact.name,
            fact.short or heading(fact),
            texts.__getitem__,
            lambda n: fact.exact(items[n]),
            lambda: [fact.key(item) for item in items],
            number=fact.number,
            help=fact.help,
            tip=lambda n: _tip(fact, items[n], units),
            widest=longest(texts),
        )


def _tip(fact: FactColumn[R], item: R, units: UnitSystem) -> str:
    value = fact.fact(item)
    text = fact.text(item, units)
    if isinstance(value, str):
        return text
    told = explain(value, units)
    first, _, rest = told.partition("\n")
    return f"{text}\n{rest}" if rest and first not in text else told
