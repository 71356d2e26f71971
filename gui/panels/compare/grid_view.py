"""Which quantizations and contexts of the open model fit the plan's machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from core.compare import Cell, contexts_of, recipes_of
from core.compare.grid import cell
from core.compare.tables import grid_columns
from core.gguf import display
from core.language import mark, tr, trn
from core.machine.machine import spoken_name
from core.tabular import TextFormat
from core.units import format_tokens
from gui.document import Document
from gui.panels.compare import exports
from gui.tables.grid import GridModel
from gui.widgets.live_text import LiveText
from gui.widgets.menu_button import MenuButton
from gui.widgets.text import Style, Text
from gui.widgets.verdict_cells import VerdictCells
from gui.widgets.wrap import Wrap

_AFTER_MS = 30
_HOW = mark(
    "Speeds are what to expect with the context full (≤: the ceiling, where there is no data), in "
    "brackets where it does not fit. Click a cell, or press Enter on it, to plan with it."
)


class GridView(QWidget):
    """Follows the document while it is in sight; a row is worked out in each turn."""

    said = Signal(str)

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._asked: object = None
        self._work: Iterator[tuple[Cell, ...]] = iter(())
        self._number = 0
        self.model = GridModel(self)
        self.cells = VerdictCells()
        self.cells.setModel(self.model)
        self.cells.setAccessibleName(tr("Quantization by context"))
        self.cells.setAccessibleDescription(tr(_HOW))
        self.where = LiveText(Style.STRONG)
        self.copy_button = MenuButton(tr("Copy"), tr("All cells, as text"), self._fill_copy)
        top = Wrap(last_right=True)
        top.set_cells([self.where, self.copy_button])
        space = self.fontMetrics().averageCharWidth()
        column = QVBoxLayout(self)
        column.setContentsMargins(space, space, space, space)
        column.addWidget(top)
        column.addWidget(Text(tr(_HOW), Style.MUTED, wrap=True))
        column.addWidget(self.cells, 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._go_on)
        self.cells.taken.connect(self._take)
        document.plan_changed.connect(self._follow)
        document.units_changed.connect(lambda: self.model.set_units(document.units))

    @property
    def working(self) -> bool:
        """Whether rows are still to come."""
        return self._timer.isActive()

    def copy(self, form: TextFormat) -> None:
        """Put all cells on the clipboard, a line each."""
        cells = [
            found
            for row in range(self.model.rowCount())
            for column in range(self.model.columnCount())
            if (found := self.model.cell(row, column)) is not None
        ]
        exports.copy(form, grid_columns(), cells, self._document.units)
        self.said.emit(
            trn(
                "{count} cell copied as {form}.",
                "{count} cells copied as {form}.",
                len(cells),
                form=form.value,
            )
        )

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while it was out of sight is shown now."""
        super().showEvent(event)
        self._follow()

    def _follow(self) -> None:
        document = self._document
        model, machine, choice = document.model, document.machine, document.choice
        if model is None or not self.isVisible():
            return
        recipes, contexts = recipes_of(model), contexts_of(model, choice.context)
        self.where.set_text(
            f"{display(spoken_name(machine.name))}, K {choice.cache_k}, V {choice.cache_v}"
        )
        self.model.begin(recipes, contexts, document.units)
        self._mark()
        # What a cell says itself does not count.
        asked = (
            model,
            machine,
            replace(choice, context=None, depth=None, requantize=None),
            contexts,
        )
        if asked == self._asked:
            return
        self._asked = asked
        self._number = 0
        self._work = (
            tuple(cell(model, machine, choice, recipe, context) for context in contexts)
            for recipe in recipes
        )
        self._timer.start(_AFTER_MS)

    def _go_on(self) -> None:
        if self._document.model is None:
            return
        made = next(self._work, None)
        if made is None:
            return
        self.model.set_row(self._number, made)
        self._number += 1
        self._timer.start(0)

    def _mark(self) -> None:
        """Frame the cell that the plan stands on, if it is one of these."""
        plan, choice = self._document.plan, self._document.choice
        ftypes = [recipe.ftype for recipe in self.model.recipes]
        context = plan.settings.requested_context if plan else 0
        if context in self.model.contexts and choice.requantize in ftypes:
            column = self.model.contexts.index(context)
            self.cells.mark(ftypes.index(choice.requantize), column)
        else:
            self.cells.mark(-1, -1)

    def _take(self, row: int, column: int) -> None:
        recipe, context = self.model.recipes[row], self.model.contexts[column]
        self._document.end_step()  # every click is a step of its own
        self._document.choose(requantize=recipe.ftype, context=context, depth=None)
        self.said.emit(
            tr(
                "The plan is for {recipe}, {tokens} tokens now.",
                recipe=recipe.label,
                tokens=format_tokens(context),
            )
        )

    def _fill_copy(self, menu: QMenu) -> None:
        exports.fill_copy(menu, self.copy)
