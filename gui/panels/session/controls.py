"""Everything that can be chosen about a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from core.language import mark, tr, trc
from core.plan.choice import MOST_TOKENS, Engine
from core.plan.session import PRESETS, Change, SessionChoice
from core.plan.session.choice import LIMITS, SEEN
from core.provenance import RANK_WORDS, Number, Rank, origin_words
from gui.panels.session.token_field import TokenField
from gui.widgets.decimal_box import DecimalBox
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_MIB = 2**20
_STOPS = (
    *(0, 50, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 4000, 5000, 6500, 8000),
    *(10_000, 12_000, 16_000, 20_000, 25_000, 32_000, 50_000, 64_000, 100_000, 128_000, 200_000),
)
# The fields of a choice that are slid, with their labels; a text can be counted for each.
TOKEN_FIELDS = {
    "system_tokens": mark("&System prompt, tools"),
    "new_tokens": mark("Ne&w each turn"),
    "answer_tokens": mark("&Answer"),
    "thinking_tokens": mark("Think&ing"),
}
_CHANGES = {
    Change.NOTHING: mark("nothing: each request only adds to the last"),
    Change.TAIL: mark("a note that moves along at the end"),
    Change.AFTER_TOOLS: mark("what stands after system prompt and tools"),
    Change.START: mark("the first lines: a clock, a memory"),
    Change.OWN: mark("everything from a token of your own"),
}
_KEEP_ALIVE = (None, 300.0, 1800.0, 3600.0, inf)
_KEEP_ALIVE_WORDS = (mark("as the engine does"), "5 min", "30 min", "1 h", mark("for ever"))
_CACHES = (None, 0, 8192, 16_384, 32_768, 65_536)


def field_name(name: str) -> str:
    """What one of `TOKEN_FIELDS` is called in a sentence."""
    return tr(TOKEN_FIELDS[name]).replace("&", "")


class SessionControls(QWidget):
    """``changed`` carries the new choice, for changes by the user only. ``count_asked`` carries the
    name of a field and the text file to count for it, ``text_asked`` one for which a file is to be
    chosen. ``compare_asked``: two requests shall be compared."""

    changed = Signal(SessionChoice)
    count_asked = Signal(str, Path)
    text_asked = Signal(str)
    compare_asked = Signal()

    def __init__(self, choice: SessionChoice, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choice = choice
        self._wheel = QuietWheel(self)
        self._column = QVBoxLayout(self)
        line = self.fontMetrics().height()
        self._column.setContentsMargins(0, 0, line // 2, 0)
        self._column.setSpacing(line // 2)
        self.presets = [self._preset(number) for number in range(len(PRESETS))]
        self.basis = Text("", Style.MUTED, wrap=True)
        self.tokens = {name: self._token_field(name) for name in TOKEN_FIELDS}
        self.count_button = self._make_count_button()
        self.turns = self._spin(tr("Turns"), "turns")
        self.keeps_thinking = self._check(
            tr("Thinking stays in the conversation"), "keeps_thinking"
        )
        self.change = QComboBox()
        self.change.setAccessibleName(tr("What changes in each request"))
        self.change.addItems([tr(words) for words in _CHANGES.values()])
        self.change.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.change.setMinimumContentsLength(16)
        self.change.activated.connect(lambda n: self._set(change=list(_CHANGES)[n]))
        self.compare = QPushButton(tr("Compare two requests…"))
        self.compare.setToolTip(
            tr("Two captured requests, one after the other: from which token on do they differ?")
        )
        self.compare.clicked.connect(lambda: self.compare_asked.emit())
        self.change_at = self._spin(tr("First changed token"), "change_at")
        self.side_requests = self._spin(tr("Side requests each turn"), "side_requests")
        self.side_requests.setToolTip(tr("Titles, tags, summaries, sub-agents: other prompts"))
        self.side_tokens = self._spin(tr("Tokens of one"), "side_tokens")
        self.sessions = self._spin(tr("Sessions at the same time"), "sessions")
        self.pause = self._seconds(tr("Pause between turns"), "pause")
        self.keep_alive = self._words(
            tr("Model stays loaded"), _KEEP_ALIVE_WORDS, lambda n: {"keep_alive": _KEEP_ALIVE[n]}
        )
        self.time_limit = self._seconds(tr("Client gives up after"), "time_limit", tr("not known"))
        self.compacts = QCheckBox(tr("Replace the history by a summary"))
        self.compacts.toggled.connect(self._compact)
        self.compact_at = self._spin(tr("Above, per cent of the context"), "", (10, 100))
        self.compact_at.valueChanged.connect(
            lambda n: self._set(compact_above=n / 100 if self.compacts.isChecked() else None)
        )
        self.summary = self._spin(tr("Tokens of the summary"), "summary_tokens")
        self.prompt_cache = self._words(
            tr("RAM for other prompts"),
            tuple(_cache_words(size) for size in _CACHES),
            lambda n: {"prompt_cache": None if _CACHES[n] is None else (_CACHES[n] or 0) * _MIB},
        )
        self.varies = self._check(tr("The client changes num_ctx"), "context_varies")
        self.endpoint = self._check(tr("The client asks /v1"), "openai_endpoint")
        self.prefill = self._rate(tr("Prompt, measured"), "prefill_rate")
        self.decode = self._rate(tr("Writing, measured"), "decode_rate")
        self.disk = self._spin(tr("Disk, MB/s"), "", (0, 100_000))
        self.disk.valueChanged.connect(lambda n: self._set(disk_rate=n * 1e6 or None))
        self._lay_out()
        self.show_choice(choice, Engine.LLAMA_SERVER)

    @property
    def choice(self) -> SessionChoice:
        """What is chosen."""
        return self._choice

    def show_choice(self, choice: SessionChoice, engine: Engine) -> None:
        """Show a choice without telling anybody."""
        self._choice = choice
        for name, field in self.tokens.items():
            field.set_value(getattr(choice, name))
        for spin, name in (
            (self.turns, "turns"),
            (self.change_at, "change_at"),
            (self.side_requests, "side_requests"),
            (self.side_tokens, "side_tokens"),
            (self.sessions, "sessions"),
            (self.summary, "summary_tokens"),
        ):
            _quietly(spin, getattr(choice, name))
        for seconds, name in (
            (self.pause, "pause"),
            (self.time_limit, "time_limit"),
            (self.prefill, "prefill_rate"),
            (self.decode, "decode_rate"),
        ):
            _quietly(seconds, getattr(choice, name) or 0.0)
        _quietly(self.disk, round((choice.disk_rate or 0) / 1e6))
        _quietly(self.compact_at, round(100 * (choice.compact_above or 0.8)))
        for box, checked in (
            (self.keeps_thinking, choice.keeps_thinking),
            (self.compacts, choice.compact_above is not None),
            (self.varies, choice.context_varies),
            (self.endpoint, choice.openai_endpoint),
        ):
            with QSignalBlocker(box):
                box.setChecked(checked)
        self.change.setCurrentIndex(list(_CHANGES).index(choice.change))
        self.change.setToolTip(self.change.currentText())
        self.keep_alive.setCurrentIndex(_nearest(_KEEP_ALIVE, choice.keep_alive))
        cache = None if choice.prompt_cache is None else choice.prompt_cache // _MIB
        self.prompt_cache.setCurrentIndex(_nearest(_CACHES, cache))
        self._show_rows(choice, engine)
        for button, preset in zip(self.presets, PRESETS, strict=True):
            button.setChecked(preset.choice == choice)
        shown = next((p for p in PRESETS if p.choice == choice), None)
        self.basis.set_text(tr(shown.about) if shown else tr("Your own session."))

    def show_disk(self, disk: Number[float]) -> None:
        """The rate that counts where none is typed."""
        rate = (disk.value or 0) / 1e6
        self.disk.setSpecialValueText(
            tr("{rate:,.0f}, assumed", rate=rate)
            if disk.source.rank is Rank.ASSUMED
            else tr("{rate:,.0f}, this machine's", rate=rate)
        )
        self.disk.setToolTip(origin_words(disk.source))

    def take(self, **changes: Any) -> None:
        """Something was counted for these fields."""
        self._set(**changes)

    def _show_rows(self, choice: SessionChoice, engine: Engine) -> None:
        ollama = engine is Engine.OLLAMA
        for widget, shown in (
            (self.change_at, choice.change is Change.OWN),
            (self.side_tokens, choice.side_requests > 0),
            (self.compact_at, choice.compact_above is not None),
            (self.summary, choice.compact_above is not None),
            (self.keeps_thinking, choice.thinking_tokens > 0),
            (self.varies, ollama),
            (self.endpoint, ollama),
        ):
            widget.setVisible(shown)
            label = self._labels.get(widget)
            if label is not None:
                label.setVisible(shown)

    def _set(self, **changes: Any) -> None:
        self._choice = replace(self._choice, **changes)
        self.changed.emit(self._choice)

    def _compact(self, on: bool) -> None:
        self._set(compact_above=self.compact_at.value() / 100 if on else None)

    def _preset(self, number: int) -> QPushButton:
        preset = PRESETS[number]
        button = QPushButton(tr(preset.name))
        button.setCheckable(True)
        lines = [
            tr(preset.about),
            "",
            *(
                f"{tr(what, **SEEN)}: {tr(RANK_WORDS[source.rank]).lower()}, {origin_words(source)}"
                for what, source in preset.basis
            ),
        ]
        button.setToolTip("\n".join(lines))
        button.clicked.connect(lambda: self._take_preset(number))
        return button

    def _take_preset(self, number: int) -> None:
        self._choice = PRESETS[number].choice
        self.changed.emit(self._choice)

    def _token_field(self, name: str) -> TokenField:
        field = TokenField(tr(TOKEN_FIELDS[name]))
        field.set_range(_STOPS, 0, MOST_TOKENS)
        field.value_changed.connect(lambda n: self._set(**{name: n}))
        field.dropped.connect(lambda path: self.count_asked.emit(name, path))
        return field

    def _spin(self, name: str, field: str, limits: tuple[int, int] | None = None) -> QSpinBox:
        box = QSpinBox()
        low, high = limits or LIMITS.get(field, (0, MOST_TOKENS))
        box.setRange(round(low), round(high))
        box.setGroupSeparatorShown(True)
        box.setKeyboardTracking(False)
        box.setAccessibleName(name)
        self._wheel.guard(box)
        if field:
            box.valueChanged.connect(lambda n: self._set(**{field: n}))
        return box

    def _seconds(self, name: str, field: str, nothing: str = "") -> DecimalBox:
        box = self._number(name, " s", LIMITS[field][1])
        box.setSpecialValueText(nothing)
        none = None if nothing else 0.0
        box.valueChanged.connect(lambda n: self._set(**{field: n or none}))
        return box

    def _rate(self, name: str, field: str) -> DecimalBox:
        box = self._number(name, " tok/s", LIMITS[field][1])
        box.setSpecialValueText(tr("by the plan"))
        box.valueChanged.connect(lambda n: self._set(**{field: n or None}))
        return box

    def _number(self, name: str, suffix: str, most: float) -> DecimalBox:
        box = DecimalBox()
        box.setRange(0, most)
        box.setDecimals(1 if "tok" in suffix else 0)
        box.setSuffix(suffix)
        box.setKeyboardTracking(False)
        box.setAccessibleName(name)
        self._wheel.guard(box)
        return box

    def _check(self, text: str, field: str) -> QCheckBox:
        box = QCheckBox(text)
        box.toggled.connect(lambda on: self._set(**{field: on}))
        return box

    def _words(
        self, name: str, words: tuple[str, ...], changes: Callable[[int], dict[str, Any]]
    ) -> QComboBox:
        box = QComboBox()
        box.addItems([tr(word) for word in words])
        box.setAccessibleName(name)
        box.activated.connect(lambda n: self._set(**changes(n)))
        self._wheel.guard(box)
        return box

    def _make_count_button(self) -> QPushButton:
        button = QPushButton(tr("Count a text file…"))
        button.setToolTip(
            tr(
                "Count the tokens of a text with this model's vocabulary. "
                "A file can also be dropped on the number it is for."
            )
        )
        menu = QMenu(button)
        for name in TOKEN_FIELDS:
            action = menu.addAction(tr("for {field}", field=field_name(name)))
            action.triggered.connect(lambda _=False, n=name: self.text_asked.emit(n))
        button.setMenu(menu)
        return button

    def set_counting(self, counting: bool) -> None:
        """Whether a text is being counted just now."""
        self.count_button.setEnabled(not counting)
        self.compare.setEnabled(not counting)
        self.count_button.setText(tr("Counting…") if counting else tr("Count a text file…"))

    def _lay_out(self) -> None:
        self._labels: dict[QWidget, QLabel] = {}
        buttons = Wrap()
        buttons.set_cells(self.presets)
        self._column.addWidget(buttons)
        self._column.addWidget(self.basis)
        self._grid(
            tr("TOKENS"),
            [
                *self.tokens.values(),
                self.keeps_thinking,
                (tr("Turns"), self.turns),
                self.count_button,
            ],
        )
        self._grid(
            tr("REUSE"),
            [
                Text(tr("Each request changes"), Style.BODY),
                self.change,
                (tr("First changed token"), self.change_at),
                self.compare,
                self.compacts,
                (tr("Above, per cent"), self.compact_at),
                (tr("Summary, tokens"), self.summary),
            ],
        )
        self._grid(
            tr("OTHER REQUESTS"),
            [
                (tr("Side requests a turn"), self.side_requests),
                (tr("Tokens of one"), self.side_tokens),
                (tr("Sessions at once"), self.sessions),
                (tr("RAM for other prompts"), self.prompt_cache),
                self.varies,
                self.endpoint,
            ],
        )
        self._grid(
            tr("TIME"),
            [
                (tr("Pause between turns"), self.pause),
                (tr("Model stays loaded"), self.keep_alive),
                (tr("Client gives up after"), self.time_limit),
                (tr("Reading a prompt"), self.prefill),
                (tr("Writing"), self.decode),
                (tr("Disk, MB/s"), self.disk),
            ],
        )
        self._column.addStretch(1)

    def _grid(self, heading: str, rows: list[QWidget | tuple[str, QWidget]]) -> None:
        self._column.addWidget(Text(heading, Style.HEADING))
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(self.fontMetrics().height() // 4)
        grid.setColumnStretch(1, 1)
        for row, each in enumerate(rows):
            if isinstance(each, TokenField):
                grid.addWidget(each.label, row, 0, Qt.AlignmentFlag.AlignTop)
                grid.addWidget(each, row, 1)
            elif isinstance(each, tuple):
                label = QLabel(each[0])
                label.setBuddy(each[1])
                self._labels[each[1]] = label
                grid.addWidget(label, row, 0)
                grid.addWidget(each[1], row, 1)
            else:
                grid.addWidget(each, row, 0, 1, 2)
        self._column.addLayout(grid)


def _quietly(box: QSpinBox | DecimalBox, value: float) -> None:
    if box.value() != value:
        with QSignalBlocker(box):
            if isinstance(box, QSpinBox):
                box.setValue(round(value))
            else:
                box.setValue(value)


def _nearest(values: tuple[Any, ...], value: float | None) -> int:
    """The place of the value, or of the one that is next to it."""
    if value is None:
        return 0
    known = [
        (abs(v - value) if v != value else 0.0, n) for n, v in enumerate(values) if v is not None
    ]
    return min(known)[1]


def _cache_words(mib: int | None) -> str:
    if mib is None:
        return tr("as the engine does")
    return f"{mib // 1024} GiB" if mib else trc("RAM for other prompts", "none")
