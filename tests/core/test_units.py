"""Units: what is written, what is read, and that no rounding loses or invents anything."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.units import (
    UnitSystem,
    bare_rate,
    format_bandwidth,
    format_bytes,
    format_bytes_in,
    format_count,
    format_exact_bytes,
    format_flops,
    format_parts,
    format_rate,
    format_rates,
    format_seconds,
    format_share,
    format_tokens,
    parse_bandwidth,
    parse_bytes,
)

SIZES = st.integers(0, 2**50)
STEP = {"B": 1} | {f"{p}iB": 2 ** (10 * n) for n, p in enumerate("KMGT", 1)}
STEP |= {name: 1000**n for n, name in enumerate(("kB", "MB", "GB", "TB"), 1)}


@pytest.mark.parametrize(
    ("count", "gib", "gb"),
    [
        (0, "0 B", "0 B"),
        (900, "900 B", "900 B"),
        (1023, "1.00 KiB", "1.02 kB"),
        (4_912_898_304, "4.58 GiB", "4.91 GB"),
        (24_564 * 2**20, "24.0 GiB", "25.8 GB"),
        (2**40, "1.00 TiB", "1.10 TB"),
        (-(2**30), "-1.00 GiB", "-1.07 GB"),
    ],
)
def test_sizes_have_three_digits_in_the_fitting_unit(count: int, gib: str, gb: str) -> None:
    assert format_bytes(count) == gib
    assert format_bytes(count, UnitSystem.GB) == gb


@given(SIZES, st.sampled_from(UnitSystem))
def test_a_size_is_written_in_its_own_family_to_half_a_per_cent(
    count: int, system: UnitSystem
) -> None:
    text = format_bytes(count, system)
    number, unit = text.replace(",", "").split()
    assert ("iB" in unit) is (system is UnitSystem.GIB) or unit == "B"
    assert float(number) * STEP[unit] == pytest.approx(count, rel=0.0051)
    assert unit in ("B", "TiB", "TB") or float(number) < 1024


@given(SIZES)
def test_every_byte_can_be_written_and_read_back(count: int) -> None:
    assert parse_bytes(format_exact_bytes(count)) == count


@given(st.lists(SIZES, min_size=1, max_size=9), st.integers(0, 2), st.sampled_from(("GiB", "MB")))
def test_parts_that_are_shown_add_up_to_the_total_that_is_shown(
    parts: list[int], digits: int, unit: str
) -> None:
    def units_of(text: str) -> int:
        return int(re.sub("[.,]", "", text))

    shown = format_parts(parts, unit, digits)
    (total,) = format_parts([sum(parts)], unit, digits)
    assert sum(map(units_of, shown)) == units_of(total)
    for part, text in zip(parts, shown, strict=True):  # and none is further off than one digit
        exact = part / STEP[unit] * 10**digits
        assert abs(units_of(text) - exact) < 1 + 1e-6


def test_three_equal_thirds_of_one_are_shown_as_34_33_and_33() -> None:
    third = 10**9 // 3
    assert format_parts([third + 1, third, third], "GB") == ["0.34", "0.33", "0.33"]


def test_a_card_of_24564_mib_is_23_99_gib_or_25_76_gb() -> None:
    # Both are right; a reader who sees them mixed thinks that memory is missing.
    card = 24_564 * 2**20
    assert format_bytes_in(card, "GiB") == "23.99"
    assert format_bytes_in(card, "GB") == "25.76"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("24 GB", 24 * 10**9),
        ("24GiB", 24 * 2**30),
        (" 1.5 gib ", 3 * 2**29),
        ("512 MiB", 2**29),
        ("4,096", 4096),
        ("16k", 16_000),
        (".5 TB", 5 * 10**11),
        ("7.", 7),
        ("21,718,480,960 B", 21_718_480_960),
        ("1,234.5 kB", 1_234_500),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, count: int) -> None:
    assert parse_bytes(text) == count


def test_a_bare_number_is_in_the_unit_that_the_place_asks_for() -> None:
    assert parse_bytes("24", "GB") == 24 * 10**9
    assert parse_bytes("24 GiB", "GB") == 24 * 2**30


@pytest.mark.parametrize("text", ["24,5 GB", "1,5", "24,", ",5", "1,23,456", "1234,567", "1,234,5"])
def test_a_comma_that_groups_no_thousands_is_refused_and_never_dropped(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["1000000001 GB", "9" * 400, "9" * 4000 + " TiB"])
def test_a_size_beyond_any_computer_is_refused_in_a_short_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="more than any computer") as refused:
        parse_bytes(text)
    assert len(str(refused.value)) < 100
    with pytest.raises(ValueError, match="is no bandwidth"):
        parse_bandwidth(text)


@pytest.mark.parametrize("text", ["", "GB", "-1 GB", "1e9", "24 lumps", "1.2.3", "nan", "inf"])
def test_what_is_no_size_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is no size; write it like 24 GB"):
        parse_bytes(text)


def test_bandwidth_is_read_and_written_in_gb_per_second() -> None:
    assert parse_bandwidth("936") == parse_bandwidth("936 GB/s") == 936e9
    assert parse_bandwidth("51.2") == 51.2e9
    assert format_bandwidth(936e9) == "936 GB/s"
    assert format_bandwidth(51.2e9) == "51.2 GB/s"
    assert format_bandwidth(3350e9) == "3,350 GB/s"
    with pytest.raises(ValueError, match="is no bandwidth; write it like 936 GB/s"):
        parse_bandwidth("fast")


@given(st.floats(1e9, 1e13))
def test_a_bandwidth_that_is_written_is_read_back_to_half_a_per_cent(rate: float) -> None:
    assert parse_bandwidth(format_bandwidth(rate)) == pytest.approx(rate, rel=0.051)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0.0 GB/s"),
        (12, "12 B/s"),
        (40e6, "40.0 MB/s"),  # a disk at USB 2
        (250e6, "250 MB/s"),
        (0.9949e9, "995 MB/s"),
        (0.996e9, "1.0 GB/s"),
        (1e9, "1.0 GB/s"),
    ],
)
def test_a_bandwidth_below_one_is_told_in_smaller_units(rate: float, text: str) -> None:
    assert format_bandwidth(rate) == text
    assert parse_bandwidth(text) == pytest.approx(rate, rel=0.005)


@given(st.floats(1e-12, 1e12))
def test_what_is_more_than_nothing_is_never_written_as_nothing(value: float) -> None:
    for text in (format_rate(value), format_seconds(value), format_share(value)):
        assert text.startswith("<") or re.search("[1-9]", text), text
    if value >= 1:
        assert re.search("[1-9]", format_bandwidth(value))
    low, high = format_rates(value, 2 * value).split(" to ")
    assert low == bare_rate(value) and high == format_rate(2 * value)


def test_a_time_just_under_a_step_is_told_in_the_larger_unit() -> None:
    assert [format_seconds(s) for s in (0.9994, 0.9996, 59.96, 3599.6)] == [
        "999 ms",
        "1.00 s",
        "1 min 0 s",
        "1 h 0 min",
    ]


def test_rates_counts_shares_tokens_and_times_in_words() -> None:
    assert [format_rate(r) for r in (239.4, 70.04, 8.42, 0.523)] == [
        "239 tok/s",
        "70.0 tok/s",
        "8.42 tok/s",
        "0.52 tok/s",
    ]
    assert [format_count(n) for n in (35_505_251_456, 494_032_768, 640)] == [
        "35.5 B",
        "494 M",
        "640",
    ]
    assert [format_share(s) for s in (0.7234, 0.004, 0.0001, 0)] == [
        "72 %",
        "0.4 %",
        "<0.1 %",
        "0.0 %",
    ]
    assert format_tokens(262_144) == "262,144"
    assert [format_seconds(s) for s in (0.0159, 2.4, 70, 7500)] == [
        "15.9 ms",
        "2.40 s",
        "1 min 10 s",
        "2 h 5 min",
    ]


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (142e12, "142 TFLOPS"),
        (1.979e15, "1,979 TFLOPS"),
        (8.6e12, "8.60 TFLOPS"),
        (5.12e11, "512 GFLOPS"),
    ],
)
def test_arithmetic_is_told_as_makers_quote_it(rate: float, text: str) -> None:
    assert format_flops(rate) == text
