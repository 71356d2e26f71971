"""A price as it is typed."""

from __future__ import annotations

import re

from core.language import plain, tr, written
from gui.settings import MOST_PRICE

_PRICE = re.compile(r"(?:[1-9][0-9]{0,2}(?:[, ][0-9]{3})+|[0-9]+)(?:\.[0-9]{1,4})?")


def parse_price(text: str) -> float | None:
    """An amount like 1,599.00; None for an empty text. Raises ValueError with a sentence."""
    text = text.strip()
    if not text:
        return None
    amount = plain(text)
    if not _PRICE.fullmatch(amount):
        raise ValueError(
            tr(
                "“{text}” is no price; write it like {one} or {other}.",
                text=text[:20],
                one=written(1599, ""),
                other=written(1599, ",.2f"),
            )
        )
    price = float(amount.replace(",", "").replace(" ", ""))
    if price > MOST_PRICE:
        raise ValueError(tr("No machine costs more than {most:,.0f}.", most=MOST_PRICE))
    return price or None
