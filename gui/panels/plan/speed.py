"""SPEED: how fast it could write at most, from an empty cache to a full one."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.language import mark, tr, trc
from core.model.model import Role
from core.plan.plan import PartKind, Plan, Verdict
from core.plan.speed import tensor_parallel
from core.plan.speed.anatomy import Anatomy, PartOfToken
from core.plan.speed.own_runs import measured
from core.plan.speed.spill import cliff
from core.provenance import Number
from core.units import UnitSystem, bare_rate
from gui import theme
from gui.panels.plan.ram_around import needs_ram
from gui.widgets.ceiling_plot import CeilingPlot, Curve
from gui.widgets.elided_text import plain_tip
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text
from gui.widgets.together import together
from gui.widgets.token_bar import Segment, TokenBar
from gui.widgets.wrap import Wrap

_CEILING = mark(
    "Writing one token takes a pass over all that is read for it, and memory gives only so many "
    "bytes in a second. No program can be faster: this is a limit, not a promise."
)
_TONES: dict[PartOfToken, theme.Toned] = {
    PartOfToken.EXPERTS: Role.EXPERTS,
    PartOfToken.FEED_FORWARD: Role.FEED_FORWARD,
    PartOfToken.ATTENTION: Role.ATTENTION,
    PartOfToken.HEAD: Role.HEAD,
    PartOfToken.OTHER: Role.OTHER,
    PartOfToken.STATE: PartKind.STATE,
    PartOfToken.CACHE: PartKind.CACHE,
}
_MEASURE = mark("Measure the RAM of this computer")
_TYPE = mark("Type a bandwidth…")


class SpeedSection(QWidget):
    """The ceiling at depth 0 and at the chosen depth, what a token reads, and the curve.

    Where a bandwidth is missing, a button leads to it: ``measure_asked`` for this computer's RAM,
    ``machine_asked`` for a machine whose figures must be typed.
    """

    measure_asked = Signal()
    machine_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.at_start = FactLabel(tr("Ceiling with an empty cache"), style=Style.HEADLINE)
        self._arrow = Text("→", Style.HEADLINE)
        self.at_depth = FactLabel(tr("Ceiling at the chosen depth"), style=Style.HEADLINE)
        word = Text(tr("ceiling"), Style.HEADLINE)
        word.setToolTip(plain_tip(tr(_CEILING)))
        word.setAccessibleDescription(tr(_CEILING))
        self.where = LiveText(Style.MUTED)
        self.bytes = FactLabel(tr("Bytes read for one token"))
        self.low = FactLabel(tr("Decode speed to expect, at least"), style=Style.HEADLINE)
        self.high = FactLabel(tr("Decode speed to expect, at most"), style=Style.HEADLINE)
        self.expect_where = LiveText(Style.MUTED)
        self._expect = _words(
            Style.HEADLINE,
            Text(trc("expect 12 to 15 tok/s", "expect"), Style.HEADLINE),
            self.low,
            Text(trc("expect 12 to 15 tok/s", "to"), Style.HEADLINE),
            self.high,
            self.expect_where,
        )
        self.no_data = FactLabel(tr("Decode speed to expect"), style=Style.MUTED)
        self.basis = LiveText(Style.MUTED)
        self.ttft = FactLabel(tr("Seconds until the first token of a prompt of this depth"))
        self.prefill = FactLabel(tr("Tokens of such a prompt read in a second"))
        self._prompt = _words(
            Style.BODY,
            Text(trc("first token after 2.4 s at 900 tok/s", "first token after"), Style.MUTED),
            self.ttft,
            Text(trc("first token after 2.4 s at 900 tok/s", "at"), Style.MUTED),
            self.prefill,
        )
        self.arithmetic = FactLabel(tr("Time of one token's arithmetic"))
        self.memory_side = FactLabel(tr("Time of one token's bytes"))
        self._sides = _words(
            Style.BODY,
            Text(trc("in 16 ms, arithmetic 4.2 ms", "in"), Style.MUTED),
            self.memory_side,
            Text(trc("in 16 ms, arithmetic 4.2 ms", "arithmetic"), Style.MUTED),
            self.arithmetic,
        )
        self.shared = FactLabel(tr("Ceiling if the cards shared every layer"))
        self._shared = _words(
            Style.BODY,
            self.shared,
            Text(tr("if the cards shared every layer"), Style.MUTED),
        )
        self.token = TokenBar()
        self._remedy = ""
        self.remedy = QPushButton()
        self.remedy.clicked.connect(self._ask)
        self.plot = CeilingPlot(remedy=self.remedy)
        self._cost = _words(
            Style.BODY,
            Text(trc("reads 4.2 GiB a token", "reads"), Style.MUTED),
            self.bytes,
            Text(trc("reads 4.2 GiB a token", "a token"), Style.MUTED),
        )
        top = Wrap(last_right=True)
        top.set_cells(
            [
                Text(tr("SPEED"), Style.HEADING),
                _words(Style.HEADLINE, word, self.at_start, self._arrow, self.at_depth),
                self.where,
                self._expect,
                self.no_data,
                self._prompt,
                self._shared,
                self.basis,
            ]
        )
        row = QHBoxLayout()
        row.setSpacing(self.fontMetrics().height() // 2)
        row.addWidget(self._cost)
        row.addWidget(self._sides)
        row.addWidget(self.token, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 6)
        column.addWidget(top)
        column.addLayout(row)
        column.addWidget(self.plot, 1)

    def show_plan(self, plan: Plan, whole: Plan, units: UnitSystem, *, measurable: bool) -> None:
        """Show this plan. ``whole`` is the same at depth 0 with all the context that the model was
        trained for: the ceiling of an empty cache is its own, whatever is reserved.

        ``measurable`` says that the machine is this computer, looked at already.
        """
        ceiling, depth = plan.speed.ceiling, plan.settings.depth
        first = whole.speed.ceiling
        sloped = depth > 0 and ceiling.known and first.known
        for widget in (self.at_start, self._arrow):
            if widget.isHidden() is sloped:
                widget.setVisible(sloped)
        self.at_start.set_number(first, units, _bare(first))
        self.at_depth.set_number(ceiling, units)
        self.where.set_text(_where(plan, sloped=sloped))
        reads = plan.speed.bytes_per_token
        if self._cost.isHidden() is reads.known:
            self._cost.setVisible(reads.known)
        self.bytes.set_number(reads, units)
        self._show_expected(plan, units)
        self._show_token(plan, whole, units)
        self._show_remedy(_remedy(plan, measurable=measurable))
        if not ceiling.known:
            self.plot.set_words(tr(ceiling.note) or tr("The ceiling is not known."))
            return
        context = plan.settings.context
        beyond = tuple(p for p in whole.speed.curve if p.depth > context)
        if beyond:
            beyond = (plan.speed.curve[-1], *beyond)
        last = max(whole.settings.context, context)
        points = measured(plan.model, plan.settings, plan.machine.runs)
        shown = tuple(point for point in points if point[0] <= last)
        self.plot.set_curve(Curve(plan.speed.curve, beyond, depth, last, cliff(plan, whole), shown))

    def _show_expected(self, plan: Plan, units: UnitSystem) -> None:
        """The band and its basis, or that there is no data; what a prompt of this depth takes."""
        band, speed = plan.speed.expected, plan.speed
        _show(self._expect, band.known)
        _show(self.no_data, not band.known and speed.ceiling.known)
        if band.known:
            self.low.set_number(band.low, units, _bare(band.low))
            self.high.set_number(band.high, units)
            depth = plan.settings.depth
            self.expect_where.set_text(
                trc("expected with so many tokens", "at {depth:,}", depth=depth) if depth else ""
            )
        else:
            self.no_data.set_number(band.mid, units, tr("expected: no data"))
        self.basis.set_text(tr(band.basis))
        shared = tensor_parallel(plan) if len(plan.machine.gpus) > 1 else None
        _show(self._shared, shared is not None)
        if shared is not None:
            self.shared.set_number(shared.tok_s, units)
        _show(self._prompt, speed.ttft.known)
        self.ttft.set_number(speed.ttft, units)
        self.prefill.set_number(speed.prefill, units)

    def _show_token(self, plan: Plan, whole: Plan, units: UnitSystem) -> None:
        """What one token reads, part by part, and its two sides."""
        anatomy = Anatomy(plan)
        shares = anatomy.shares(plan.settings.depth)
        _show(self.token, bool(shares))
        deepest = whole.speed.curve[-1].bytes or 0
        segments = [
            Segment(tr(s.name), s.bytes, _TONES[s.part], tuple(tr(role.value) for role in s.holds))
            for s in shares
        ]
        self.token.set_segments(segments, deepest, units)
        sides = anatomy.sides(plan.settings.depth)
        _show(self._sides, sides.memory.known and sides.arithmetic.known)
        self.memory_side.set_number(sides.memory, units)
        self.arithmetic.set_number(sides.arithmetic, units)

    def _show_remedy(self, remedy: str) -> None:
        self._remedy = remedy
        words = tr(remedy)
        if words != self.remedy.text():
            self.remedy.setText(words)
        if self.remedy.isHidden() is bool(words):
            self.remedy.setVisible(bool(words))

    def _ask(self) -> None:
        asked = self.measure_asked if self._remedy == _MEASURE else self.machine_asked
        asked.emit()


def _show(widget: QWidget, visible: bool) -> None:
    if widget.isHidden() is visible:
        widget.setVisible(visible)


def _where(plan: Plan, *, sloped: bool) -> str:
    """What the two ends of the arrow are."""
    if not plan.speed.ceiling.known:
        return ""
    depth, over = plan.settings.depth, plan.verdict is Verdict.DOES_NOT_FIT
    if sloped and over:
        return tr("if it fitted, from an empty cache to {depth:,} tokens", depth=depth)
    if sloped:
        return tr("at most, from an empty cache to {depth:,} tokens", depth=depth)
    if over:
        return tr("if it fitted, with {depth:,} tokens read", depth=depth)
    return tr("at most, with {depth:,} tokens read", depth=depth)


def _remedy(plan: Plan, *, measurable: bool) -> str:
    """What leads to a bandwidth that is missing, as the words of a button (marked); else
    nothing."""
    if plan.speed.ceiling.known or not plan.speed.bytes_per_token.value:
        return ""
    machine = plan.machine
    told = all(gpu.bandwidth.known for gpu in machine.gpus)
    if told and needs_ram(plan):
        return ""  # a line above leads to where it is said
    if machine.id == "this" and told:
        return _MEASURE if measurable else ""
    return _TYPE


def _words(style: Style, *widgets: QWidget) -> QWidget:
    """Words and figures as one text."""
    return together(*widgets, spacing=style.metrics().horizontalAdvance(" "))


def _bare(rate: Number[float]) -> str | None:
    """The first of two rates needs no unit of its own."""
    return None if rate.value is None else bare_rate(rate.value)
