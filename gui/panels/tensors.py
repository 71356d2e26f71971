"""The tensors of a model: a table to sort, filter and copy, and the chosen one in full."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from core import units
from core.gguf import excerpt
from core.language import mark, tr, trn
from core.model.model import Model, Weights
from core.provenance import Number, Unit
from gui.document import Document
from gui.panels.overview import facts
from gui.tables import tensors
from gui.tables.filter_edit import FilterEdit
from gui.tables.tensors import TensorTable
from gui.tables.view import SheetView
from gui.widgets.breakable import breakable
from gui.widgets.fact_label import FactLabel
from gui.widgets.menu_button import MenuButton
from gui.widgets.text import Style, Text

# llama.cpp takes names of up to 63 characters.
_NAME_LETTERS = 500


class TensorsPanel(QWidget):
    """Follows the document: the file's own types, and beside them those of a what-if recipe."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._plan_stale = False
        self.filter = FilterEdit(tr("Filter by words of name, type or role"))
        self.table = TensorTable(self)
        self.view = SheetView(self.table, "tensor")
        self.view.setAccessibleName(tr("Tensors"))
        self.status = Text("", Style.MUTED, wrap=True)
        self.card = _Card(document)
        self.copy_button = MenuButton(
            tr("Copy"), tr("Copy tensors as Markdown, CSV or JSON"), self._fill
        )
        row = QHBoxLayout()
        row.addWidget(self.filter, 1)
        row.addWidget(self.copy_button)
        space = self.fontMetrics().averageCharWidth()
        column = QVBoxLayout(self)
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space)
        column.addLayout(row)
        column.addWidget(self.view, 1)
        column.addWidget(self.status)
        column.addWidget(self.card)
        self.filter.textChanged.connect(self.table.set_filter)
        self.filter.left.connect(self.view.enter)
        self.view.typed.connect(self.filter.take)
        self.view.copied.connect(self.status.set_text)
        self.view.row_changed.connect(self._show_card)
        self.view.selectionModel().selectionChanged.connect(self._count)
        self.table.modelReset.connect(self._count)
        document.model_changed.connect(self._show_model)
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._show_units)
        self._show_units()
        self._show_model()

    def focus_filter(self) -> None:
        """Put the cursor in the filter."""
        self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.selectAll()

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is shown now."""
        if self._plan_stale:
            self._show_what_if()
        super().showEvent(event)

    def _show_model(self) -> None:
        model = self._document.model
        self.table.set_model(model)
        self.view.show_columns(self.table.hidden_columns())
        self.filter.setEnabled(bool(self.table.total))
        self.copy_button.setEnabled(bool(self.table.total))
        self._show_what_if()
        self._count()

    def _plan_changed(self) -> None:
        self._plan_stale = True
        if self.isVisible():
            self._show_what_if()

    def _show_what_if(self) -> None:
        self._plan_stale = False
        model, plan = self._document.model, self._document.plan
        tried: Weights | None = None
        if model is not None and plan is not None and plan.weights is not model.weights:
            tried = plan.weights
        if tried is self.table.what_if:
            return
        before = self.table.hidden_columns()
        self.table.set_what_if(tried)
        if before != self.table.hidden_columns():
            self.view.show_columns(self.table.hidden_columns())
        self._count()
        self._show_card(self.view.current_row())

    def _show_units(self) -> None:
        self.table.set_units(self._document.units)
        self._count()
        self._show_card(self.view.current_row())

    def _show_card(self, row: int) -> None:
        self.card.show_tensor(self._document.model, row, self.table.what_if)

    def _count(self) -> None:
        model = self._document.model
        if model is None:
            self.view.set_placeholder(tr("Open a GGUF file to see its tensors."))
            self.status.set_text("")
            return
        total = self.table.total
        shown = self.table.rows
        self.view.set_placeholder(
            tr("This file holds no tensors."),
            tr(
                "No tensor has “{words}” in its name, type or role. Esc in the filter shows all.",
                words=excerpt(self.filter.text()),
            ),
        )
        bound = "≥ " if facts.is_lower_bound(model) else ""
        parts = [f"{_tensors(total)}, {bound}{self._size(model.weights.bytes)}"]
        if len(shown) != total:
            size = self._size(self.table.total_bytes(shown))
            parts.append(
                trn("{count:,} shown, {size}", "{count:,} shown, {size}", len(shown), size=size)
            )
        selected = self.view.selected_rows()
        if len(selected) > 1:
            size = self._size(self.table.total_bytes(selected))
            parts.append(tr("{count:,} selected, {size}", count=len(selected), size=size))
        if self.table.what_if is not None:
            tried = self.table.what_if
            size = self._size(tried.bytes)
            parts.append(tr("as {recipe} {size}", recipe=tried.label, size=size))
        self.status.set_text("; ".join(parts))

    def _size(self, count: int) -> str:
        return units.format_bytes(count, self._document.units)

    def _fill(self, menu: QMenu) -> None:
        self.view.add_copy_actions(menu)


class _Card(QWidget):
    """The chosen tensor: its whole name, and its figures with their formulas."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._name = Text("", Style.STRONG, wrap=True)
        self._words = Text("", Style.MUTED, wrap=True)
        self._bytes = FactLabel(tr("Bytes"))
        self._share = FactLabel(tr("Share of all tensors"))
        self._then = FactLabel(tr("Bytes then"))
        self._arrow = Text("→", Style.MUTED)
        row = QHBoxLayout()
        row.setSpacing(self.fontMetrics().averageCharWidth())
        for widget in (self._bytes, self._arrow, self._then, self._share):
            row.addWidget(widget)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(self._name)
        column.addWidget(self._words)
        column.addLayout(row)
        self.hide()

    def show_tensor(self, model: Model | None, row: int, tried: Weights | None) -> None:
        """Show a tensor of a model; nothing for row -1."""
        self.setVisible(model is not None and 0 <= row < len(model.file.tensors))
        if model is None or self.isHidden():
            return
        tensor = model.file.tensors[row]
        system = self._document.units
        layer = model.tensor_layers[row]
        name = excerpt(tensor.name, _NAME_LETTERS)
        self._name.set_text(breakable(name))
        self._name.setAccessibleName(name)
        words = [tr(model.tensor_roles[row].value), tensors.shape_text(tensor.shape)]
        if layer is not None:
            words.insert(0, tr("layer {number}", number=layer))
        words.append(
            tensor.type_name if tried is None else f"{tensor.type_name} → {tried.tensor_types[row]}"
        )
        self._words.set_text(" · ".join(words))
        self._bytes.set_number(tensors.stored_bytes(tensor), system)
        share = Number(
            tensor.bytes / model.weights.bytes if model.weights.bytes else None,
            Unit.SHARE,
            facts.weights_source(model, model.weights),
            mark("bytes / bytes of all tensors"),
        )
        self._share.set_number(share, system)
        self._arrow.setVisible(tried is not None)
        self._then.setVisible(tried is not None)
        if tried is not None:
            then = Number(
                tried.tensor_bytes[row],
                Unit.BYTES,
                facts.weights_source(model, tried),
                tr("the same shape in {type}", type=tried.tensor_types[row]),
            )
            self._then.set_number(then, system)


def _tensors(count: int) -> str:
    return trn("{count:,} tensor", "{count:,} tensors", count)
