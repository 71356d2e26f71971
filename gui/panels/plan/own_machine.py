"""A machine typed by hand: how much memory, and how fast it is read."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QWidget,
)

from core.language import mark, tr
from core.machine import Backend, Machine, catalogue, combine, custom
from core.units import UnitSystem, format_bandwidth
from gui import theme
from gui.panels.plan.figure_edit import FigureEdit
from gui.widgets.mark_label import MarkLabel
from gui.widgets.text import Style, Text

_KINDS = (mark("Graphics card"), mark("One memory for all"), mark("RAM only"))
_CARD, _UNIFIED, _RAM = range(len(_KINDS))
_BACKENDS = tuple(backend for backend in Backend if backend is not Backend.CPU)


class OwnMachineDialog(QDialog):
    """Starts from the machine that is chosen. ``made`` carries the new one."""

    made = Signal(object)

    def __init__(self, start: Machine, units: UnitSystem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Type your own machine"))
        self._units = units
        self._start = start
        first = start.devices[0]
        self.kind = QComboBox()
        self.kind.addItems([tr(kind) for kind in _KINDS])
        self.kind.setCurrentIndex(_RAM if not start.gpus else _UNIFIED if first.unified else _CARD)
        self.backend = QComboBox()
        self.backend.addItems([backend.value for backend in _BACKENDS])
        self.backend.setCurrentText(first.backend.value)
        self.memory = FigureEdit("24 GiB", units, first.memory)
        self.bandwidth = FigureEdit("936 GB/s", units, first.bandwidth)
        host = start.host if start.gpus else None
        self.ram = FigureEdit("64 GiB", units, host.memory if host else None)
        self.ram_bandwidth = FigureEdit(
            format_bandwidth(51.2e9), units, host.bandwidth if host else None
        )
        self.problem = MarkLabel(Style.BODY)
        self.problem.hide()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        self._form = QFormLayout(self)
        for text, control in (
            (tr("&Kind"), self.kind),
            (tr("&Memory"), self.memory),
            (tr("&Bandwidth"), self.bandwidth),
            (tr("B&ackend"), self.backend),
            (tr("&RAM beside it"), self.ram),
            (tr("RAM band&width"), self.ram_bandwidth),
        ):
            label = QLabel(text)
            label.setBuddy(control)
            control.setAccessibleName(text.replace("&", ""))
            self._form.addRow(label, control)
        hint = tr("RAM reads MT/s × 8 bytes × channels; for cards see the maker's data sheet.")
        self._form.addRow(Text(hint, Style.MUTED))
        self._form.addRow(self.problem)
        self._form.addRow(self.buttons)
        self.kind.currentIndexChanged.connect(self._show_fields)
        self._show_fields(self.kind.currentIndex())

    def _show_fields(self, kind: int) -> None:
        self._form.setRowVisible(self.backend, kind != _RAM)
        for edit in (self.ram, self.ram_bandwidth):
            self._form.setRowVisible(edit, kind == _CARD)

    def _accept(self) -> None:
        try:
            machine = self._machine()
        except ValueError as error:
            words = str(error)
            self.problem.set_mark(lambda c: theme.Mark(c.bad, "error", words))
            self.problem.show()
            return
        self.made.emit(machine)
        self.accept()

    def _machine(self) -> Machine:
        """What the fields say. Raises ValueError with a sentence."""
        memory, bandwidth = self.memory.as_bytes(), self.bandwidth.as_rate()
        kind = self.kind.currentIndex()
        if kind == _RAM:
            return custom(memory, bandwidth, gpu=False)
        card = self._same_cards() if kind == _CARD else None
        machine = card or custom(
            memory,
            bandwidth,
            backend=Backend(self.backend.currentText()),
            unified=kind == _UNIFIED,
        )
        if kind == _UNIFIED or not self.ram.text().strip():
            return machine
        ram = custom(self.ram.as_bytes(), self.ram_bandwidth.as_rate(), gpu=False)
        return combine(machine, ram)

    def _same_cards(self) -> Machine | None:
        """Cards whose figures were left alone are still those cards, with all that is known of
        them, beside RAM that is not known; None where a figure was typed."""
        start, first = self._start, self._start.devices[0]
        same = (
            bool(start.gpus)
            and not first.unified
            and not self.memory.typed
            and not self.bandwidth.typed
            and self.backend.currentText() == first.backend.value
        )
        if not same:
            return None
        return combine(replace(start, devices=(*start.gpus, catalogue.unknown_host())))
