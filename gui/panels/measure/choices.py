"""What will be measured, and how long that will take."""

from __future__ import annotations

import re

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QSpinBox, QVBoxLayout, QWidget

from core.language import plain, tr, trc
from core.measure.run import RunPlan
from core.measure.work import ROOM, default_depths, repeats
from gui.widgets.live_text import LiveText
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.text import Style, Text

_MOST_DEPTHS = 32
_MOST_AT_ONCE = 64


class ChoiceSection(QWidget):
    """``changed`` says that `run_plan` is another one, or none."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context: int | None = None
        self._own_depths = False
        self.depths = QLineEdit()
        self.depths.setToolTip(
            tr(
                "Tokens in the cache when writing begins, like 0, 2048, 8192. Empty for the usual "
                "ones."
            )
        )
        self.at_once = QLineEdit("1")
        self.at_once.setToolTip(tr("Requests at the same time, like 1 or 1, 4"))
        self._wheel = QuietWheel(self)
        self.runs = _spin(1, 100, 6, tr("At least 6 runs give an interval, 20 a p5"))
        self.tokens = _spin(8, 4096, 64, tr("Tokens that each run writes"))
        self.cold = _spin(0, 20, 1, tr("Whole prompts read anew per depth, for TTFT and prefill"))
        self.note = LiveText(Style.MUTED, wrap=True)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        self._pair(grid, 0, 0, tr("Depths"), self.depths, 3)
        self._pair(grid, 1, 0, trc("requests that are repeated", "Runs"), self.runs)
        self._pair(grid, 1, 2, tr("Tokens"), self.tokens)
        self._pair(grid, 2, 0, tr("New prompts"), self.cold)
        self._pair(grid, 2, 2, tr("At once"), self.at_once)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 3)
        column.addWidget(Text(tr("WHAT IS MEASURED"), Style.HEADING))
        column.addLayout(grid)
        column.addWidget(self.note)
        self.depths.textEdited.connect(self._depths_typed)
        self.at_once.textChanged.connect(self.changed)
        for spin in (self.runs, self.tokens, self.cold):
            spin.valueChanged.connect(self._tokens_changed)
        self._wheel.guard(self.runs, self.tokens, self.cold)
        self._show_default()

    def set_context(self, context: int | None) -> None:
        """The context of one request, which depths must fit into."""
        if context != self._context:
            self._context = context
            self._show_default()
            self.changed.emit()

    def set_note(self, words: str) -> None:
        """How long it takes, or why it cannot start."""
        self.note.set_text(words)

    def run_plan(self) -> RunPlan | str:
        """What is asked for, or a sentence about what is wrong with it."""
        depths = _numbers(self.depths.text()) if self.depths.text().strip() else []
        at_once = _numbers(self.at_once.text())
        if depths is None:
            return tr("Depths are whole numbers with commas between them.")
        if not at_once or not all(1 <= n <= _MOST_AT_ONCE for n in at_once):
            return tr("Requests at the same time are numbers from 1 to {most}.", most=_MOST_AT_ONCE)
        if len(depths) > _MOST_DEPTHS:
            return tr("More than {most} depths would take very long.", most=_MOST_DEPTHS)
        tokens = self.tokens.value()
        if not depths:
            depths = list(default_depths(self._context, tokens))
        if self._context is not None and max(depths) + tokens + 1 > self._context:
            most = max(0, self._context - tokens - ROOM)
            return tr(
                "A depth of {depth:,} and {tokens} tokens do not fit into a context of "
                "{context:,}; {most:,} would.",
                depth=max(depths),
                tokens=tokens,
                context=self._context,
                most=most,
            )
        return RunPlan(
            depths=tuple(sorted(set(depths))),
            runs=self.runs.value(),
            tokens=tokens,
            cold=self.cold.value(),
            concurrency=tuple(sorted(set(at_once))),
            again=repeats(depths),
        )

    def _depths_typed(self) -> None:
        self._own_depths = bool(self.depths.text().strip())
        if not self._own_depths:
            self._show_default()
        self.changed.emit()

    def _tokens_changed(self) -> None:
        self._show_default()
        self.changed.emit()

    def _show_default(self) -> None:
        if not self._own_depths:
            usual = default_depths(self._context, self.tokens.value())
            self.depths.setPlaceholderText(", ".join(map(str, usual)))

    def _pair(
        self, grid: QGridLayout, row: int, column: int, name: str, field: QWidget, span: int = 1
    ) -> None:
        label = Text(name, Style.MUTED)
        field.setAccessibleName(name)
        grid.addWidget(label, row, column)
        grid.addWidget(field, row, column + 1, 1, span)


def _spin(least: int, most: int, value: int, tip: str) -> QSpinBox:
    made = QSpinBox()
    made.setRange(least, most)
    made.setValue(value)
    made.setToolTip(tip)
    return made


def _numbers(text: str) -> list[int] | None:
    """ "0, 4096 16k" as numbers; None where something else stands there."""
    found = []
    # A space may stand between the thousands of one number: commas part first.
    numbers = " ".join(plain(part.strip()) for part in re.split("[,;]", text))
    for word in numbers.split():
        match = re.fullmatch(r"([0-9]{1,9})([kK]?)", word)
        if match is None:
            return None
        found.append(int(match[1]) * (1024 if match[2] else 1))
    return found or None
