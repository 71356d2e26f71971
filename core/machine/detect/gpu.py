"""What the readers of GPUs have in common."""

from __future__ import annotations

from dataclasses import dataclass

from core import units
from core.language import tr
from core.machine.catalogue import common_bandwidth
from core.machine.machine import Device
from core.machine.rows import Row
from core.problems import Problem, Severity
from core.provenance import Number, Unit

_TOLERANCE = 0.03  # the catalogue and the driver round differently; beyond it one of them is wrong


@dataclass(frozen=True, slots=True)
class Reading:
    """The GPUs in the driver's order, and what it would not tell."""

    devices: tuple[Device, ...]
    problems: tuple[Problem, ...] = ()


def from_catalogue(rows: tuple[Row, ...], unknown: Number[float]) -> Number[float]:
    """The bandwidth that all the rows share, in place of one that the driver does not tell."""
    row = common_bandwidth(rows)
    if row is None:
        return unknown
    note = tr("{why} From the catalogue: {name}.", why=tr(unknown.note), name=row.name)
    return Number(row.bandwidth, Unit.BYTES_PER_SECOND, row.provenance, note=note)


def disagreement(name: str, bandwidth: float, rows: tuple[Row, ...]) -> tuple[Problem, ...]:
    """A warning where the driver's bandwidth is not that of the catalogue."""
    if not rows or any(abs(bandwidth / r.bandwidth - 1) <= _TOLERANCE for r in rows):
        return ()
    known = tr(" or ").join(dict.fromkeys(units.format_bandwidth(r.bandwidth) for r in rows))
    return (
        Problem(
            "bandwidth_differs",
            tr(
                "{gpu} has {rate} by its driver, {known} by the catalogue; the driver's figure is "
                "used.",
                gpu=name,
                rate=units.format_bandwidth(bandwidth),
                known=known,
            ),
            Severity.WARNING,
            tr("The memory may be overclocked, or the card may be a variant of its own."),
        ),
    )
