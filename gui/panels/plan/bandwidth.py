"""A bandwidth with the rank of its source beside it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.language import tr
from core.machine.machine import Device, Machine
from core.provenance import RANK_WORDS, Number, Rank
from core.units import UnitSystem
from gui.widgets.fact_label import FactLabel
from gui.widgets.text import Style, Text


def trust(bandwidth: Number[float]) -> str:
    """How far to trust it, in a word or two; empty where it is not known."""
    if not bandwidth.known:
        return ""
    if _doubtful(bandwidth):
        return tr("measured, unreliable")
    return tr(RANK_WORDS[bandwidth.source.rank]).lower()


def _doubtful(bandwidth: Number[float]) -> bool:
    """The note of a measurement says why it is doubtful."""
    return bandwidth.source.rank is Rank.MEASURED and bool(bandwidth.note)


def measure_words(machine: Machine | None) -> str:
    """What a button offers for this computer; empty where its RAM was measured without doubt, or
    there is none to measure."""
    host = machine.host if machine else None
    if host is None:
        return ""
    if not host.bandwidth.known or host.bandwidth.source.rank is not Rank.MEASURED:
        return tr("Measure RAM")
    return tr("Measure RAM again") if _doubtful(host.bandwidth) else ""


class BandwidthLabel(QWidget):
    """The bandwidth of one device."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fact = FactLabel()
        self.rank = Text(style=Style.MUTED)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth())
        row.addWidget(self.fact)
        row.addWidget(self.rank)

    def show_device(self, device: Device, units: UnitSystem) -> None:
        """Show the bandwidth of this device."""
        text = None if device.bandwidth.known else tr("bandwidth unknown")
        name = tr("Bandwidth of {device}", device=tr(device.name))
        self.fact.set_number(device.bandwidth, units, text, name=name)
        self.rank.set_text(trust(device.bandwidth))
