"""Every model on this computer: what it is, how large, whether it fits and how fast at most."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QEvent, QFileSystemWatcher, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display, excerpt
from core.language import mark, tr, trn
from core.library import Entry, Folder, known_folders, with_own
from core.machine.machine import Machine, bare_name
from core.problems import Problem
from gui.document import Document
from gui.panels.library.lines import line_of, summary_of, words_of
from gui.panels.problem_area import ProblemArea
from gui.tables.filter_edit import FilterEdit
from gui.tables.model_rows import ModelLine, ModelSheet
from gui.tables.view import SheetView
from gui.widgets.dialog_size import open_at
from gui.widgets.elided_text import ElidedText
from gui.widgets.live_text import LiveText
from gui.widgets.menu_button import MenuButton
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap
from gui.workers import library
from gui.workers.feed import Feed

_SIZE = (150, 38)  # letters and lines
_COLUMNS = frozenset(
    (
        *("name", "where", "label", "verdict", "bits_per_weight", "bytes", "parameters"),
        *("context_length", "ceiling_tok_s"),
    )
)
_ALL_COLUMNS = 125  # letters; a narrower window has not all of them
_LEFT_OUT = frozenset(("where", "bits_per_weight", "parameters"))
_EMPTY = mark(
    "No model was found. Add the folder in which yours lie, or open a link to look at one "
    "before it is downloaded."
)
_WATCHED = 256  # folders; each costs the system a handle
# After a change one waits until it is over; whoever comes back sees what changed meanwhile.
_REST_MS = 1500
_FRESH_SECONDS = 5.0


class LibraryDialog(QDialog):
    """``open_asked`` carries the file of the row that shall be opened, ``folders_changed`` the
    folders that the user named."""

    open_asked = Signal(Path)
    folders_changed = Signal(tuple)

    def __init__(
        self,
        document: Document,
        own: Sequence[str],
        parent: QWidget | None = None,
        known: Sequence[Folder] | None = None,
    ) -> None:
        super().__init__(parent)
        # Desktops keep a dialog above its window, which shows what is opened here.
        self.setWindowFlags(Qt.WindowType.Window)
        self._document = document
        self._own = tuple(own)
        self._known = tuple(known) if known is not None else known_folders()
        self._machine: Machine | None = None  # for which the entries were judged
        self._entries: dict[Path, Entry] = {}
        self._lines: dict[Path, ModelLine] = {}
        self._found: set[Path] = set()  # by the search that runs
        self._shown: list[Entry] = []
        self._faults: list[Problem] = []
        self._searched = 0.0
        self.feed = Feed("library", self)
        self.watcher = QFileSystemWatcher(self)
        self.sheet = ModelSheet(_COLUMNS, self)
        self.table = SheetView(self.sheet, "model")
        self.filter = FilterEdit(tr("Filter by name, quantization, folder, “fits”…"))
        self.helpers = QCheckBox(tr("&Helper files"))
        self.problems = ProblemArea({})
        self.status = LiveText(Style.MUTED, wrap=True)
        self.detail = ElidedText(style=Style.MUTED)
        self.open_button = QPushButton(tr("&Open"))
        self.again_button = QPushButton(tr("&Search again"))
        self.stop_button = QPushButton(tr("S&top"))
        self.folders_button = MenuButton(
            tr("Folders"), tr("Folders that are searched"), self._fill_folders
        )
        self.close_button = QPushButton(tr("Close"))
        self._rest = QTimer(self)
        self._build()
        self._connect()
        self._show(anew=True)
        self.sheet.sort(0)

    # What the user does.

    def search(self) -> None:
        """Look through the folders; what has not changed is not read again."""
        machine = self._document.this_computer
        known = self._entries if machine == self._machine else {}
        self._machine = machine
        self._found = set()
        self._faults = []
        self._searched = monotonic()
        self._rest.stop()
        self.feed.pull(library.searching(self.folders, machine, dict(known)))
        self._show()

    def stop(self) -> None:
        """Search no further; what was found stays."""
        self.feed.cancel()
        self._show()

    def open_chosen(self) -> None:
        """Open the model of the row under the cursor."""
        entry = self._current()
        if entry is not None:
            self.open_asked.emit(entry.path)

    def add_folder(self, path: Path) -> None:
        """Search this folder as well, now and next time."""
        name = str(path.absolute())
        if name not in self._own:
            self._set_own((*self._own, name))

    def remove_folder(self, name: str) -> None:
        """Search it no more."""
        self._set_own(tuple(each for each in self._own if each != name))

    @property
    def folders(self) -> tuple[Folder, ...]:
        """What is searched, the user's folders first."""
        return with_own(self._known, self._own)

    def _set_own(self, own: tuple[str, ...]) -> None:
        self._own = own
        self.folders_changed.emit(own)
        self.search()

    # What comes.

    def _came(self, items: list[Entry | Problem]) -> None:
        for item in items:
            if isinstance(item, Problem):
                self._faults.append(item)
            else:
                self._found.add(item.path)
                self._put(item)
        self._show()

    def _put(self, entry: Entry) -> None:
        if self._entries.get(entry.path) != entry:
            self._entries[entry.path] = entry
            self._lines[entry.path] = line_of(entry)

    def _finished(self) -> None:
        """What was not found any more has gone."""
        for path in set(self._entries) - self._found:
            del self._entries[path], self._lines[path]
        self._searched = monotonic()
        self._watch()

    def _watch(self) -> None:
        """The folders that have just answered: asking about one that hangs would hang, too."""
        wanted = {str(path.parent) for path in self._entries}
        watched = set(self.watcher.directories())
        if gone := list(watched - wanted):
            self.watcher.removePaths(gone)
        if new := sorted(wanted - watched)[: max(_WATCHED - len(watched & wanted), 0)]:
            self.watcher.addPaths(new)

    def _changed(self) -> None:
        if self.isVisible():
            self._rest.start()

    def _come_back(self) -> None:
        if not self.feed.running and monotonic() - self._searched > _FRESH_SECONDS:
            self.search()

    def _other_machine(self) -> None:
        """Detection has answered, or answered otherwise."""
        if self.isVisible() and self._document.this_computer != self._machine:
            self.search()

    # What is shown.

    def _show(self, *, anew: bool = False) -> None:
        running = self.feed.running
        entries = list(self._entries.values())
        models = [entry for entry in entries if not entry.helper]
        self._shown = entries if self.helpers.isChecked() else models
        lines = [self._lines[entry.path] for entry in self._shown]
        self.sheet.show(lines, self._document.units, anew=anew)
        self._fit_columns()
        self._count()
        self.problems.set_problems(self._faults)
        self.again_button.setVisible(not running)
        self.stop_button.setVisible(running)
        self._show_row()

    def _count(self) -> None:
        """How many there are, how many of them the filter shows, and why there is no row."""
        running, shown = self.feed.running, self.sheet.rows
        models = [entry for entry in self._entries.values() if not entry.helper]
        words = summary_of(models, len(self._entries) - len(models), self._document.units)
        if len(shown) != self.sheet.total:
            part = trn("{count:,} shown", "{count:,} shown", len(shown))
            words = f"{words} · {part}"
        self.status.set_text(tr("Searching… {words}", words=words) if running else words)
        self.table.set_placeholder(
            tr("Searching…") if running else tr(_EMPTY),
            tr(
                "No model has “{words}” in its name, quantization, folder or verdict. "
                "Esc in the filter shows all.",
                words=excerpt(self.filter.text()),
            ),
        )

    def _show_row(self) -> None:
        entry = self._current()
        self.open_button.setEnabled(entry is not None)
        self.detail.set_text(words_of(entry) if entry is not None else "")

    def _current(self) -> Entry | None:
        row = self.table.current_row()
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def _show_machine(self) -> None:
        machine = self._document.this_computer
        name = tr("this computer")
        if machine is not None and bare_name(machine.name) != machine.name:
            name = tr("this computer ({name})", name=display(bare_name(machine.name)))
        self.machine.set_text(
            tr("Fits and ceiling: on {machine}, with the default settings", machine=name)
        )

    # What Qt asks.

    def showEvent(self, event: QShowEvent) -> None:
        """Search when somebody looks, and not before: a disk may sleep."""
        super().showEvent(event)
        self.windowHandle().setTransientParent(None)  # type: ignore[arg-type]  # Qt's own nullptr
        self._show_machine()
        self._come_back()
        self.filter.setFocus()

    def changeEvent(self, event: QEvent) -> None:
        """Whoever comes back may have loaded or deleted something."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange and self.isActiveWindow():
            self._come_back()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow table leaves out what the line below it, or the plan, tells."""
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        narrow = self.width() < _ALL_COLUMNS * self.fontMetrics().averageCharWidth()
        hidden = _LEFT_OUT if narrow else frozenset()
        names = [column.name for column in self.sheet.columns]
        self.table.show_columns(frozenset(n for n, name in enumerate(names) if name in hidden))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape stops a search first; F5 begins one."""
        if event.key() == Qt.Key.Key_Escape and self.feed.running:
            self.stop()
        elif event.key() == Qt.Key.Key_F5:
            self.search()
        else:
            super().keyPressEvent(event)

    def done(self, result: int) -> None:
        """Out of sight nothing is searched."""
        self.feed.cancel()
        super().done(result)

    def closeEvent(self, event: QCloseEvent) -> None:
        """The same by the window's own button."""
        self.feed.cancel()
        super().closeEvent(event)

    # How it is put together.

    def _fill_folders(self, menu: QMenu) -> None:
        add = menu.addAction(tr("&Add a folder…"))
        add.triggered.connect(self._ask_for_folder)
        menu.addSection(tr("Yours"))
        for name in self._own:
            text = display(name).replace("&", "&&")
            action = menu.addAction(tr("Remove {folder}", folder=text))
            action.triggered.connect(lambda _=False, n=name: self.remove_folder(n))
        menu.addSection(tr("Of other programs"))
        for folder in self._known:
            text = display(str(folder.path)).replace("&", "&&")
            menu.addAction(f"{folder.title}: {text}").setEnabled(False)

    def _ask_for_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, tr("Search a folder for models"))
        if name:
            self.add_folder(Path(name))

    def _build(self) -> None:
        self.setWindowTitle(tr("Models on this computer"))
        self.machine = LiveText(Style.MUTED, wrap=True)
        self.table.setAccessibleName(tr("Models on this computer"))
        self.helpers.setToolTip(tr("Projectors, adapters, importance matrices: they serve a model"))
        self.open_button.setToolTip(tr("Plan with it (Enter)"))
        self.again_button.setToolTip(tr("Look for models again (F5)"))
        self.stop_button.setToolTip(tr("Keep what was found (Esc)"))
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        line = QHBoxLayout()
        line.addWidget(self.filter, 1)
        line.addWidget(self.helpers)
        foot = Wrap(last_right=True)
        foot.set_cells(
            [
                self.open_button,
                self.again_button,
                self.stop_button,
                self.folders_button,
                self.close_button,
            ]
        )
        column = QVBoxLayout(self)
        column.addWidget(Text(tr("Models on this computer"), Style.HEADLINE))
        column.addWidget(self.machine)
        column.addWidget(self.problems)
        column.addLayout(line)
        column.addWidget(self.table, 1)
        column.addWidget(self.detail)
        column.addWidget(self.status)
        column.addWidget(foot)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        open_at(self, *_SIZE)

    def _connect(self) -> None:
        document = self._document
        self.feed.came.connect(self._came)
        self.feed.finished.connect(self._finished)
        self.feed.ended.connect(self._show)
        self.watcher.directoryChanged.connect(self._changed)
        self._rest.timeout.connect(self.search)
        self.filter.textChanged.connect(self.sheet.set_filter)
        self.filter.textChanged.connect(self._count)
        self.filter.left.connect(self.table.enter)
        self.table.typed.connect(self.filter.take)
        self.table.opened.connect(self.open_chosen)
        self.table.row_changed.connect(lambda _: self._show_row())
        self.helpers.toggled.connect(lambda _: self._show(anew=True))
        self.helpers.toggled.connect(lambda _: self.sheet.sort(0))
        self.open_button.clicked.connect(self.open_chosen)
        self.again_button.clicked.connect(self.search)
        self.stop_button.clicked.connect(self.stop)
        self.close_button.clicked.connect(self.close)
        document.units_changed.connect(self._show)
        document.machine_changed.connect(self._show_machine)
        document.machine_changed.connect(self._other_machine)
