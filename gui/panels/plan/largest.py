"""The largest context that fits, by cache type, as buttons: found by resolving, in turns.

Where the plan does not fit, what would fit stands above it (``advice``), the context for the chosen
cache types among it: then only the other types are offered here.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton, QWidget

from core.language import tr
from core.machine.machine import Machine
from core.model.model import Model
from core.plan import LargestContext, search_context
from core.plan.choice import Choice
from core.plan.fits import Turns, pairs_for
from core.plan.plan import Plan, Verdict
from gui.document import Document
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

# So long after the last change the search runs, so that a slider is never held up by it.
_AFTER_MS = 160


class LargestRow(Wrap):
    """A button for each cache type with which some context fits; empty where none does."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._document = document
        self.buttons: list[QPushButton] = []
        self.lead = Text(tr("Context up to"), Style.MUTED, parent=self)
        self._asked: tuple[Model, Machine, Choice] | None = None
        self._searches: list[Turns[LargestContext | None]] = []
        self._found: list[LargestContext] = []
        self._plan: Plan | None = None
        self._offered: list[QPushButton] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._find)
        self.hide()

    def show_plan(self, plan: Plan) -> None:
        """Offer contexts for this plan's model, machine and choice; its own context, depth and
        cache types change nothing about them."""
        choice = replace(plan.choice, context=None, depth=None, cache_k="f16", cache_v="f16")
        asked = (plan.model, plan.machine, choice)
        self._plan = plan
        if asked == self._asked:
            self._lay_out()
            return
        self._asked = asked
        for button in self.buttons:
            button.setEnabled(False)
        self._searches = [
            search_context(*asked, *pair, self._attempt) for pair in pairs_for(choice.engine)
        ]
        self._found = []
        self._timer.start(_AFTER_MS)

    def _attempt(self, model: Model, machine: Machine, choice: Choice) -> Plan:
        return self._document.what_if(
            context=choice.context, depth=None, cache_k=choice.cache_k, cache_v=choice.cache_v
        )

    def _find(self) -> None:
        """One trial a turn, until the model is closed."""
        if self._asked is None or self._document.model is not self._asked[0]:
            self._asked = None
            return
        if not self._searches:
            self._offer()
            return
        try:
            next(self._searches[0])
        except StopIteration as end:
            self._searches.pop(0)
            if end.value is not None and end.value.most is not None:
                self._found.append(end.value)
        self._timer.start(0)

    def _offer(self) -> None:
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = [self._button(each) for each in self._found]
        self._offered = []
        self._lay_out()

    def _lay_out(self) -> None:
        """Show the buttons that this plan leaves something to say."""
        if self._plan is None or self._timer.isActive():
            return
        settings = self._plan.settings
        over = self._plan.verdict is Verdict.DOES_NOT_FIT
        own = (settings.cache_k, settings.cache_v) if over else None
        shown = [
            button
            for button, each in zip(self.buttons, self._found, strict=True)
            if (each.cache_k, each.cache_v) != own
        ]
        if shown and shown != self._offered:
            self.set_cells([self.lead, *shown])
        self._offered = shown
        self.setVisible(bool(shown))

    def _button(self, each: LargestContext) -> QPushButton:
        tokens = each.offered or 0
        button = QPushButton(f"{each.types} {each.words}", self)
        button.hide()  # or it comes up with the row, chosen or not
        use = tr("Use a context of {tokens:,} with {types}", tokens=tokens, types=each.types)
        button.setAccessibleName(use)
        button.setToolTip(_why(each))
        changes = {"context": tokens, "depth": None, "cache_k": each.cache_k}
        button.clicked.connect(lambda: self._document.choose(**changes, cache_v=each.cache_v))
        return button


def _why(each: LargestContext) -> str:
    """How well it fits, and what lies beyond."""
    whole = each.whole
    end = tr("all that the model was trained for") if whole else tr("more does not fit")
    if each.tight:
        if not each.comfortable:
            return tr("Fits, but tightly; {end}", end=end)
        return tr(
            "Fits, but tightly, with room to spare up to {comfortable:,}; {end}",
            comfortable=each.comfortable,
            end=end,
        )
    if each.comfortable == each.most:
        return tr("Fits; {end}", end=end)
    return tr("Fits; tight from there up to {most:,} tokens, {end}", most=each.most or 0, end=end)
