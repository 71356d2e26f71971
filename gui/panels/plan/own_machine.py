"""A machine typed by hand: how much memory, and how fast it is read."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QLabel, QLineEdit, QWidget

from core import machine as core_machine
from core.machine.machine import Machine
from core.provenance import Number, format_value
from core.units import UnitSystem, parse_bandwidth, parse_bytes
from gui import theme
from gui.widgets.mark_label import MarkLabel
from gui.widgets.text import Style, Text


class OwnMachineDialog(QDialog):
    """Starts from the machine that is chosen. ``made`` carries the new one."""

    made = Signal(object)

    def __init__(self, start: Machine, units: UnitSystem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Type your own machine")
        self._units = units
        device = start.devices[0]
        self.memory = QLineEdit(_words(device.memory, units))
        self.memory.setPlaceholderText("24 GiB")
        self.bandwidth = QLineEdit(_words(device.bandwidth, units))
        self.bandwidth.setPlaceholderText("936 GB/s")
        self.problem = MarkLabel(Style.BODY)
        self.problem.hide()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self._make)
        self.buttons.rejected.connect(self.reject)
        form = QFormLayout(self)
        form.addRow(_buddy("&Memory", self.memory), self.memory)
        form.addRow(_buddy("&Bandwidth", self.bandwidth), self.bandwidth)
        hint = "RAM: MT/s × 8 bytes × channels. Graphics cards: the maker's data sheet."
        form.addRow(Text(hint, Style.MUTED))
        form.addRow(self.problem)
        form.addRow(self.buttons)

    def _make(self) -> None:
        for edit, parse in (
            (self.memory, lambda text: parse_bytes(text, self._units.value)),
            (self.bandwidth, parse_bandwidth),
        ):
            try:
                value = parse(edit.text())
                if value <= 0:
                    raise ValueError(f"{edit.text()!r} is not more than nothing")
            except ValueError as error:
                self._say(str(error))
                edit.setFocus()
                edit.selectAll()
                return
        memory = parse_bytes(self.memory.text(), self._units.value)
        self.made.emit(core_machine.custom(memory, parse_bandwidth(self.bandwidth.text())))
        self.accept()

    def _say(self, words: str) -> None:
        self.problem.set_mark(lambda c: theme.Mark(c.bad, "error", words))
        self.problem.show()


def _buddy(text: str, edit: QLineEdit) -> QLabel:
    label = QLabel(text)
    label.setBuddy(edit)
    edit.setAccessibleName(text.replace("&", ""))
    return label


def _words(number: Number[int] | Number[float], units: UnitSystem) -> str:
    return format_value(number.value, number.unit, units) if number.known else ""
