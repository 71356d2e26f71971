"""The main window itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QPaintEvent,
)
from PySide6.QtWidgets import QFileDialog, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

import resources
from core.gguf import display
from core.gguf.names import is_projector
from core.model.model import Model
from core.problems import Problem, Severity
from core.remote import FileLink, is_link
from core.tabular import TextFormat
from core.units import UnitSystem, format_bytes
from gui import settings as settings_file
from gui.document import Document
from gui.main_window import about, clipboard, machine_report, pages
from gui.main_window.actions import THEME_WORDS, Actions
from gui.main_window.attaching import Attaching
from gui.main_window.drops import NOT_LOCAL, DropHint, dropped_files, dropped_link
from gui.main_window.engine_check import LOG_NAMES, EngineCheck
from gui.main_window.file_watch import FileWatch
from gui.main_window.finding import Finding
from gui.main_window.measuring import Measuring
from gui.main_window.page_bar import PageBar
from gui.main_window.this_computer import ThisComputer
from gui.panels.header_line import window_title
from gui.panels.loading_strip import LoadingStrip
from gui.panels.model_page import ModelPage
from gui.panels.plan.beside import Beside
from gui.panels.problem_area import ProblemArea, with_what_stays
from gui.panels.welcome import WelcomePanel
from gui.theme import Theme, ThemeMode
from gui.widgets.elided_text import ElidedText
from gui.widgets.reading_order import move_focus
from gui.workers import opening
from gui.workers.runner import Function, Runner

# The window without a stored geometry, in logical pixels.
_SIZE = (1280, 800)
# A timer's turn comes after everything that waits to be painted.
_AFTER_PAINT_MS = 1


class MainWindow(QMainWindow):
    """Shows a document, opens files for it and keeps the settings at ``settings_path``."""

    def __init__(self, document: Document, theme: Theme, settings_path: Path) -> None:
        super().__init__()
        self.document = document
        self._theme = theme
        self._settings_path = settings_path
        self.settings = self._stored = settings_file.load(settings_path)
        document.set_units(self.settings.units)
        document.set_margins(self.settings.margins)
        theme.set_mode(ThemeMode(self.settings.theme))
        self._was_painted = False
        self._described = False
        self._opening: Path | FileLink | None = None
        self._link: FileLink | None = None  # of the open model, where it lies elsewhere
        self._missing: frozenset[Path] = frozenset()
        self._failures: tuple[Problem, ...] = ()
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
        self._looker = Runner("recent files", self)
        self.file_watch = FileWatch(document, self)
        self._summariser = Runner("specimens", self)
        self.setObjectName("window")
        self.commands = Actions(self, document.undo_stack)
        self._build()
        self._connect()
        self._restore()
        self._show_model()
        self._show_recent()
        self._specimens = resources.specimens()
        self.welcome.set_specimens(self._specimens)
        self.commands.set_specimens(self._specimens)
        # A file may be dropped anywhere, on text fields too.
        for child in self.findChildren(QWidget):
            child.setAcceptDrops(False)
        self.setAcceptDrops(True)
        self.welcome.setFocus()

    # Opening.

    def open_files(self, names: Sequence[str]) -> None:
        """Open the first of these files; one window shows one model."""
        if is_link(names[0]):
            self.finding.open_text(names[0])
        else:
            self.open_path(names[0])
        if len(names) > 1:
            self._say(f"Opened the first of {len(names)} files; one window shows one model.")

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
            "Open a model",
            self.settings.last_folder,
            "GGUF models (*.gguf);;All files (*)",
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

    def show_failure(self, sentence: str) -> None:
        """Say that the program itself failed."""
        advice = "The file can be opened again. A report of this error needs the log."
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
            self.settings = self.settings.with_recent(str(place))
            self._save()
            self._show_recent()
        self.document.set_model(model)

    def close_model(self) -> None:
        """Back to the welcome page, without what was said beside the model."""
        self._failures = ()
        self.document.set_model(None)

    def _show_progress(self, count: int) -> None:
        self.loading.set_progress(f"{format_bytes(count, self.document.units)} of its header")

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
            self._say(f"The report is on the clipboard, as {form.value}.")

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
        self.problems.set_problems([*self._failures, *self.file_watch.problems, *serious])

    def _show_recent(self) -> None:
        paths = [Path(name) for name in self.settings.recent_files]
        self.welcome.set_recent(paths, self._missing)
        self.commands.set_recent(paths, self._missing)

    def _show_missing(self, missing: frozenset[Path]) -> None:
        self._missing = missing
        self._show_recent()

    def _say(self, sentence: str) -> None:
        self.message.setText(sentence)

    def _show_measuring(self, measuring: bool) -> None:
        self.page.plan.set_measuring(measuring)
        self.welcome.computer.set_measuring(measuring)
        self.commands.measure.setEnabled(not measuring)

    def _keep_session(self, text: str) -> None:
        """Written with everything else at the end: a slider changes it many times a second."""
        self.settings = replace(self.settings, session=text)

    def _keep_link(self, text: str) -> None:
        self.settings = self.settings.with_link(text)
        self.finding.links = self.settings.links
        self._save()

    def _measure_disk(self) -> None:
        model = self.document.model
        if model is not None:
            self.computer.measure_disk(model.file.header.path)

    def _keep_engine_folder(self, folder: str) -> None:
        self.settings = replace(self.settings, engine_folder=folder)
        self._save()

    def _keep_margins(self) -> None:
        self.settings = replace(self.settings, margins=dict(self.document.margins))
        self._save()

    def _show_own_machines(self) -> None:
        dialog = pages.own_machines(self.document, self)
        dialog.changed.connect(self.page.plan.machine.show_machine)

    def _make_compare(self) -> QWidget:
        page = pages.compare(self.document, self.settings.comparison)
        page.stored_changed.connect(self._keep_comparison)
        page.open_asked.connect(self.open_path)
        page.said.connect(self._say)
        return page

    def _keep_comparison(self, stored: settings_file.StoredComparison) -> None:
        self.settings = replace(self.settings, comparison=stored)
        self._save()

    # Choices of the window.

    def choose_units(self, units: UnitSystem) -> None:
        """Show sizes in these units, now and next time."""
        self.settings = replace(self.settings, units=units)
        self.document.set_units(units)
        self._tick()

    def choose_theme(self, mode: ThemeMode) -> None:
        """Use this theme, now and next time."""
        self.settings = replace(self.settings, theme=mode.value)
        self._theme.set_mode(mode)
        self._tick()

    def _tick(self) -> None:
        units, mode = self.document.units, self._theme.mode
        self.commands.units.set_value(units, units.value)
        self.commands.theme.set_value(mode, THEME_WORDS[mode])

    def _save(self) -> None:
        self.settings = replace(
            self.settings,
            geometry=self.saveGeometry().toBase64().toStdString(),
            splitter=self.page.splitter_state(),
        )
        try:
            self._stored = settings_file.save_changes(
                self._settings_path, self._stored, self.settings
            )
            self.settings = self._stored
        except OSError as error:
            logging.warning("settings could not be saved: %s", error)

    # What Qt asks.

    def paintEvent(self, event: QPaintEvent) -> None:
        """The first paint is what everything slow waits for."""
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(0, self._after_first_paint)

    def focusNextPrevChild(self, next: bool) -> bool:
        """The Tab key goes on as one reads."""
        return move_focus(self, forward=next)

    def changeEvent(self, event: QEvent) -> None:
        """Whoever comes back to the window may have changed the file in the meantime."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange and self.isActiveWindow():
            self.file_watch.look()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the settings and end the threads."""
        self._save()
        self.hide()
        self.measuring.end()
        runners = self.findChildren(Runner)
        for runner in runners:
            runner.cancel()
        for runner in runners:
            runner.stop()
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
        self.problems = ProblemArea({"file-changed": "Reload"})
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
        self._drop_hint = DropHint(self)
        self.page_bar = PageBar(self.page.views)
        self.page_bar.add_page("Compare", self._make_compare)
        self.page_bar.add_page(
            "Session",
            lambda: pages.session(self.document, self.settings.session, self._keep_session),
        )
        self.page_bar.add_page("Measure", self.measuring.measure_page)
        self.page_bar.add_page("History", self.measuring.history_page)
        self.page_bar.add_page("Explain", lambda: pages.explain(self.document))
        self.message = ElidedText()
        # Beside the pages; what a status bar shows by itself would hide them.
        self.statusBar().addPermanentWidget(self.page_bar)
        self.statusBar().addPermanentWidget(self.message, 1)
        for switch in (self.commands.units, self.commands.theme):
            self.statusBar().addPermanentWidget(switch.button)
        self._tick()

    def _connect(self) -> None:
        self.attaching = Attaching(self.document, self.page.plan.what_if.beside, self)
        self.attaching.refused.connect(lambda problems: self._fail(*problems))
        self.attaching.said.connect(self._say)
        a = self.commands
        for action, slot in (
            (a.open, self.ask_for_file),
            (a.open_link, self.finding.ask_for_link),
            (a.cancel, self.opener.cancel),
            (a.reload, self.reload),
            (a.close_model, self.close_model),
            (a.double_click, lambda: pages.double_click(self)),
            (a.quit, self.close),
            (a.reset, self.document.reset),
            (a.copy_markdown, lambda: self.copy_report(TextFormat.MARKDOWN)),
            (a.copy_json, lambda: self.copy_report(TextFormat.JSON)),
            (a.passes, lambda: pages.passes(self.document, self).open_front()),
            (a.copy_command, lambda: pages.command(self.document, self).open_copy()),
            (a.paste_settings, lambda: pages.command(self.document, self).open_paste()),
            (a.filter, self.page.show_filter),
            (a.overview, lambda: self.page.show_panel(self.page.overview)),
            (a.tensors, lambda: self.page.show_panel(self.page.tensors)),
            (a.metadata, lambda: self.page.show_panel(self.page.metadata)),
            (a.plan, lambda: self.page.show_panel(self.page.plan)),
            (a.compare, lambda: self.page_bar.open_named("Compare")),
            (a.session, lambda: self.page_bar.open_named("Session")),
            (a.measure_run, lambda: self.page_bar.open_named("Measure")),
            (a.history, lambda: self.page_bar.open_named("History")),
            (a.explain, lambda: self.page_bar.open_named("Explain")),
            (a.detect, lambda: self.computer.detect(wake=True)),
            (a.measure, self.computer.measure),
            (a.use_measured, self.computer.use_measured),
            (a.own_machines, self._show_own_machines),
            (a.measure_disk, self._measure_disk),
            (a.save_machine, lambda: machine_report.save(self, self.document.machine, self._say)),
            (a.check_engine, self.engine_check.open),
            (a.shortcuts, lambda: about.show_keys(self, a.keys())),
            (a.about, lambda: about.show_about(self)),
        ):
            action.triggered.connect(slot)
        a.file_chosen.connect(self.open_path)
        a.units_chosen.connect(self.choose_units)
        a.theme_chosen.connect(self.choose_theme)
        self.finding.links = self.settings.links
        self.finding.link_chosen.connect(self.open_link)
        self.finding.link_typed.connect(self._keep_link)
        self.finding.failed.connect(self._fail)
        self.welcome.open_asked.connect(self.ask_for_file)
        self.welcome.link_asked.connect(self.finding.ask_for_link)
        self.welcome.chosen.connect(self.open_path)
        self.welcome.computer.measure_asked.connect(self.computer.measure)
        self.page.plan.measure_asked.connect(self.computer.measure)
        self.loading.cancelled.connect(self.opener.cancel)
        self.opener.started.connect(lambda: a.cancel.setEnabled(True))
        self.opener.progressed.connect(self._show_progress)
        self.opener.finished.connect(self._opened)
        self.opener.ended.connect(self._reading_ended)
        self.computer.said.connect(self._say)
        self.computer.rate_changed.connect(a.show_measured)
        self.computer.meter.started.connect(lambda: self._show_measuring(True))
        self.computer.meter.ended.connect(lambda: self._show_measuring(False))
        self.engine_check.folder_chosen.connect(self._keep_engine_folder)
        self.measuring.folder_chosen.connect(self._keep_engine_folder)
        self.measuring.runs_found.connect(self.computer.set_runs)
        self._looker.finished.connect(self._show_missing)
        self.file_watch.differs.connect(self._show_problems)
        self.problems.stack.acted.connect(self.reload)
        self._summariser.finished.connect(self.welcome.set_summaries)
        self.document.model_changed.connect(self._show_model)
        self.document.margins_changed.connect(self._keep_margins)
        a.cancel.setEnabled(False)

    def _restore(self) -> None:
        stored = QByteArray.fromBase64(self.settings.geometry.encode("ascii", "replace"))
        if not self.restoreGeometry(stored):
            screen = QGuiApplication.primaryScreen().availableSize()
            self.resize(min(_SIZE[0], screen.width()), min(_SIZE[1], screen.height()))
        self.page.restore_splitter(self.settings.splitter)

    def _after_first_paint(self) -> None:
        if self.opener.running:
            # The file is what the user waits for; more threads would only slow it down.
            self.opener.ended.connect(
                lambda: QTimer.singleShot(_AFTER_PAINT_MS, self, self._look_around),
                Qt.ConnectionType.SingleShotConnection,
            )
        else:
            self._look_around()
            # Whoever reads the welcome page does not notice; with a file the plot loads itself.
            QTimer.singleShot(0, lambda: import_module("gui.widgets.plot_canvas"))

    def _look_around(self) -> None:
        """This computer, and whether the recent files are still there."""
        self.computer.detect()
        self._looker.start(opening.missing([Path(p) for p in self.settings.recent_files]))
        self._describe_specimens()
        self.pages.currentChanged.connect(self._describe_specimens)

    def _describe_specimens(self) -> None:
        """Once, when the welcome page is in front and the window has been painted."""
        if self.pages.currentWidget() is self.welcome and not self._described:
            self._described = True
            self._summariser.start(opening.summarising(self._specimens))
