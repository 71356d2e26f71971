"""The sums of a session, each of which says how it was come by."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from core.language import mark, tr
from core.plan.session import Session
from core.provenance import Number
from core.units import UnitSystem
from gui.widgets.fact_label import FactLabel
from gui.widgets.text import Style, Text
from gui.widgets.together import together
from gui.widgets.wrap import Wrap

_NAMES = (
    mark("Total"),
    mark("Without reuse"),
    mark("Reading"),
    mark("Writing"),
    mark("Loading, summaries, side requests"),
    mark("Time-out to allow"),
    mark("Context for all turns"),
    mark("Saved to RAM"),
)


class SessionFacts(Wrap):
    """Names and figures side by side, on as many lines as they need."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.facts = {name: FactLabel(tr(name), style=Style.STRONG) for name in _NAMES}
        self.set_cells(
            [together(Text(tr(name), Style.MUTED), fact) for name, fact in self.facts.items()]
        )

    def show_session(self, session: Session, units: UnitSystem) -> None:
        """Show the sums of this session."""
        numbers: tuple[Number[int] | Number[float], ...] = (
            session.total,
            session.total_without_reuse,
            session.reading,
            session.writing,
            session.besides,
            session.allow,
            session.needed,
            session.entry,
        )
        for fact, number in zip(self.facts.values(), numbers, strict=True):
            fact.set_number(number, units)
