"""An array, a page at a time; pages are read off the GUI thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.gguf import PageError, excerpt, read_page
from core.gguf.header import Array, Header, Value, ValueType
from core.language import tr, written
from core.problems import Problem
from gui.panels.metadata import reading
from gui.tables import values
from gui.tables.filter_edit import FilterEdit
from gui.tables.sheet import Column, Sheet
from gui.tables.view import SheetView
from gui.widgets.banner import BannerStack
from gui.widgets.text import Style, Text
from gui.workers.runner import Handle, Runner

_PAGE_SIZES = (100, 250, 1000)
# QSpinBox counts in C ints.
_SPIN_MOST = 2**31 - 1


class ArrayPager(QWidget):
    """Shows elements by their number, which for a vocabulary is the token's id."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._header: Header | None = None
        self._array: Array | None = None
        self._start = 0
        self._wanted = 0
        self._pages = Runner("array page", self)
        self._search = Runner("array search", self)
        self.sheet = Sheet(self)
        self.view = SheetView(self.sheet, "element", sortable=False)
        self.view.setAccessibleName(tr("Elements of the array"))
        self.problems = BannerStack()
        self.search = FilterEdit(tr("Find in the whole array"))
        self.find_button = QPushButton(tr("Find next"))
        self.status = Text("", Style.MUTED, wrap=True)
        self.back = _arrow(Qt.ArrowType.LeftArrow, tr("Previous page"))
        self.forward = _arrow(Qt.ArrowType.RightArrow, tr("Next page"))
        self.element = QSpinBox()
        self.element.setAccessibleName(tr("Go to element"))
        self.element.setToolTip(tr("Go to element number"))
        self.element.setKeyboardTracking(False)
        self.element.setGroupSeparatorShown(True)
        self.page_size = QComboBox()
        self.page_size.setAccessibleName(tr("Elements a page"))
        self.page_size.setToolTip(tr("Elements a page"))
        for size in _PAGE_SIZES:
            self.page_size.addItem(tr("{count:,} a page", count=size), size)
        finder = QHBoxLayout()
        finder.addWidget(self.search, 1)
        finder.addWidget(self.find_button)
        self._finder = QWidget()
        self._finder.setLayout(finder)
        finder.setContentsMargins(0, 0, 0, 0)
        turner = QHBoxLayout()
        turner.setContentsMargins(0, 0, 0, 0)
        turner.addWidget(self.back)
        turner.addWidget(self.element)
        turner.addWidget(self.forward)
        turner.addStretch(1)
        turner.addWidget(self.page_size)
        self._turner = QWidget()
        self._turner.setLayout(turner)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.problems)
        column.addWidget(self._finder)
        column.addWidget(self.view, 1)
        column.addWidget(self.status)
        column.addWidget(self._turner)
        self.back.clicked.connect(lambda: self.go_to(self._start - self._size()))
        self.forward.clicked.connect(lambda: self.go_to(self._start + self._size()))
        self.element.valueChanged.connect(self._asked_for)
        self.page_size.currentIndexChanged.connect(lambda _: self.go_to(self._start))
        self.find_button.clicked.connect(self.find_next)
        self.search.left.connect(self.find_next)
        self.view.typed.connect(self.search.take)
        self.view.copied.connect(self.status.set_text)
        self._pages.finished.connect(self._show_page)
        self._search.finished.connect(self._show_found)
        self._search.ended.connect(lambda: self.find_button.setText(tr("Find next")))
        self._pages.ended.connect(self._update_turner)

    def set_array(self, header: Header | None, array: Array | None) -> None:
        """Show an array of a header from its beginning; None for nothing."""
        self._pages.cancel()
        self._search.cancel()
        self._header = header
        self._array = array
        self._start = self._wanted = 0
        self.problems.set_problems(())
        self.search.clear()
        self._fill(0, ())
        if header is None or array is None:
            return
        self.element.blockSignals(True)
        self.element.setRange(0, max(0, min(array.count - 1, _SPIN_MOST)))
        self.element.setValue(0)
        self.element.blockSignals(False)
        long = array.count > _PAGE_SIZES[0]
        self._turner.setVisible(long)
        self._finder.setVisible(long)
        self.view.set_placeholder(tr("Reading…") if array.count else tr("The array is empty."))
        self.go_to(0)

    def go_to(self, element: int) -> None:
        """Show the page that holds an element, and put the cursor on it."""
        header, array = self._header, self._array
        if header is None or array is None or not array.count:
            return
        self._wanted = max(0, min(element, array.count - 1))
        start = self._wanted // self._size() * self._size()
        stop = start + self._size()
        if array.items is not None:
            self._show_page((start, array.items[start:stop]))
            self._update_turner()
            return

        def read(_: Handle) -> tuple[int, tuple[Value, ...]] | Problem:
            try:
                return start, read_page(header, array, start, stop)
            except PageError as error:
                return error.problem

        self._pages.start(read)

    def find_next(self) -> None:
        """Look for the words from the element after the cursor on; a second click stops."""
        header, array, words = self._header, self._array, self.search.text()
        if self._search.running:
            self._search.cancel()
            return
        if header is None or array is None or not words:
            return
        row = self.view.current_row()
        start = self._start + row + 1 if row >= 0 else 0
        self.status.set_text(tr("Looking for “{words}”…", words=excerpt(words)))
        self.find_button.setText(tr("Stop"))

        def look(handle: Handle) -> int | Problem | None:
            try:
                return reading.find(header, array, words, start, handle.cancelled)
            except PageError as error:
                return error.problem

        self._search.start(look)

    def _size(self) -> int:
        return int(self.page_size.currentData())

    def _asked_for(self, element: int) -> None:
        self.go_to(element)

    def _show_page(self, answer: tuple[int, Sequence[Value]] | Problem) -> None:
        if isinstance(answer, Problem):
            self.problems.set_problems([answer])
            self.view.set_placeholder(tr("The page could not be read."))
            return
        self.problems.set_problems(())
        self._start, items = answer
        self._fill(self._start, items)
        index = self.sheet.index(self._wanted - self._start, 0)
        flags = QItemSelectionModel.SelectionFlag
        self.view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.view.scrollTo(index)

    def _show_found(self, answer: int | Problem | None) -> None:
        if isinstance(answer, Problem):
            self.problems.set_problems([answer])
        elif answer is None:
            self.status.set_text(
                tr("“{words}” is in no element.", words=excerpt(self.search.text()))
            )
        else:
            self.go_to(answer)

    def _fill(self, start: int, items: Sequence[Value]) -> None:
        element = self._array.element if self._array is not None else ValueType.STRING
        last = start + len(items) - 1

        def text(row: int) -> str:
            return values.item_text(items[row], element) or tr("(empty)")

        columns = (
            Column(
                "element",
                tr("Number"),
                lambda row: written(start + row),
                lambda row: start + row,
                lambda: range(len(items)),
                number=True,
                widest=written(max(last, 0)),
            ),
            Column(
                "value",
                tr("Value"),
                text,
                lambda row: values.json_value(items[row], element),
                lambda: range(len(items)),
                stretch=1,
                elide=Qt.TextElideMode.ElideRight,
            ),
        )
        self.sheet.set_source(columns, len(items), lambda: [text(i) for i in range(len(items))])
        self.view.share_room()

    def _update_turner(self) -> None:
        if self._array is None:
            return
        count, shown = self._array.count, self.sheet.total
        self.back.setEnabled(self._start > 0)
        self.forward.setEnabled(self._start + self._size() < count)
        self.element.blockSignals(True)
        self.element.setValue(min(self._wanted, _SPIN_MOST))
        self.element.blockSignals(False)
        if shown:
            end = self._start + shown - 1
            self.status.set_text(
                tr(
                    "{first:,} to {last:,} of {count:,}, counted from 0",
                    first=self._start,
                    last=end,
                    count=count,
                )
            )


def _arrow(arrow: Qt.ArrowType, words: str) -> QToolButton:
    button = QToolButton()
    button.setArrowType(arrow)
    button.setToolTip(words)
    button.setAccessibleName(words)
    return button
