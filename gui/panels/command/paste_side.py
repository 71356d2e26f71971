"""A pasted command: what it would change, what does not matter, what is not understood."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.language import mark, tr, trc, written
from core.plan import reason
from core.plan.choice import Engine
from core.plan.commands import Reading, read_settings
from core.plan.commands.reading import LONGEST
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.plan.setting_names import NAMES, setting_name
from core.provenance import format_value
from gui import theme
from gui.document import Document
from gui.widgets.scrolled import scrolled
from gui.widgets.text import Style, Text, fixed_font

_PROMPT = mark(
    "Paste a command of llama-server, llama-cli, llama-bench, Ollama, LM Studio or vLLM here, "
    "a Modelfile, or single options such as -c 32768 -ctk q8_0"
)


class PasteSide(QWidget):
    """Shows what a text would change before it changes anything."""

    closed = Signal()

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.reading: Reading | None = None
        self.text = QPlainTextEdit()
        self.text.setPlaceholderText(tr(_PROMPT))
        self.text.setFont(fixed_font())
        self.text.setAccessibleName(tr("A pasted command"))
        self.text.setTabChangesFocus(True)
        self.changes = _Section(tr("It changes"))
        self.already = _Section(tr("As it is already"))
        self.unread = _Section(tr("Not taken over"))
        self.no_matter = _Section(tr("Without effect on memory and speed"))
        self.then = Text("", Style.STRONG, wrap=True)
        self.apply = QPushButton(tr("&Apply"))
        self.apply.setToolTip(tr("As one step, which can be undone"))
        self.apply.setDefault(True)
        close = QPushButton(tr("Close"))
        close.setAutoDefault(False)
        answer = QWidget()
        lines = QVBoxLayout(answer)
        lines.setContentsMargins(0, 0, 0, 0)
        self._sections = (self.changes, self.already, self.unread, self.no_matter)
        for section in self._sections:
            lines.addWidget(section)
        lines.addStretch(1)
        room = scrolled(answer, tr("What the settings say"))
        foot = QHBoxLayout()
        foot.addWidget(self.then, 1)
        foot.addWidget(self.apply)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.addWidget(self.text, 2)
        column.addWidget(room, 3)
        column.addLayout(foot)
        self.text.textChanged.connect(self.read)
        self.apply.clicked.connect(self._apply)
        close.clicked.connect(self.closed)
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._plan_changed)
        self.read()

    def take_clipboard(self) -> None:
        """Read what lies on the clipboard, where it sets anything; else the text stays."""
        plan, text = self._document.plan, QGuiApplication.clipboard().text()
        if plan is not None and len(text) <= LONGEST and read_settings(text, plan).changes:
            self.text.setPlainText(text)
        else:
            self.read()

    def read(self) -> None:
        """Say what the text would change."""
        plan, text = self._document.plan, self.text.toPlainText()
        self.reading = None
        if plan is None or not text.strip():
            for section in self._sections:
                section.show_lines(())
            self.then.set_text("")
            self.apply.setEnabled(False)
            return
        reading = self.reading = read_settings(text, plan)
        wanted = self._wanted(reading)
        after = self._document.what_if(**wanted)
        lines = [*differences(plan, after), *reading.notes]
        if reading.changes and not differences(plan, after):
            lines.insert(0, tr("Nothing: these are the settings that are planned already."))
        self.changes.show_lines(lines)
        already = already_so(reading, plan, after)
        self.already.show_lines([", ".join(already)] if already else ())
        self.unread.show_lines([each.sentence for each in reading.unread])
        self.no_matter.show_lines([", ".join(reading.no_matter)] if reading.no_matter else ())
        self.then.set_text(self._verdict(after) if wanted else "")
        self.apply.setEnabled(bool(wanted))

    def _wanted(self, reading: Reading) -> dict[str, Any]:
        """The fields that would be others than they are."""
        choice = self._document.choice
        return {k: v for k, v in reading.changes.items() if getattr(choice, k) != v}

    def _verdict(self, plan: Plan) -> str:
        facts = {
            "verdict": tr(theme.colors().verdict(plan.verdict).word),
            "reason": reason(plan, self._document.units),
        }
        expected, ceiling = plan.speed.expected.mid, plan.speed.ceiling
        if expected.known:
            rate = format_value(expected.value, expected.unit)
            return tr("Then: {verdict}, {reason}; expected {rate}.", rate=rate, **facts)
        if ceiling.known:
            rate = format_value(ceiling.value, ceiling.unit)
            return tr("Then: {verdict}, {reason}; ceiling {rate}.", rate=rate, **facts)
        return tr("Then: {verdict}, {reason}.", **facts)

    def _apply(self) -> None:
        if self.reading is not None:
            self._document.end_step()  # a step of its own, whatever was chosen just now
            self._document.choose(**self._wanted(self.reading))
            self._document.end_step()

    def _plan_changed(self) -> None:
        if self.isVisible():
            self.read()


class _Section(QWidget):
    """A heading and lines; hidden without lines."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.lines = Text("", Style.BODY, wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(Text(title.upper(), Style.HEADING))
        column.addWidget(self.lines)
        # As high as its lines are at this width, not as a narrower label would be.
        policy = self.lines.sizePolicy()
        policy.setVerticalPolicy(QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.lines.setSizePolicy(policy)

    def show_lines(self, lines: list[str] | tuple[str, ...]) -> None:
        """One under the other."""
        self.lines.set_text("\n".join(lines))
        self.setVisible(bool(lines))


def differences(before: Plan, after: Plan) -> list[str]:
    """ "Context: 16,384 → 32,768", for every setting that differs, but for what follows from
    another."""
    unsaid = {"context"}  # with the engine's padding
    if before.choice.depth is None and after.choice.depth is None:
        unsaid.add("depth")
    lines = []
    for name in (name for name in NAMES if name not in unsaid):
        old, new = getattr(before.settings, name), getattr(after.settings, name)
        if old != new:
            words = tr(setting_name(name))
            words = words[:1].upper() + words[1:]
            lines.append(f"{words}: {_shown(name, old)} → {_shown(name, new)}")
    return lines


def already_so(reading: Reading, before: Plan, after: Plan) -> list[str]:
    """The options that set what is planned without them."""

    def differs(field: str) -> bool:
        name = "requested_context" if field == "context" else field
        return bool(getattr(before.settings, name) != getattr(after.settings, name))

    return [each.text for each in reading.taken if not any(map(differs, each.fields))]


def _shown(name: str, value: object) -> str:
    if name == "engine":
        return RULES[Engine(str(value))].name
    if name == "requantize":
        return str(value or tr("as the file is"))
    if value is None:
        return trc("a setting", "none")
    if isinstance(value, bool):
        return trc("a setting", "on") if value else trc("a setting", "off")
    return written(value) if isinstance(value, int) else str(value)
