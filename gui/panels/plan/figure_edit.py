"""A figure of a machine in a field: shown rounded, kept exactly while nobody types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from PySide6.QtWidgets import QLineEdit, QWidget

from core.language import plain
from core.provenance import Number, format_value
from core.units import UnitSystem, parse_bandwidth, parse_bytes

V = TypeVar("V", int, float)


class FigureEdit(QLineEdit):
    """Begins with ``number`` where that is known. ``example`` stands in it while it is empty."""

    def __init__(
        self,
        example: str,
        units: UnitSystem,
        number: Number[int] | Number[float] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._units = units
        self._number: Number[int] | Number[float] | None = None
        self._shown = ""
        self.setPlaceholderText(example)
        self.show_number(number)

    def show_number(self, number: Number[int] | Number[float] | None) -> None:
        """Begin anew with this number; with nothing where there is none."""
        self._number = number if number is not None and number.known else None
        self._shown = ""
        if number is not None and number.known:
            self._shown = format_value(number.value, number.unit, self._units)
        self.setText(self._shown)

    @property
    def typed(self) -> bool:
        """Whether somebody wrote something else than was shown."""
        return self.text().strip() != self._shown

    def as_bytes(self) -> int:
        """A size. Raises ValueError with a sentence, and the keyboard goes to the field."""
        return self._read(lambda text: parse_bytes(text, self._units.value))

    def as_rate(self) -> float | None:
        """Bytes per second; None where the field is empty. Raises like `as_bytes`."""
        return self._read(parse_bandwidth) if self.text().strip() else None

    def _read(self, parse: Callable[[str], V]) -> V:
        if self._number is not None and not self.typed:
            return cast(V, self._number.value)
        try:
            return parse(plain(self.text()))
        except ValueError:
            self.setFocus()
            self.selectAll()
            raise
