"""One dialog, two questions: what would speculation bring, and how fast are several users?"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPushButton, QTabWidget, QVBoxLayout, QWidget

from core.language import tr
from gui.document import Document
from gui.panels.passes.speculation_side import SpeculationSide
from gui.panels.passes.users_side import UsersSide
from gui.widgets.dialog_size import open_at
from gui.widgets.scrolled import yielding

_SIZE = (100, 36)  # letters and lines


class PassesDialog(QDialog):
    """Follows the document's plan while it is open."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Several tokens in one pass"))
        self._document = document
        self.speculation = SpeculationSide(document)
        self.users = UsersSide(document)
        self.sides = QTabWidget()
        self.sides.setDocumentMode(True)
        self.sides.setAccessibleName(tr("What is looked at"))
        for side, name in (
            (self.speculation, tr("&Speculation")),
            (self.users, tr("Several &users")),
        ):
            self.sides.addTab(yielding(side, name.replace("&", "")), name)
        close = QPushButton(tr("Close"))
        close.setAutoDefault(False)
        close.clicked.connect(self.close)
        column = QVBoxLayout(self)
        column.addWidget(self.sides, 1)
        column.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._plan_changed)
        open_at(self, *_SIZE)

    def open_front(self) -> None:
        """Bring it to the front, up to date."""
        self._show_plan()
        self.show()
        self.raise_()
        self.activateWindow()

    def _plan_changed(self) -> None:
        if self.isVisible():
            self._show_plan()

    def _show_plan(self) -> None:
        plan = self._document.plan
        if plan is None:
            self.close()
            return
        self.speculation.show_plan(plan)
        self.users.show_plan(plan)
