"""The dialog: run llama.cpp's dry run, or read its log, and see both sides part by part."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.check.compare import Check, compare, summary
from core.check.engine_log import EngineLog
from core.check.engine_log import read as read_log
from core.gguf import display
from core.language import mark, tr
from core.machine.machine import spoken_name
from core.problems import Problem, Severity
from gui.document import Document
from gui.panels.check import history
from gui.panels.check.engine_bar import EngineBar, button
from gui.panels.check.tables import HistorySheet, RowSheet
from gui.panels.problem_area import ProblemArea
from gui.tables.view import SheetView
from gui.widgets.dialog_size import open_at
from gui.widgets.dropping import accept_copy, dropped_files
from gui.widgets.scrolled import yielding
from gui.widgets.text import Style, Text
from gui.workers import engine
from gui.workers.engine import EngineRun, LogFile
from gui.workers.runner import Runner

_EMPTY = mark(
    "Run llama.cpp's dry run, or drop a log of llama-server here (made with -v, or -lv 4)."
)
# Letters and lines: ten rows with their reasons, and some earlier checks below.
_SIZE = (150, 44)
_LEAST_LINES = 6  # of a table


class CheckDialog(QDialog):
    """Holds the document's plan against the engine and follows every change of it.

    ``history_path`` is the file of earlier checks, ``folder`` where the user keeps llama.cpp ("":
    on the PATH alone); ``folder_chosen`` carries another one.
    """

    folder_chosen = Signal(str)

    def __init__(
        self, document: Document, history_path: Path, folder: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Check with llama.cpp"))
        self.setAcceptDrops(True)
        self._document = document
        self._history_path = history_path
        self._log: EngineLog | None = None
        self._source = ""
        self._looked = False
        self.check: Check | None = None
        self.runner = Runner("llama.cpp", self)
        self.reader = Runner("log", self)
        self._text = ""
        self._build(folder)
        self._connect()
        open_at(self, *_SIZE)

    # What the user does.

    def run(self) -> None:
        """Start the dry run that is shown."""
        command = self.bar.command
        if command is None:
            return
        self._fail()
        self.status.set_text(tr("llama.cpp looks at the model…"))
        self.runner.start(engine.dry_running(command))
        self._enable()

    def stop(self) -> None:
        """End what runs; nothing is shown of it."""
        self.runner.cancel()
        self.status.set_text(tr("Stopped."))

    def open_log(self, path: Path) -> None:
        """Read a log from this file."""
        self._fail()
        self.status.set_text(tr("Reading {name}…", name=display(path.name)))
        self.reader.start(engine.reading_log(path))

    def take_text(self, text: str, source: str) -> None:
        """Hold the plan against this log."""
        self._fail()
        self._take(read_log(text), source)

    def apply_changes(self) -> None:
        """Set the controls to what the log was made with."""
        if self.check is not None and self.check.changes:
            self._document.choose(**self.check.changes)
            self._keep()

    # What is shown.

    def _take(self, log: EngineLog, source: str) -> None:
        self._log, self._source = log, source
        self._compare()
        self.status.set_text(tr("From {source}.", source=tr(source)))
        self._keep()

    def _compare(self) -> None:
        plan = self._document.plan
        self.check = compare(plan, self._log) if plan is not None and self._log else None
        check, units = self.check, self._document.units
        self.rows.show(check.rows if check else (), units)
        self.table.share_room()
        self.summary.set_text(summary(check, units) if check else "")
        self.summary.setVisible(check is not None)
        lines = [m.sentence for m in check.mismatches] if check else []
        self.differences.set_text("\n".join(f"• {line}" for line in lines))
        self.differences.setVisible(bool(lines))
        self.apply.setVisible(bool(check and check.changes))

    def _keep(self) -> None:
        """Write the check down, where it has something to say."""
        plan = self._document.plan
        if self.check is None or plan is None or not self.check.rows:
            return
        date = datetime.now().astimezone().isoformat(timespec="seconds")
        record = history.record_of(self.check, plan, self._source, date)
        try:
            history.append(self._history_path, record)
        except OSError as error:
            logging.warning("a check could not be kept: %s", error)
        self._show_history()

    def _show_history(self) -> None:
        records = history.read(self._history_path)
        self.earlier.show(records)
        self.earlier_view.share_room()

    def _show_plan(self) -> None:
        """The plan has changed: the command and the comparison follow."""
        if not self.isVisible():
            return
        self.bar.show_plan(self._document.plan)
        self._compare()
        self._enable()

    def _model_changed(self) -> None:
        """What was said of another model counts no more."""
        self.runner.cancel()
        self._log = None
        self.status.set_text("")
        self._fail()
        self._show_plan()

    def _enable(self) -> None:
        plan, running = self._document.plan, self.runner.running
        here = plan is not None and plan.machine.id == "this"
        self.start.setEnabled(self.bar.command is not None and here and not running)
        self.cancel.setVisible(running)
        self.here.setVisible(plan is not None and not here)
        words = ""
        if plan is not None and not here:
            words = tr(
                "A dry run looks at this computer; the plan is for {machine}.",
                machine=spoken_name(plan.machine.name),
            )
        self.elsewhere.set_text(words)
        self.elsewhere.setVisible(bool(words))

    def _fail(self, *problems: Problem) -> None:
        self.problems.set_problems(problems)

    # What workers answer.

    def _ran(self, run: EngineRun) -> None:
        self.status.set_text("")
        if run.problem is not None:
            self._fail(run.problem)
            self.said.setVisible(bool(run.text))
            self._text = run.text
        elif run.log is not None:
            self._text = run.text
            self.said.show()
            self._take(run.log, Path(run.command[0]).stem)
        self.bar.renew()

    def _read(self, file: LogFile) -> None:
        self.status.set_text("")
        if file.problem is not None:
            self._fail(file.problem)
        if file.text:
            self._text = file.text
            self.said.show()
            self._take(read_log(file.text), display(file.path.name))

    # What Qt asks.

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """A log file, or its text."""
        if event.mimeData().hasUrls() or event.mimeData().hasText():
            accept_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Read what was dropped."""
        data = event.mimeData()
        accept_copy(event)
        if names := dropped_files(data):
            self.open_log(Path(names[0]))
        elif data.hasText():
            self.take_text(data.text(), mark("dropped text"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+V reads a log from the clipboard."""
        if event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
            return
        super().keyPressEvent(event)

    def paste(self) -> None:
        """Hold the plan against the log on the clipboard."""
        text = QGuiApplication.clipboard().text()
        if text:
            self.take_text(text, mark("pasted text"))
        else:
            self._fail(
                Problem("engine-log", tr("There is no text on the clipboard."), Severity.WARNING)
            )

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while it was closed is shown now; the first time it looks for llama.cpp."""
        super().showEvent(event)
        if not self._looked:
            self._looked = True
            self.bar.look()
        self._show_plan()
        self._show_history()

    def done(self, result: int) -> None:
        """Closing ends what runs."""
        self.runner.cancel()
        super().done(result)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Closing ends what runs."""
        self.runner.cancel()
        super().closeEvent(event)

    # How it is put together.

    def _build(self, folder: str) -> None:
        self.bar = EngineBar(folder)
        self.start = button(tr("&Run dry run"), tr("Start it, read the sizes, and end it"))
        self.start.setDefault(True)
        self.cancel = button(tr("&Stop"), tr("End it now"))
        self.log_file = button(tr("Open &log…"), tr("Read a log that llama.cpp wrote"))
        self.paste_button = button(tr("&Paste log"), tr("Read a log from the clipboard (Ctrl+V)"))
        self.said: QPushButton = button(tr("Copy &output"), tr("Copy what llama.cpp printed"))
        self.said.hide()
        self.status: Text = Text(style=Style.MUTED)
        self.elsewhere = Text(style=Style.BODY, wrap=True)
        self.here = button(tr("Plan for &this computer"), tr("Choose this computer as the machine"))
        self.problems = ProblemArea({})
        self.summary = Text(style=Style.STRONG, wrap=True)
        self.summary.setAccessibleName(tr("Result"))
        self.differences = Text(style=Style.BODY, wrap=True)
        self.apply = button(
            tr("Set the &controls like the log"),
            tr("Then both sides are made with the same options"),
        )
        self.rows = RowSheet(self)
        self.table = SheetView(self.rows, "part", sortable=False)
        self.table.setAccessibleName(tr("Plan and engine"))
        self.table.set_placeholder(tr(_EMPTY))
        self.earlier = HistorySheet(self)
        self.earlier_view = SheetView(self.earlier, "check", sortable=False)
        self.earlier_view.setAccessibleName(tr("Earlier checks"))
        self.earlier_view.set_placeholder(tr("No check was made yet."))
        self.earlier_view.setSizePolicy(
            QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding
        )
        close = button(tr("Close"), tr("Close (Esc)"))
        close.clicked.connect(self.close)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.bar)
        buttons = (self.start, self.cancel, self.log_file, self.paste_button, self.said)
        column.addLayout(_row(*buttons, self.status))
        column.addLayout(_row(self.elsewhere, self.here))
        column.addWidget(self.problems)
        column.addWidget(self.summary)
        column.addWidget(self.differences)
        column.addLayout(_row(None, self.apply))
        column.addWidget(self.table, 3)
        column.addWidget(Text(tr("EARLIER CHECKS"), Style.HEADING))
        column.addWidget(self.earlier_view, 2)
        for view in (self.table, self.earlier_view):
            view.setMinimumHeight(_LEAST_LINES * self.fontMetrics().height())
        whole = QVBoxLayout(self)
        whole.addWidget(yielding(inside, self.windowTitle()), 1)
        whole.addLayout(_row(None, close))
        self.differences.hide()
        self.apply.hide()

    def _connect(self) -> None:
        for pressed, slot in (
            (self.start, self.run),
            (self.cancel, self.stop),
            (self.log_file, self._ask_for_log),
            (self.paste_button, self.paste),
            (self.here, self._plan_here),
            (self.apply, self.apply_changes),
        ):
            pressed.clicked.connect(slot)
        self.said.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._text))
        self.bar.folder_chosen.connect(self.folder_chosen)
        self.bar.command_changed.connect(self._enable)
        self.runner.finished.connect(self._ran)
        self.runner.ended.connect(self._enable)
        self.reader.finished.connect(self._read)
        self._document.model_changed.connect(self._model_changed)
        self._document.plan_changed.connect(self._show_plan)
        self._document.units_changed.connect(self._compare)

    def _ask_for_log(self) -> None:
        name, _ = QFileDialog.getOpenFileName(
            self,
            tr("A log of llama.cpp"),
            "",
            "{} (*.log *.txt *.jsonl);;{} (*)".format(tr("Logs"), tr("All files")),
        )
        if name:
            self.open_log(Path(name))

    def _plan_here(self) -> None:
        machine = self._document.this_computer
        if machine is not None:
            self._document.set_machine(machine)


def _row(*widgets: QWidget | None) -> QHBoxLayout:
    """Side by side. None or a line of text takes the room that is left."""
    row = QHBoxLayout()
    for widget in widgets:
        if widget is None:
            row.addStretch(1)
        else:
            row.addWidget(widget, int(isinstance(widget, Text)))
    return row
