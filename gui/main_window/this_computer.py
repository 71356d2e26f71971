"""This computer in the document: detected, and with the bandwidth that was measured on it."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from core.language import tr
from core.machine import BandwidthMeasurement, Disk, Machine, facts
from core.machine.machine import OwnRun
from core.provenance import Number, format_value
from gui.document import Document
from gui.workers import computer
from gui.workers.runner import Runner


class ThisComputer(QObject):
    """Looks at this computer and measures it, off the GUI thread.

    What earlier measurements found is kept in the file ``facts_path``, which the command line reads
    as well; it counts while the same RAM is there.
    """

    said = Signal(str)  # a sentence for the status bar; "" when it is over
    rate_changed = Signal(object)  # facts.MeasuredRate of its RAM, or None

    def __init__(self, document: Document, facts_path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._path = facts_path
        self._detected: Machine | None = None
        self._runs: tuple[OwnRun, ...] = ()
        self.detector = Runner("detect", self)
        self.meter = Runner("bandwidth", self)
        self.disk_meter = Runner("disk", self)
        self.detector.finished.connect(self._found)
        self.meter.finished.connect(self._timed)
        self.disk_meter.finished.connect(self._timed_disk)

    def detect(self, *, wake: bool = False) -> None:
        """Look at it; ``wake`` sleeping GPUs, as somebody asked for it who can see them."""
        self.said.emit(tr("Looking at this computer…"))
        self.detector.start(computer.waking if wake else computer.detecting)

    def measure(self) -> None:
        """Time its memory."""
        if not self.meter.running:
            self.said.emit(tr("Measuring memory bandwidth…"))
            self.meter.start(computer.measuring)

    def measure_disk(self) -> None:
        """Time the disk that the open model lies on, by reading its file."""
        model = self._document.model
        if model is not None and not self.disk_meter.running:
            self.said.emit(tr("Timing the disk of this model…"))
            self.disk_meter.start(computer.timing_disk(model.file.header.path))

    def use_measured(self, wanted: bool) -> None:
        """Whether what was measured counts for the RAM, or what firmware and catalogue say."""
        self._keep(facts.choose(facts.load(self._path), facts.RAM, measured=wanted))

    def set_runs(self, runs: tuple[OwnRun, ...]) -> None:
        """What was measured on it corrects what is expected of it."""
        if runs != self._runs:
            self._runs = runs
            self._publish(facts.load(self._path))

    def _found(self, machine: Machine) -> None:
        self._detected = machine
        self.said.emit("")
        self._publish(facts.load(self._path))

    def _timed(self, measurement: BandwidthMeasurement) -> None:
        found = measurement.bandwidth
        rate = format_value(found.value, found.unit)
        words = f"{tr('Memory bandwidth: {rate}.', rate=rate)} {tr(found.note)}"
        before = facts.load(self._path)
        rates = before
        if self._detected is not None:
            rates = facts.remembered(before, self._detected, facts.RAM, found)
        if rates != before:
            self._keep(rates)
        elif found.value is not None and found.note and before:
            words = f"{words} {tr(facts.KEPT)}"
        self.said.emit(words.strip())

    def _timed_disk(self, answer: tuple[Disk, Number[float]]) -> None:
        disk, found = answer
        what = disk.name or tr(disk.kind.value)
        if found.value is None or self._detected is None:
            told = tr("The disk ({disk}) was not timed.", disk=what)
            self.said.emit(f"{told} {tr(found.note)}".strip())
            return
        rate = format_value(found.value, found.unit)
        self.said.emit(tr("The disk ({disk}) reads {rate}.", disk=what, rate=rate))
        rates = facts.load(self._path)
        self._keep(facts.remembered(rates, self._detected, facts.name_of_disk(disk), found))

    def _keep(self, rates: tuple[facts.MeasuredRate, ...]) -> None:
        try:
            facts.save(rates, self._path)
        except OSError as error:
            logging.warning("what was measured could not be kept: %s", error)
        self._publish(rates)

    def _publish(self, rates: tuple[facts.MeasuredRate, ...]) -> None:
        if self._detected is None:
            return
        machine = facts.applied(self._detected, rates)
        if machine.runs != self._runs:
            machine = replace(machine, runs=self._runs)
        self._document.set_this_computer(machine)
        self.rate_changed.emit(facts.rate_of(rates, self._detected, facts.RAM))
