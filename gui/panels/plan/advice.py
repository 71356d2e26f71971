"""What would make the plan fit, leave room or be faster: found by resolving, best first."""

from __future__ import annotations

from collections.abc import Generator

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from core.language import mark, tr, trc
from core.machine.machine import Machine
from core.plan.advice import Advice, Aim, find_advice, gain, lead, ranked, starts
from core.plan.choice import Choice
from core.plan.plan import Plan, Verdict
from core.units import UnitSystem
from gui.document import Document
from gui.widgets.elided_text import ElidedText
from gui.widgets.rows import fit_rows
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

# So long after the last change the search runs, so that a slider is never held up by it.
_AFTER_MS = 120
_SHOWN = 3
_NONE = {
    Aim.FIT: mark("No single setting and no usual size of memory makes it fit."),
    Aim.ROOM: mark("No single setting leaves more room."),
    Aim.SPEED: mark(
        "Without loss of quality no setting makes it notably faster. Drafting may (Ctrl+B), or "
        "another machine."
    ),
}


class AdviceList(QWidget):
    """A line for every piece of advice, at most three at first, each with a button that takes it.

    It comes by itself where the plan does not fit or is tight; for speed one has to ``ask``, with
    a button that stands where the panel puts it.
    """

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._plan: Plan | None = None
        self._aim: Aim | None = None
        self._search: Generator[Advice | None, None, None] | None = None
        self._found: list[Advice] = []
        self.advice: list[Advice] = []
        self.rows: list[_Row] = []
        self.ask = QToolButton()
        self.ask.setText(tr("Faster?"))
        self.ask.setToolTip(tr("How could this be faster?"))
        self.ask.setAccessibleName(tr("How could this be faster?"))
        self.ask.setCheckable(True)
        self.ask.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.lead = Text("", Style.MUTED, wrap=True)
        self.more = QToolButton()
        self.more.setAutoRaise(True)
        self.more.setCheckable(True)
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._find)
        self._lines = QVBoxLayout()
        self._lines.setSpacing(self.fontMetrics().height() // 4)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        head = QHBoxLayout()
        head.addWidget(self.lead, 1)
        head.addWidget(self.more)
        column.addLayout(head)
        column.addLayout(self._lines)
        self.ask.toggled.connect(self._restart)
        self.more.toggled.connect(self._show_rows)
        document.units_changed.connect(self._show_rows)
        self._clear()

    @property
    def buttons(self) -> list[QPushButton]:
        """Those that take a piece of advice, of the lines that are shown."""
        return [row.use for row in self.rows]

    def show_plan(self, plan: Plan) -> None:
        """Look for advice on this plan. What was offered before is withdrawn at once."""
        if plan == self._plan:
            return
        before, self._plan = self._plan, plan
        if before and (plan.model is not before.model or plan.machine != before.machine):
            # "Faster?" was asked of that model on that machine; of another it would take the place
            # of what makes room.
            with QSignalBlocker(self.ask):
                self.ask.setChecked(False)
        self._restart()

    def _restart(self) -> None:
        plan = self._plan
        if plan is None:
            return
        self._aim = self._aim_of(plan)
        self.ask.setVisible(starts(plan) and plan.speed.ceiling.known)
        if self._aim is None:
            self._timer.stop()
            self._clear()
            return
        for row in self.rows:
            row.use.setEnabled(False)
        self._search = find_advice(plan, self._aim, self._attempt)
        self._found = []
        self._timer.start(_AFTER_MS)

    def _aim_of(self, plan: Plan) -> Aim | None:
        if plan.verdict is Verdict.UNKNOWN:
            return None
        if not starts(plan):
            return Aim.FIT
        if self.ask.isChecked() and plan.speed.ceiling.known:
            return Aim.SPEED
        return Aim.ROOM if plan.verdict is Verdict.TIGHT else None

    def _attempt(self, machine: Machine, choice: Choice) -> Plan:
        return self._document.plan_of(machine, choice)

    def _find(self) -> None:
        """One trial a turn, until the model is closed."""
        if self._document.plan is not self._plan:
            return
        for each in self._search or ():
            if each is None:
                self._timer.start(0)
                return
            self._found.append(each)
        plan, aim = self._plan, self._aim
        if plan is not None and aim is not None:
            self.advice = ranked(self._found, plan, aim)
            self.lead.set_text(lead(plan, aim) if self.advice else tr(_NONE[aim]))
            self.lead.show()
            self._show_rows()

    def _clear(self) -> None:
        self.advice = []
        self.lead.hide()
        self._show_rows()

    def _show_rows(self) -> None:
        plan, aim = self._plan, self._aim
        hidden = max(0, len(self.advice) - _SHOWN)
        shown = self.advice if self.more.isChecked() else self.advice[:_SHOWN]
        fit_rows(self._lines, self.rows, len(shown), lambda: _Row(self._take))
        if plan is not None and aim is not None:
            for row, each in zip(self.rows, shown, strict=True):
                row.show_advice(each, plan, aim, self._document.units)
        self.more.setVisible(hidden > 0)
        fewer = self.more.isChecked()
        self.more.setText(tr("Fewer ▴") if fewer else tr("{count} more ▾", count=hidden))

    def _take(self, advice: Advice) -> None:
        self._document.end_step()  # a step of its own, whatever was chosen just now
        if advice.machine is not None:
            self._document.set_machine(advice.machine)
        else:
            self._document.choose(**advice.changes)


class _Row(QWidget):
    """One piece of advice: a button, what it is and brings, and what it costs."""

    def __init__(self, take: object) -> None:
        super().__init__()
        assert callable(take)
        self._advice: Advice | None = None
        self.use = QPushButton(trc("button: take this advice", "Use"))
        self.use.setAutoDefault(False)
        self.text = ElidedText()
        self.cost = ElidedText("", Style.MUTED, sentence=True)
        words = Wrap()
        words.set_cells([self.text, self.cost])
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.use)
        row.addWidget(words, 1, Qt.AlignmentFlag.AlignVCenter)
        self.use.clicked.connect(lambda: self._advice is not None and take(self._advice))

    def show_advice(self, advice: Advice, plan: Plan, aim: Aim, units: UnitSystem) -> None:
        """Offer this one."""
        self._advice = advice
        words = f"{advice.words}: {gain(advice, plan, aim, units)}"
        self.text.set_text(words[:1].upper() + words[1:])
        self.cost.set_text(tr("costs: {cost}", cost=advice.cost) if advice.cost else "")
        self.cost.setVisible(bool(advice.cost))
        self.use.setEnabled(True)
        self.use.setAccessibleName(tr("Use {what}", what=words))
        self.use.setAccessibleDescription(advice.cost)
