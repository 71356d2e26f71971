"""Several users of the planned model at a time: how fast for each, and for all together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QPushButton, QVBoxLayout, QWidget

from core.drawing.ticks import round_above
from core.language import mark, tr, trc, written
from core.plan import context_per_request, reason
from core.plan.batching import Batches, BatchPoint
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.plan import Plan
from core.provenance import Input, Number, Rank, Source, Unit
from core.units import format_rate, format_tokens
from gui import theme
from gui.document import Document
from gui.widgets.choice_plot import ChoicePlot, NamedLine
from gui.widgets.fact_label import FactLabel
from gui.widgets.plot_frame import Axis
from gui.widgets.slider_field import SliderField
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

MOST_USERS = 256
_STOPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_LEAD = mark(
    "Requests that are written at the same time share one read of the weights; each reads a cache "
    "of its own. These are ceilings: no program can be faster."
)
_SOURCE = Source(Rank.DERIVED, mark("the plan's bytes, by device, and its operations"))


class UsersSide(QWidget):
    """Changes the choice only where it is asked to plan for so many users."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._plan: Plan | None = None
        self._batches: Batches | None = None
        self.users = SliderField(tr("&Users"), unit=tr("users"))
        self.users.set_range(_STOPS, 1, MOST_USERS)
        self.users.set_value(4)
        self.total = FactLabel(tr("All users together"), style=Style.HEADLINE)
        self.each = FactLabel(tr("Each user"), style=Style.STRONG)
        self.words = Text("", Style.BODY, wrap=True)
        self.memory = Text("", Style.BODY, wrap=True)
        self.use = QPushButton(tr("&Plan for them"))
        self.use.setAutoDefault(False)
        self.plot = ChoicePlot(tr("Speed by number of users"))
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.addWidget(self.users.label, 0, 0)
        grid.addWidget(self.users, 0, 1)
        head = Wrap()
        head.set_cells([self.total, self.each])
        column = QVBoxLayout(self)
        column.addWidget(Text(tr(_LEAD), Style.MUTED, wrap=True))
        column.addLayout(grid)
        column.addWidget(head)
        column.addWidget(self.words)
        column.addWidget(self.memory)
        column.addWidget(self.use, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.plot, 1)
        self.users.value_changed.connect(self._choose)
        self.use.clicked.connect(self._use)

    def show_plan(self, plan: Plan) -> None:
        """Ask about this plan."""
        if plan == self._plan:
            return
        self._plan = plan
        self._batches = Batches(plan)
        self._choose()

    def _choose(self) -> None:
        plan, batches = self._plan, self._batches
        if plan is None or batches is None:
            return
        if not batches.known:
            self.total.set_number(None)
            self.each.set_number(None)
            self.words.set_text(tr(batches.note))
            self.memory.set_text("")
            self.use.hide()
            self.plot.set_words(tr(batches.note))
            self.plot.show_lines(None, (), (0.0, ()))
            return
        users = self.users.value
        point = batches.at(users)
        one = batches.at(1)
        self.total.set_number(_rate(point.total, users, plan), text=format_rate(point.total))
        self.each.set_number(
            _rate(point.each, users, plan), text=tr("{rate} for each", rate=format_rate(point.each))
        )
        self.words.set_text(_words(batches, point, one))
        self._show_memory(plan, users)
        curve = batches.curve(_STOPS)
        step, high = round_above(max(p.total for p in curve))
        ticks = tuple(n * step for n in range(round(high / step) + 1))
        across = Axis(
            tr("users at a time"), 1, MOST_USERS, tuple(map(float, _STOPS[::2])), _plain, True
        )
        self.plot.show_lines(
            (
                across,
                Axis(tr("tok/s at most"), 0, high, ticks, lambda value: written(value, ",.10g")),
            ),
            [
                NamedLine(tr("all together"), tuple((p.users, p.total) for p in curve)),
                NamedLine(trc("each user", "each"), tuple((p.users, p.each) for p in curve)),
            ],
            (users, (point.total, point.each)),
            sentence=self.words.text(),
        )

    def _changes(self, plan: Plan, users: int) -> dict[str, Any]:
        """The choice that gives each of them as much context as one request has now."""
        rules = RULES[Engine(plan.settings.engine)]
        each = _context_of_each(plan)
        context = each if rules.per_request else each * users
        return {"slots": users, "context": context, "depth": None, "unified_cache": None}

    def _show_memory(self, plan: Plan, users: int) -> None:
        changes = self._changes(plan, users)
        after = self._document.what_if(**changes)
        each = format_tokens(_context_of_each(plan))
        self.memory.set_text(
            tr(
                "Memory for {users} caches of {each} tokens: {verdict}, {reason}.",
                users=users,
                each=each,
                verdict=tr(theme.colors().verdict(after.verdict).word),
                reason=reason(after, self._document.units),
            )
        )
        self.use.setText(tr("&Plan for {users}", users=users))
        self.use.setVisible(replace(plan.choice, **changes) != plan.choice)

    def _use(self) -> None:
        if self._plan is not None:
            self._document.end_step()
            self._document.choose(**self._changes(self._plan, self.users.value))


def _context_of_each(plan: Plan) -> int:
    """Tokens that one request was given, without what the engine pads."""
    return min(context_per_request(plan.settings), plan.settings.requested_context)


def _rate(value: float, users: int, plan: Plan) -> Number[float]:
    return Number(
        value,
        Unit.TOKENS_PER_SECOND,
        _SOURCE,
        mark(
            "per pass: weights once (of a mixture the experts that anybody wakes) + a cache for "
            "each"
        ),
        (
            Input(mark("users"), users),
            Input(mark("depth of each"), plan.settings.depth, Unit.TOKENS),
        ),
        mark("The slower of memory and arithmetic on each device; the devices take turns."),
    )


def _words(batches: Batches, point: BatchPoint, one: BatchPoint) -> str:
    words = []
    if point.users > 1:
        words.append(
            tr(
                "{times:.1f} times as many tokens as one user alone gets; each writes at "
                "{share:.0f} % of the speed.",
                times=point.total / one.total,
                share=100 * point.each / one.each,
            )
        )
    turn = batches.turning_point(MOST_USERS)
    if turn is not None:
        words.append(tr("From {users} users on arithmetic takes longer than memory.", users=turn))
    elif not batches.note:
        words.append(tr("Memory is the slower side up to {users} users.", users=MOST_USERS))
    bare = batches.turning_point(MOST_USERS, 0)
    if bare is not None and bare != turn:
        words.append(tr("With empty caches it would be so from {users} on.", users=bare))
    return " ".join([*words, tr(batches.note)]).strip()


def _plain(value: float) -> str:
    return written(value, ".0f")
