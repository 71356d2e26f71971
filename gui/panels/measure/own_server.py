"""Starting llama-server with the plan that is on the screen: its log, its progress, its end."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.check import driver
from core.check.dry_run import SERVER
from core.gguf import display
from core.language import mark, tr
from core.machine.machine import spoken_name
from core.measure import launch
from core.plan.plan import Plan
from core.problems import Problem
from core.units import UnitSystem, format_bytes, format_seconds
from core.whole_file import write_out
from gui.widgets.elided_text import ElidedText
from gui.widgets.live_text import LiveText
from gui.widgets.note_lines import NoteLines
from gui.widgets.text import Style, Text, fixed_font
from gui.widgets.wrap import Wrap
from gui.workers import engine
from gui.workers.runner import Runner
from gui.workers.server import OwnServer, Weighed

_ABSENT = mark("llama-server was not found on the PATH or in the usual places.")
_LOG_LINES = 5_000
_LOG_HEIGHT = 9
# Text that arrives faster than this is put on the screen together.
_LOG_MS = 100
# A server that answers may be so far behind in its log, which a thread of its own writes.
_BEHIND_MS = 1000


class OwnServerSection(QWidget):
    """``ready`` carries the address of a server that answers, ``folder_chosen`` where the user
    keeps llama.cpp, ``log_asked`` the log to be held against the plan."""

    ready = Signal(str)
    stopped = Signal()
    folder_chosen = Signal(str)
    log_asked = Signal(str)

    def __init__(self, folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._program = ""
        self._plan: Plan | None = None
        self._started: Plan | None = None
        self._units = UnitSystem.GIB
        self._unshown: list[str] = []
        self._differences: tuple[Problem, ...] = ()
        self.server = OwnServer(self)
        self.finder = Runner("find llama-server", self)
        self.finder.finished.connect(self._found)
        self.start = QPushButton(tr("Start llama-server with this plan"))
        self.stop = QPushButton(tr("Stop the server"))
        self.stop.setToolTip(tr("End the server that was started here"))
        self.where = ElidedText(style=Style.MUTED)
        self.why = LiveText(Style.MUTED, wrap=True)
        self.folder = QPushButton(tr("Choose folder…"))
        self.folder.setToolTip(tr("Where llama-server is"))
        self.status = LiveText(wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Loading"))
        self.show_log = QPushButton(tr("Show log"))
        self.show_log.setCheckable(True)
        self.copy_log = QPushButton(tr("Copy log"))
        self.save_log = QPushButton(tr("Save log…"))
        self.save_log.setToolTip(
            tr("All of it, as a file; the last {count:,} lines are shown", count=_LOG_LINES)
        )
        self.check_log = QPushButton(tr("Check it against the plan…"))
        self.check_log.setToolTip(tr("Compare what it allocated with the plan, part by part"))
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setMaximumBlockCount(_LOG_LINES)
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.log.setFont(fixed_font())
        self.log.setAccessibleName(tr("Log of llama-server"))
        self.log.setTabChangesFocus(True)
        self.log.setFixedHeight(_LOG_HEIGHT * self.fontMetrics().height())
        self.log.hide()
        self.notes = NoteLines()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_LOG_MS)
        self._timer.timeout.connect(self._write_log)
        self._behind = QTimer(self)
        self._behind.setSingleShot(True)
        self._behind.setInterval(_BEHIND_MS)
        self._behind.timeout.connect(self._compare)
        self._build()
        self._connect()
        self._show()

    def look(self) -> None:
        """Look for llama-server."""
        self.finder.start(engine.finding(self._folder))

    def show_plan(self, plan: Plan | None, units: UnitSystem) -> None:
        """What a server would be started with."""
        self._plan, self._units = plan, units
        self._show()

    @property
    def plan(self) -> Plan | None:
        """What the server that runs was started with."""
        return self._started if self.server.running else None

    def end(self) -> None:
        """The window closes: no server stays behind."""
        self._timer.stop()
        self._behind.stop()
        self.server.end()

    def _begin(self) -> None:
        plan = self._plan
        if plan is None or not self._program:
            return
        port = engine.free_port()
        self.log.clear()
        self._unshown.clear()
        self.notes.set_problems(())
        self._differences = ()
        self._started = plan
        self.server.start(launch.server_command(plan, self._program, port), port)
        self._show()

    def _choose(self) -> None:
        title = tr("The folder of llama-server")
        name = QFileDialog.getExistingDirectory(self, title, self._folder)
        if name:
            self._folder = name
            self.folder_chosen.emit(name)
            self.look()

    def _ask_where(self) -> None:
        title, name = tr("Save the log"), f"{SERVER}.log"
        chosen, _ = QFileDialog.getSaveFileName(self, title, name, tr("Logs (*.log *.txt)"))
        if chosen:
            self.save_log_to(Path(chosen))

    def save_log_to(self, path: Path) -> None:
        """Write all that the server said, whatever is shown of it."""
        try:
            write_out(path, self.server.log.whole)
        except OSError as error:
            why = error.strerror or str(error)
            message = tr("{file} could not be written: {why}.", file=display(path.name), why=why)
            self.notes.set_problems((Problem("not-saved", message),))

    def _found(self, programs: dict[str, str]) -> None:
        self._program = programs.get(SERVER, "")
        self._show()

    def _is_ready(self, url: str) -> None:
        self._compare()
        self._behind.start()
        self._show()
        self.ready.emit(url)

    def _compare(self) -> None:
        """Plan and log beside each other."""
        if self._started is None or not self.server.is_ready:
            return
        found = launch.differences(self._started, self.server.log.text)
        if found != self._differences:
            self._differences = found
            self.notes.set_problems(found)

    def _weighed(self, weighed: Weighed) -> None:
        """Driver, log and plan beside each other, once all is loaded."""
        plan = self._started
        if plan is not None:
            found = driver.taken(plan, self.server.log.text, *weighed)
            told = driver.sentences(found, self._units)
            self.notes.set_problems((*self._differences, *told))

    def _ended(self, problem: Problem | None) -> None:
        self._write_log()
        self.notes.set_problems((problem,) if problem is not None else ())
        if problem is not None and self.server.log.text:
            self.show_log.setChecked(True)
        self._show()
        self.stopped.emit()

    def _heard(self, text: str) -> None:
        self._unshown.append(text)
        if not self._timer.isActive():
            self._timer.start()

    def _write_log(self) -> None:
        if not self._unshown:
            return
        text = "".join(self._unshown)
        self._unshown.clear()
        bar = self.log.verticalScrollBar()
        at_end = bar.value() >= bar.maximum() - 4
        cursor = self.log.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.insertText(text)
        if at_end:
            bar.setValue(bar.maximum())

    def _show(self) -> None:
        running, plan = self.server.running, self._plan
        here = plan is not None and plan.machine.id == "this"
        local = plan is not None and plan.model.file.local
        self.start.setVisible(not running)
        self.start.setEnabled(bool(self._program) and here and local)
        self.stop.setVisible(running)
        self.folder.setVisible(not running)
        self.where.setVisible(not running)
        self.where.set_text(display(self._program))
        why = ""
        if not self._program:
            why = tr("Looking for llama-server…") if self.finder.running else tr(_ABSENT)
        elif plan is not None and not here:
            why = tr(
                "The plan is for {machine}. Choose this computer to start a server.",
                machine=spoken_name(plan.machine.name),
            )
        elif plan is not None and not local:
            why = tr("The model is not on this computer; download it to start a server with it.")
        self.why.set_text(why)
        self.why.setVisible(bool(why) and not running)
        loading = running and not self.server.is_ready
        self.bar.setVisible(loading)
        size = self._started.weights.bytes if self._started is not None else 0
        resident = self.server.resident
        if loading and size and resident is not None:
            self.bar.setRange(0, 1000)
            self.bar.setValue(min(990, 1000 * resident // size))
        elif loading:
            self.bar.setRange(0, 0)
        self.status.set_text(self._status(size))
        self.status.setVisible(bool(self.status.shown))
        said = bool(self.server.log.text)
        for widget in (self.show_log, self.copy_log, self.save_log, self.check_log):
            widget.setVisible(said)

    def _status(self, size: int) -> str:
        server = self.server
        if not server.running:
            return ""
        took = format_seconds(max(server.seconds, 0.001))
        if server.is_ready:
            address = server.url.removeprefix("http://")
            return tr("Ready at {address} after {took}.", address=address, took=took)
        phase = tr(server.phase.value).capitalize()
        if not (server.resident and size):
            return tr("{phase}, {took} so far.", phase=phase, took=took)
        return tr(
            "{phase}, {took} so far; {done} of {size} are in memory.",
            phase=phase,
            took=took,
            done=format_bytes(min(server.resident, size), self._units),
            size=format_bytes(size, self._units),
        )

    def _build(self) -> None:
        line = self.fontMetrics().height()
        program = QHBoxLayout()
        program.addWidget(self.where, 1)
        program.addWidget(self.folder)
        buttons = Wrap()
        buttons.set_cells([self.show_log, self.copy_log, self.save_log, self.check_log])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(line // 3)
        column.addWidget(Text(tr("OR START ONE"), Style.HEADING))
        column.addLayout(program)
        column.addWidget(self.why)
        column.addWidget(self.start)
        column.addWidget(self.stop)
        column.addWidget(self.bar)
        column.addWidget(self.status)
        column.addWidget(buttons)
        column.addWidget(self.log)
        column.addWidget(self.notes)

    def _connect(self) -> None:
        self.start.clicked.connect(self._begin)
        self.stop.clicked.connect(self.server.stop)
        self.folder.clicked.connect(self._choose)
        self.show_log.toggled.connect(self.log.setVisible)
        self.copy_log.clicked.connect(
            lambda: QGuiApplication.clipboard().setText(self.server.log.whole)
        )
        self.save_log.clicked.connect(self._ask_where)
        self.check_log.clicked.connect(lambda: self.log_asked.emit(self.server.log.text))
        self.server.said.connect(self._heard)
        self.server.changed.connect(self._show)
        self.server.ready.connect(self._is_ready)
        self.server.ended.connect(self._ended)
        self.server.weighed.connect(self._weighed)
        self.finder.ended.connect(self._show)
