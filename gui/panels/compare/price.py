"""A price as it is typed."""

from __future__ import annotations

import re

from gui.settings import MOST_PRICE

_PRICE = re.compile(r"(?:[0-9]{1,3}(?:[, ][0-9]{3})+|[0-9]+)(?:\.[0-9]{1,4})?")


def parse_price(text: str) -> float | None:
    """An amount like 1,599.00; None for an empty text. Raises ValueError with a sentence."""
    text = text.strip()
    if not text:
        return None
    if not _PRICE.fullmatch(text):
        raise ValueError(f"“{text[:20]}” is no price; write it like 1599 or 1,599.00.")
    price = float(text.replace(",", "").replace(" ", ""))
    if price > MOST_PRICE:
        raise ValueError(f"No machine costs more than {MOST_PRICE:,.0f}.")
    return price or None
