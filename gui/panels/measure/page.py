"""The page "Measure": a run against a server, drawn over the plan as it grows."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.language import tr
from core.machine import as_dict
from core.measure.clocks import utc_now
from core.measure.events import CellDone, Ended, Event, Progress, Started
from core.measure.history import PlanSnapshot, Stored, snapshot
from core.measure.history.transfer import to_markdown
from core.measure.job import Job
from core.measure.keys import Keys
from core.measure.run import Run, RunPlan, RunStatus, Target
from core.measure.session import OTHER_SERVER, can_go_on, resumed
from core.measure.versions import versions
from core.measure.wire.connect import is_this_computer
from core.measure.wire.http import address_of
from core.measure.work import Rates, expected_seconds, steps
from core.plan.plan import Plan
from core.problems import Problem
from core.units import format_seconds
from gui.document import Document
from gui.panels.measure.choices import ChoiceSection
from gui.panels.measure.held_against import held_against
from gui.panels.measure.own_server import OwnServerSection
from gui.panels.measure.progress import ProgressSection, end_words, rounds_done
from gui.panels.measure.run_view import RunView
from gui.panels.measure.servers import ServerSection
from gui.panels.problem_area import ProblemArea
from gui.widgets.scrolled import scrolled
from gui.widgets.wrap import Wrap
from gui.workers.measure import MeasureWorker, reading_words
from gui.workers.run_history import RunHistory
from gui.workers.runner import Runner

# Two columns need about so many characters of the system's font; the left one takes so many.
_TWO_COLUMNS = 120
_LEFT = 60
# The picture is drawn anew at most so often.
_DRAW_MS = 200
# Of a ceiling, where nothing better says how fast it will be: only for the expected duration.
_USUAL_SHARE = 0.6


class MeasurePage(QWidget):
    """``folder_chosen`` carries where the user keeps llama.cpp, ``log_asked`` a log to be held
    against the plan."""

    folder_chosen = Signal(str)
    log_asked = Signal(str)

    def __init__(
        self,
        document: Document,
        history: RunHistory,
        folder: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._history = history
        self._looked = False
        self._job: Job | None = None
        self._plan: PlanSnapshot | None = None
        self.keys = Keys()
        self.worker = MeasureWorker(self)
        self.words = Runner("vocabulary", self)
        self._draw = QTimer(self)
        self._draw.setSingleShot(True)
        self._draw.setInterval(_DRAW_MS)
        self._draw.timeout.connect(self._show_run)
        self.problems = ProblemArea({})
        self.servers = ServerSection(self.keys)
        self.own = OwnServerSection(folder)
        self.choices = ChoiceSection()
        self.progress = ProgressSection()
        self.view = RunView()
        self.copy = QPushButton(tr("Copy as Markdown"))
        self.copy.setToolTip(
            tr("Its table, its settings, and the line of llama-bench that checks it")
        )
        self._build()
        self._connect()
        self._follow()

    @property
    def target(self) -> Target | None:
        """What would be measured."""
        return self.servers.target

    @property
    def busy(self) -> bool:
        """Whether a run is under way, or about to begin."""
        return self.worker.running or self._job is not None

    def start(self) -> None:
        """Measure the chosen server."""
        target, plan = self.servers.target, self.choices.run_plan()
        if target is None or isinstance(plan, str) or self.busy:
            return
        run = Run(
            uuid4().hex,
            utc_now(),
            target,
            plan,
            versions=versions(),
            machine=self._machine(target),
        )
        self._plan = self._snapshot(target, plan)
        self._begin(run)

    def resume(self) -> None:
        """Measure what the last run did not finish."""
        run, target = self.worker.run, self.servers.target
        if run is None or target is None or self.busy:
            return
        if can_go_on(run, target):
            self._begin(resumed(run, target))
        else:
            self._failed(OTHER_SERVER)

    def take_up(self, stored: Stored) -> None:
        """Show a run of the history that was interrupted, so that it can be resumed."""
        if not self.busy:
            self.worker.run, self._plan = stored.run, stored.plan
            self._show_run()
            self._follow(tr("Resume measures the depths that are missing."))

    def end(self) -> None:
        """The window closes: nothing that was started here stays behind."""
        self._draw.stop()
        self._job = None
        run = self.worker.run
        if self.worker.running and run is not None:
            self.worker.end()
            self._history.finish(replace(run, status=RunStatus.STOPPED, ended=utc_now()))
        self.worker.end()
        self.own.end()

    # What happens.

    def _begin(self, run: Run) -> None:
        self.problems.set_problems(())
        self._history.begin(run, self._plan)
        self._job = Job(run, self.keys.key_for(run.target.url), rates=self._rates(run))
        self.progress.show_running("")
        self.choices.set_note("")  # from now on it says what is left
        self._enable(False)
        self.view.show_run(run, self._plan, self._document.units)
        QTimer.singleShot(0, self, self._bring_up)
        model = self._document.model
        if model is not None:
            self.words.start(reading_words(model.file.header))
        else:
            self._with_words(())

    def _bring_up(self) -> None:
        """In one column the picture lies below the controls: show it, and how far it is."""
        if self._columns.direction() is QBoxLayout.Direction.TopToBottom:
            self.area.verticalScrollBar().setValue(self.progress.y())

    def _with_words(self, words: tuple[str, ...]) -> None:
        if self._job is not None:
            self.worker.start(replace(self._job, words=words))
            self._job = None

    def _happened(self, event: Event) -> None:
        run = self.worker.run
        if run is None:
            return
        match event:
            case Progress():
                if not self.worker.paused or event.phase == "paused":
                    self.progress.show_progress(event, run.plan, rounds_done(run, event))
                return
            case Started():
                # The server may have told more of itself since it was found.
                if self._plan is None or not self._plan.curve:
                    self._plan = self._snapshot(run.target, run.plan)
            case CellDone(cell=cell):
                self._history.keep_cell(run.id, cell)
            case Ended():
                self._history.finish(run)
                self._show_run()
                return
        if not self._draw.isActive():
            self._draw.start()

    def _ended(self) -> None:
        self._draw.stop()
        self._enable(True)
        self._show_run()
        run = self.worker.run
        self._follow(end_words(run) if run is not None else "")

    def _show_run(self) -> None:
        self.view.show_run(self.worker.run, self._plan, self._document.units)
        self.copy.setVisible(bool(self.worker.run and self.worker.run.cells))

    def _enable(self, enabled: bool) -> None:
        for section in (self.servers, self.choices):
            section.setEnabled(enabled)
        self.own.stop.setEnabled(enabled)

    def _failed(self, problem: Problem) -> None:
        self.problems.set_problems((problem,))

    # What is planned.

    def _follow(self, words: str = "") -> None:
        """The document or the choice is another: say what would be measured, and for how long."""
        if self.busy:
            return
        plan, target = self._document.plan, self.servers.target
        self.own.show_plan(plan, self._document.units)
        self.servers.show_model(self._document.model, _asked(plan))
        self.choices.set_context(target.context if target is not None else _asked(plan))
        asked = self.choices.run_plan()
        if isinstance(asked, str):
            self.choices.set_note(asked)
        else:
            self.choices.set_note(self._duration(target, asked))
        startable = target is not None and not isinstance(asked, str)
        run = self.worker.run
        resumable = run is not None and run.status in (RunStatus.STOPPED, RunStatus.FAILED)
        if target is None and not words and not resumable:
            words = tr("Choose a server above, or start one.")
        self.progress.show_idle(startable, words, resumable=bool(resumable))
        if run is None:
            self._preview(target, asked)

    def _preview(self, target: Target | None, asked: RunPlan | str) -> None:
        """Before anything was measured: the curve that it will be held against."""
        plan = self._document.plan
        if plan is None:
            self.view.show_run(None, None)
            return
        depths = asked.depths if isinstance(asked, RunPlan) else ()
        kept = self._snapshot(target, RunPlan(depths=())) if target else snapshot(plan)
        self.view.show_preview(kept, depths, self._document.units)

    def _duration(self, target: Target | None, plan: RunPlan) -> str:
        seconds = expected_seconds(steps(plan), self._rates_of(target, plan))
        if seconds is None:
            return tr("How long it takes is known after the first requests.")
        return tr("Takes about {time}.", time=format_seconds(max(1.0, seconds)))

    def _rates(self, run: Run) -> Rates:
        return self._rates_of(run.target, run.plan)

    def _rates_of(self, target: Target | None, plan: RunPlan) -> Rates:
        """What the plan expects; nothing where it does not know."""
        kept = self._snapshot(target, plan) if target is not None else None
        if kept is None:
            return Rates()
        decode = []
        for point in kept.at:
            rate = point.mid or (point.ceiling * _USUAL_SHARE if point.ceiling else None)
            if rate:
                decode.append((point.depth, rate))
        prefill = next((p.prefill for p in reversed(kept.at) if p.prefill), None)
        return Rates(prefill=prefill, decode=tuple(decode))

    def _snapshot(self, target: Target | None, plan: RunPlan) -> PlanSnapshot | None:
        """The plan of what the server really runs; None where it cannot be known."""
        if target is None:
            return None
        started = self.own.plan if target.url == self.own.server.url else None
        return held_against(self._document, target, plan, started)

    def _machine(self, target: Target) -> dict[str, object]:
        machine = self._document.this_computer
        if machine is None or not is_this_computer(address_of(target.url).host):
            return {}
        return as_dict(machine)

    # What Qt asks.

    def showEvent(self, event: QShowEvent) -> None:
        """The first time it looks for servers and for llama-server."""
        super().showEvent(event)
        if not self._looked:
            self._looked = True
            if self._history.problem is not None:
                self._failed(self._history.problem)
            self.servers.look()
            self.own.look()
        self._follow_when_idle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two columns where there is room for them."""
        super().resizeEvent(event)
        wide = self.width() >= _TWO_COLUMNS * self.fontMetrics().averageCharWidth()
        direction = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if direction != self._columns.direction():
            self._columns.setDirection(direction)
        letters = _LEFT * self.fontMetrics().averageCharWidth()
        self._left.setMaximumWidth(letters if wide else 16_777_215)
        self._left.setMinimumWidth(letters if wide else 0)

    def _follow_when_idle(self) -> None:
        if self.isVisible() and not self.busy:
            self._follow(self.progress.words.shown if self.worker.run is not None else "")

    def _copy_markdown(self) -> None:
        run = self.worker.run
        if run is not None:
            QGuiApplication.clipboard().setText(to_markdown(Stored(run, self._plan)))

    # How it is put together.

    def _build(self) -> None:
        line = self.fontMetrics().height()
        self._left = QWidget()
        left = QVBoxLayout(self._left)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(line)
        for section in (self.servers, self.own, self.choices, self.progress):
            left.addWidget(section)
        left.addStretch(1)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        buttons = Wrap()
        buttons.set_cells([self.copy])
        column.addWidget(self.view, 1)
        column.addWidget(buttons)
        inside = QWidget()
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight, inside)
        self._columns.setContentsMargins(line, line // 2, line, line // 2)
        self._columns.setSpacing(line * 3 // 2)
        self._columns.addWidget(self._left)
        self._columns.addWidget(right, 1)
        self.area = scrolled(inside, tr("Measurement"))
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.problems)
        whole.addWidget(self.area, 1)
        self.copy.hide()

    def _connect(self) -> None:
        self.progress.start.clicked.connect(self.start)
        self.progress.resume.clicked.connect(self.resume)
        self.progress.pause.clicked.connect(self._pause)
        self.progress.cancel.clicked.connect(self._cancel)
        self.copy.clicked.connect(self._copy_markdown)
        self.servers.chosen_changed.connect(self._follow_when_idle)
        self.choices.changed.connect(self._follow_when_idle)
        self.own.ready.connect(self.servers.look_at)
        self.own.stopped.connect(self.servers.look)
        self.own.folder_chosen.connect(self.folder_chosen)
        self.own.log_asked.connect(self.log_asked)
        self.worker.happened.connect(self._happened)
        self.worker.ended.connect(self._ended)
        self.words.finished.connect(self._with_words)
        self._history.failed.connect(self._failed)
        for signal in (self._document.plan_changed, self._document.units_changed):
            signal.connect(self._follow_when_idle)

    def _pause(self) -> None:
        if self.worker.paused:
            self.worker.resume()
        else:
            self.worker.pause()
        self.progress.show_paused(self.worker.paused)

    def _cancel(self) -> None:
        self.progress.show_cancelling()
        self.worker.cancel()


def _asked(plan: Plan | None) -> int | None:
    """The context that one request has in the plan."""
    if plan is None:
        return None
    settings = plan.settings
    if settings.unified_cache or settings.slots < 2:
        return settings.requested_context
    return settings.requested_context // settings.slots
