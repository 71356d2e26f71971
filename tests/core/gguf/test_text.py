"""Text from a file on its way to the screen."""

from __future__ import annotations

import pytest

from core.gguf import display, excerpt


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        ("▁the".encode(), "▁the"),
        ("日本語 é".encode(), "日本語 é"),
        (b"\x80", "\\x80"),
        (b"\xf0\x9f", "\\xf0\\x9f"),
        (b"a\xffb", "a\\xffb"),
        (b"\x00", "\\x00"),
        (b"\x1b[31mred", "\\x1b[31mred"),
        (b"two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("gnp.\u202egfed".encode(), "gnp.\\u202egfed"),
        ("a\u2066b\u2069c".encode(), "a\\u2066b\\u2069c"),
        ("zero\u200bwidth\ufeff".encode(), "zero\\u200bwidth\\ufeff"),
        ("\U000e0041".encode(), "\\U000e0041"),
        ("\u0085\u2028".encode(), "\\x85\\u2028"),
    ],
)
def test_nothing_from_a_file_can_move_hide_or_reverse_what_is_shown(raw: bytes, shown: str) -> None:
    assert display(raw.decode("utf-8", "surrogateescape")) == shown


def test_joiners_stay_because_scripts_and_emoji_need_them() -> None:
    family = "👩\u200d👧 نمی\u200cخواهم"
    assert display(family) == family


def test_a_template_keeps_its_lines_and_nothing_else() -> None:
    assert display("{%\n\tif\x07 \u202e%}", lines=True) == "{%\n\tif\\x07 \\u202e%}"


def test_a_lone_surrogate_of_a_file_name_is_escaped_as_one() -> None:
    assert display("\ud800") == "\\ud800"


def test_what_is_shown_can_be_written_anywhere() -> None:
    every = "".join(map(chr, range(0x11000)))
    assert display(every).encode("utf-8")


def test_an_excerpt_folds_white_space_and_says_that_it_goes_on() -> None:
    assert excerpt("  a \n\n b  ") == "a b"
    assert excerpt("x" * 200, 10) == "x" * 9 + "…"
    assert excerpt("word " * 100_000, 12) == "word word w…"
