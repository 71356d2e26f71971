"""The main window itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QPaintEvent,
)
from PySide6.QtWidgets import QFileDialog, QMainWindow, QStackedWidget, QStyle, QVBoxLayout, QWidget

import resources
from core.gguf import display
from core.gguf.names import is_projector
from core.language import tr
from core.model.model import Model
from core.problems import Problem, Severity
from core.remote import FileLink, is_link
from core.tabular import TextFormat
from core.units import UnitSystem, format_bytes
from gui.document import Document
from gui.main_window import clipboard, helping, pages, taking_away
from gui.main_window.actions import THEME_WORDS, Actions
from gui.main_window.anew import View
from gui.main_window.attaching import Attaching
from gui.main_window.drops import NOT_LOCAL, DropHint, dropped_files, dropped_link
from gui.main_window.engine_check import LOG_NAMES, EngineCheck
from gui.main_window.file_watch import FileWatch
from gui.main_window.finding import Finding
from gui.main_window.first_looks import FirstLooks
from gui.main_window.kept_settings import KeptSettings
from gui.main_window.measuring import Measuring
from gui.main_window.page_bar import PageBar
from gui.main_window.remembered import Remembered
from gui.main_window.this_computer import ThisComputer
from gui.main_window.wiring import connect_actions
from gui.panels.header_line import window_title
from gui.panels.loading_strip import LoadingStrip
from gui.panels.model_page import ModelPage
from gui.panels.plan.beside import Beside
from gui.panels.plan_title import plan_title
from gui.panels.problem_area import ProblemArea, with_what_stays
from gui.panels.welcome import WelcomePanel
from gui.settings import Settings
from gui.theme import Theme, ThemeMode
from gui.widgets.elided_text import ElidedText
from gui.widgets.focus_ring import FocusRings
from gui.widgets.reading_order import move_focus
from gui.workers import opening
from gui.workers.runner import Function, Runner

# The window without a stored geometry, in logical pixels.
_SIZE = (1280, 800)
_SAID_MS = 20_000  # long enough to be read aloud


class MainWindow(QMainWindow):
    """Shows a document, opens files for it and keeps the settings at ``settings_path``.

    ``settings`` are those that count already, where they need not be read from there.
    """

    def __init__(
        self,
        document: Document,
        theme: Theme,
        settings_path: Path,
        settings: Settings | None = None,
    ) -> None:
        super().__init__()
        self.document = document
        self._theme = theme
        self.kept = KeptSettings(settings_path, self._state, settings)
        document.set_units(self.settings.units)
        document.set_margins(self.settings.margins)
        theme.set_mode(ThemeMode(self.settings.theme))
        self._was_painted = False
        self.anew: View | None = None  # closed for another one that shall show this
        self._opening: Path | FileLink | None = None
        self._link: FileLink | None = None  # of the open model, where it lies elsewhere
        self._missing: frozenset[Path] = frozenset()
        self._failures: tuple[Problem, ...] = ()
        self._notes: tuple[Problem, ...] = ()  # about the program itself
        self.remembered = Remembered(document, lambda: self.settings)
        self.opener = Runner("open", self)
        self.computer = ThisComputer(document, settings_path.with_name("facts.json"), self)
        history = settings_path.with_name("checks.jsonl")
        self.engine_check = EngineCheck(document, history, self.settings.engine_folder, self)
        self.measuring = Measuring(
            document,
            settings_path.with_name("runs.sqlite"),
            lambda: self.settings.engine_folder,
            lambda text: self.engine_check.open().take_text(text, "llama-server"),
            self,
        )
        self.finding = Finding(document, self)
        self.file_watch = FileWatch(document, self)
        self.setObjectName("window")
        self.commands = Actions(self, document.undo_stack)
        helping.InDialogs(self)
        FocusRings(self)
        self._specimens = resources.specimens()
        self._build()
        self._connect()
        self._restore()
        self._show_model()
        self._show_recent()
        self.welcome.set_specimens(self._specimens)
        self.commands.set_specimens(self._specimens)
        # A file may be dropped anywhere, on text fields too.
        for child in self.findChildren(QWidget):
            child.setAcceptDrops(False)
        self.setAcceptDrops(True)
        self.welcome.setFocus()

    @property
    def settings(self) -> Settings:
        """What counts now."""
        return self.kept.now

    # Opening.

    def open_files(self, names: Sequence[str]) -> None:
        """Open the first of these files; one window shows one model."""
        if is_link(names[0]):
            self.finding.open_text(names[0])
        else:
            self.open_path(names[0])
        if len(names) > 1:
            self.say(
                tr(
                    "Opened the first of {count} files; one window shows one model.",
                    count=len(names),
                )
            )

    def open_path(self, name: str | Path) -> None:
        """Read this file off the GUI thread; what is shown stays until it has been read."""
        path = Path(name).absolute()
        self._begin(path, display(path.name), opening.opening(path))

    def open_link(self, link: FileLink) -> None:
        """Read the header of a file on a server; nothing of it is kept on this computer."""
        from gui.workers import links

        name = display(link.url.partition("?")[0].rpartition("/")[2])
        self._begin(link, name, links.opening_link(link))

    def _begin(self, place: Path | FileLink, name: str, read: Function) -> None:
        self._opening = place
        self._fail()
        self.loading.begin(name)
        self.opener.start(read)
        if self.document.model is None:
            self.pages.setCurrentWidget(self._blank)

    def ask_for_file(self) -> None:
        """Let the user pick a file."""
        name, _ = QFileDialog.getOpenFileName(
            self,
            tr("Open a model"),
            self.settings.last_folder,
            tr("GGUF models (*.gguf);;All files (*)"),
        )
        if name:
            self.open_path(name)

    def reload(self) -> None:
        """Read the open file again."""
        model = self.document.model
        if model is None:
            return
        if self._link is not None and not model.file.local:
            self.open_link(self._link)
        else:
            self.open_path(model.file.header.path)

    def show_earlier_crash(self) -> None:
        """Say that the program fell over the last time, and offer its log."""
        self._notes = (helping.EARLIER_CRASH,)
        self._show_problems()

    def offer_first_steps(self) -> None:
        """Show them on the welcome page until somebody has had enough of them."""
        self.welcome.tips.setVisible(self.settings.tips)

    def show_failure(self, sentence: str) -> None:
        """Say that the program itself failed."""
        advice = tr("The file can be opened again. A report of this error needs the log.")
        self._fail(*self._failures, Problem("internal", sentence, advice=advice))

    def _opened(self, model: Model) -> None:
        place, self._opening = self._opening, None
        header = model.file.header
        if not (header.entries or model.file.tensors):
            self._fail(*with_what_stays(model.file.problems, self.document.model))
            self._show_page()
            return
        self._link = place if isinstance(place, FileLink) else None
        if isinstance(place, Path) and place not in self._specimens:
            self.kept.save(self.settings.with_recent(str(place)))
            self._show_recent()
        self.kept.keep(choices=self.remembered.choices())
        choice = self.remembered.choice_for(model)
        self.document.set_model(model, choice)
        self.page_bar.show_named(self.remembered.last_page())
        if choice is not None:
            self.say(tr("As you left this model the last time. Reset (Ctrl+0) takes it back."))

    def close_model(self) -> None:
        """Back to the welcome page, without what was said beside the model."""
        self._failures = ()
        self.kept.save()
        self.document.set_model(None)

    def _show_progress(self, count: int) -> None:
        size = format_bytes(count, self.document.units)
        self.loading.set_progress(tr("{size} of its header", size=size))

    def _reading_ended(self) -> None:
        self._opening = None
        self.loading.end()
        self.commands.cancel.setEnabled(False)
        self._show_page()

    def copy_report(self, form: TextFormat) -> None:
        """Put the plan on the clipboard."""
        plan = self.document.plan
        if plan is not None:
            text = clipboard.report_as(form, plan, self.document.units)
            QGuiApplication.clipboard().setText(text)
            self.say(tr("The report is on the clipboard, as {form}.", form=form.value))

    def save_report(self) -> None:
        """Save the plan as a web page."""
        if self.document.plan is not None:
            told = taking_away.ask_for_report(self, self.document.plan, self.document.units)
            if told:
                self.say(told)

    def picture_title(self) -> str:
        """What every picture of this window is of."""
        return plan_title(self.document.plan)

    # What is shown.

    def _show_model(self) -> None:
        model = self.document.model
        self.file_watch.forget()
        self.setWindowTitle(window_title(model) if model else "")
        for action in self.commands.with_model:
            action.setEnabled(model is not None)
        self.commands.measure_disk.setEnabled(model is not None and model.file.local)
        self._show_page()
        self._show_problems()

    def _show_page(self) -> None:
        """Bring the right page to the front; the keyboard begins where one begins to read."""
        page: QWidget
        if self.document.model is not None:
            page = self.page
        elif self._opening is None:
            page = self.welcome
        else:
            return
        self.page_bar.setVisible(page is self.page and self.page_bar.count() > 1)
        if page is not self.pages.currentWidget():
            self.pages.setCurrentWidget(page)
            page.setFocus()

    def _fail(self, *problems: Problem) -> None:
        self._failures = problems
        self._show_problems()

    def _show_problems(self) -> None:
        model = self.document.model
        found = (*model.file.problems, *model.problems) if model else ()
        serious = [p for p in found if p.severity is not Severity.NOTE]
        self.problems.set_problems(
            [*self._notes, *self._failures, *self.file_watch.problems, *serious]
        )

    def _act_on(self, problem: Problem) -> None:
        """The button of a banner."""
        (self.reload if problem.code == "file-changed" else self.commands.open_log.trigger)()

    def _recent(self) -> list[Path]:
        return [Path(name) for name in self.settings.recent_files]

    def _show_recent(self) -> None:
        paths = self._recent()
        self.welcome.set_recent(paths, self._missing)
        self.commands.set_recent(paths, self._missing)

    def _show_missing(self, missing: frozenset[Path]) -> None:
        self._missing = missing
        self._show_recent()

    def say(self, sentence: str) -> None:
        """A sentence beside the pages; "" when it is over. What is done is said for a while; what
        goes on ("Measuring…") until it is over."""
        self.message.setText(sentence)
        if sentence and not sentence.endswith("…"):
            self._said.start(_SAID_MS)
        else:
            self._said.stop()

    def _show_measuring(self, measuring: bool) -> None:
        self.page.plan.set_measuring(measuring)
        self.welcome.computer.set_measuring(measuring)
        self.commands.measure.setEnabled(not measuring)

    def _keep_link(self, text: str) -> None:
        self.kept.save(self.settings.with_link(text))
        self.finding.links = self.settings.links

    def measure_disk(self) -> None:
        """Time the disk that the open model lies on."""
        model = self.document.model
        if model is not None:
            self.computer.measure_disk(model.file.header.path)

    # Choices of the window.

    def choose_units(self, units: UnitSystem) -> None:
        """Show sizes in these units, now and next time."""
        self.kept.keep(units=units)
        self.document.set_units(units)
        self.show_ticks()

    def choose_theme(self, mode: ThemeMode) -> None:
        """Use this theme, now and next time."""
        self.kept.keep(theme=mode.value)
        self._theme.set_mode(mode)
        self.show_ticks()

    def shown(self) -> View:
        """What another window needs to show the same."""
        model, choice = self.document.model, self.document.choice
        at = self.page_bar.currentIndex(), self.page.tabs.currentIndex()
        if self._opening is not None or model is None:
            return View(self._opening, *at)
        beside = ((kind, getattr(choice, kind.value)) for kind in Beside)
        files = tuple((kind, found.file.header.path) for kind, found in beside if found is not None)
        return View(self._link or model.file.header.path, *at, files)

    def show_ticks(self) -> None:
        """Tick what was chosen in the menus."""
        units, mode = self.document.units, self._theme.mode
        self.commands.units.show_value(units, units.value)
        self.commands.theme.show_value(mode, tr(THEME_WORDS[mode]))
        self.commands.language.set_value(self.settings.language)
        self.commands.numbers.set_value(self.settings.numbers)

    def _state(self) -> dict[str, Any]:
        """What the settings keep of the window itself, and of what was chosen in it."""
        return {
            "choices": self.remembered.choices(),
            "machine": self.remembered.machine(),
            "page": self.remembered.page(self.page_bar.name),
            "geometry": self.saveGeometry().toBase64().toStdString(),
            "splitter": self.page.splitter_state(),
        }

    # What Qt asks.

    def paintEvent(self, event: QPaintEvent) -> None:
        """The first paint is what everything slow waits for."""
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(0, self._begin_looking)

    def _begin_looking(self) -> None:
        self.remembered.restore_machine()
        self._first_looks.begin(self.opener)

    def focusNextPrevChild(self, next: bool) -> bool:
        """The Tab key goes on as one reads."""
        return move_focus(self, forward=next)

    def changeEvent(self, event: QEvent) -> None:
        """Whoever comes back to the window may have changed the file in the meantime."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange and self.isActiveWindow():
            self.file_watch.look()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Words that the glossary knows explain themselves, wherever they stand."""
        helping.explain_at(self, event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the settings and end the threads."""
        self.kept.save()
        self.hide()
        self.measuring.end()
        self.finding.end()
        runners = self.findChildren(Runner)
        for runner in runners:
            runner.cancel()
        for runner in runners:
            runner.end()
        super().closeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files may be dropped."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
            self._drop_hint.cover()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """The file went away again."""
        self._drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped, or say why not."""
        self._drop_hint.hide()
        event.acceptProposedAction()
        names = dropped_files(event.mimeData())
        if names and self.document.model is not None and names[0].lower().endswith(LOG_NAMES):
            self.engine_check.open_log(Path(names[0]))
        elif names and self.document.model is not None and is_projector(Path(names[0]).name):
            self.attaching.attach(Beside.PROJECTOR, Path(names[0]))
        elif names:
            self.open_files(names)
        elif link := dropped_link(event.mimeData()):
            self.finding.open_text(link)
        else:
            self._fail(NOT_LOCAL)

    # How it is put together.

    def _build(self) -> None:
        self.problems = ProblemArea(
            {
                "file-changed": tr("Reload"),
                "crashed": tr("Open log"),
                "internal": tr("Open log"),
            }
        )
        self.loading = LoadingStrip()
        self.welcome = WelcomePanel(self.document)
        self.page = ModelPage(self.document)
        self._blank = QWidget()
        self.pages = QStackedWidget()
        for page in (self.welcome, self.page, self._blank):
            self.pages.addWidget(page)
        middle = QWidget()
        column = QVBoxLayout(middle)
        space = self.fontMetrics().averageCharWidth()
        column.setContentsMargins(space, space, space, 0)
        column.addWidget(self.problems)
        column.addWidget(self.loading)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(middle)
        self._first_looks = FirstLooks(
            self.computer, self.welcome, self.pages, self._specimens, self._recent, self
        )
        self._drop_hint = DropHint(self)
        self.page_bar = PageBar(self.page.views)
        pages.add_pages(self)
        self.message = ElidedText(sentence=True)
        self._said = QTimer(self)
        self._said.setSingleShot(True)
        self._said.timeout.connect(lambda: self.say(""))
        # Beside the pages; what a status bar shows by itself would hide them.
        self.statusBar().addPermanentWidget(self.page_bar)
        self.statusBar().addPermanentWidget(self.message, 1)
        for switch in (self.commands.units, self.commands.theme):
            self.statusBar().addPermanentWidget(switch.button)
        self.show_ticks()

    def _connect(self) -> None:
        self.attaching = Attaching(self.document, self.page.plan.what_if.beside, self)
        self.attaching.refused.connect(lambda problems: self._fail(*problems))
        self.attaching.said.connect(self.say)
        connect_actions(self)
        a = self.commands
        a.file_chosen.connect(self.open_path)
        a.units_chosen.connect(self.choose_units)
        a.theme_chosen.connect(self.choose_theme)
        self.finding.links = self.settings.links
        self.finding.folders = self.settings.model_folders
        self.finding.file_chosen.connect(self.open_path)
        self.finding.folders_changed.connect(lambda own: self.kept.save(model_folders=own))
        self.finding.link_chosen.connect(self.open_link)
        self.finding.link_typed.connect(self._keep_link)
        self.finding.failed.connect(self._fail)
        self.welcome.open_asked.connect(self.ask_for_file)
        self.welcome.link_asked.connect(self.finding.ask_for_link)
        self.welcome.library_asked.connect(self.finding.show_library)
        self.welcome.chosen.connect(self.open_path)
        self.welcome.computer.measure_asked.connect(self.computer.measure)
        self.page.plan.measure_asked.connect(self.computer.measure)
        self.loading.cancelled.connect(self.opener.cancel)
        self.opener.started.connect(lambda: a.cancel.setEnabled(True))
        self.opener.progressed.connect(self._show_progress)
        self.opener.finished.connect(self._opened)
        self.opener.ended.connect(self._reading_ended)
        self.computer.said.connect(self.say)
        self.computer.rate_changed.connect(a.show_measured)
        self.computer.meter.started.connect(lambda: self._show_measuring(True))
        self.computer.meter.ended.connect(lambda: self._show_measuring(False))
        for chooser in (self.engine_check, self.measuring):
            chooser.folder_chosen.connect(lambda folder: self.kept.save(engine_folder=folder))
        self.measuring.runs_found.connect(self.computer.set_runs)
        self.measuring.measure_asked.connect(lambda: self.page_bar.open_named("Measure"))
        self._first_looks.missing_found.connect(self._show_missing)
        self.file_watch.differs.connect(self._show_problems)
        self.problems.stack.acted.connect(self._act_on)
        self.welcome.tips.dismissed.connect(lambda: self.kept.save(tips=False))
        self.document.model_changed.connect(self._show_model)
        self.document.margins_changed.connect(
            lambda: self.kept.save(margins=dict(self.document.margins))
        )
        a.cancel.setEnabled(False)

    def _restore(self) -> None:
        stored = QByteArray.fromBase64(self.settings.geometry.encode("ascii", "replace"))
        if not self.restoreGeometry(stored):
            screen = QGuiApplication.primaryScreen().availableSize()
            # The frame that a desktop puts around it has to fit as well.
            frame = self.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
            self.resize(min(_SIZE[0], screen.width()), min(_SIZE[1], screen.height() - frame))
        self.page.restore_splitter(self.settings.splitter)
