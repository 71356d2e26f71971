"""The main window itself."""

from __future__ import annotations

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
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QStyle, QVBoxLayout, QWidget

import resources
from gui.document import Document
from gui.main_window import drops, helping, pages, preferences
from gui.main_window.actions import Actions
from gui.main_window.anew import View
from gui.main_window.attaching import Attaching
from gui.main_window.engine_check import EngineCheck
from gui.main_window.file_watch import FileWatch
from gui.main_window.finding import Finding
from gui.main_window.first_looks import FirstLooks
from gui.main_window.kept_settings import KeptSettings
from gui.main_window.measuring import Measuring
from gui.main_window.opening import Opening
from gui.main_window.page_bar import PageBar
from gui.main_window.remembered import Remembered
from gui.main_window.this_computer import ThisComputer
from gui.main_window.window_problems import WindowProblems
from gui.main_window.wiring import connect_actions
from gui.panels.header_line import window_title
from gui.panels.model_page import ModelPage
from gui.panels.plan_title import plan_title
from gui.panels.welcome import WelcomePanel
from gui.settings import Settings
from gui.theme import Theme, ThemeMode
from gui.widgets.dropping import accept_copy
from gui.widgets.focus_ring import FocusRings
from gui.widgets.message_line import MessageLine
from gui.widgets.reading_order import move_focus
from gui.workers.runner import Runner

# The window without a stored geometry, in logical pixels.
_SIZE = (1280, 800)


class MainWindow(QMainWindow):
    """Shows a document. What else is kept of it lies beside the settings."""

    def __init__(self, document: Document, theme: Theme, kept: KeptSettings) -> None:
        super().__init__()
        self.document = document
        self.theme = theme
        self.kept = kept
        kept.state = self._state
        document.set_units(self.settings.units)
        document.set_margins(self.settings.margins)
        theme.set_mode(ThemeMode(self.settings.theme))
        self._was_painted = False
        self.anew: View | None = None  # closed for another one that shall show this
        self.remembered = Remembered(document, lambda: self.settings)
        self.finding = Finding(document, self.kept, self)
        self.opening = Opening(document, self.finding, self.kept, self.remembered, self)
        self.file_watch = FileWatch(document, self)
        self.computer = ThisComputer(document, kept.path.with_name("facts.json"), self)
        history = kept.path.with_name("checks.jsonl")
        self.engine_check = EngineCheck(document, history, self.settings.engine_folder, self)
        self.measuring = Measuring(
            document,
            kept.path.with_name("runs.sqlite"),
            lambda: self.settings.engine_folder,
            lambda text: self.engine_check.open().take_text(text, "llama-server"),
            self,
        )
        self.setObjectName("window")
        self.commands = Actions(self, document.undo_stack)
        helping.InDialogs(self)
        FocusRings(self)
        self._specimens = resources.specimens()
        self._build()
        self._connect()
        self._restore()
        self._show_model()
        self.opening.show_recent()
        self.welcome.set_specimens(self._specimens)
        self.commands.set_specimens(self._specimens)
        drops.leave_to_window(self)
        self.setAcceptDrops(True)
        self.welcome.setFocus()

    @property
    def settings(self) -> Settings:
        """What counts now."""
        return self.kept.now

    def offer_first_steps(self) -> None:
        """Show them on the welcome page until somebody has had enough of them."""
        self.welcome.tips.setVisible(self.settings.tips)

    def picture_title(self) -> str:
        """What every picture of this window is of."""
        return plan_title(self.document.plan)

    # What is shown.

    def _show_model(self) -> None:
        model = self.document.model
        self.setWindowTitle(window_title(model) if model else "")
        for action in self.commands.with_model:
            action.setEnabled(model is not None)
        self.commands.measure_disk.setEnabled(model is not None and model.file.local)
        self._show_page()

    def _show_page(self) -> None:
        """Bring the right page to the front; the keyboard begins where one begins to read."""
        page: QWidget = self.welcome
        if self.document.model is not None:
            page = self.page
        elif self.opening.reading is not None:
            page = self._blank
        self.page_bar.setVisible(page is self.page and self.page_bar.count() > 1)
        if page is not self.pages.currentWidget():
            self.pages.setCurrentWidget(page)
            if page is not self._blank:
                page.setFocus()

    def _show_last_page(self) -> None:
        self.page_bar.show_named(self.remembered.last_page())

    def _show_measuring(self, measuring: bool) -> None:
        self.page.plan.set_measuring(measuring)
        self.welcome.computer.set_measuring(measuring)
        self.commands.measure.setEnabled(not measuring)

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
        self._first_looks.begin()

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
            accept_copy(event)
            self._drop_hint.cover()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """The file went away again."""
        self._drop_hint.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped, or say why not."""
        self._drop_hint.hide()
        accept_copy(event)
        drops.take(self, event.mimeData())

    # How it is put together.

    def _build(self) -> None:
        self.problems = WindowProblems(self.document, self.file_watch)
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
        column.addWidget(self.opening.strip)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(middle)
        self._first_looks = FirstLooks(
            self.computer, self.opening, self.welcome, self.pages, self._specimens, self
        )
        self._drop_hint = drops.DropHint(self)
        self.page_bar = PageBar(self.page.views)
        pages.add_pages(self)
        self.message = MessageLine()
        # Beside the pages; what a status bar shows by itself would hide them.
        self.statusBar().addPermanentWidget(self.page_bar)
        self.statusBar().addPermanentWidget(self.message, 1)
        for switch in (self.commands.units, self.commands.theme):
            self.statusBar().addPermanentWidget(switch.button)
        preferences.show_ticks(self)

    def _connect(self) -> None:
        self.attaching = Attaching(self.document, self.page.plan.what_if.beside, self)
        connect_actions(self)
        a = self.commands
        for part in (self.opening, self.attaching, self.computer):
            part.said.connect(self.message.say)
        for refused in (self.opening.failed, self.finding.failed, self.attaching.refused):
            refused.connect(self.problems.show_failures)
        self.problems.reload_asked.connect(self.opening.reload)
        self.problems.log_asked.connect(a.open_log.trigger)
        self.opening.reading_changed.connect(a.cancel.setEnabled)
        self.opening.reading_changed.connect(self._show_page)
        self.opening.opened.connect(self._show_last_page)
        for shown in (self.welcome, a):
            self.opening.recent_changed.connect(shown.set_recent)
        self.welcome.open_asked.connect(self.opening.ask_for_file)
        self.welcome.link_asked.connect(self.finding.ask_for_link)
        self.welcome.library_asked.connect(self.finding.show_library)
        self.welcome.chosen.connect(self.opening.open)
        self.welcome.computer.measure_asked.connect(self.computer.measure)
        self.page.plan.measure_asked.connect(self.computer.measure)
        self.computer.rate_changed.connect(a.show_measured)
        self.computer.meter.started.connect(lambda: self._show_measuring(True))
        self.computer.meter.ended.connect(lambda: self._show_measuring(False))
        for chooser in (self.engine_check, self.measuring):
            chooser.folder_chosen.connect(lambda folder: self.kept.save(engine_folder=folder))
        self.measuring.runs_found.connect(self.computer.set_runs)
        self.measuring.measure_asked.connect(lambda: self.page_bar.open_named("Measure"))
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
