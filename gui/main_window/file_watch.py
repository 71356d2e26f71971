"""Whether the open file is still as it was read."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from core.problems import Problem
from gui.document import Document
from gui.workers import opening
from gui.workers.runner import Runner


class FileWatch(QObject):
    """Looks when it is asked to, off the GUI thread: a disk may be slow or gone."""

    differs = Signal()

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.problems: tuple[Problem, ...] = ()
        self._document = document
        self._runner = Runner("file as read", self)
        self._runner.finished.connect(self._found)
        document.model_changed.connect(self._forget)

    def look(self) -> None:
        """Compare the files of the open model, if any, with what was read of them."""
        model = self._document.model
        if model is not None:
            self._runner.start(opening.differences(model.file.headers))

    def _forget(self) -> None:
        """Another model is open: what was found counts no more."""
        self._runner.cancel()
        self._found(())

    def _found(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        self.differs.emit()
