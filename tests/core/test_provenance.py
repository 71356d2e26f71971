"""Figures that know where they come from, and what is said about them."""

from __future__ import annotations

from core.provenance import Input, Number, Rank, Source, Unit, explain, format_value
from core.units import UnitSystem

SHEET = Source(Rank.DATASHEET, "the maker's data sheet", "2020-09-01")


def test_an_explanation_tells_value_formula_inputs_source_and_note() -> None:
    ceiling = Number(
        58.14,
        Unit.TOKENS_PER_SECOND,
        SHEET,
        "bandwidth / bytes per token",
        (
            Input("bandwidth", 936e9, Unit.BYTES_PER_SECOND),
            Input("bytes per token", 16_100_000_000, Unit.BYTES),
        ),
        "No program can be faster.",
    )
    assert explain(ceiling).splitlines() == [
        "58.1 tok/s",
        "= bandwidth / bytes per token",
        "bandwidth: 936 GB/s",
        "bytes per token: 15.0 GiB",
        "Datasheet: the maker's data sheet, 2020-09-01",
        "No program can be faster.",
    ]


def test_bytes_are_told_to_the_last_one_in_either_family_of_units() -> None:
    size = Number(4_912_898_304, Unit.BYTES, Source(Rank.DERIVED, "file header"))
    assert explain(size).splitlines()[0] == "4.58 GiB (4,912,898,304 B)"
    assert explain(size, UnitSystem.GB).splitlines()[0] == "4.91 GB (4,912,898,304 B)"


def test_what_is_not_known_is_unknown_and_never_nought() -> None:
    missing: Number[int] = Number(None, Unit.BYTES, SHEET, note="Nobody has told.")
    assert not missing.known
    assert explain(missing).splitlines()[0] == "unknown"
    for unit in Unit:
        assert format_value(None, unit) == "unknown"


def test_every_unit_has_words_of_its_own() -> None:
    assert {unit: format_value(3, unit) for unit in Unit} == {
        Unit.BYTES: "3 B",
        Unit.BYTES_PER_SECOND: "3 B/s",
        Unit.BYTES_PER_TOKEN: "3 B/token",
        Unit.TOKENS: "3 tokens",
        Unit.TOKENS_PER_SECOND: "3.00 tok/s",
        Unit.FLOPS: "3 FLOPS",
        Unit.SECONDS: "3.00 s",
        Unit.BITS_PER_WEIGHT: "3.00 bits",
        Unit.PARAMETERS: "3",
        Unit.SHARE: "300 %",
        Unit.WATTS: "3 W",
        Unit.COUNT: "3",
    }
    assert format_value("f16", Unit.COUNT) == "f16"


def test_ranks_are_in_the_order_of_trust() -> None:
    assert list(Rank) == [
        Rank.MEASURED,
        Rank.DERIVED,
        Rank.DATASHEET,
        Rank.REPORTED,
        Rank.ESTIMATED,
        Rank.ASSUMED,
    ]
