"""Undo, Redo and Reset of the choice."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.language import tr
from core.plan.choice import Choice
from gui.document import Document
from gui.widgets.icon_button import IconButton


class StepButtons(QWidget):
    """Each is enabled where it would do something, and says what."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._stack = document.undo_stack
        self.undo = IconButton("undo", tr("Undo"), labelled=True)
        self.redo = IconButton("redo", tr("Redo"), labelled=True)
        self.reset = IconButton("reset", tr("Reset"), labelled=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth() // 2)
        for button in (self.undo, self.redo, self.reset):
            row.addWidget(button)
        self.undo.clicked.connect(self._stack.undo)
        self.redo.clicked.connect(self._stack.redo)
        self.reset.clicked.connect(document.reset)
        self._stack.canUndoChanged.connect(self.undo.setEnabled)
        self._stack.canRedoChanged.connect(self.redo.setEnabled)
        self._stack.undoTextChanged.connect(self._name_undo)
        self._stack.redoTextChanged.connect(self._name_redo)
        document.plan_changed.connect(self._enable)
        self._name_undo(self._stack.undoText())
        self._name_redo(self._stack.redoText())
        self.reset.setToolTip(tr("Return every choice to its default"))
        self._enable()

    def _enable(self) -> None:
        self.undo.setEnabled(self._stack.canUndo())
        self.redo.setEnabled(self._stack.canRedo())
        self.reset.setEnabled(self._document.choice != Choice())

    def _name_undo(self, what: str) -> None:
        self.undo.setToolTip(tr("Undo {what}", what=what) if what else tr("Undo"))

    def _name_redo(self, what: str) -> None:
        self.redo.setToolTip(tr("Redo {what}", what=what) if what else tr("Redo"))
