"""Everything the window can be told to do: menus, keys and the two switches of the status bar."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QUndoStack
from PySide6.QtWidgets import QMainWindow, QMenu, QToolButton

from core import language
from core.gguf import display
from core.language import mark, tr
from core.machine.facts import MeasuredRate
from core.units import UnitSystem, format_bandwidth
from gui.theme import ThemeMode
from gui.widgets.elided_text import plain_tip

T = TypeVar("T", bound=str)

UNIT_WORDS = {
    UnitSystem.GIB: mark("GiB (2³⁰ bytes)"),
    UnitSystem.GB: mark("GB (10⁹ bytes)"),
}
THEME_WORDS = {
    ThemeMode.SYSTEM: mark("System"),
    ThemeMode.LIGHT: mark("Light"),
    ThemeMode.DARK: mark("Dark"),
}


class Actions(QObject):
    """The window's actions, already in its menu bar. Whoever acts on them connects to them."""

    file_chosen = Signal(Path)
    units_chosen = Signal(UnitSystem)
    theme_chosen = Signal(ThemeMode)
    language_chosen = Signal(str)  # a code of `core.language.NAMES`; "" for the system's
    numbers_chosen = Signal(str)  # of `core.language.STYLES`; "" for the language's

    def __init__(self, window: QMainWindow, undo_stack: QUndoStack) -> None:
        super().__init__(window)
        self._window = window
        self.open = self._action(tr("&Open…"), "Ctrl+O")
        self.open_link = self._action(tr("Open a lin&k…"), "Ctrl+Shift+O")
        self.library = self._action(tr("&Models on this computer…"), "Ctrl+M")
        self.cancel = self._action(tr("Stop reading"), "Esc")
        self.reload = self._action(tr("Re&load file"), "Ctrl+R")
        self.close_model = self._action(tr("&Close model"), "Ctrl+W")
        self.double_click = self._action(tr("Open by &double-click…"))
        self.save_report = self._action(tr("Sa&ve report…"), "Ctrl+S")
        self.quit = self._action(tr("&Quit"), "Ctrl+Q")
        self.undo = undo_stack.createUndoAction(window, tr("Undo"))
        self.undo.setShortcut(QKeySequence("Ctrl+Z"))
        self.redo = undo_stack.createRedoAction(window, tr("Redo"))
        self.redo.setShortcut(QKeySequence("Ctrl+Shift+Z"))
        self.reset = self._action(tr("Re&set choices"), "Ctrl+0")
        self.copy_markdown = self._action(tr("Copy report as &Markdown"), "Ctrl+Shift+C")
        self.copy_json = self._action(tr("Copy report as &JSON"))
        self.copy_command = self._action(tr("Copy &command…"), "Ctrl+L")
        self.paste_settings = self._action(tr("&Paste settings…"), "Ctrl+Shift+V")
        self.filter = self._action(tr("&Filter tensors or metadata"), "Ctrl+F")
        self.overview = self._action(tr("&Overview"), "Ctrl+1")
        self.tensors = self._action(tr("&Tensors"), "Ctrl+2")
        self.metadata = self._action(tr("&Metadata"), "Ctrl+3")
        self.plan = self._action(tr("&Plan"), "Ctrl+4")
        self.compare = self._action(tr("&Compare machines and models"), "Ctrl+5")
        self.session = self._action(tr("&Session"), "Ctrl+6")
        self.measure_run = self._action(tr("Measure a ser&ver"), "Ctrl+7")
        self.history = self._action(tr("Histor&y of runs"), "Ctrl+8")
        self.explain = self._action(tr("&Explain"), "Ctrl+9")
        self.passes = self._action(tr("Speculatio&n and several users…"), "Ctrl+B")
        self.detect = self._action(tr("&Look at this computer again"), "F5")
        self.measure = self._action(tr("Measure memory &bandwidth"))
        self.measure_disk = self._action(tr("&Time the disk of this model"))
        self.use_measured = self._action(tr("Plan with the &measured bandwidth"))
        self.use_measured.setCheckable(True)
        self.own_machines = self._action(tr("&Own machines…"))
        self.save_machine = self._action(tr("&Save machine report…"))
        self.check_engine = self._action(tr("&Check with llama.cpp…"), "Ctrl+K")
        self.what_is_this = self._action(tr("&What is this?"), "Shift+F1")
        self.glossary = self._action(tr("&Glossary…"), "Ctrl+F1")
        self.first_steps = self._action(tr("&First steps…"))
        self.shortcuts = self._action(tr("&Keys…"), "F1")
        self.open_log = self._action(tr("Open the &log"))
        self.about = self._action(tr("&About Weighbridge…"))
        for action in (self.what_is_this, self.glossary, self.shortcuts):
            action.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)  # in dialogs as well
        self.units = _Switch(self, tr("&Units"), UNIT_WORDS, self.units_chosen.emit)
        self.theme = _Switch(self, tr("T&heme"), THEME_WORDS, self.theme_chosen.emit)
        languages = {"": mark("The system's")} | language.NAMES
        self.language = _Choice(self, tr("Lan&guage"), languages, self.language_chosen.emit)
        styles = {
            "": mark("As the language writes them"),
            **{name: name for name in language.STYLES},
        }
        self.numbers = _Choice(self, tr("Num&bers"), styles, self.numbers_chosen.emit)
        # For whoever needs a model to act on.
        self.with_model = (
            self.reload,
            self.close_model,
            self.reset,
            self.save_report,
            self.copy_markdown,
            self.copy_json,
            self.copy_command,
            self.paste_settings,
            self.filter,
            self.overview,
            self.tensors,
            self.metadata,
            self.plan,
            self.compare,
            self.session,
            self.measure_run,
            self.history,
            self.explain,
            self.passes,
            self.check_engine,
            self.measure_disk,
        )
        self._fill_menu_bar()
        self.set_recent((), ())
        self.show_measured(None)

    def set_recent(self, paths: Sequence[Path], missing: Collection[Path]) -> None:
        """Fill "Open recent"; files that are not there any more are greyed."""
        self.recent_menu.clear()
        for path in paths:
            name = f"{display(path.name)}  ({display(path.parent.name)})"
            action = self.recent_menu.addAction(_menu_text(name))
            action.setToolTip(plain_tip(display(str(path))))
            action.setEnabled(path not in missing)
            action.triggered.connect(lambda _=False, p=path: self.file_chosen.emit(p))
        self.recent_menu.setEnabled(bool(paths))

    def set_specimens(self, paths: Sequence[Path]) -> None:
        """Fill "Specimens" with these models."""
        self.specimens_menu.clear()
        for path in paths:
            action = self.specimens_menu.addAction(_menu_text(path.stem))
            action.triggered.connect(lambda _=False, p=path: self.file_chosen.emit(p))
        self.specimens_menu.setEnabled(bool(paths))

    def show_measured(self, rate: MeasuredRate | None) -> None:
        """Offer to plan with what was measured, and tell what that was."""
        words = tr("Plan with the &measured bandwidth")
        if rate is not None:
            value = format_bandwidth(rate.value)
            words += f" ({value}, {rate.date})" if rate.date else f" ({value})"
        self.use_measured.setText(words)
        self.use_measured.setEnabled(rate is not None)
        self.use_measured.setChecked(rate is not None and rate.chosen)

    def keys(self) -> list[tuple[str, str]]:
        """Every key and what it does."""
        actions = [a for a in self._window.findChildren(QAction) if not a.shortcut().isEmpty()]
        form = QKeySequence.SequenceFormat.NativeText
        return [(a.shortcut().toString(form), _plain(a.text())) for a in actions]

    def key_groups(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The same by menu; what stands in none comes last."""
        left = self.keys()
        groups = []
        for top in self._window.menuBar().actions():
            menu = top.menu()
            assert isinstance(menu, QMenu)
            words = {_plain(action.text()) for action in menu.actions()}
            inside = [pair for pair in left if pair[1] in words]
            left = [pair for pair in left if pair not in inside]
            groups.append((_plain(top.text()), inside))
        return [*groups, (tr("Besides"), left)]

    def _action(self, text: str, key: str = "") -> QAction:
        action = QAction(text, self._window)
        if key:
            action.setShortcut(QKeySequence(key))
        # Keys work even for what stands in no menu.
        self._window.addAction(action)
        return action

    def _fill_menu_bar(self) -> None:
        bar = self._window.menuBar()
        file = bar.addMenu(tr("&File"))
        file.addActions([self.open, self.open_link, self.library])
        self.recent_menu = file.addMenu(tr("Open &recent"))
        self.recent_menu.setToolTipsVisible(True)
        self.specimens_menu = file.addMenu(tr("&Specimens"))
        file.addSeparator()
        file.addAction(self.save_report)
        self.pictures_menu = file.addMenu(tr("Save &picture"))
        file.addSeparator()
        file.addActions([self.reload, self.close_model, self.double_click, self.quit])
        edit = bar.addMenu(tr("&Edit"))
        edit.addActions([self.undo, self.redo, self.reset])
        edit.addSeparator()
        edit.addActions([self.copy_command, self.paste_settings])
        edit.addSeparator()
        edit.addActions([self.copy_markdown, self.copy_json])
        view = bar.addMenu(tr("&View"))
        view.addActions([self.overview, self.tensors, self.metadata, self.plan])
        view.addSeparator()
        pages = [self.compare, self.session, self.measure_run, self.history]
        view.addActions([*pages, self.explain, self.passes])
        view.addSeparator()
        view.addAction(self.filter)
        view.addSeparator()
        view.addMenu(self.units.menu)
        view.addMenu(self.theme.menu)
        view.addMenu(self.language.menu)
        view.addMenu(self.numbers.menu)
        machine = bar.addMenu(tr("&Machine"))
        machine.addActions([self.detect, self.measure, self.use_measured, self.measure_disk])
        machine.addSeparator()
        machine.addActions([self.own_machines, self.save_machine, self.check_engine])
        help = bar.addMenu(tr("&Help"))
        help.addActions([self.what_is_this, self.glossary, self.first_steps, self.shortcuts])
        help.addSeparator()
        help.addActions([self.open_log, self.about])


class _Choice(QObject):
    """A menu of a few values, one of which is ticked."""

    def __init__(
        self, actions: Actions, title: str, words: Mapping[T, str], choose: Callable[[T], None]
    ) -> None:
        super().__init__(actions)
        self.menu = QMenu(title, actions._window)
        group = QActionGroup(self)
        self._actions: dict[str, QAction] = {}
        for value, text in words.items():
            action = group.addAction(tr(text))
            action.setCheckable(True)
            action.triggered.connect(lambda _=False, v=value: choose(v))
            self._actions[value] = action
        self.menu.addActions(group.actions())

    def set_value(self, value: str) -> None:
        """Tick a value."""
        self._actions[value].setChecked(True)


class _Switch(_Choice):
    """And a button that opens the same menu."""

    def __init__(
        self, actions: Actions, title: str, words: Mapping[T, str], choose: Callable[[T], None]
    ) -> None:
        super().__init__(actions, title, words, choose)
        self._title = _plain(title)
        self.button = QToolButton()
        self.button.clicked.connect(self._open)
        self.button.setAutoRaise(True)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def show_value(self, value: str, word: str) -> None:
        """Tick a value; the button shows it as ``word``."""
        self.set_value(value)
        self.button.setText(f"{word} ▾")
        self.button.setToolTip(self._title)
        self.button.setAccessibleName(f"{self._title}: {word}")

    def _open(self) -> None:
        self.menu.popup(self.button.mapToGlobal(QPoint(0, -self.menu.sizeHint().height())))


def _plain(text: str) -> str:
    return text.replace("&", "")


def _menu_text(text: str) -> str:
    return text.replace("&", "&&")
