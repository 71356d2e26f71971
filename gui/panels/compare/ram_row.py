"""What sits around a card of which nobody said what it sits in."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from core.language import mark, plain, tr
from core.machine import ASSUMED_RAM, Ram, typed_ram
from core.units import UnitSystem, format_bandwidth, format_bytes, parse_bandwidth, parse_bytes
from gui import theme
from gui.panels.compare.chosen import Chosen
from gui.widgets.live_text import LiveText
from gui.widgets.mark_label import MarkLabel
from gui.widgets.text import Style, Text
from gui.widgets.together import together
from gui.widgets.wrap import Wrap

_WHY = mark(
    "Experts and layers that are left in RAM are read from there: without its rate nobody can say "
    "how fast they are. A machine that names its own RAM stays as it is."
)
_OFF = mark("a card's computer is not known: no speed where something is left in RAM")


class RamRow(Wrap):
    """A box that switches it on, and two fields; an empty one brings back what is usual.

    Where a figure is none, that stands beside the fields, and ``said`` carries it to the user.
    """

    said = Signal(str)

    def __init__(self, chosen: Chosen, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._chosen = chosen
        self._units = UnitSystem.GIB
        letters = self.fontMetrics().averageCharWidth()
        self.used = QCheckBox(tr("Cards sit in a computer wit&h"))
        self.used.setToolTip(tr(_WHY))
        self.amount, self.rate = QLineEdit(), QLineEdit()
        for field, name, width in (
            (self.amount, tr("RAM of the computer around a card"), 12),
            (self.rate, tr("How fast that RAM is read"), 14),
        ):
            field.setAccessibleName(name)
            field.setToolTip(tr("{what}. {why} Empty for what is usual.", what=name, why=tr(_WHY)))
            field.setFixedWidth(width * letters)
            field.editingFinished.connect(self._typed)
        self.note = LiveText(Style.MUTED)
        self.problem = MarkLabel(Style.BODY)
        self.set_cells(
            [
                together(self.used, self.amount, Text(tr("RAM at")), self.rate),
                self.problem,
                self.note,
            ],
        )
        self.used.clicked.connect(self._switched)
        chosen.changed.connect(self._show)
        self._show()

    def show_units(self, units: UnitSystem) -> None:
        """Sizes are shown, and bare numbers read, in this unit."""
        if units is not self._units:
            self._units = units
            self._show()

    def _switched(self, on: bool) -> None:
        if on:
            self._chosen.forget_ram()
        else:
            self._chosen.set_ram(None)

    def _typed(self) -> None:
        now, size, rate = self._chosen.ram, self.amount, self.rate
        if now is None or not (size.isModified() or rate.isModified()):
            return
        if not (size.text().strip() and rate.text().strip()):
            self._chosen.forget_ram()
        else:
            try:
                # What was not typed is kept as it is, not as it is rounded.
                count, speed = now.size, now.rate
                if size.text() != format_bytes(count, self._units):
                    count = parse_bytes(plain(size.text()), self._units.value)
                if rate.text() != format_bandwidth(speed):
                    speed = parse_bandwidth(plain(rate.text()))
                self._chosen.set_ram(typed_ram(count, speed))
            except ValueError as error:
                words = str(error)
                self.said.emit(f"{words[:1].upper()}{words[1:]}.")
                self._show()
                self.problem.set_mark(lambda c: theme.Mark(c.bad, "error", words))
                self.problem.show()
                self.note.hide()
                return
        self._show()

    def _show(self) -> None:
        self.problem.hide()
        self.note.show()
        ram = self._chosen.ram
        self.used.setChecked(ram is not None)
        shown = ram or self._chosen.usual_ram
        for field, text in (
            (self.amount, format_bytes(shown.size, self._units)),
            (self.rate, format_bandwidth(shown.rate)),
        ):
            field.setEnabled(ram is not None)
            field.setText(text)
            field.setModified(False)
        self.note.set_text(
            tr("each with {ram}, {why}", ram=ram.words(self._units), why=self._why(ram))
            if ram
            else tr(_OFF)
        )

    def _why(self, ram: Ram) -> str:
        if ram == ASSUMED_RAM:
            return tr("assumed: two channels of DDR4-3200")
        usual = ram == self._chosen.usual_ram
        return tr("as this computer has") if usual else tr("typed by you")
