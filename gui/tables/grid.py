"""Recipe by context as a table model: every cell a verdict and a speed."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from core.compare import Cell, Recipe
from core.compare.tables import room_words
from core.language import tr
from core.plan.plan import Verdict
from core.plan.verdict import SHORT_WORDS
from core.provenance import explain
from core.units import UnitSystem, format_bytes, format_rate, format_tokens

VERDICT = int(Qt.ItemDataRole.UserRole) + 1  # as gui.widgets.verdict_cells asks for it


class GridModel(QAbstractTableModel):
    """Rows come one after the other while they are worked out."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._recipes: tuple[Recipe, ...] = ()
        self._contexts: tuple[int, ...] = ()
        self._cells: list[tuple[Cell, ...]] = []
        self._units = UnitSystem.GIB

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """The rows."""
        return self._recipes

    @property
    def contexts(self) -> tuple[int, ...]:
        """The columns."""
        return self._contexts

    def begin(
        self, recipes: tuple[Recipe, ...], contexts: tuple[int, ...], units: UnitSystem
    ) -> None:
        """Another grid, still empty. One of the same shape keeps its cells until new ones come."""
        self._units = units
        if (recipes, contexts) != (self._recipes, self._contexts):
            self.beginResetModel()
            self._recipes, self._contexts, self._cells = recipes, contexts, []
            self.endResetModel()

    def set_row(self, number: int, cells: tuple[Cell, ...]) -> None:
        """One row has been worked out."""
        if number < len(self._cells):
            self._cells[number] = cells
        else:
            self._cells.append(cells)
        last = self.index(number, len(self._contexts) - 1)
        self.dataChanged.emit(self.index(number, 0), last)

    def set_units(self, units: UnitSystem) -> None:
        """The same cells in other words."""
        self._units = units
        if self._cells:
            last = self.index(len(self._cells) - 1, len(self._contexts) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            self.headerDataChanged.emit(Qt.Orientation.Vertical, 0, len(self._recipes) - 1)

    def cell(self, row: int, column: int) -> Cell | None:
        """One cell, where it has been worked out."""
        return self._cells[row][column] if row < len(self._cells) else None

    def words(self, cell: Cell) -> tuple[str, str]:
        """The two lines of a cell: whether it fits, and how fast it would be."""
        if cell.refused:
            return tr("refused"), ""
        verdict = tr(SHORT_WORDS[cell.verdict])
        if cell.verdict is Verdict.DOES_NOT_FIT:
            verdict = room_words(cell.room, self._units)
        expected, ceiling = cell.expected.value, cell.ceiling.value
        speed = "" if ceiling is None else f"≤ {format_rate(ceiling)}"
        if expected is not None:
            speed = format_rate(expected)
        return verdict, f"({speed})" if speed and cell.verdict is Verdict.DOES_NOT_FIT else speed

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        """A row for each recipe."""
        return 0 if parent is not None and parent.isValid() else len(self._recipes)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex | None = None) -> int:
        """A column for each context."""
        return 0 if parent is not None and parent.isValid() else len(self._contexts)

    def data(
        self,
        index: QModelIndex | QPersistentModelIndex,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """The words of a cell, how they were come by, and its verdict for whoever paints it."""
        cell = self.cell(index.row(), index.column())
        if cell is None:
            return None
        if role == VERDICT:
            return Verdict.UNKNOWN if cell.refused else cell.verdict
        if role == Qt.ItemDataRole.DisplayRole:
            return "\n".join(self.words(cell))
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(cell)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            words = " ".join(self.words(cell))
            return tr(
                "{recipe}, {count} tokens: {words}",
                recipe=cell.recipe.label,
                count=format_tokens(cell.context),
                words=words,
            )
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Contexts across, recipes with their size down."""
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation is Qt.Orientation.Horizontal:
            return format_tokens(self._contexts[section])
        recipe = self._recipes[section]
        size = format_bytes(recipe.bytes, self._units)
        if recipe.bits is None:
            return f"{recipe.label}\n{size}"
        return tr(
            "{recipe}\n{bits:.2f} bits, {size}", recipe=recipe.label, bits=recipe.bits, size=size
        )

    def _tip(self, cell: Cell) -> str:
        if cell.refused:
            return cell.refused
        lines = [
            tr(
                "{recipe} with {count} tokens of context",
                recipe=cell.recipe.label,
                count=format_tokens(cell.context),
            )
        ]
        room = room_words(cell.room, self._units)
        if cell.room.value is not None and cell.room.value >= 0:
            room = tr("{room} free", room=room)
        lines.append(f"{tr(SHORT_WORDS[cell.verdict])}: {room}")
        ceiling = explain(cell.ceiling, self._units)
        lines.append(tr("Ceiling with the context full: {figure}", figure=ceiling))
        if cell.expected.known:
            expected = explain(cell.expected, self._units)
            lines.append(tr("Expected: {figure}", figure=expected))
        return "\n".join(lines)
