"""SPEED: how fast it could write at most, from an empty cache to a full one."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.plan.plan import Plan
from core.provenance import format_value
from core.units import UnitSystem, format_tokens
from gui.widgets.ceiling_plot import CeilingPlot, Curve
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap


class SpeedSection(QWidget):
    """The ceiling at depth 0 and at the chosen depth, what a token reads, and the curve."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.at_start = FactLabel("Ceiling at depth 0", style=Style.HEADLINE)
        self._arrow = Text("→", Style.HEADLINE)
        self.at_depth = FactLabel("Ceiling at the chosen depth", style=Style.HEADLINE)
        self._where = LiveText(Style.MUTED)
        self._reads = Text("reads", Style.MUTED)
        self._each = Text("a token", Style.MUTED)
        self.bytes = FactLabel("Bytes read for one token")
        self.plot = CeilingPlot()
        self._cost = _together(Style.BODY, self._reads, self.bytes, self._each)
        top = Wrap(last_right=True)
        top.set_cells(
            [
                _together(Style.HEADLINE, self.at_start, self._arrow, self.at_depth),
                self._where,
                self._cost,
            ]
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        column.addWidget(top)
        column.addWidget(self.plot, 1)

    def show_plan(self, plan: Plan, whole: Plan, units: UnitSystem) -> None:
        """Show this plan. ``whole`` is the same at depth 0 with all the context that the model was
        trained for: the ceiling of an empty cache is its own, whatever is reserved."""
        ceiling, depth = plan.speed.ceiling, plan.settings.depth
        first = whole.speed.ceiling
        sloped = depth > 0 and ceiling.known and first.known
        self.at_start.setVisible(sloped)
        self._arrow.setVisible(sloped)
        self.at_start.set_number(first, units, _bare(format_value(first.value, first.unit, units)))
        self.at_depth.set_number(ceiling, units)
        self._where.set_text(f"at {format_tokens(depth)} tokens" if ceiling.known else "")
        self._cost.setVisible(plan.speed.bytes_per_token.known)
        self.bytes.set_number(plan.speed.bytes_per_token, units)
        if not ceiling.known:
            self.plot.set_words(ceiling.note or "The ceiling is not known.")
            return
        context = plan.settings.context
        beyond = tuple(p for p in whole.speed.curve if p.depth >= context)
        if beyond and beyond[0].depth > context:
            beyond = (plan.speed.curve[-1], *beyond)
        last = max(whole.settings.context, context)
        self.plot.set_curve(Curve(plan.speed.curve, beyond, depth, last))


def _together(style: Style, *widgets: QWidget) -> QWidget:
    """Widgets that stay on one line, a space apart."""
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(style.metrics().horizontalAdvance(" "))
    for widget in widgets:
        row.addWidget(widget)
    return group


def _bare(rate: str) -> str:
    """The first of two rates needs no unit of its own."""
    return rate.removesuffix(" tok/s")
