"""The command for the choice: engine and shell chosen, the text always up to date."""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.language import mark, tr, trc
from core.plan import reason
from core.plan.choice import Engine
from core.plan.commands import Shell, command
from core.plan.engines import RULES
from core.plan.plan import Plan
from gui import theme
from gui.document import Document
from gui.widgets.text import Style, Text, fixed_font
from gui.widgets.together import labelled
from gui.widgets.wrap import Wrap

_COPIED = mark("On the clipboard.")


class CopySide(QWidget):
    """Writes the document's choice for one engine and one shell; changes nothing unless asked."""

    closed = Signal()

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._plan: Plan | None = None
        self._engine: Engine | None = None  # None follows the choice
        self.engine = _combo(tr("Engine"), [RULES[engine].name for engine in Engine])
        self.shell = _combo(tr("Shell"), [str(shell) for shell in Shell])
        self.shell.setCurrentText(Shell.POWERSHELL if sys.platform == "win32" else Shell.BASH)
        self.options = _combo(
            tr("Options"), [tr("that differ from its defaults"), trc("options of a command", "all")]
        )
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(fixed_font())
        self.text.setAccessibleName(tr("The command"))
        self.notes = Text("", Style.BODY, wrap=True)
        self.verdict = Text("", Style.MUTED, wrap=True)
        self.use = QPushButton(tr("Plan for th&is engine"))
        self.copy = QPushButton(tr("Copy"))
        self.copied = Text("", Style.MUTED)
        close = QPushButton(tr("Close"))
        for button in (self.use, close):
            button.setAutoDefault(False)
        self.copy.setDefault(True)
        top = Wrap()
        top.set_cells(
            [
                labelled(tr("&Engine"), self.engine),
                labelled(tr("&Shell"), self.shell),
                labelled(tr("O&ptions"), self.options),
            ]
        )
        about = QHBoxLayout()
        about.addWidget(self.verdict, 1)
        about.addWidget(self.use)
        foot = QHBoxLayout()
        foot.addWidget(self.copied, 1)
        foot.addWidget(self.copy)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.addWidget(top)
        column.addWidget(self.text, 1)
        column.addWidget(self.notes)
        column.addLayout(about)
        column.addLayout(foot)
        self.engine.activated.connect(self._choose_engine)
        self.shell.activated.connect(self.show_plan)
        self.options.activated.connect(self.show_plan)
        self.copy.clicked.connect(self._copy)
        self.use.clicked.connect(self._use)
        close.clicked.connect(self.closed)
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._plan_changed)
        self._dress()

    def show_plan(self) -> None:
        """Write the command anew."""
        own = self._document.plan
        if own is None:
            return
        engine = self._engine or own.choice.engine
        self.engine.setCurrentIndex(list(Engine).index(engine))
        same = engine is own.choice.engine
        plan = self._plan = own if same else self._document.what_if(engine=engine)
        made = command(plan, self._shell(), everything=self.options.currentIndex() == 1)
        if made.text != self.text.toPlainText():
            self.text.setPlainText(made.text)
            self.copied.set_text("")
        self.notes.set_text("\n".join(f"• {note}" for note in made.notes))
        self.notes.setVisible(bool(made.notes))
        self.verdict.set_text(
            tr(
                "As {engine} runs it: {verdict}, {reason}.",
                engine=RULES[engine].name,
                verdict=tr(theme.colors().verdict(plan.verdict).word),
                reason=reason(plan, self._document.units),
            )
        )
        self.use.setVisible(not same)

    def changeEvent(self, event: QEvent) -> None:
        """The icon follows the theme."""
        if event.type() is QEvent.Type.PaletteChange:
            self._dress()
        super().changeEvent(event)

    def _plan_changed(self) -> None:
        if self.isVisible():
            self.show_plan()

    def _choose_engine(self, index: int) -> None:
        self._engine = list(Engine)[index]
        self.show_plan()

    def _shell(self) -> Shell:
        return Shell(self.shell.currentText())

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        self.copied.set_text(tr(_COPIED))

    def _use(self) -> None:
        if self._plan is not None:
            self._engine = None
            self._document.choose(engine=self._plan.choice.engine)

    def _dress(self) -> None:
        self.copy.setIcon(theme.icon("copy", theme.colors().muted))


def _combo(name: str, words: list[str]) -> QComboBox:
    combo = QComboBox()
    combo.addItems(words)
    combo.setAccessibleName(name)
    return combo
