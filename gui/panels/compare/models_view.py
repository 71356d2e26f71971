"""Several models on the plan's machine: a table and curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QMenu,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

import resources
from core.compare import Candidate, ModelRow, compare_models
from core.compare.tables import model_columns
from core.gguf import display
from core.language import tr, trn
from core.machine.machine import spoken_name
from core.model import recipe_sizes
from core.model.model import Model
from core.tabular import TextFormat
from gui.document import Document
from gui.panels.compare import exports
from gui.panels.compare.chosen import Chosen
from gui.panels.compare.lines import curve_of
from gui.panels.plan_title import plan_title
from gui.tables.facts import FactSheet
from gui.tables.view import SheetView
from gui.widgets.curves_plot import CurvesPlot
from gui.widgets.live_text import LiveText
from gui.widgets.menu_button import MenuButton
from gui.widgets.pictures import ask_for_picture
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap
from gui.workers import opening
from gui.workers.runner import Runner

_LEAST_ROWS, _MOST_ROWS = 4, 10


class ModelsView(QScrollArea):
    """The open model comes first, with its what-if; then other quantizations of it, then files.

    ``open_asked`` carries a file that shall be opened instead.
    """

    said = Signal(str)
    open_asked = Signal(Path)

    def __init__(self, document: Document, chosen: Chosen, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._chosen = chosen
        self._files: dict[str, Model] = {}
        self._recipes: list[str] = []
        self._asked: object = None
        self._rows: tuple[ModelRow, ...] = ()
        self._waiting = list(chosen.stored.models)
        self._awaited = False
        self.reader = Runner("models to compare", self)
        self._build()
        self.reader.finished.connect(self._read)
        self.reader.ended.connect(self._reading_ended)
        document.model_changed.connect(self._other_model)
        document.plan_changed.connect(self._follow)
        document.units_changed.connect(self._show)

    @property
    def rows(self) -> tuple[ModelRow, ...]:
        """What is compared: the open model first."""
        return self._rows

    # What the user does.

    def add_files(self, paths: Sequence[Path]) -> None:
        """Read these files and compare them; they are remembered."""
        known = {*self._files, *self._waiting}
        self._waiting += [str(p.absolute()) for p in paths if str(p.absolute()) not in known]
        self._read_next()

    def add_recipe(self, ftype: str) -> None:
        """Compare the open model as if it were quantized so."""
        if ftype not in self._recipes:
            self._recipes.append(ftype)
            self._follow()

    def remove(self) -> None:
        """Compare the selected rows no longer; the open model stays."""
        for number in self.table.selected_rows():
            candidate = self.sheet.items[number].candidate
            if candidate.model is not self._document.model:
                path = next(p for p, model in self._files.items() if model is candidate.model)
                del self._files[path]
            elif number and candidate.requantize in self._recipes:
                self._recipes.remove(candidate.requantize)
        self._keep()
        self._follow()

    def use(self) -> None:
        """Open the model of the row, or choose its quantization."""
        row = self._current()
        if row is None:
            return
        model = row.candidate.model
        if model is self._document.model:
            self._document.choose(requantize=row.candidate.requantize)
            self.said.emit(tr("The plan is for {name} now.", name=row.label))
        else:
            self.open_asked.emit(model.file.header.path)

    def copy(self, form: TextFormat) -> None:
        """Put the table on the clipboard as it is sorted."""
        exports.copy(form, self.sheet.facts, self.sheet.shown(), self._document.units)
        self.said.emit(
            trn(
                "{count} model copied as {form}.",
                "{count} models copied as {form}.",
                len(self._rows),
                form=form.value,
            )
        )

    # Reading files, one after the other.

    def _read_next(self) -> None:
        if not self._waiting:
            self.status.set_text("")
        elif self.isVisible() and not self.reader.running:
            path = self._waiting[0]
            self._awaited = True
            self.status.set_text(tr("Reading {name}…", name=display(Path(path).name)))
            self.reader.start(opening.opening(Path(path)))

    def _reading_ended(self) -> None:
        """Go on with the next file. One without an answer is not read for ever; but where the page
        was closed meanwhile it waits for the next time."""
        if self._awaited and self.isVisible():
            name = display(Path(self._waiting.pop(0)).name)
            self.said.emit(tr("{name} could not be read.", name=name))
            self._keep()
        self._read_next()

    def _read(self, model: Model) -> None:
        self._awaited = False
        path = self._waiting.pop(0)
        if model.file.tensors:
            self._files[path] = model
        else:
            name = display(Path(path).name)
            found = model.file.problems
            why = tr(found[0].message) if found else tr("it holds no tensors")
            self.said.emit(tr("{name} is not compared: {why}", name=name, why=why))
        self._keep()
        self._follow()

    def _keep(self) -> None:
        self._chosen.set_models([*self._files, *self._waiting])

    def _other_model(self) -> None:
        """Quantizations were those of the old model."""
        self._recipes = []

    # What is shown.

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while it was out of sight is shown now; files are read at the first time."""
        super().showEvent(event)
        self._read_next()
        self._follow()

    def _candidates(self, model: Model) -> list[Candidate]:
        own = self._document.choice.requantize
        found = [Candidate(model, own)]
        if own is not None:
            found.append(Candidate(model))
        found += [Candidate(model, ftype) for ftype in self._recipes if ftype != own]
        paths = {str(path.absolute()) for path in model.file.paths}
        return found + [Candidate(m) for path, m in self._files.items() if path not in paths]

    def _follow(self) -> None:
        document = self._document
        if document.model is None or not self.isVisible():
            return
        candidates = self._candidates(document.model)
        prompt = self._chosen.prompt
        asked = (candidates, document.machine, document.choice, prompt)
        if self._asked == asked:
            return
        self._asked = asked
        self._rows = compare_models(
            candidates, document.machine, document.choice, own=document.model, prompt=prompt
        )
        self._show()

    def _show(self) -> None:
        self.where.set_text(display(spoken_name(self._document.machine.name)))
        self.sheet.show(model_columns(), self._rows, self._document.units)
        self.table.share_room()
        if self._rows and self.table.current_row() < 0:
            self.table.choose_row(0)
        lines = min(max(len(self._rows), _LEAST_ROWS), _MOST_ROWS) + 2
        self.table.setFixedHeight(lines * (self.fontMetrics().height() + 6))
        plan = self._document.plan
        self.curves.set_lines(
            [
                curve_of(f"{row.name} {row.label}", row.figures, expected=False)
                for row in self._rows
            ],
            plan.settings.depth if plan else None,
        )
        self._show_row()

    def _show_row(self) -> None:
        row = self._current()
        opened = row is not None and row.candidate.model is self._document.model
        own = row is not None and row.candidate.requantize == self._document.choice.requantize
        self.use_button.setText(tr("&Use this quantization") if opened else tr("&Open this model"))
        self.use_button.setEnabled(row is not None and not (opened and own))
        self.remove_button.setEnabled(row is not None and not (opened and own))
        self.name.set_text(_title(row) if row else "")
        self.curves.set_strong(self.name.shown)
        self.mechanism.set_text(row.mechanism if row else "")

    def _current(self) -> ModelRow | None:
        row = self.table.current_row()
        return self.sheet.items[row] if 0 <= row < len(self.sheet.items) else None

    def _build(self) -> None:
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Models compared"))
        self.add_button = QPushButton(tr("&Add files…"))
        self.specimens_button = MenuButton(
            tr("Add a specimen"),
            tr("Well-known models that come with the program"),
            self._fill_specimens,
        )
        self.recipes_button = MenuButton(
            tr("Add a quantization"),
            tr("The open model in another quantization"),
            self._fill_recipes,
        )
        self.where = LiveText(Style.MUTED)
        self.status = LiveText(Style.MUTED)
        self.copy_button = MenuButton(tr("Copy"), tr("The table, as text"), self._fill_copy)
        self.picture_button = QPushButton(tr("Save picture…"))
        self.sheet = FactSheet[ModelRow](parent=self)
        self.table = SheetView(self.sheet, "model")
        self.table.setAccessibleName(tr("Models compared"))
        self.name = LiveText(Style.STRONG)
        self.mechanism = LiveText(Style.MUTED, wrap=True)
        self.use_button = QPushButton(tr("&Open this model"))
        self.remove_button = QPushButton(tr("&Remove"))
        self.curves = CurvesPlot(tr("Speed of the models by depth"))
        self.curves.set_words(tr("No speed is known: a bandwidth is missing."))
        top = Wrap()
        top.set_cells(
            [
                self.add_button,
                self.specimens_button,
                self.recipes_button,
                self.copy_button,
                self.picture_button,
                self.where,
                self.status,
            ]
        )
        below = Wrap()
        below.set_cells([self.name, self.use_button, self.remove_button])
        space = self.fontMetrics().averageCharWidth()
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(space, space, space, space)
        column.addWidget(top)
        column.addWidget(self.table)
        column.addWidget(below)
        column.addWidget(self.mechanism)
        column.addWidget(Text(tr("FROM AN EMPTY CACHE TO A FULL ONE"), Style.HEADING))
        column.addWidget(self.curves, 1)
        self.setWidget(inside)
        self.add_button.clicked.connect(self._ask_for_files)
        self.picture_button.clicked.connect(self._save_picture)
        self.use_button.clicked.connect(self.use)
        self.remove_button.clicked.connect(self.remove)
        self.table.opened.connect(self.use)
        self.table.taken_away.connect(self.remove)
        self.table.row_changed.connect(lambda _: self._show_row())
        self.table.copied.connect(self.said)

    def _ask_for_files(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(
            self,
            tr("Add models"),
            "",
            "{} (*.gguf);;{} (*)".format(tr("GGUF models"), tr("All files")),
        )
        self.add_files([Path(name) for name in names])

    def _save_picture(self) -> None:
        title = plan_title(self._document.plan, model=False)
        self.said.emit(ask_for_picture(self, [self.curves], "models-by-depth", title))

    def _fill_specimens(self, menu: QMenu) -> None:
        for path in resources.specimens():
            menu.addAction(path.stem.replace("&", "&&"), partial(self.add_files, [path]))

    def _fill_recipes(self, menu: QMenu) -> None:
        model = self._document.model
        for size in recipe_sizes(model) if model is not None else ():
            words = size.ftype
            if size.needs_imatrix:
                words = tr("{recipe} (with an importance matrix)", recipe=size.ftype)
            menu.addAction(words, partial(self.add_recipe, size.ftype))

    def _fill_copy(self, menu: QMenu) -> None:
        exports.fill_copy(menu, self.copy)


def _title(row: ModelRow) -> str:
    return f"{row.name} {row.label}"
