"""A box for a number with tenths, typed as the reader writes numbers."""

from __future__ import annotations

import re

from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QDoubleSpinBox

from core.language import plain

_NUMBER = re.compile(r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+")


class DecimalBox(QDoubleSpinBox):
    """Qt's own drops every sign that may stand between thousands: where that is a point, as in
    Spanish, the 12.5 of a number pad would become 125."""

    def validate(self, text: str, pos: int) -> tuple[QValidator.State, str, int]:
        """What is no number, or none yet, does not count; the box then keeps what it had."""
        state, text, pos = super().validate(text, pos)
        bare = self._bare(text)
        if text == self.specialValueText() or not bare:
            return state, text, pos
        value = _read(bare)
        if value is None:
            typing = re.fullmatch(r"[0-9.,\s]*", bare)
            state = QValidator.State.Intermediate if typing else QValidator.State.Invalid
        elif not self.minimum() <= value <= self.maximum():
            state = QValidator.State.Intermediate
        else:
            state = QValidator.State.Acceptable
        return state, text, pos

    def valueFromText(self, text: str) -> float:
        """The number of a text that `validate` took."""
        value = _read(self._bare(text))
        return self.value() if value is None else round(value, self.decimals())

    def fixup(self, text: str) -> str:
        """Nothing is made of what is no number: Qt's own would take its signs out."""
        return text

    def _bare(self, text: str) -> str:
        return text.removeprefix(self.prefix()).removesuffix(self.suffix()).strip()


def _read(text: str) -> float | None:
    number = plain(text)
    return float(number.replace(",", "")) if _NUMBER.fullmatch(number) else None
