"""What speculation would bring with the plan: acceptance and draft length chosen, all live."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from core.drawing.ticks import round_above
from core.language import mark, tr, trn, written
from core.plan.plan import Plan
from core.plan.speculation import MOST_DRAFTED, Drafter, Round, Speculation, Speculator
from core.units import UnitSystem, format_bytes
from gui.document import Document
from gui.widgets.choice_plot import ChoicePlot, NamedLine
from gui.widgets.fact_label import FactLabel
from gui.widgets.plot_frame import Axis
from gui.widgets.slider_field import SliderField
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_OTHER = mark("a draft model of another size")
_WORDS = {
    Drafter.MODEL: mark("the attached draft model"),
    Drafter.HEAD: mark("the file's own draft blocks (MTP)"),
    Drafter.NGRAM: mark("n-grams of the text, without a model"),
}
_LEAD = mark(
    "Cheap drafts, checked by the model in one pass: what it accepts it would have written itself. "
    "How much it accepts depends on the text: code and repetitions much, prose less."
)
_POINTS = 50


class SpeculationSide(QWidget):
    """Changes nothing of the choice."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._plan: Plan | None = None
        self._speculator: Speculator | None = None
        self._offered: list[Drafter | None] = []  # None: a draft model of another size
        self.drafter = QComboBox()
        self.drafter.setAccessibleName(tr("Who drafts"))
        self.draft_size = SliderField(tr("&Reads per token"), step=50, unit="MB")
        self.draft_size.set_range([50, 100, 200, 400, 800, 1600, 3200, 6400], 1, 100_000)
        self.draft_size.set_suffix(" MB")
        self.draft_size.set_value(400)
        self.acceptance = SliderField(tr("&Acceptance"), unit=tr("per cent"))
        self.acceptance.set_range(range(101), 0, 100)
        self.acceptance.set_suffix(" %")
        self.acceptance.set_value(70)
        self.drafted = SliderField(tr("&Drafted tokens"), unit=tr("tokens"))
        self.drafted.set_range(range(1, MOST_DRAFTED + 1), 1, MOST_DRAFTED)
        self.drafted.set_value(3)
        self.rate = FactLabel(tr("With speculation"), style=Style.HEADLINE)
        self.times = Text("", Style.STRONG)
        self.verdict = Text("", Style.BODY, wrap=True)
        self.note = Text("", Style.MUTED, wrap=True)
        self.plot = ChoicePlot(tr("Speed by acceptance"))
        self._lay_out()
        self.drafter.activated.connect(self._choose)
        widest = self.draft_size.box.sizeHint().width()
        for field in (self.draft_size, self.acceptance, self.drafted):
            field.box.setFixedWidth(widest)
            field.value_changed.connect(self._choose)

    def show_plan(self, plan: Plan) -> None:
        """Ask about this plan."""
        if plan == self._plan:
            return
        offered = _offered(plan)
        if offered != self._offered:
            self._offered = offered
            self.drafter.clear()
            self.drafter.addItems(
                [tr(_OTHER if each is None else _WORDS[each]) for each in offered]
            )
        first = self._plan is None or self._plan.model is not plan.model
        if first and plan.settings.drafted:
            self.drafted.set_value(min(plan.settings.drafted, MOST_DRAFTED))
        self._plan = plan
        self._choose()

    def _choose(self) -> None:
        plan = self._plan
        if plan is None:
            return
        drafter = self._offered[self.drafter.currentIndex()]
        other = drafter is None
        self.draft_size.setVisible(other)
        self.draft_size.label.setVisible(other)
        size = self.draft_size.value * 10**6 if other else None
        made = Speculator(plan, drafter or Drafter.MODEL, size)
        self._speculator = made
        self.note.set_text(tr(made.note))
        self.note.setVisible(bool(made.note))
        if not made.known:
            self.rate.set_number(None)
            self.times.set_text("")
            self.verdict.set_text("")
            self.plot.set_words(tr(made.note))
            self.plot.show_lines(None, (), (0.0, ()))
            return
        self._show(made, made.speculate(self.acceptance.value / 100, self.drafted.value))

    def _show(self, made: Speculator, found: Speculation) -> None:
        units = self._document.units
        self.rate.set_number(found.rate, units)
        times = found.round.times
        self.times.set_text(
            tr("expected, {times:.2f} times as fast as without", times=times)
            if made.plan.speed.expected.known
            else tr("at most, {times:.2f} times as fast as without", times=times)
        )
        self.verdict.set_text(" ".join(_sentences(made, found, units)))
        top = made.round(1.0, found.round.drafted).times
        step, high = round_above(max(top, 1.2))
        ticks = tuple(n * step for n in range(round(high / step) + 1))
        curve = [
            (100 * n / _POINTS, made.round(n / _POINTS, found.round.drafted).times)
            for n in range(_POINTS + 1)
        ]
        across = Axis(
            tr("acceptance, per cent of the drafted tokens"), 0, 100, (0, 25, 50, 75, 100), _plain
        )
        up = Axis(tr("times as fast"), 0, high, ticks, lambda value: written(value, ".10g"))
        self.plot.show_lines(
            (across, up),
            [NamedLine(tr("{count} drafted", count=found.round.drafted), tuple(curve))],
            (100 * found.acceptance, (found.round.times,)),
            [(1.0, tr("no gain"))],
            self.verdict.text(),
        )

    def _lay_out(self) -> None:
        label = QLabel(tr("Drafts come &from"))
        label.setBuddy(self.drafter)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.addWidget(label, 0, 0)
        grid.addWidget(self.drafter, 0, 1, Qt.AlignmentFlag.AlignLeft)
        for row, field in enumerate((self.draft_size, self.acceptance, self.drafted), 1):
            grid.addWidget(field.label, row, 0)
            grid.addWidget(field, row, 1)
        head = Wrap()
        head.set_cells([self.rate, self.times])
        column = QVBoxLayout(self)
        column.addWidget(Text(tr(_LEAD), Style.MUTED, wrap=True))
        column.addLayout(grid)
        column.addWidget(head)
        column.addWidget(self.verdict)
        column.addWidget(self.note)
        column.addWidget(self.plot, 1)


def _sentences(made: Speculator, found: Speculation, units: UnitSystem) -> list[str]:
    """What a round is, from where it pays, and how many drafted tokens would be best."""
    drafted = found.round.drafted
    words = [
        trn(
            "A round of {count} drafted token yields {yields:.2f} on average.",
            "A round of {count} drafted tokens yields {yields:.2f} on average.",
            drafted,
            yields=found.round.tokens,
        )
    ]
    if made.draft_bytes:
        words.append(tr("Drafting one reads {size}.", size=format_bytes(made.draft_bytes, units)))
    if found.pays_above is None:
        words.append(tr("With {count} it never pays, even if all are accepted.", count=drafted))
    elif found.pays_above < 0.005:
        words.append(tr("It pays at any acceptance."))
    else:
        share = 100 * found.pays_above
        words.append(tr("It pays above an acceptance of {share:.0f} %.", share=share))
    words.append(_best(found.best))
    return words


def _best(best: Round) -> str:
    if best.drafted == 0:
        return tr("At this acceptance it is best not to draft.")
    if best.drafted == MOST_DRAFTED:
        return tr(
            "Best here: {count} or more drafted tokens, {times:.2f} times as fast.",
            count=best.drafted,
            times=best.times,
        )
    return trn(
        "Best here: {count} drafted token, {times:.2f} times as fast.",
        "Best here: {count} drafted tokens, {times:.2f} times as fast.",
        best.drafted,
        times=best.times,
    )


def _offered(plan: Plan) -> list[Drafter | None]:
    found: list[Drafter | None] = [Drafter.MODEL] if plan.choice.draft is not None else []
    found += [Drafter.HEAD] if plan.model.shape.draft_layers else []
    return [*found, Drafter.NGRAM, None]


def _plain(value: float) -> str:
    return written(value, ".0f")
