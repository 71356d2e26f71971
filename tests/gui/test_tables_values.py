"""Metadata values as text."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import language, tabular
from core.gguf.header import Array, Entry, Value, ValueType
from gui.tables import values
from tests.support.models import entry


def test_a_32_bit_float_shows_the_digits_that_were_meant() -> None:
    # What a reader gets back from the four bytes is 9.999999974752427e-07.
    (read,) = struct.unpack("<f", struct.pack("<f", 1e-6))
    assert values.scalar_text(read, ValueType.FLOAT32) == "1e-06"
    (read,) = struct.unpack("<f", struct.pack("<f", 10_000_000.0))
    assert values.scalar_text(read, ValueType.FLOAT32) == "10000000.0"


def test_the_largest_32_bit_float_is_no_error() -> None:
    largest = struct.unpack("<f", bytes.fromhex("ffff7f7f"))[0]
    assert values.shortest_f32(largest) == "3.4028235e+38"
    assert values.shortest_f32(-largest) == "-3.4028235e+38"


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shown_digits_of_a_32_bit_float_read_back_as_the_same_bits(number: float) -> None:
    text = values.shortest_f32(number)
    assert struct.pack("<f", float(text)) == struct.pack("<f", number)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_float_that_is_no_number_is_a_word_in_json(number: float) -> None:
    text = tabular.json_text(values.json_value(number, ValueType.FLOAT32))
    assert json.loads(text) == str(number)


@pytest.mark.parametrize(
    ("value", "type", "exact"),
    [
        (True, ValueType.BOOL, "true"),
        (2**64 - 1, ValueType.UINT64, "18446744073709551615"),
        (-(2**63), ValueType.INT64, "-9223372036854775808"),
        (0.1, ValueType.FLOAT64, "0.1"),
        ("two\nlines", ValueType.STRING, "two\nlines"),
    ],
)
def test_exact_text_has_no_decoration(value: Value, type: ValueType, exact: str) -> None:
    assert values.scalar_text(value, type) == exact


@given(st.binary(max_size=64))
def test_the_bytes_of_any_string_come_back_exactly(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    assert values.exact_bytes(text) == data


def test_a_preview_stands_on_one_line_and_hides_no_control_character() -> None:
    odd = b"one\r\ntwo\x80\x00\xe2\x80\xae".decode("utf-8", "surrogateescape")
    shown = values.preview(entry("k", odd))
    assert shown == "one ⏎ two\\x80\\x00\\u202e"


def test_a_long_string_is_cut_in_the_preview() -> None:
    shown = values.preview(entry("k", "x" * 1_000_000))
    assert len(shown) == values.PREVIEW_LETTERS + 1


def array(element: ValueType, items: tuple[Value, ...]) -> Entry:
    return entry("k", Array(element, len(items), 0, 0, items), ValueType.ARRAY)


def test_an_array_that_varies_by_layer_shows_count_and_range() -> None:
    heads = array(ValueType.INT32, (64, 0, 64, 64))
    assert values.preview(heads) == "4 numbers, 0 to 64: 64, 0, 64, 64"
    assert values.type_name(heads) == "[i32]"


def test_an_array_of_equal_numbers_says_so() -> None:
    assert values.preview(array(ValueType.INT32, (8, 8))) == "2 numbers, all 8: 8, 8"


def test_an_array_shows_its_first_elements_only() -> None:
    many = array(ValueType.STRING, tuple("abcdefghijkl"))
    assert values.preview(many) == "12 strings: a, b, c, d, e, f, g, h, …"


def test_an_empty_array_is_a_sensible_value() -> None:
    assert values.preview(array(ValueType.BOOL, ())) == "0 flags"


def test_an_array_on_disk_shows_its_count_until_its_first_elements_are_read() -> None:
    tokens = entry("k", Array(ValueType.STRING, 248_320, 0, 0), ValueType.ARRAY)
    assert values.preview(tokens) == "248,320 strings"
    assert values.preview(tokens, ("<pad>", "<eos>")) == "248,320 strings: <pad>, <eos>, …"


def test_nested_arrays_have_words_and_json() -> None:
    inner = Array(ValueType.INT32, 2, 0, 0, (1, 2))
    outer = array(ValueType.ARRAY, (inner, inner))
    assert values.preview(outer) == (
        "2 arrays: [2 numbers, 1 to 2: 1, 2], [2 numbers, 1 to 2: 1, 2]"
    )
    assert values.json_value(outer.value, outer.type) == [[1, 2], [1, 2]]


def test_json_of_a_string_that_is_no_utf8_can_be_read_again() -> None:
    odd = b"\x80x".decode("utf-8", "surrogateescape")
    text = tabular.json_text(odd)
    text.encode("utf-8")
    assert json.loads(text) == odd


def test_markdown_cells_cannot_break_their_table() -> None:
    text = tabular.markdown(["a"], [["x|y\\z\nw"]], [False])
    assert text.splitlines()[2] == "| x\\|y\\\\z<br>w |"


@pytest.fixture
def comma() -> None:
    """A reader who writes 12.345,6."""
    language.speak(numbers="12.345,6")


def test_a_cell_has_the_sign_of_the_reader_before_the_tenths(comma: None) -> None:
    assert values.preview(entry("k", 21_504)) == "21.504"
    assert values.preview(entry("k", 0.25)) == "0,25"
    assert values.preview(entry("k", float("inf"))) == "inf"


def test_a_comma_before_the_tenths_stands_not_between_numbers_too(comma: None) -> None:
    array = Array(ValueType.FLOAT32, 3, 0, 12, items=(0.5, 1.5, 8.0))
    assert values.array_words(array, array.items or ()) == "3 numbers, 0,5 to 8,0: 0,5; 1,5; 8,0"
    whole = Array(ValueType.UINT32, 2, 0, 8, items=(7, 9))
    assert values.array_words(whole, whole.items or ()) == "2 numbers, 7 to 9: 7, 9"


def test_what_is_exact_is_the_same_for_every_reader(comma: None) -> None:
    assert values.scalar_text(0.25, ValueType.FLOAT32) == "0.25"
    assert values.json_value(0.25, ValueType.FLOAT32) == 0.25
