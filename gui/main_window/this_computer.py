"""This computer in the document: detected, and with the bandwidth that was measured on it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from core.machine import BandwidthMeasurement, Machine, with_host_bandwidth
from core.provenance import Number, Rank, Source, Unit, format_value
from gui.document import Document
from gui.settings import StoredBandwidth
from gui.workers import computer
from gui.workers.runner import Runner

_ORIGIN = "memory read by this program"


class ThisComputer(QObject):
    """Looks at this computer and measures it, off the GUI thread.

    ``stored`` is what an earlier measurement found; it counts while the same RAM is there.
    """

    said = Signal(str)  # a sentence for the status bar; "" when it is over
    measured = Signal(StoredBandwidth)

    def __init__(
        self, document: Document, stored: StoredBandwidth | None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._stored = stored
        self._detected: Machine | None = None
        self.detector = Runner("detect", self)
        self.meter = Runner("bandwidth", self)
        self.detector.finished.connect(self._found)
        self.meter.finished.connect(self._timed)

    def detect(self) -> None:
        """Look at it, again."""
        self.said.emit("Looking at this computer…")
        self.detector.start(computer.detecting)

    def measure(self) -> None:
        """Time its memory."""
        if not self.meter.running:
            self.said.emit("Measuring memory bandwidth…")
            self.meter.start(computer.measuring)

    def _found(self, machine: Machine) -> None:
        self._detected = machine
        self.said.emit("")
        self._publish()

    def _timed(self, measurement: BandwidthMeasurement) -> None:
        found = measurement.bandwidth
        words = f"Memory bandwidth: {format_value(found.value, found.unit)}. {found.note}"
        self.said.emit(words.strip())
        machine = self._detected
        if found.value is None or machine is None:
            return
        self._stored = StoredBandwidth(_memory(machine), found.value, found.source.date, found.note)
        self.measured.emit(self._stored)
        self._publish()

    def _publish(self) -> None:
        machine, stored = self._detected, self._stored
        if machine is None:
            return
        if stored is not None and stored.memory == _memory(machine):
            source = Source(Rank.MEASURED, _ORIGIN, stored.date)
            number = Number(stored.value, Unit.BYTES_PER_SECOND, source, note=stored.note)
            machine = with_host_bandwidth(machine, number)
        self._document.set_this_computer(machine)


def _memory(machine: Machine) -> int:
    """What tells this computer from another one with the same settings: the size of its RAM."""
    return machine.devices[-1].memory.value or 0
