"""The whole catalogue as a scatter of memory against speed."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.compare import Point, sweep
from core.compare.tables import room_words
from core.language import mark, tr
from core.machine import catalogue
from core.machine.rows import DISCRETE
from core.plan.plan import Verdict
from core.plan.verdict import SHORT_WORDS
from core.units import UnitSystem, format_bandwidth, format_bytes, format_rate
from gui.document import Document
from gui.panels.compare.chosen import Chosen
from gui.panels.compare.filters import Filters
from gui.widgets.scatter_plot import Dot, ScatterPlot
from gui.widgets.text import Style, Text

_AT_ONCE = 60  # machines in one turn of the event loop
_AFTER_MS = 30
_HEADING = mark("THE CATALOGUE: CLICK A MACHINE TO ADD IT (RINGED ONES ARE COMPARED)")
_STEP = {UnitSystem.GIB: 2**30, UnitSystem.GB: 10**9}


class CatalogueView(QWidget):
    """Follows the document while it is in sight. ``added`` carries the id of a machine clicked."""

    added = Signal(str)

    def __init__(self, document: Document, chosen: Chosen, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._chosen = chosen
        self._points: tuple[Point, ...] = ()
        self._asked: object = None
        self._work: Iterator[tuple[Point, ...]] = iter(())
        self._coming: list[Point] = []
        self._expected = False
        self.filters = Filters()
        self.plot = ScatterPlot(
            tr("The catalogue by memory and speed"), tr("memory"), tr("ceiling, tok/s")
        )
        self.plot.set_words(tr("No machine of the catalogue has these properties."))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(Text(tr(_HEADING), Style.HEADING, wrap=True))
        column.addWidget(self.filters)
        column.addWidget(self.plot, 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._go_on)
        self.filters.changed.connect(self._draw)
        self.plot.taken.connect(self.added)
        chosen.changed.connect(self._draw)
        chosen.changed.connect(self._follow)
        document.plan_changed.connect(self._follow)
        document.units_changed.connect(self._draw)

    @property
    def points(self) -> tuple[Point, ...]:
        """Every machine of the catalogue, once all are worked out."""
        return self._points

    def show_expected(self, expected: bool) -> None:
        """Draw what to expect in place of the ceiling."""
        if expected is not self._expected:
            self._expected = expected
            self._draw()

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while it was out of sight is worked out now."""
        super().showEvent(event)
        self._follow()

    def _follow(self) -> None:
        model, choice = self._document.model, self._document.choice
        margins, ram = self._document.margins, self._chosen.ram
        asked = (model, choice, margins, ram)
        if not self.isVisible() or model is None or self._asked == asked:
            return
        self._asked = asked
        rows = catalogue.all()
        parts = [rows[n : n + _AT_ONCE] for n in range(0, len(rows), _AT_ONCE)]
        self._work = (sweep(model, choice, part, margins, ram) for part in parts)
        self._coming = []
        self._timer.start(_AFTER_MS)

    def _go_on(self) -> None:
        """A part of the catalogue a turn, so that the window goes on."""
        if self._document.model is None:
            return
        part = next(self._work, None)
        if part is None:
            self._points = tuple(self._coming)
            self._draw()
            return
        self._coming += part
        self._timer.start(0)

    def _draw(self) -> None:
        wanted, texts = self.filters.wanted(), set(self._chosen.texts)
        fitting = self.filters.only_fitting.isChecked()
        units, ram = self._document.units, self._chosen.ram
        around = ram.words(units) if ram else ""
        dots = [
            self._dot(point, point.row.id in texts, around)
            for point in self._points
            if wanted.takes(point.row) and (not fitting or _fits(point))
        ]
        self.plot.set_dots(
            dots,
            across=tr("memory, {unit}", unit=units.value),
            up=tr("expected, tok/s") if self._expected else tr("ceiling, tok/s"),
        )

    def _dot(self, point: Point, ringed: bool, around: str) -> Dot:
        units = self._document.units
        row = point.row
        memory = point.memory.value or 0
        rate = (point.expected if self._expected else point.ceiling).value or 0.0
        size = format_bytes(memory, units)
        each = f"{row.devices} × {format_bytes(memory // row.devices, units)}"
        told = [
            row.name + (f" ({row.year})" if row.year else ""),
            f"{each if row.devices > 1 else size}, {format_bandwidth(row.bandwidth)}",
            point.refused or f"{tr(SHORT_WORDS[point.verdict])}, {self._room(point)}",
        ]
        if around and row.kind in DISCRETE:
            told.insert(2, tr("in a computer with {ram}", ram=around))
        if rate:
            words = format_rate(rate)
            told.append(
                tr("expected {rate}", rate=words)
                if self._expected
                else tr("ceiling {rate}", rate=words)
            )
        told.append(tr("compared already") if ringed else tr("click to compare it"))
        return Dot(row.id, memory / _STEP[units], rate, _verdict(point), "\n".join(told), ringed)

    def _room(self, point: Point) -> str:
        words = room_words(point.room, self._document.units)
        free = point.room.value is not None and point.room.value >= 0
        return tr("{size} free", size=words) if free else words


def _verdict(point: Point) -> Verdict:
    """As the grid draws it: of what the engine refuses nobody knows whether it fits."""
    return Verdict.UNKNOWN if point.refused else point.verdict


def _fits(point: Point) -> bool:
    return _verdict(point) in (Verdict.FITS, Verdict.TIGHT)
