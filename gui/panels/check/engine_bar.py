"""Which llama.cpp is on this computer, and the command that would ask it about the plan."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QLineEdit,
    QPushButton,
    QToolButton,
    QWidget,
)

from core.check.dry_run import arguments, preferred
from core.gguf import display
from core.language import mark, tr
from core.plan.plan import Plan
from gui import theme
from gui.widgets.elided_text import ElidedText
from gui.widgets.text import Style
from gui.workers import engine
from gui.workers.runner import Runner

_ABSENT = mark(
    "No llama.cpp was found on the PATH. Choose the folder that it is in, or drop a log that it "
    "wrote elsewhere."
)
_COMMAND = mark("The command will stand here.")

_ELSEWHERE = mark("The model is not on this computer; download it to run it.")


class EngineBar(QWidget):
    """``command`` is what a dry run of the plan would start, None where there is no program.

    ``folder`` is where the user keeps llama.cpp, "" for the PATH alone.
    """

    folder_chosen = Signal(str)
    command_changed = Signal()

    def __init__(self, folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._programs: dict[str, str] = {}
        self._plan: Plan | None = None
        self._port = engine.free_port()
        self.command: tuple[str, ...] | None = None
        self.finder = Runner("find llama.cpp", self)
        self.program = ElidedText(style=Style.MUTED)
        self.folder = button(tr("Choose &folder…"), tr("Where llama-server and its siblings are"))
        self.line = QLineEdit()
        self.line.setReadOnly(True)
        self.line.setPlaceholderText(tr(_COMMAND))
        self.line.setAccessibleName(tr("Command"))
        self.copy = QToolButton()
        self.copy.setToolTip(tr("Copy the command"))
        self.copy.setAccessibleName(tr("Copy the command"))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(0, 1)
        grid.addWidget(self.program, 0, 0)
        grid.addWidget(self.folder, 0, 1, 1, 2)
        grid.addWidget(self.line, 1, 0, 1, 2)
        grid.addWidget(self.copy, 1, 2)
        self.folder.clicked.connect(self.choose_folder)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.line.text()))
        self.finder.finished.connect(self._found)
        self._dress()

    def look(self) -> None:
        """Look for llama.cpp, again."""
        self.program.set_text(tr("Looking for llama.cpp…"))
        self.finder.start(engine.finding(self._folder))

    def choose_folder(self) -> None:
        """Let the user say where llama.cpp is."""
        name = QFileDialog.getExistingDirectory(self, tr("The folder of llama.cpp"), self._folder)
        if name:
            self.set_folder(name)

    def set_folder(self, folder: str) -> None:
        """Look there first, now and next time."""
        self._folder = folder
        self.folder_chosen.emit(folder)
        self.look()

    def show_plan(self, plan: Plan | None) -> None:
        """Ask about this plan."""
        self._plan = plan
        self._compose()

    def renew(self) -> None:
        """Another run takes another port."""
        self._port = engine.free_port()
        self._compose()

    def changeEvent(self, event: QEvent) -> None:
        """Icons follow the theme."""
        if event.type() is QEvent.Type.PaletteChange:
            self._dress()
        super().changeEvent(event)

    def _found(self, programs: dict[str, str]) -> None:
        self._programs = programs
        places = ", ".join(display(path) for path in programs.values())
        self.program.set_text(tr("Found: {places}", places=places) if places else tr(_ABSENT))
        self._compose()

    def _compose(self) -> None:
        self.command = self._made()
        elsewhere = self._plan is not None and not self._plan.model.file.local
        words = tr(_ELSEWHERE) if elsewhere else ""
        self.line.setText(shown_command(self.command) if self.command else words)
        self.line.setCursorPosition(0)
        self.copy.setEnabled(self.command is not None)
        self.command_changed.emit()

    def _made(self) -> tuple[str, ...] | None:
        plan = self._plan
        if plan is None or not plan.model.file.local:
            return None
        name = next((name for name in preferred(plan) if name in self._programs), None)
        if name is None:
            return None
        return (self._programs[name], *arguments(plan, name, self._port))

    def _dress(self) -> None:
        self.copy.setIcon(theme.icon("copy", theme.colors().muted))


def shown_command(command: Sequence[str]) -> str:
    """A command as one types it in this system's shell."""
    if sys.platform == "win32":
        return subprocess.list2cmdline(command)
    return shlex.join(command)


def button(text: str, tip: str) -> QPushButton:
    """A button that Enter does not press from elsewhere."""
    made = QPushButton(text)
    made.setToolTip(tip)
    made.setAutoDefault(False)
    return made
