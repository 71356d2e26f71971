"""The page "History": every measurement, to look at, to compare, to take along."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFileDialog,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.language import mark, tr, trc, trn
from core.measure.history import Listed, Stored
from core.measure.history.compare import Comparison, compare
from core.measure.run import RunStatus
from core.problems import Problem
from gui.document import Document
from gui.panels.history.detail import DetailStack
from gui.panels.problem_area import ProblemArea
from gui.tables.filter_edit import FilterEdit
from gui.tables.stored_runs import StoredSheet
from gui.tables.view import SheetView
from gui.widgets.live_text import LiveText
from gui.widgets.menu_button import MenuButton
from gui.widgets.scrolled import scrolled
from gui.widgets.text import Style
from gui.widgets.wrap import Wrap
from gui.workers.run_files import Imported, exporting, importing, telling
from gui.workers.run_history import RunHistory
from gui.workers.runner import Function, Handle, Runner

_TWO_COLUMNS = 130
_LIST_SHARE = (2, 3)
_EMPTY = mark("No run was measured yet. Measure one (Ctrl+7), or import an export.")
_HINT = mark("Choose a run to look at it, or two to compare them.")
# Arrow keys held down load nothing until they rest.
_REST_MS = 80
_FILTERS = {
    ".json": mark("JSON, everything (*.json)"),
    ".csv": mark("CSV, one request a row (*.csv)"),
}


class HistoryPage(QWidget):
    """Follows the history; other windows' runs appear when the page is shown. ``resume_asked``
    carries the id of an interrupted run."""

    resume_asked = Signal(str)

    def __init__(
        self, document: Document, history: RunHistory, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._history = history
        self._deleted: tuple[str, ...] = ()
        self._shown: tuple[str, ...] = ()
        self.comparer = Runner("compare", self)
        self.comparer.finished.connect(self._compared)
        self.reader = Runner("import", self)
        self.reader.finished.connect(self._imported)
        self.writer = Runner("export", self)
        self.writer.finished.connect(self._exported)
        self._exported_to = ""
        self.copier = Runner("copy", self)
        self.copier.finished.connect(self._copied)
        self.problems = ProblemArea({})
        self.filter = FilterEdit(tr("Filter by name, server, model, note…"))
        self.sheet = StoredSheet(self)
        self.table = SheetView(self.sheet, "run")
        self.table.setAccessibleName(trc("noun: saved runs", "Runs"))
        self.table.set_placeholder(tr(_EMPTY))
        self.export = MenuButton(tr("Export"), tr("Runs as a file"), self._fill_export)
        self.take = QPushButton(tr("Import…"))
        self.take.setToolTip(tr("Take runs in from an exported file, JSON or CSV"))
        self.copy = QPushButton(tr("Copy as Markdown"))
        self.resume = QPushButton(tr("Resume"))
        self.resume.setToolTip(tr("Measure what an interrupted run did not finish"))
        self.delete = QPushButton(tr("Delete"))
        self.delete.setToolTip(tr("Take the chosen runs out of the list (Del)"))
        self.undo = QPushButton(tr("Bring back"))
        self.undo.setToolTip(tr("Undo the last deletion"))
        self.said = LiveText(Style.MUTED, wrap=True)
        self.stack = DetailStack()
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._show_chosen)
        self._build()
        self._connect()

    @property
    def chosen(self) -> tuple[Listed, ...]:
        """The selected runs, in the order shown."""
        return tuple(self.sheet.listed[row] for row in self.table.selected_rows())

    def refresh(self) -> None:
        """Read the list anew; what was chosen stays so."""
        if not self.isVisible():
            return
        ids = {entry.id for entry in self.chosen}
        self.sheet.show(self._history.lines())
        self.table.share_room()
        for position, row in enumerate(self.sheet.rows):
            if self.sheet.listed[row].id in ids:
                self.table.choose_row(position)
                break
        self._shown = ()
        self._show_chosen()

    def delete_chosen(self) -> None:
        """Take the chosen runs out of the list."""
        ids = tuple(entry.id for entry in self.chosen)
        if ids:
            self._deleted = ids
            self._history.delete(ids)
            self.said.set_text(trn("1 run deleted.", "{count} runs deleted.", len(ids)))
            self.undo.show()
            self.refresh()

    def bring_back(self) -> None:
        """Undo the last deletion."""
        self._history.restore(self._deleted)
        self._deleted = ()
        self.undo.hide()
        self.said.set_text("")
        self.refresh()

    def export_to(self, path: Path, everything: bool) -> None:
        """Write the chosen runs, or all, as the name's ending says."""
        entries = self.sheet.listed if everything else self.chosen
        self._exported_to = path.name
        self.said.set_text(tr("Writing {name}…", name=path.name))
        self.writer.start(exporting(self._history.reading(e.id for e in entries), path))

    def import_from(self, path: Path) -> None:
        """Take in what was exported."""
        self.said.set_text(tr("Reading {name}…", name=path.name))
        here = self._history
        self.reader.start(importing(path, here.path if here.problem is None else None))

    # What is shown.

    def _show_chosen(self) -> None:
        chosen = self.chosen
        ids = tuple(entry.id for entry in chosen)
        self._enable()
        if ids == self._shown:
            return
        self._shown = ids
        self.comparer.cancel()
        units = self._document.units
        if len(chosen) == 2:
            # The earlier one is the first, whatever the order of the list.
            both = [self._history.load(e.id) for e in sorted(chosen, key=lambda e: e.started)]
            first, second = both
            if first is None or second is None:
                return
            self.stack.detail.keep_notes()
            self.stack.comparison.show_working(first, second)
            self.stack.setCurrentWidget(self.stack.comparison)
            self.comparer.start(_comparing(first, second))
        elif len(chosen) == 1:
            stored = self._history.load(ids[0])
            if stored is not None:
                self.stack.detail.show_stored(stored, units)
                self.stack.setCurrentWidget(self.stack.detail)
        else:
            self.stack.detail.keep_notes()
            self.stack.hint.set_text(
                tr("{count} runs are chosen; two can be compared.", count=len(chosen))
                if chosen
                else tr(_HINT)
            )
            self.stack.setCurrentWidget(self.stack.hint)

    def _selected(self) -> None:
        self._enable()
        self._rest.start()

    def _enable(self) -> None:
        chosen = self.table.selectionModel().hasSelection()
        for button in (self.copy, self.delete):
            button.setEnabled(chosen)
        states = [entry.status for entry in self.chosen]
        self.resume.setVisible(states in ([RunStatus.STOPPED], [RunStatus.FAILED]))

    def _compared(self, comparison: Comparison) -> None:
        self.stack.comparison.show_comparison(comparison)

    def _exported(self, answer: int | Problem) -> None:
        self.said.set_text("")
        if isinstance(answer, Problem):
            self._fail(answer)
        else:
            self.said.set_text(
                tr("{count} exported to {name}.", count=answer, name=self._exported_to)
            )

    def _imported(self, answer: Imported | Problem) -> None:
        self.said.set_text("")
        if isinstance(answer, Problem):
            self._fail(answer)
            return
        new = answer.new
        if new is None:
            new = self._history.add(answer.runs)
        elif new:
            self._history.changed.emit()
        known = len(answer.runs) - new
        self.said.set_text(
            tr("{new} imported, {known} were here already.", new=new, known=known)
            if known
            else tr("{new} imported.", new=new)
        )
        self.refresh()

    def _fail(self, problem: Problem) -> None:
        self.problems.set_problems((problem,))

    def _repaint(self) -> None:
        self._shown = ()
        self._show_chosen()

    # What the user does.

    def _fill_export(self, menu: QMenu) -> None:
        for everything, words in ((False, tr("The chosen runs…")), (True, tr("All runs…"))):
            action = menu.addAction(words)
            action.setEnabled(bool(self.sheet.listed if everything else self.chosen))
            action.triggered.connect(lambda _=False, e=everything: self._ask_where(e))

    def _ask_where(self, everything: bool) -> None:
        kinds = {tr(words): ending for ending, words in _FILTERS.items()}
        name, kind = QFileDialog.getSaveFileName(
            self, tr("Export runs"), "runs.json", ";;".join(kinds)
        )
        if name:
            path = Path(name)
            if path.suffix.lower() not in _FILTERS:
                path = path.with_name(path.name + kinds.get(kind, ".json"))
            self.export_to(path, everything)

    def _ask_what(self) -> None:
        name, _ = QFileDialog.getOpenFileName(
            self,
            tr("Import runs"),
            "",
            ";;".join((tr("Exported runs (*.json *.csv)"), tr("All files (*)"))),
        )
        if name:
            self.import_from(Path(name))

    def _copy(self) -> None:
        self.copier.start(telling(self._history.reading(entry.id for entry in self.chosen)))

    def _copied(self, answer: str | Problem) -> None:
        if isinstance(answer, Problem):
            self._fail(answer)
        elif answer:
            QGuiApplication.clipboard().setText(answer)
            self.said.set_text(tr("Copied as Markdown."))

    # What Qt asks.

    def showEvent(self, event: QShowEvent) -> None:
        """Another window may have measured in the meantime."""
        super().showEvent(event)
        if (problem := self._history.problem) is not None:
            self._fail(problem)
        QTimer.singleShot(0, self, self._first_look)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two columns where there is room for them."""
        super().resizeEvent(event)
        wide = self.width() >= _TWO_COLUMNS * self.fontMetrics().averageCharWidth()
        direction = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if direction != self._columns.direction():
            self._columns.setDirection(direction)

    def end(self) -> None:
        """The window closes: nothing that was typed is lost."""
        self.stack.detail.keep_notes()

    def _first_look(self) -> None:
        self.refresh()
        if self.sheet.rows and not self.table.selected_rows():
            self.table.choose_row(0)

    # How it is put together.

    def _build(self) -> None:
        line = self.fontMetrics().height()
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(line // 2)
        buttons = Wrap()
        buttons.set_cells([self.resume, self.export, self.take, self.copy, self.delete, self.undo])
        column.addWidget(self.filter)
        column.addWidget(self.table, 1)
        column.addWidget(buttons)
        column.addWidget(self.said)
        self.table.setMinimumHeight(9 * line)
        self.area = scrolled(self.stack, tr("The chosen runs"))
        self.area.setMinimumHeight(9 * line)
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._columns.setSpacing(line)
        self._columns.addWidget(left, _LIST_SHARE[0])
        self._columns.addWidget(self.area, _LIST_SHARE[1])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(line, line // 2, line, line // 2)
        whole.addWidget(self.problems)
        whole.addLayout(self._columns, 1)
        self.stack.hint.set_text(tr(_HINT))
        self.undo.hide()
        self._show_chosen()

    def _connect(self) -> None:
        self.filter.textChanged.connect(self.sheet.set_filter)
        self.table.typed.connect(self.filter.take)
        self.table.taken_away.connect(self.delete_chosen)
        self.table.selectionModel().selectionChanged.connect(self._selected)
        self.sheet.modelReset.connect(lambda: self._rest.start())
        self.take.clicked.connect(self._ask_what)
        self.copy.clicked.connect(self._copy)
        self.delete.clicked.connect(self.delete_chosen)
        self.undo.clicked.connect(self.bring_back)
        self.resume.clicked.connect(lambda: self.resume_asked.emit(self.chosen[0].id))
        self.stack.detail.renamed.connect(self._history.rename)
        self.stack.detail.noted.connect(self._history.note)
        self._history.changed.connect(self.refresh)
        self._history.failed.connect(self._fail)
        self._document.units_changed.connect(self._repaint)


def _comparing(first: Stored, second: Stored) -> Function:
    def work(handle: Handle) -> Comparison:
        return compare(first, second)

    return work
