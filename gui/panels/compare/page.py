"""The page "Compare": machines for a model, models for a machine, what of a model fits."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from core.language import tr
from gui.document import Document
from gui.panels.compare.chosen import Chosen
from gui.panels.compare.grid_view import GridView
from gui.panels.compare.machines_view import MachinesView
from gui.panels.compare.models_view import ModelsView
from gui.settings import StoredComparison


class ComparePage(QWidget):
    """Three ways to compare, one at a time.

    ``stored_changed`` carries what the settings shall keep, ``open_asked`` a file to open,
    ``said`` a sentence for the status bar.
    """

    stored_changed = Signal(StoredComparison)
    open_asked = Signal(Path)
    said = Signal(str)

    def __init__(
        self, document: Document, stored: StoredComparison, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.chosen = Chosen(document, stored, self)
        self.machines = MachinesView(document, self.chosen)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(tr("What is compared"))
        self.models = ModelsView(document, self.chosen)
        self.grid = GridView(document)
        self.tabs.addTab(self.machines, tr("Machines"))
        self.tabs.addTab(self.models, tr("Models"))
        self.tabs.addTab(self.grid, tr("Quantization × context"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.tabs)
        self.setFocusProxy(self.tabs.tabBar())
        self.chosen.stored_changed.connect(self.stored_changed)
        self.chosen.said.connect(self.said)
        self.models.open_asked.connect(self.open_asked)
        for view in (self.machines, self.models, self.grid):
            view.said.connect(self.said)
