"""Attaching a projector or a draft model: its file is read off the GUI thread, then chosen."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from core.gguf import display
from core.language import mark, tr
from core.model.model import Model
from core.plan.matching import draft_problems, loads, projector_problems
from gui.document import Document
from gui.panels.plan.beside import Beside, BesideRow
from gui.workers import opening
from gui.workers.runner import Runner

_TITLES = {
    Beside.PROJECTOR: mark("Attach a projector"),
    Beside.DRAFT: mark("Attach a draft model"),
}


class Attaching(QObject):
    """Serves the row ``beside``. ``refused`` tells problems of a file that could not be attached;
    one that can be and does not belong is attached, and the plan says why it will not do."""

    refused = Signal(tuple)
    said = Signal(str)

    def __init__(self, document: Document, beside: BesideRow, window: QWidget) -> None:
        super().__init__(window)
        self._document = document
        self._beside = beside
        self._window = window
        self._kind = Beside.PROJECTOR
        self._for: Model | None = None
        self.opener = Runner("attach", self)
        self.looker = Runner("projectors", self)
        beside.attach_asked.connect(self.ask)
        beside.attach_given.connect(self.attach)
        self.opener.finished.connect(self._read)
        self.looker.finished.connect(self._found)
        document.model_changed.connect(self._look)

    def ask(self, kind: Beside) -> None:
        """Let the user pick a file, beside the model first."""
        model = self._document.model
        folder = str(model.file.header.path.parent) if model and model.file.local else ""
        name, _ = QFileDialog.getOpenFileName(
            self._window, tr(_TITLES[kind]), folder, tr("GGUF files (*.gguf);;All files (*)")
        )
        if name:
            self.attach(kind, Path(name))

    def attach(self, kind: Beside, path: Path) -> None:
        """Read this file and put it beside the open model."""
        self._kind, self._for = kind, self._document.model
        self.said.emit(tr("Reading {file}…", file=display(path.name)))
        self.opener.start(opening.opening(path))

    def _read(self, found: Model) -> None:
        self.said.emit("")
        model, projector = self._document.model, self._kind is Beside.PROJECTOR
        if model is None or model is not self._for:
            return  # another model was opened in the meantime
        if loads(found, projector=projector):
            self._document.choose(**{self._kind.value: found})
        else:
            find = projector_problems if projector else draft_problems
            self.refused.emit(tuple(find(model, found)))

    def _look(self) -> None:
        self._beside.set_offers(())
        model = self._document.model
        if model is None or not model.file.local:
            self.looker.cancel()
        else:
            self.looker.start(opening.projectors_beside(model.file.header.path))

    def _found(self, paths: tuple[Path, ...]) -> None:
        self._beside.set_offers(paths)
