"""One model on several machines, a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.compare.figures import PROMPT, Figures, figures
from core.language import mark, tr
from core.machine import catalogue
from core.machine.machine import Machine
from core.model.model import Model
from core.plan.choice import Choice
from core.provenance import Input, Number, Rank, Source, Unit

PER = 1_000  # units of currency that speed per price is told for

_USER = Source(Rank.REPORTED, mark("typed by you"))
_CATALOGUE = Source(Rank.REPORTED, mark("catalogue"))
_WATTS_NOTE = mark(
    "What the maker allows the card or the chip to draw; the rest of the computer adds."
)


@dataclass(frozen=True, slots=True)
class MachineRow:
    """What the open model costs on one machine.

    ``key`` is the machine in one line (``core.machine.spec``), by which prices are kept too.
    ``watts`` is what its GPUs may draw together. ``per_price`` is tok/s expected for 1,000 units of
    the currency that ``price`` was typed in.
    """

    key: str
    figures: Figures
    watts: Number[int]
    price: Number[float]
    per_price: Number[float]

    @property
    def machine(self) -> Machine:
        """The machine of this row."""
        return self.figures.plan.machine


def compare_machines(
    model: Model,
    machines: Sequence[tuple[str, Machine]],
    choice: Choice,
    *,
    prompt: int = PROMPT,
    prices: Mapping[str, float] | None = None,
) -> tuple[MachineRow, ...]:
    """A row for each machine, in the same order; machines come with their keys.

    ``prompt`` is in tokens, ``prices`` are by key, in a currency that only the user knows.
    """
    known = prices or {}
    return tuple(
        _row(key, figures(model, machine, choice, prompt), known.get(key))
        for key, machine in machines
    )


def with_price(row: MachineRow, price: float | None) -> MachineRow:
    """The same row with another price, or none."""
    return _row(row.key, row.figures, price)


def _row(key: str, found: Figures, price: float | None) -> MachineRow:
    note = "" if price else mark("No price was typed for this machine.")
    paid = Number(price or None, Unit.COUNT, _USER, note=note)
    return MachineRow(key, found, watts(found.plan.machine), paid, _per_price(found, paid))


def watts(machine: Machine) -> Number[int]:
    """What the GPUs may draw together, or the chip of a machine without any; by the catalogue."""
    devices = machine.gpus or machine.devices
    parts = []
    source = _CATALOGUE
    for device in devices:
        row = catalogue.find(device.catalogue_id)
        if row is None or row.watts is None:
            note = tr("The catalogue does not say what {device} draws.", device=device.name)
            return Number(None, Unit.WATTS, _CATALOGUE, note=note)
        # Two chips of one card share what it may draw.
        parts.append(Input(device.name, row.watts // row.devices, Unit.WATTS))
        source = row.provenance
    total = sum(part.value for part in parts if isinstance(part.value, int))
    if len(parts) == 1:
        return Number(total, Unit.WATTS, source, note=_WATTS_NOTE)
    return Number(
        total, Unit.WATTS, source, mark("sum over the devices"), tuple(parts), _WATTS_NOTE
    )


def _per_price(found: Figures, price: Number[float]) -> Number[float]:
    """Tokens per second expected at the chosen depth for 1,000 units of currency."""
    rate = found.plan.speed.expected.mid
    note = price.note or rate.note
    if not found.fits:
        note = mark("It does not fit, so that it buys nothing.")
    if not found.fits or price.value is None or rate.value is None:
        return Number(None, Unit.TOKENS_PER_SECOND, _USER, note=note)
    return Number(
        PER * rate.value / price.value,
        Unit.TOKENS_PER_SECOND,
        rate.source,
        tr("speed expected / price x {count:,}", count=PER),
        (
            Input(mark("speed expected"), rate.value, Unit.TOKENS_PER_SECOND),
            Input(mark("price"), price.value),
        ),
    )
