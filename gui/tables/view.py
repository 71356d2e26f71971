"""The view of a sheet: sorting by header, copying, and widths that leave no number hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias
from weakref import WeakMethod

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from core.language import tr
from core.tabular import TextFormat
from gui import theme
from gui.tables.copied import copied_words
from gui.tables.sheet import Sheet

Copier: TypeAlias = Callable[[Sequence[int], TextFormat], None]

# A name needs so many letters to be worth a column, and so many to lose its middle: of a shorter
# one only "blk.0.…weight" would be left.
_LEAST_LETTERS = 14
_MIDDLE_LETTERS = 24
# A selection of more rows than this is dropped when the rows are sorted or filtered.
_KEPT_ROWS = 1000


class SheetView(QTableView):
    """Shows a `Sheet`, whole rows at a time.

    ``noun`` is what a row is called ("tensor"). Ctrl+C copies the selection as Markdown; the
    context menu (also by the menu key) copies in the other ``forms`` and sorts without a mouse.
    """

    row_changed = Signal(int)  # source row of the current row, -1 for none
    opened = Signal()  # Enter or a double click on the current row
    typed = Signal(str)  # a letter typed into the table: meant for the filter
    copied = Signal(str)  # what was copied, in words
    taken_away = Signal()  # Delete: for tables of which rows can go

    def __init__(
        self,
        sheet: Sheet,
        noun: str,
        *,
        forms: Sequence[TextFormat] = tuple(TextFormat),
        sortable: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._copier: WeakMethod[Copier] | None = None
        self._sheet = sheet
        self._noun = noun
        self._forms = tuple(forms)
        self._sortable = sortable
        self._placeholder = self._unmatched = ""
        self._kept: tuple[int, int, list[int]] = (-1, -1, [])
        self._last_row = -1
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setItemDelegate(_Delegate(sheet, self))
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionsClickable(sortable)
        header.setHighlightSections(False)
        header.setSortIndicatorShown(sortable)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setMinimumSectionSize(24)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.sectionClicked.connect(self._header_clicked)
        self.setModel(sheet)
        sheet.modelAboutToBeReset.connect(self._keep)
        sheet.modelReset.connect(self._bring_back)
        self.selectionModel().currentRowChanged.connect(self._current_moved)
        # Not `activated`: some desktops emit it on a single click.
        self.doubleClicked.connect(self.opened)
        self._set_row_height()

    # What is selected.

    def current_row(self) -> int:
        """The source row under the cursor; -1 for none."""
        index = self.currentIndex()
        return self._sheet.rows[index.row()] if index.isValid() else -1

    def selected_rows(self) -> list[int]:
        """Source rows of the selection, in the order shown."""
        rows = self._sheet.rows
        spans = sorted(self._spans())
        return [rows[i] for top, bottom in spans for i in range(top, bottom + 1)]

    def choose_row(self, position: int) -> None:
        """Select the row at this place of the table, and nothing else.

        ``selectRow`` goes by the keys that are held: with Shift it may select nothing.
        """
        flags = QItemSelectionModel.SelectionFlag
        index = self._sheet.index(position, next(iter(self.visible_columns()), 0))
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def visible_columns(self) -> list[int]:
        """Columns that are not hidden, left to right."""
        return [c for c in range(len(self._sheet.columns)) if not self.isColumnHidden(c)]

    def set_placeholder(self, text: str, unmatched: str = "") -> None:
        """What stands in place of rows where there are none, and where the filter hides all."""
        self._placeholder, self._unmatched = text, unmatched
        self._tell_empty()

    @property
    def shown_words(self) -> str:
        """What stands in place of rows; "" where there are some."""
        if self._sheet.rows:
            return ""
        if not self._sheet.total:
            return self._placeholder
        return self._unmatched or tr("Nothing matches the filter. Esc in the filter shows all.")

    def _tell_empty(self) -> None:
        self.setAccessibleDescription(self.shown_words)
        self.viewport().update()

    def enter(self) -> None:
        """Take the keyboard, with the cursor on a row."""
        self.setFocus(Qt.FocusReason.TabFocusReason)

    # Copying.

    def copy_by(self, copier: Copier) -> None:
        """Copy rows by this method of a panel, whose rows must first be read."""
        self._copier = WeakMethod(copier)

    def copy(self, form: TextFormat, everything: bool = False) -> None:
        """Copy the selected rows, or all that are shown, as text."""
        selected = [] if everything else self.selected_rows()
        copier = self._copier and self._copier()
        (copier or self._copy_now)(selected or self._sheet.rows, form)

    def _copy_now(self, rows: Sequence[int], form: TextFormat) -> None:
        text = self._sheet.copied(rows, self.visible_columns(), form)
        QGuiApplication.clipboard().setText(text)
        self.copied.emit(copied_words(self._noun, len(rows), form))

    def add_copy_actions(self, menu: QMenu) -> None:
        """Fill a menu with the ways to copy."""
        for everything in (False, True):
            menu.addSection(tr("Copy all shown") if everything else tr("Copy selected"))
            for form in self._forms:
                words = (
                    tr("Copy all shown as {format}", format=form.value)
                    if everything
                    else tr("Copy selected as {format}", format=form.value)
                )
                action = QAction(words, menu)
                action.setEnabled(
                    bool(self._sheet.rows) and (everything or self.selectionModel().hasSelection())
                )
                if form is TextFormat.MARKDOWN and not everything:
                    action.setShortcut(QKeySequence.StandardKey.Copy)
                    action.setShortcutVisibleInContextMenu(True)
                    action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
                action.triggered.connect(
                    lambda _checked=False, f=form, e=everything: self.copy(f, e)
                )
                menu.addAction(action)

    def add_sort_actions(self, menu: QMenu) -> None:
        """Fill a menu with the columns to sort by."""
        for column in [-1, *self.visible_columns()]:
            title = tr("Order of the file") if column < 0 else self._sheet.columns[column].title
            action = QAction(title, menu)
            action.setCheckable(True)
            action.setChecked(self._sheet.sorted_by == column)
            action.triggered.connect(lambda _checked=False, c=column: self._sort_next(c))
            menu.addAction(action)

    # Widths.

    def show_columns(self, hidden: frozenset[int]) -> None:
        """Hide these columns, show all others, and share the room anew."""
        for column in range(len(self._sheet.columns)):
            self.setColumnHidden(column, column in hidden)
        self.share_room()

    def share_room(self) -> None:
        """Give every column the width of its widest text, and what is left to the stretching ones.

        Where not all fit, one scrolls to those behind the last stretching column.
        """
        columns = self._sheet.columns
        visible = self.visible_columns()
        stretching = [c for c in visible if columns[c].stretch]
        metrics = self.fontMetrics()
        margin = 2 * (self.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 1) + 9
        arrow = self.style().pixelMetric(QStyle.PixelMetric.PM_HeaderMarkSize) // 2
        widths: dict[int, int] = {}
        for c in visible:
            title = metrics.horizontalAdvance(columns[c].title) + arrow
            widest = columns[c].widest
            texts = (widest,) if isinstance(widest, str) else widest
            widths[c] = max([title, *map(metrics.horizontalAdvance, texts)]) + margin
        if stretching:
            # Everything in sight, or at least what is wanted, or what stands before the names.
            least = _LEAST_LETTERS * metrics.averageCharWidth() * len(stretching)
            fixed = [c for c in visible if c not in stretching]
            near = [c for c in fixed if c < stretching[-1]]
            wanted = [c for c in fixed if c < stretching[-1] or columns[c].wanted]
            for shown in (fixed, wanted, near):
                room = self.viewport().width() - sum(widths[c] for c in shown)
                if room >= least:
                    break
            room = max(least, room)
            parts = sum(columns[c].stretch for c in stretching)
            for c in stretching:
                widths[c] = room * columns[c].stretch // parts
            widths[stretching[-1]] += room - sum(widths[c] for c in stretching)
        for c, width in widths.items():
            self.setColumnWidth(c, width)

    # What Qt asks.

    def sizeHint(self) -> QSize:
        """Wide enough for a name beside its numbers."""
        metrics = self.fontMetrics()
        return QSize(40 * metrics.averageCharWidth(), 12 * metrics.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The stretching columns follow."""
        super().resizeEvent(event)
        self.share_room()

    def changeEvent(self, event: QEvent) -> None:
        """Another font means other widths."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._set_row_height()
            self.share_room()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who comes by keyboard finds the cursor on a row."""
        super().focusInEvent(event)
        by_key = event.reason() in (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
        )
        if by_key and self._sheet.rows and not self.selectionModel().hasSelection():
            self.choose_row(max(self.currentIndex().row(), 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy, open and take away; letters go to the filter."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy(TextFormat.MARKDOWN)
            return
        if event.matches(QKeySequence.StandardKey.Delete):
            self.taken_away.emit()
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit()
            return
        control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        text = event.text()
        if text.strip() and text.isprintable() and not event.modifiers() & control:
            self.typed.emit(text)
            return
        super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Copy and sort; in the header the word there, as everywhere else in the window."""
        if (
            event.reason() is QContextMenuEvent.Reason.Mouse
            and self.horizontalHeader()
            .rect()
            .contains(self.horizontalHeader().mapFromGlobal(event.globalPos()))
        ):
            event.ignore()
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.add_copy_actions(menu)
        if self._sortable:
            menu.addSeparator()
            self.add_sort_actions(menu.addMenu(tr("Sort by")))
        where = event.globalPos()
        if event.reason() is QContextMenuEvent.Reason.Keyboard and self.currentIndex().isValid():
            corner = self.visualRect(self.currentIndex()).bottomLeft()
            where = self.viewport().mapToGlobal(corner)
        menu.popup(where)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The rows, or the words in their place."""
        super().paintEvent(event)
        if self.hasFocus():
            theme.draw_focus(QPainter(self.viewport()), self.viewport().rect())
        if words := self.shown_words:
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().placeholderText().color())
            painter.drawText(
                self.viewport().rect().adjusted(16, 16, -16, -16),
                int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap),
                words,
            )
            painter.end()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """What does not move with the rows is not to be moved with their pixels."""
        super().scrollContentsBy(dx, dy)
        if self.hasFocus() or self.shown_words:
            self.viewport().update()

    # Sorting, and what survives it.

    def _header_clicked(self, column: int) -> None:
        self._sort_next(column)

    def _sort_next(self, column: int) -> None:
        """Largest first for numbers, A first for words; then the other way; then file order."""
        ascending, descending = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
        if column < 0:
            self._sheet.sort(-1)
        else:
            number = self._sheet.columns[column].number
            first, second = (descending, ascending) if number else (ascending, descending)
            if self._sheet.sorted_by != column:
                self._sheet.sort(column, first)
            elif self._sheet.sort_order is first:
                self._sheet.sort(column, second)
            else:
                self._sheet.sort(-1)

    def _keep(self) -> None:
        count = sum(bottom - top + 1 for top, bottom in self._spans())
        rows = self.selected_rows() if count <= _KEPT_ROWS else []
        self._kept = (self._sheet.generation, self.current_row(), rows)

    def _bring_back(self) -> None:
        sheet = self._sheet
        self.horizontalHeader().setSortIndicator(sheet.sorted_by, sheet.sort_order)
        generation, current, rows = self._kept
        if generation == sheet.generation and rows:
            wanted = set(rows)
            last = len(sheet.columns) - 1
            selection = QItemSelection()
            for position, row in enumerate(sheet.rows):
                if row in wanted:
                    selection.select(sheet.index(position, 0), sheet.index(position, last))
            self.selectionModel().select(selection, QItemSelectionModel.SelectionFlag.Select)
        where = sheet.position(current) if generation == sheet.generation else None
        if where is not None:
            index = sheet.index(where, self._first_visible())
            self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
            self.scrollTo(index)
        self._tell_current()
        self._tell_empty()
        # Qt would do it while it paints, and then paint everything once more.
        self.executeDelayedItemsLayout()

    def _spans(self) -> list[tuple[int, int]]:
        selection = self.selectionModel().selection()
        spans = [selection.at(i) for i in range(selection.size())]
        return [(span.top(), span.bottom()) for span in spans]

    def _first_visible(self) -> int:
        return next(iter(self.visible_columns()), 0)

    def _current_moved(self, _now: QModelIndex, _before: QModelIndex) -> None:
        self._tell_current()

    def _tell_current(self) -> None:
        row = self.current_row()
        if row != self._last_row or self._kept[0] != self._sheet.generation:
            self._last_row = row
            self.row_changed.emit(row)

    def _set_row_height(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)


class _Delegate(QStyledItemDelegate):
    """Elides each column in its own way; the row is the cursor, not the cell."""

    def __init__(self, sheet: Sheet, parent: QWidget) -> None:
        super().__init__(parent)
        self._sheet = sheet

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Called for every cell that is painted."""
        super().initStyleOption(option, index)
        elide = self._sheet.columns[index.column()].elide
        narrow = option.rect.width() < _MIDDLE_LETTERS * option.fontMetrics.averageCharWidth()
        if elide is Qt.TextElideMode.ElideMiddle and narrow:
            elide = Qt.TextElideMode.ElideRight
        option.textElideMode = elide
        option.state &= ~QStyle.StateFlag.State_HasFocus
