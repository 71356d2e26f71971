"""A table whose cells say a verdict by colour, by hatching and by words."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFocusEvent, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from core.language import tr
from core.plan.plan import Verdict
from gui import theme

VERDICT = int(Qt.ItemDataRole.UserRole) + 1
_HATCH = {
    Verdict.FITS: None,
    Verdict.TIGHT: Qt.BrushStyle.BDiagPattern,
    Verdict.DOES_NOT_FIT: Qt.BrushStyle.DiagCrossPattern,
    Verdict.UNKNOWN: Qt.BrushStyle.Dense7Pattern,
}
_EDGE = 10  # pixels at either side that are hatched
_TINT, _HATCHING = 0.16, 0.30  # of the verdict's colour over the ground


class VerdictCells(QTableView):
    """Shows cells of two lines; the model tells the verdict of each in the role ``VERDICT``.

    ``taken`` carries row and column of a cell that was clicked or taken with Enter or Space.
    ``marked`` is the cell that stands now; it has a frame.
    """

    taken = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.marked = (-1, -1)
        self.setItemDelegate(_Delegate(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionsClickable(False)
        self.verticalHeader().setHighlightSections(False)
        self.verticalHeader().setSectionsClickable(False)
        self.verticalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setMinimumSectionSize(
            self.fontMetrics().horizontalAdvance(tr("lacks {size}", size="10.6 GiB"))
            + 2 * _EDGE
            + 8
        )
        self.verticalHeader().setDefaultSectionSize(2 * self.fontMetrics().height() + 8)
        self.clicked.connect(lambda index: self.taken.emit(index.row(), index.column()))

    def mark(self, row: int, column: int) -> None:
        """Frame the cell that stands now."""
        if (row, column) != self.marked:
            self.marked = (row, column)
            self.viewport().update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Who comes by keyboard finds the cursor on a cell."""
        super().focusInEvent(event)
        if not self.currentIndex().isValid():
            row, column = self.marked
            self.setCurrentIndex(self.model().index(max(row, 0), max(column, 0)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space take the cell under the cursor."""
        keys = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        index = self.currentIndex()
        if event.key() in keys and index.isValid():
            self.taken.emit(index.row(), index.column())
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        """Room for some rows."""
        metrics = self.fontMetrics()
        return QSize(80 * metrics.averageCharWidth(), 20 * metrics.height())


class _Delegate(QStyledItemDelegate):
    def __init__(self, view: VerdictCells) -> None:
        super().__init__(view)
        self._view = view

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Ground, hatching, words, and a frame where the cursor is or what stands."""
        verdict, text = index.data(VERDICT), index.data()
        colors = theme.colors()
        box = option.rect.adjusted(1, 1, -1, -1)
        painter.save()
        if verdict is not None:  # Qt hands an enumeration of strings on as a string
            _ground(painter, box, Verdict(verdict), colors)
        first, _, second = (text or "…").partition("\n")
        half = box.adjusted(4, 3, -4, -box.height() // 2)
        middle = int(Qt.AlignmentFlag.AlignCenter)
        painter.setPen(QColor(colors.text))
        painter.drawText(half if second else box, middle, first)
        painter.drawText(half.translated(0, half.height()), middle, second)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if (index.row(), index.column()) == self._view.marked:
            painter.setPen(QPen(QColor(colors.accent), 3))
            painter.drawRect(box.adjusted(1, 1, -2, -2))
        here = option.state & QStyle.StateFlag.State_Selected
        if here and self._view.hasFocus():
            painter.setPen(QPen(QColor(colors.text), 1, Qt.PenStyle.DashLine))
            painter.drawRect(box.adjusted(3, 3, -4, -4))
        painter.restore()


def _ground(painter: QPainter, box: QRect, verdict: Verdict, colors: theme.Colors) -> None:
    """The verdict's colour, thinned so that words stand out, and its hatching below them."""
    color = QColor(colors.verdict(verdict).color)
    tint = QColor(color)
    tint.setAlphaF(_TINT)
    painter.fillRect(box, QColor(colors.base))
    painter.fillRect(box, tint)
    pattern = _HATCH[verdict]
    if pattern is None:
        return
    color.setAlphaF(_HATCHING)
    # Beside the words only: they must be read.
    edge = min(box.width() // 8, 10)
    for side in (
        box.adjusted(0, 0, edge - box.width(), 0),
        box.adjusted(box.width() - edge, 0, 0, 0),
    ):
        painter.fillRect(side, QBrush(color, pattern))
