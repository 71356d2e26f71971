"""What was chosen the last time: for each model, the machine planned for, and the page."""

from __future__ import annotations

import logging
from collections.abc import Callable

from core.machine import Machine, catalogue, own
from core.machine.spec import THIS, machine_from, spec_of
from core.model.model import Model
from core.plan.choice import Choice
from core.plan.keeping import Kept, choice_of, values_of
from gui.document import Document
from gui.settings import CHOICES_KEPT, Settings


class Remembered:
    """Reads what the document has now, for the settings, and gives it back later."""

    def __init__(self, document: Document, settings: Callable[[], Settings]) -> None:
        self._document = document
        self._settings = settings
        # Until it has been given back, what was stored is not overwritten.
        self._machine: str | None = settings().machine
        self._page: str | None = settings().page

    def choice_for(self, model: Model) -> Choice | None:
        """What was chosen for this file the last time; None where nothing was."""
        values = self._settings().choices.get(_place(model))
        return choice_of(values) if values else None

    def choices(self) -> dict[str, dict[str, Kept]]:
        """Of all models, the one that is open as it is now, at the end."""
        model, known = self._document.model, dict(self._settings().choices)
        if model is not None:
            known.pop(_place(model), None)
            values = values_of(self._document.choice)
            if values:
                known[_place(model)] = values
        return dict(list(known.items())[-CHOICES_KEPT:])

    def machine(self) -> str:
        """The machine that is planned for, as `core.machine.spec` writes it; "" for this computer,
        and for one whose figures are not known."""
        if self._machine is not None:
            return self._machine
        text = spec_of(self._document.machine)
        return "" if text == THIS else text

    def page(self, shown: str) -> str:
        """The page to come back to: the one that is shown, once the last one has been."""
        return shown if self._page is None else self._page

    def last_page(self) -> str:
        """The page of the last time, told once: for the first model that is opened."""
        page, self._page = self._page, None
        return page or ""

    def restore_machine(self) -> None:
        """Plan for the machine of the last time; for this computer where that is gone."""
        text, self._machine = self._machine, None
        if not text or self._document.chosen_machine is not None:
            return
        try:
            self._document.start_on(machine_from(text, _named))
        except (LookupError, ValueError) as error:
            logging.warning("the machine of the last time is gone: %s", error)


def _named(name: str) -> Machine:
    if name.startswith(own.PREFIX):
        found = {machine.id: machine for machine in own.load().machines}
        return found[name]
    return catalogue.machine(name.lower())


def _place(model: Model) -> str:
    return model.file.header.place.address
