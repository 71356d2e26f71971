"""The page of an open model: its name, what it holds on the left, its plan on the right.

Where the window is too narrow for two columns, the plan is the first tab. ``views`` takes further
pages, which then share the line with the model's name.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from core.language import tr, written
from gui.document import Document
from gui.panels.header_line import HeaderLine
from gui.panels.metadata import MetadataPanel
from gui.panels.overview import OverviewPanel
from gui.panels.plan import PlanPanel
from gui.panels.tensors import TensorsPanel
from gui.widgets.laying_out import lay_out_now
from gui.widgets.reading_order import reading_order

# Two columns need about so many characters of the system's font, one of them so many.
_TWO_COLUMNS = 140
_COLUMN = 45
# Of the width, left and right, until the user moves the splitter.
_SHARES = (1, 2)
_WIDE = 10_000  # more pixels than a column's least width: Qt scales sizes only above that


class ModelPage(QWidget):
    """Everything about the open model."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.header = HeaderLine(document)
        self.overview = OverviewPanel(document)
        self.tensors = TensorsPanel(document)
        self.metadata = MetadataPanel(document)
        self.plan = PlanPanel(document)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(tr("What the file holds"))
        for panel, name in (
            (self.overview, tr("Overview")),
            (self.tensors, tr("Tensors")),
            (self.metadata, tr("Metadata")),
        ):
            self.tabs.addTab(panel, name)
        self.plan_area = QScrollArea()
        self.plan_area.setAccessibleName(tr("Plan"))
        self.plan_area.setFrameShape(QFrame.Shape.NoFrame)
        self.plan_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the controls take the keyboard
        self.plan_area.setWidgetResizable(True)
        self.plan_area.setWidget(self.plan)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(self.tabs)
        self.splitter.addWidget(self.plan_area)
        sides: tuple[QWidget, QWidget] = (self.tabs, self.plan_area)
        for number, side in enumerate(sides):
            self.splitter.setStretchFactor(number, _SHARES[number])
            side.setMinimumWidth(_COLUMN * self.fontMetrics().averageCharWidth())
        self.splitter.splitterMoved.connect(self._keep_columns)
        self.views = QStackedWidget()
        self.views.addWidget(self.splitter)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self.header)
        self._column.addWidget(self.views, 1)
        self._columns = QByteArray()
        self._place_columns()
        self.setFocusProxy(self.tabs.tabBar())
        document.model_changed.connect(self._count)
        document.plan_changed.connect(lay_out_now)  # after the panels, which connected before

    @property
    def narrow(self) -> bool:
        """Whether the plan is a tab."""
        return self.tabs.indexOf(self.plan_area) >= 0

    def show_panel(self, panel: QWidget) -> None:
        """Bring a panel to the front and give it the keyboard."""
        self.views.setCurrentWidget(self.splitter)
        if panel is self.plan:
            panel = self.plan_area
        if self.tabs.indexOf(panel) >= 0:
            self.tabs.setCurrentWidget(panel)
        for first in reading_order(panel):
            first.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return

    def show_filter(self) -> None:
        """Put the cursor in the filter of the table in front; of the tensors where none is."""
        self.views.setCurrentWidget(self.splitter)
        if self.tabs.currentWidget() is self.metadata:
            self.metadata.focus_filter()
        else:
            self.tabs.setCurrentWidget(self.tensors)
            self.tensors.focus_filter()

    def splitter_state(self) -> str:
        """Where the user put the splitter between the two columns, in base64; "" for nowhere."""
        return self._columns.toBase64().toStdString()

    def restore_splitter(self, state: str) -> None:
        """Put the splitter back; nothing happens for an unknown state."""
        self._columns = QByteArray.fromBase64(state.encode("ascii", "replace"))
        self._place_columns()

    def minimumSizeHint(self) -> QSize:
        """One column: in less room than for two the plan is a tab."""
        return QSize(self.tabs.minimumWidth(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two columns where there is room for them."""
        super().resizeEvent(event)
        narrow = self.width() < _TWO_COLUMNS * self.fontMetrics().averageCharWidth()
        if narrow and not self.narrow:
            self.tabs.insertTab(0, self.plan_area, tr("Plan"))
            self.tabs.setCurrentIndex(0)
        elif not narrow and self.narrow:
            self.tabs.removeTab(self.tabs.indexOf(self.plan_area))
            self._column.activate()  # the splitter has its new width before it is shared out
            self.splitter.addWidget(self.plan_area)
            self.plan_area.show()
            self._place_columns()

    def _keep_columns(self) -> None:
        self._columns = self.splitter.saveState()

    def _place_columns(self) -> None:
        """As the user left them, or as they are shared out at first."""
        if not self.narrow and not self.splitter.restoreState(self._columns):
            self.splitter.setSizes([_WIDE * share for share in _SHARES])

    def _count(self) -> None:
        model = self._document.model
        for panel, name, count in (
            (self.tensors, tr("Tensors"), len(model.file.tensors) if model else 0),
            (self.metadata, tr("Metadata"), len(model.file.header.entries) if model else 0),
        ):
            self.tabs.setTabText(self.tabs.indexOf(panel), f"{name} {written(count)}")
