"""One dialog, two sides: copy the command for the choice, or paste one."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QTabWidget, QVBoxLayout, QWidget

from core.language import tr
from gui.document import Document
from gui.panels.command.copy_side import CopySide
from gui.panels.command.paste_side import PasteSide
from gui.widgets.dialog_size import open_at

# Letters and lines: a command of some options, and what it would change, without scrolling.
_SIZE = (92, 34)


class CommandDialog(QDialog):
    """Follows the document's plan while it is open."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Settings as a command"))
        self.copy_side = CopySide(document)
        self.paste_side = PasteSide(document)
        self.sides = QTabWidget()
        self.sides.setDocumentMode(True)
        self.sides.setAccessibleName(tr("Copy or paste"))
        self.sides.addTab(self.copy_side, tr("&Copy command"))
        self.sides.addTab(self.paste_side, tr("&Paste settings"))
        column = QVBoxLayout(self)
        column.addWidget(self.sides)
        self.copy_side.closed.connect(self.close)
        self.paste_side.closed.connect(self.close)
        document.model_changed.connect(self._model_changed)
        self._document = document
        open_at(self, *_SIZE)

    def open_copy(self) -> None:
        """Show the command for the choice."""
        self.sides.setCurrentWidget(self.copy_side)
        self.copy_side.show_plan()
        self._to_front()
        self.copy_side.text.setFocus()

    def open_paste(self) -> None:
        """Show the side that reads; what lies on the clipboard is taken where it says something."""
        self.sides.setCurrentWidget(self.paste_side)
        self.paste_side.take_clipboard()
        self._to_front()
        self.paste_side.text.setFocus()

    def _to_front(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()

    def _model_changed(self) -> None:
        if self._document.model is None:
            self.close()
