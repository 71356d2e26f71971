"""What the user names is read and shown; what was shown stays until then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

import resources
from core.gguf import display
from core.language import tr
from core.model.model import Model
from core.problems import Problem
from core.remote import FileLink, full_name, is_link
from core.units import format_bytes
from gui.document import Document
from gui.main_window.finding import Finding
from gui.main_window.kept_settings import KeptSettings
from gui.main_window.remembered import Remembered
from gui.panels.header_line import window_title
from gui.panels.loading_strip import LoadingStrip
from gui.workers import opening
from gui.workers.runner import Function, Runner


class Opening(QObject):
    """Reads a model off the GUI thread and gives it to the document, with what was chosen for it
    the last time. ``strip`` shows meanwhile how far it is."""

    reading_changed = Signal(bool)  # whether something is read just now
    opened = Signal()
    failed = Signal(tuple)  # of `Problem`: why nothing was opened; () where that is over
    said = Signal(str)
    recent_changed = Signal(tuple, frozenset)  # of `Path`: recent files, and those of them gone

    def __init__(
        self,
        document: Document,
        finding: Finding,
        kept: KeptSettings,
        remembered: Remembered,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._document = document
        self._finding = finding
        self._kept = kept
        self._remembered = remembered
        self._window = window
        self._missing: frozenset[Path] = frozenset()
        self._link: FileLink | None = None  # of the open model, where it lies elsewhere
        self.reading: Path | FileLink | None = None
        self.strip = LoadingStrip(window)
        self.reader = Runner("open", self)
        self.strip.cancelled.connect(self.reader.cancel)
        self.reader.started.connect(lambda: self.reading_changed.emit(True))
        self.reader.progressed.connect(self._show_progress)
        self.reader.finished.connect(self._read)
        self.reader.ended.connect(self._end)
        finding.file_chosen.connect(self.open)
        finding.link_chosen.connect(self.open)

    @property
    def place(self) -> Path | FileLink | None:
        """Where the open model lies; None without one."""
        model = self._document.model
        return None if model is None else self._link or model.file.header.path

    @property
    def recent(self) -> tuple[Path, ...]:
        """The files that were opened, the latest first."""
        return tuple(Path(name) for name in self._kept.now.recent_files)

    def open(self, place: str | Path | FileLink) -> None:
        """Read this file, or the header of one on a server, of which nothing is kept here."""
        if isinstance(place, FileLink):
            from gui.workers import links

            name = place.url.partition("?")[0].rpartition("/")[2]
            self._begin(place, name, links.opening_link(place))
        else:
            path = Path(full_name(str(place)))
            self._begin(path, path.name, opening.opening(path))

    def open_first(self, names: Sequence[str]) -> None:
        """Open the first of these files or links; one window shows one model."""
        if is_link(names[0]):
            self._finding.open_text(names[0])
        else:
            self.open(names[0])
        if len(names) > 1:
            self.said.emit(
                tr(
                    "Opened the first of {count} files; one window shows one model.",
                    count=len(names),
                )
            )

    def ask_for_file(self) -> None:
        """Let the user pick a file."""
        name, _ = QFileDialog.getOpenFileName(
            self._window,
            tr("Open a model"),
            self._kept.now.last_folder,
            tr("GGUF models (*.gguf);;All files (*)"),
        )
        if name:
            self.open(name)

    def reload(self) -> None:
        """Read the open model again."""
        if self.place is not None:
            self.open(self.place)

    def close_model(self) -> None:
        """Without a model, and without what was said beside it."""
        self.failed.emit(())
        self._kept.save()
        self._document.set_model(None)

    def show_recent(self) -> None:
        """Tell which files were opened."""
        self.recent_changed.emit(self.recent, self._missing)

    def show_missing(self, missing: frozenset[Path]) -> None:
        """Tell which of them are not there any more."""
        self._missing = missing
        self.show_recent()

    def _begin(self, place: Path | FileLink, name: str, read: Function) -> None:
        self.reading = place
        self.failed.emit(())
        self.strip.begin(display(name))
        self.reader.start(read)

    def _show_progress(self, count: int) -> None:
        size = format_bytes(count, self._document.units)
        self.strip.set_progress(tr("{size} of its header", size=size))

    def _read(self, model: Model) -> None:
        place, self.reading = self.reading, None
        if not (model.file.header.entries or model.file.tensors):
            self.failed.emit(_with_what_stays(model.file.problems, self._document.model))
            return
        self._link = place if isinstance(place, FileLink) else None
        if isinstance(place, Path) and place not in resources.specimens():
            self._kept.save(self._kept.now.with_recent(str(place)))
            self.show_recent()
        self._kept.keep(choices=self._remembered.choices())
        choice = self._remembered.choice_for(model)
        self._document.set_model(model, choice)
        self.opened.emit()
        if choice is not None:
            self.said.emit(
                tr("As you left this model the last time. Reset (Ctrl+0) takes it back.")
            )

    def _end(self) -> None:
        self.reading = None
        self.strip.end()
        self.reading_changed.emit(False)


def _with_what_stays(problems: Sequence[Problem], shown: Model | None) -> tuple[Problem, ...]:
    """A file could not be read: which model, if any, is on the screen all the same."""
    if shown is None:
        return tuple(problems)
    stays = tr("What is shown is still {model}.", model=window_title(shown))
    return tuple(replace(p, advice=f"{p.advice} {stays}".lstrip()) for p in problems)
