"""Which server to measure: those found on this computer, or one at an address that is typed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display
from core.language import mark, tr, trc
from core.measure.discovery import Found, State, match_file
from core.measure.keys import Keys
from core.measure.launch import another_context
from core.measure.run import Target
from core.model.model import Model
from core.problems import Problem, Severity
from gui.widgets.icon_button import IconButton
from gui.widgets.line_list import LineList
from gui.widgets.live_text import LiveText
from gui.widgets.note_lines import NoteLines
from gui.widgets.text import Style, Text
from gui.workers.measure import looking_at, looking_for_servers
from gui.workers.runner import Runner

_NONE = mark("No server runs on this computer. Start one below, or type an address.")
_LINES = 6


class ServerSection(QWidget):
    """``chosen_changed`` says that `target` is another one."""

    chosen_changed = Signal()

    def __init__(self, keys: Keys, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keys = keys
        self._model: Model | None = None
        self._asked: int | None = None
        self._found: tuple[Found, ...] = ()
        self._typed: Found | None = None
        self._wanted = ""
        self._shown: list[tuple[Found, Target | None]] = []
        self.finder = Runner("servers", self)
        self.finder.finished.connect(self._take)
        self.asker = Runner("server", self)
        self.asker.finished.connect(self._take_typed)
        self.again = IconButton("redo", tr("Look for servers again"))
        self.again.clicked.connect(self.look)
        self.list = LineList(tr("Servers"))
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self._chosen)
        line = self.fontMetrics().height()
        self.list.setFixedHeight(_LINES * line + 10)
        self.state = LiveText(Style.MUTED, wrap=True)
        self.address = QLineEdit()
        self.address.setPlaceholderText(tr("Like 127.0.0.1:8080"))
        self.address.setAccessibleName(tr("Address of a server"))
        self.key = QLineEdit()
        self.key.setPlaceholderText(tr("Key, if it needs one"))
        self.key.setAccessibleName(tr("Key of the server"))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setToolTip(tr("Kept while the program runs, never in a file."))
        self.keep = QCheckBox(tr("Keep the key in the system's keyring"))
        self.keep.setVisible(keys.can_keep)
        self.ask = QPushButton(tr("Find"))
        self.ask.setToolTip(tr("Ask this address what it is"))
        self.ask.clicked.connect(self._ask)
        self.address.returnPressed.connect(self._ask)
        self.key.returnPressed.connect(self._ask)
        self.notes = NoteLines()
        head = QHBoxLayout()
        head.addWidget(Text(tr("SERVER"), Style.HEADING))
        head.addStretch(1)
        head.addWidget(self.again)
        typed = QHBoxLayout()
        typed.addWidget(self.address, 3)
        typed.addWidget(self.key, 2)
        typed.addWidget(self.ask)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(line // 3)
        column.addLayout(head)
        column.addWidget(self.list)
        column.addWidget(self.state)
        column.addLayout(typed)
        column.addWidget(self.keep)
        column.addWidget(self.notes)
        self._say("")
        self._show()

    @property
    def target(self) -> Target | None:
        """What is chosen, where it can be measured."""
        found = self._choice()
        if found is None or _refusal(found[0]) is not None:
            return None
        return found[1]

    def look(self) -> None:
        """Look for servers on this computer, again."""
        self._say(tr("Looking for servers…"))
        self.finder.start(looking_for_servers(self._keys))

    def look_at(self, url: str) -> None:
        """A server of ours is there now: choose it."""
        self._wanted = url
        self.look()

    def show_model(self, model: Model | None, context: int | None) -> None:
        """Hold servers against this model, planned with this context."""
        self._model, self._asked = model, context
        self._show_notes()

    def _ask(self) -> None:
        address, key = self.address.text().strip(), self.key.text().strip()
        if not address:
            self.address.setFocus()
            return
        self._say(tr("Asking {address}…", address=display(address)))
        self.asker.start(looking_at(address, key))

    def _say(self, words: str) -> None:
        self.state.set_text(words)
        self.state.setVisible(bool(words))

    def _take(self, found: tuple[Found, ...]) -> None:
        self._found = found
        self._say("" if found else tr(_NONE))
        self._show()

    def _take_typed(self, found: Found | str) -> None:
        if isinstance(found, str):
            self._say(found)
            return
        key = self.key.text().strip()
        if key and found.state is not State.NEEDS_KEY:
            self._keys.remember(found.url, key, self.keep.isChecked())
            self.key.clear()
        self._typed, self._wanted = found, found.url
        self._say("")
        self._show()

    def _rows(self) -> list[tuple[Found, Target | None]]:
        typed = (
            [self._typed]
            if self._typed is not None and all(f.url != self._typed.url for f in self._found)
            else []
        )
        rows: list[tuple[Found, Target | None]] = []
        for found in (*typed, *self._found):
            rows += [(found, target) for target in found.targets] or [(found, None)]
        return rows

    def _show(self) -> None:
        before = self._choice()
        rows = self._rows()
        self.list.blockSignals(True)
        self.list.clear()
        for found, target in rows:
            item = QListWidgetItem(_words(found, target))
            if _refusal(found) is not None:
                item.setForeground(self.palette().placeholderText())
            self.list.addItem(item)
        keep = next(
            (
                n
                for n, (found, target) in enumerate(rows)
                if (self._wanted and found.url == self._wanted)
                or (
                    not self._wanted
                    and before is not None
                    and (found.url, target and target.model)
                    == (before[0].url, before[1] and before[1].model)
                )
            ),
            next((n for n, (f, t) in enumerate(rows) if t is not None and not f.driver), -1),
        )
        self.list.setCurrentRow(keep)
        self.list.blockSignals(False)
        self._wanted = ""
        self._shown = rows
        self._chosen()

    def _choice(self) -> tuple[Found, Target | None] | None:
        rows = self._shown
        at = self.list.currentRow()
        return rows[at] if 0 <= at < len(rows) else None

    def _chosen(self) -> None:
        self._show_notes()
        self.chosen_changed.emit()

    def _show_notes(self) -> None:
        choice = self._choice()
        if choice is None:
            self.notes.set_problems(())
            return
        found, target = choice
        problems = []
        refusal = _refusal(found)
        if refusal is not None:
            problems.append(refusal)
        elif target is not None:
            if self._model is not None:
                match = match_file(target, self._model)
                severity = Severity.WARNING if match.same is False else Severity.NOTE
                problems.append(Problem("match", match.sentence, severity))
            if self._asked is not None and target.context and target.context < self._asked:
                problems.append(another_context(self._asked, target.context))
        self.notes.set_problems(problems)


def _words(found: Found, target: Target | None) -> str:
    """Two lines: what it is and where, and what it runs."""
    kind = found.kind.value if found.kind is not None else tr("server")
    first = [kind, found.url.removeprefix("http://"), _state(found.state)]
    if found.driver:
        first.append(tr("run by Ollama"))
    return f"{' · '.join(first)}\n{_available(found) if target is None else _runs(target)}"


def _state(state: State) -> str:
    match state:
        case State.READY:
            return trc("state of a server", "ready")
        case State.LOADING:
            return trc("state of a server", "loading")
        case State.NEEDS_KEY:
            return trc("state of a server", "needs a key")
        case State.SLEEPING:
            return trc("state of a server", "sleeping")
        case State.EMPTY:
            return trc("state of a server", "no model")
        case State.REFUSED:
            return trc("state of a server", "not running")
        case State.SILENT:
            return trc("state of a server", "no answer")
        case State.OTHER:
            return trc("state of a server", "another program")


def _runs(target: Target) -> str:
    words = [display(target.model or target.model_path or tr("unnamed model"))]
    if target.context:
        words.append(tr("{tokens:,} tokens", tokens=target.context))
    if target.cache_k or target.cache_v:
        words.append(tr("cache {k}/{v}", k=target.cache_k or "?", v=target.cache_v or "?"))
    if target.slots and target.slots > 1:
        words.append(tr("{count} slots", count=target.slots))
    return " · ".join(words)


def _available(found: Found) -> str:
    if found.available:
        return tr("could load: {models}", models=", ".join(map(display, found.available[:4])))
    return tr("no model is loaded")


def _refusal(found: Found) -> Problem | None:
    """Why it cannot be measured; None where it can."""
    if found.driver:
        return Problem(
            "private-server",
            tr("Ollama runs this server for itself: it is read, never driven."),
            Severity.NOTE,
            tr("Measure Ollama's own address instead."),
        )
    if found.state is State.NEEDS_KEY:
        return Problem(
            "needs-key",
            tr("This server wants a key."),
            Severity.WARNING,
            tr("Type its address and its key above, then Find."),
        )
    if not found.targets:
        return found.problem or Problem(
            "no-model",
            tr("No model is loaded there."),
            Severity.WARNING,
            tr("Load one in that program, then look again."),
        )
    return None
