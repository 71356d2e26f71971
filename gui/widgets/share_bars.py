"""Rows of a name, a bar and its figures: what a model is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from core.provenance import Number
from core.units import UnitSystem
from gui import theme
from gui.widgets.fact_label import FactLabel
from gui.widgets.laying_out import laid_out_once
from gui.widgets.spoken import Role, Spoken
from gui.widgets.text import Style, Text


@dataclass(frozen=True, slots=True)
class ShareRow:
    """One row. ``share`` (0..1) is the length of the bar, ``facts`` one figure per column.

    ``tone`` names the colour and hatch; None draws the plain accent. ``texts`` are what the figures
    are shown as where the header already says their unit.
    """

    name: str
    share: float
    facts: tuple[Number[int] | Number[float], ...]
    tone: theme.Toned | None = None
    texts: tuple[str | None, ...] = ()


class ShareBars(QWidget):
    """Shows rows under ``headers``, one header per figure, with the ``widest`` text below each.

    Rows come and go while a slider moves: those that are not needed are hidden, not deleted.
    """

    def __init__(
        self, headers: Sequence[str], widest: Sequence[str], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._headers = tuple(headers)
        self._widest = tuple(widest)
        self._rows: list[tuple[Text, _Bar, list[FactLabel]]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(self.fontMetrics().averageCharWidth() * 2)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        for column, header in enumerate(self._headers, start=2):
            label = Text(header, Style.MUTED)
            label.setAlignment(Qt.AlignmentFlag.AlignRight)
            self._grid.addWidget(label, 0, column)

    def set_rows(self, rows: Sequence[ShareRow], units: UnitSystem = UnitSystem.GIB) -> None:
        """Show these rows, in this order."""
        while len(self._rows) < len(rows):
            self._append()
        with laid_out_once(self._grid):
            for line, (name, bar, facts) in enumerate(self._rows):
                shown = line < len(rows)
                if name.isHidden() is shown:
                    for widget in (name, bar, *facts):
                        widget.setVisible(shown)
        for row, (name, bar, facts) in zip(rows, self._rows, strict=False):
            name.set_text(row.name)
            bar.set_share(row.share, row.tone)
            texts = row.texts or (None,) * len(facts)
            for header, fact, number, text in zip(
                self._headers, facts, row.facts, texts, strict=True
            ):
                fact.set_number(number, units, text, name=f"{row.name}, {header}")

    def _append(self) -> None:
        line = len(self._rows) + 1
        name = Text()
        bar = _Bar()
        align = Qt.AlignmentFlag.AlignRight
        facts = [FactLabel(align=align, widest=widest) for widest in self._widest]
        self._grid.addWidget(name, line, 0)
        self._grid.addWidget(bar, line, 1)
        for column, fact in enumerate(facts, start=2):
            self._grid.addWidget(fact, line, column)
        self._rows.append((name, bar, facts))


class _Bar(QWidget, Spoken):
    """One bar. It says nothing that its row's words do not say, so readers pass over it."""

    spoken_role = Role.Whitespace

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share = 0.0
        self._tone: theme.Toned | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def set_share(self, share: float, tone: theme.Toned | None) -> None:
        """Length 0..1 and colour."""
        if (share, tone) != (self._share, self._tone):
            self._share, self._tone = share, tone
            self.update()

    def sizeHint(self) -> QSize:
        """Eight characters wide at least."""
        metrics = self.fontMetrics()
        return QSize(8 * metrics.averageCharWidth(), metrics.height())

    def minimumSizeHint(self) -> QSize:
        """May shrink to half of that."""
        return QSize(self.sizeHint().width() // 2, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """A bar from the left; one pixel at least where there is something."""
        if self._share <= 0:
            return
        c = theme.colors()
        height = max(4, round(self.fontMetrics().height() * 0.6))
        width = max(1, round(min(self._share, 1.0) * self.width()))
        rect = QRect(0, (self.height() - height) // 2, width, height)
        theme.fill(QPainter(self), rect, c.tone(self._tone), c.window)
