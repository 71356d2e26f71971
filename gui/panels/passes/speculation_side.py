"""What speculation would bring with the plan: acceptance and draft length chosen, all live."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QVBoxLayout, QWidget

from core.drawing.ticks import round_above
from core.plan.plan import Plan
from core.plan.speculation import MOST_DRAFTED, Drafter, Speculation, Speculator
from core.units import UnitSystem, format_bytes
from gui.document import Document
from gui.widgets.choice_plot import ChoicePlot, NamedLine
from gui.widgets.fact_label import FactLabel
from gui.widgets.plot_frame import Axis
from gui.widgets.slider_field import SliderField
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_OTHER = "a draft model of another size"
_WORDS = {
    Drafter.MODEL: "the attached draft model",
    Drafter.HEAD: "the file's own draft blocks (MTP)",
    Drafter.NGRAM: "n-grams of the text, without a model",
}
_LEAD = (
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
        self.drafter = QComboBox()
        self.drafter.setAccessibleName("Who drafts")
        self.draft_size = SliderField("&Reads per token", step=50, unit="MB")
        self.draft_size.set_range([50, 100, 200, 400, 800, 1600, 3200, 6400], 1, 100_000)
        self.draft_size.set_suffix(" MB")
        self.draft_size.set_value(400)
        self.acceptance = SliderField("&Acceptance", unit="per cent")
        self.acceptance.set_range(range(101), 0, 100)
        self.acceptance.set_suffix(" %")
        self.acceptance.set_value(70)
        self.drafted = SliderField("&Drafted tokens", unit="tokens")
        self.drafted.set_range(range(1, MOST_DRAFTED + 1), 1, MOST_DRAFTED)
        self.drafted.set_value(3)
        self.rate = FactLabel("With speculation", style=Style.HEADLINE)
        self.times = Text("", Style.STRONG)
        self.verdict = Text("", Style.BODY, wrap=True)
        self.note = Text("", Style.MUTED, wrap=True)
        self.plot = ChoicePlot("Speed by acceptance")
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
        offered = self._offered(plan)
        if [self.drafter.itemText(n) for n in range(self.drafter.count())] != offered:
            self.drafter.clear()
            self.drafter.addItems(offered)
        first = self._plan is None or self._plan.model is not plan.model
        if first and plan.settings.drafted:
            self.drafted.set_value(min(plan.settings.drafted, MOST_DRAFTED))
        self._plan = plan
        self._choose()

    def _offered(self, plan: Plan) -> list[str]:
        words = [_WORDS[Drafter.MODEL]] if plan.choice.draft is not None else []
        words += [_WORDS[Drafter.HEAD]] if plan.model.shape.draft_layers else []
        return [*words, _WORDS[Drafter.NGRAM], _OTHER]

    def _choose(self) -> None:
        plan = self._plan
        if plan is None:
            return
        chosen = self.drafter.currentText()
        other = chosen == _OTHER
        self.draft_size.setVisible(other)
        self.draft_size.label.setVisible(other)
        drafter = next((d for d, words in _WORDS.items() if words == chosen), Drafter.MODEL)
        made = Speculator(plan, drafter, self.draft_size.value * 10**6 if other else None)
        self._speculator = made
        self.note.set_text(made.note)
        self.note.setVisible(bool(made.note))
        if not made.known:
            self.rate.set_number(None)
            self.times.set_text("")
            self.verdict.set_text("")
            self.plot.set_words(made.note)
            self.plot.show_lines(None, (), (0.0, ()))
            return
        self._show(made, made.speculate(self.acceptance.value / 100, self.drafted.value))

    def _show(self, made: Speculator, found: Speculation) -> None:
        units = self._document.units
        self.rate.set_number(found.rate, units)
        kind = "expected" if made.plan.speed.expected.known else "at most"
        self.times.set_text(f"{kind}, {found.round.times:.2f} times as fast as without")
        self.verdict.set_text(" ".join(_sentences(made, found, units)))
        top = made.round(1.0, found.round.drafted).times
        step, high = round_above(max(top, 1.2))
        ticks = tuple(n * step for n in range(round(high / step) + 1))
        curve = [
            (100 * n / _POINTS, made.round(n / _POINTS, found.round.drafted).times)
            for n in range(_POINTS + 1)
        ]
        across = Axis(
            "acceptance, per cent of the drafted tokens", 0, 100, (0, 25, 50, 75, 100), _plain
        )
        up = Axis("times as fast", 0, high, ticks, lambda value: f"{value:.10g}")
        self.plot.show_lines(
            (across, up),
            [NamedLine(f"{found.round.drafted} drafted", tuple(curve))],
            (100 * found.acceptance, (found.round.times,)),
            [(1.0, "no gain")],
            self.verdict.text(),
        )

    def _lay_out(self) -> None:
        label = QLabel("Drafts come &from")
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
        column.addWidget(Text(_LEAD, Style.MUTED, wrap=True))
        column.addLayout(grid)
        column.addWidget(head)
        column.addWidget(self.verdict)
        column.addWidget(self.note)
        column.addWidget(self.plot, 1)


def _sentences(made: Speculator, found: Speculation, units: UnitSystem) -> list[str]:
    """What a round is, from where it pays, and how many drafted tokens would be best."""
    drafted = found.round.drafted
    plural = "token" if drafted == 1 else "tokens"
    words = [f"A round of {drafted} drafted {plural} yields {found.round.tokens:.2f} on average."]
    if made.draft_bytes:
        words.append(f"Drafting one reads {format_bytes(made.draft_bytes, units)}.")
    if found.pays_above is None:
        words.append(f"With {drafted} it never pays, even if all are accepted.")
    elif found.pays_above < 0.005:
        words.append("It pays at any acceptance.")
    else:
        words.append(f"It pays above an acceptance of {found.pays_above:.0%}.".replace("%", " %"))
    best = found.best
    if best.drafted == 0:
        words.append("At this acceptance it is best not to draft.")
    else:
        more = " or more" if best.drafted == MOST_DRAFTED else ""
        number = f"{best.drafted}{more} drafted tokens" if best.drafted > 1 else "1 drafted token"
        words.append(f"Best here: {number}, {best.times:.2f} times as fast.")
    return words


def _plain(value: float) -> str:
    return f"{value:.0f}"
