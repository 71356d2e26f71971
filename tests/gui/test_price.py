"""A price as somebody types it."""

from __future__ import annotations

import pytest

from core.language import speak, written
from gui.panels.compare.price import parse_price


@pytest.mark.parametrize(
    ("text", "price"),
    [("1599", 1599.0), ("1,599.00", 1599.0), (" 12 000 ", 12_000.0), ("", None), ("0", None)],
)
def test_a_price_is_an_amount_or_nothing(text: str, price: float | None) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize("text", ["-5", "1,59", "nan", "1e9", "9" * 400, "1000000000001", "٣"])
def test_what_is_no_price_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        parse_price(text)


@pytest.mark.parametrize(
    ("text", "price"),
    [("1599", 1599.0), ("1599,5", 1599.5), ("1.599,00", 1599.0), ("12.000", 12_000.0)],
)
def test_a_price_is_typed_as_the_reader_writes_numbers(text: str, price: float) -> None:
    speak(numbers="12.345,6")
    assert parse_price(text) == price
    assert parse_price(written(price, ",.10g")) == price
    with pytest.raises(ValueError, match="1599 or 1599,00"):
        parse_price("cheap")
