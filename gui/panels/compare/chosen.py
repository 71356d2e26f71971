"""The machines that are compared: kept between starts, with their prices."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from core.compare import PROMPT
from core.language import tr
from core.machine import Ram, catalogue, in_computer, machine_from, own, ram_from, ram_of
from core.machine.machine import Machine, with_margin
from core.machine.spec import THIS, spec_of
from gui.document import LOOKING, Document
from gui.settings import StoredComparison

MOST = 40  # machines at once
_OFF = "off"  # cards without a computer around them
_PLANNED = 3
# Where nobody has chosen yet: this computer, and what many people ask about.
FIRST = (
    THIS,
    "nvidia-geforce-rtx-3060-12-gb",
    "nvidia-geforce-rtx-3090",
    "nvidia-geforce-rtx-5090",
    "apple-m4-max-40-core-gpu",
)


class Chosen(QObject):
    """Machines by their texts (``core.machine.spec``), in the order they were added.

    ``changed`` comes with every change of what is compared, ``stored_changed`` carries what the
    settings shall keep, ``said`` a sentence for the user.
    """

    changed = Signal()
    said = Signal(str)
    stored_changed = Signal(StoredComparison)

    def __init__(
        self, document: Document, stored: StoredComparison, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._stored = stored
        self._own: dict[str, Machine] = {}
        self.read_own()
        self._planned: tuple[str, ...] = ()
        self._note_planned()
        document.machine_changed.connect(self._follow)
        self._here = document.this_computer

    @property
    def stored(self) -> StoredComparison:
        """What the settings keep."""
        return self._stored

    @property
    def texts(self) -> tuple[str, ...]:
        """What is compared, as it is kept; where nobody has chosen, with what is planned for."""
        if self._stored.machines is not None:
            return self._stored.machines
        return (FIRST[0], *self._planned, *FIRST[1:])

    @property
    def own(self) -> tuple[Machine, ...]:
        """The machines that the user keeps."""
        return tuple(self._own.values())

    @property
    def prompt(self) -> int:
        """Tokens of the prompt that the first token is told for."""
        return self._stored.prompt or PROMPT

    @property
    def prices(self) -> dict[str, float]:
        """Prices by the machines' texts."""
        return dict(self._stored.prices)

    @property
    def ram(self) -> Ram | None:
        """That of the computer around every card that names none; None for nobody knows."""
        if self._stored.ram == _OFF:
            return None
        if self._stored.ram:
            with suppress(ValueError):
                return ram_from(self._stored.ram)
        return self.usual_ram

    @property
    def usual_ram(self) -> Ram:
        """That of this computer where it is known, else what is usual."""
        return ram_of(self._document.this_computer)

    def machines(self) -> list[tuple[str, Machine]]:
        """Texts and machines, with what shall stay free on each. One that is gone (an own machine
        that was deleted) is left out."""
        found, ram = [], self.ram
        for text in self.texts:
            try:
                machine = machine_from(text, self.named)
            except (LookupError, ValueError):
                continue
            margin = self._document.margins.get(machine.id)
            dressed = machine if margin is None else with_margin(machine, margin)
            found.append((text, in_computer(dressed, ram)))
        return found

    def named(self, name: str) -> Machine:
        """This computer, one of the user's own or one of the catalogue. Raises LookupError."""
        if name == THIS:
            return self._document.this_computer or LOOKING
        if name in self._own:
            return self._own[name]
        return catalogue.machine(name.lower())

    def add(self, texts: Iterable[str]) -> None:
        """Compare these as well."""
        more = tuple(dict.fromkeys((*self.texts, *texts)))
        if len(more) > MOST:
            self.said.emit(
                tr("{count} machines are compared at most; remove some first.", count=MOST)
            )
            return
        if more != self.texts:
            self._store(replace(self._stored, machines=more))

    def remove(self, texts: Iterable[str]) -> None:
        """Compare these no longer; their prices are kept."""
        gone = set(texts)
        self._store(replace(self._stored, machines=tuple(t for t in self.texts if t not in gone)))

    def set_price(self, text: str, price: float | None) -> None:
        """What a machine costs; None for nobody knows."""
        prices = self.prices
        prices.pop(text, None)
        if price:
            prices[text] = price
        self._store(replace(self._stored, prices=tuple(prices.items())))

    def set_currency(self, currency: str) -> None:
        """What prices are in, in the user's own word."""
        self._store(replace(self._stored, currency=currency.strip()))

    def set_prompt(self, tokens: int) -> None:
        """The prompt that the first token is told for."""
        self._store(replace(self._stored, prompt=0 if tokens == PROMPT else tokens))

    def set_ram(self, ram: Ram | None) -> None:
        """What a card's computer has, by the user's word; None for nobody knows."""
        self._store(replace(self._stored, ram=ram.text if ram else _OFF))

    def forget_ram(self) -> None:
        """What a card's computer has is this computer's RAM again, or what is usual."""
        self._store(replace(self._stored, ram=""))

    def set_models(self, paths: Iterable[str]) -> None:
        """The files that are compared with the open model."""
        self._stored = replace(self._stored, models=tuple(paths))
        self.stored_changed.emit(self._stored)

    def read_own(self) -> None:
        """Look again which machines the user keeps."""
        found = {machine.id: machine for machine in own.load().machines}
        if found != self._own:
            self._own = found
            self.changed.emit()

    def _store(self, stored: StoredComparison) -> None:
        if stored != self._stored:
            self._stored = stored
            self.stored_changed.emit(stored)
            self.changed.emit()

    def _follow(self) -> None:
        """This computer has been looked at (again), or the plan is for another machine."""
        before = self.texts
        self._note_planned()
        if self._document.this_computer is not self._here or self.texts != before:
            self._here = self._document.this_computer
            self.changed.emit()

    def _note_planned(self) -> None:
        """The machine of the plan; the last ones stay, or a row would go when another is used."""
        machine = self._document.machine
        text = spec_of(machine)
        listed = any(machine == each for _, each in self.machines())
        if text and not listed and text not in (*FIRST, *self._planned):
            self._planned = (text, *self._planned)[:_PLANNED]
