"""What passes through the reader's language: texts with their facts, and numbers."""

from __future__ import annotations

import re
from gettext import NullTranslations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QLocale

from core import language
from core.language import NAMES, STYLES, either, listed, mark, plain, speak, tr, trc, trn, written
from core.units import format_bytes, format_exact_bytes, format_share, parse_bytes

COMMA, POINT = "12,345.6", "12.345,6"
(SPACE,) = (name for name in STYLES if name not in (COMMA, POINT))
# Qt has the CLDR's rules from a source of its own.
LOCALES = {
    COMMA: QLocale(QLocale.Language.English, QLocale.Country.UnitedStates),
    POINT: QLocale(QLocale.Language.Spanish, QLocale.Country.Spain),
    SPACE: QLocale(QLocale.Language.French, QLocale.Country.France),
}


class Backwards(NullTranslations):
    """A language in which texts are turned round, but for their braces."""

    def gettext(self, message: str) -> str:
        return " ".join(reversed(message.split()))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)

    def pgettext(self, context: str, message: str) -> str:
        return f"{self.gettext(message)} ({context})"


def test_a_text_is_english_and_its_facts_are_formatted_unless_somebody_spoke() -> None:
    assert tr("{size} of {room:,} are free", size="1 GiB", room=12345) == "1 GiB of 12,345 are free"
    assert trn("one tensor", "{count:,} tensors", 1) == "one tensor"
    assert trn("one tensor", "{count:,} tensors", 2000) == "2,000 tensors"
    assert trc("a verb", "measure") == "measure"
    assert tr("") == ""


def test_words_in_a_line_are_joined_as_the_language_does() -> None:
    assert listed([]) == ""
    assert listed(["f16"]) == "f16"
    assert listed(["f16", "q8_0"]) == "f16 and q8_0"
    assert listed(["f16", "q8_0", "q4_0"]) == "f16, q8_0 and q4_0"
    assert [either("f"), either(["f16", "q8_0"])] == ["f", "f16 or q8_0"]
    assert either(["f16", "q8_0", "q4_0"]) == "f16, q8_0 or q4_0"


def test_the_language_that_is_spoken_tells_its_code() -> None:
    assert language.code() == "en"
    speak("es")
    assert language.code() == "es"
    speak("no such language")
    assert language.code() == "en"


@pytest.mark.parametrize("name", STYLES)
def test_the_way_of_writing_numbers_tells_its_name(name: str) -> None:
    speak("es", name)
    assert language.numbers() == name


def test_a_translation_may_turn_a_sentence_round() -> None:
    language.use(Backwards(), STYLES[POINT])
    assert tr("{size} of {share:.1f}", size="1 GiB", share=0.5) == "0,5 of 1 GiB"
    assert trn("one tensor", "{count:,} tensors", 12000) == "tensors 12.000"
    assert trc("a verb", "to measure") == "measure to (a verb)"
    assert mark("left alone") == "left alone"


def test_an_unknown_language_is_english_and_braces_without_facts_stay() -> None:
    speak("tlh")
    assert tr("as {it} stands") == "as {it} stands"
    assert written(12345.5, ",.1f") == "12,345.5"


@pytest.mark.parametrize("code", NAMES)
def test_every_language_has_a_style_of_numbers_that_may_be_overruled(code: str) -> None:
    speak(code, COMMA)
    assert written(12345.5, ",.1f") == "12,345.5"
    speak(code, POINT)
    assert written(12345.5, ",.1f") == "12.345,5"


def test_spanish_writes_spanish_numbers() -> None:
    speak("es")
    assert format_bytes(4_912_898_304) == "4,58 GiB"
    assert format_exact_bytes(21_718_480_960) == "21.718.480.960 B"
    assert format_share(0.0004) == "<0,1 %"
    assert written(4096) == "4096"  # groups begin at five digits
    assert written(-4096.25, ",.2f") == "-4096,25"
    assert written(0.065, ".1%") == "6,5\N{NO-BREAK SPACE}%"  # as the CLDR has it


@given(value=st.floats(-1e9, 1e9), spec=st.sampled_from((",", ".1f", ",.4g", ".0%", "+.2e")))
def test_in_english_numbers_are_written_as_python_does(value: float, spec: str) -> None:
    assert written(value, spec) == tr(f"{{value:{spec}}}", value=value) == format(value, spec)


@pytest.mark.parametrize("name", STYLES)
@given(value=st.integers(-(2**53), 2**53))
def test_whole_numbers_are_written_as_qt_writes_them(name: str, value: int) -> None:
    speak(numbers=name)
    assert written(value) == LOCALES[name].toString(value)


@pytest.mark.parametrize("name", STYLES)
@given(value=st.floats(-1e9, 1e9), digits=st.integers(0, 3))
def test_fractions_are_written_as_qt_writes_them(name: str, value: float, digits: int) -> None:
    speak(numbers=name)
    # Python keeps the sign of what is rounded to nothing.
    shown = written(round(value, digits) + 0.0, f",.{digits}f")
    assert shown == LOCALES[name].toString(round(value, digits) + 0.0, "f", digits)


@pytest.mark.parametrize("name", STYLES)
@given(value=st.integers(0, 10**12), digits=st.integers(0, 3))
def test_what_is_written_can_be_typed(name: str, value: int, digits: int) -> None:
    speak(numbers=name)
    typed = plain(f"{written(value / 10**digits, f',.{digits}f')} GB")
    assert typed.replace(",", "") == f"{value / 10**digits:.{digits}f} GB"


def test_what_is_no_number_of_this_way_of_writing_stays_as_it_was_typed() -> None:
    speak("es")
    assert plain("24.5 GB, 936 GB/s") == "24.5 GB, 936 GB/s"
    assert parse_bytes(plain("24,5 GB")) == 24_500_000_000
    assert parse_bytes(plain("1.500 MB")) == 1_500_000_000
    assert plain("b8.1.2 and 1,2,3") == "b8.1.2 and 1,2,3"
    speak()
    assert plain("24,5 GB") == "24,5 GB"
    with pytest.raises(ValueError, match="is no size"):
        parse_bytes(plain("24,5 GB"))


@pytest.mark.parametrize("damage", [None, b"", b"no catalogue", b"\xde\x12\x04\x95" + 40 * b"\xff"])
def test_texts_stay_in_english_where_the_catalogue_is_gone_or_damaged(
    damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "files", lambda package: tmp_path)
    language._catalogue_of.cache_clear()
    if damage is not None:
        (tmp_path / "translations").mkdir()
        (tmp_path / "translations" / "es.mo").write_bytes(damage)
    try:
        language.speak("es")
        assert language.tr("&File") == "&File"
        assert language.written(12345.5, ",.1f") == "12.345,5"
    finally:
        language._catalogue_of.cache_clear()
        language.speak()


def test_a_catalogue_cut_off_anywhere_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (Path(__file__).parents[2] / "resources" / "translations" / "es.mo").read_bytes()
    monkeypatch.setattr(language, "files", lambda package: tmp_path)
    (tmp_path / "translations").mkdir()
    try:
        for length in (3, 4, 19, 28, 1000, len(whole) // 2, len(whole) - 1):
            language._catalogue_of.cache_clear()
            (tmp_path / "translations" / "es.mo").write_bytes(whole[:length])
            language.speak("es")
            assert language.tr("&File")
    finally:
        language._catalogue_of.cache_clear()
        language.speak()


@pytest.mark.parametrize("brace", [r"\{(?=\w)", r"(?<=\{)\w", r"(?<=\w)\}"])
@pytest.mark.parametrize("sign", ["{", "}", ":", "!", "[", ".", "x"])
def test_a_text_whose_braces_are_damaged_is_said_in_english(brace: str, sign: str) -> None:
    """A catalogue that can still be read may have lost any sign."""

    class Damaged(NullTranslations):
        def gettext(self, message: str) -> str:
            return re.sub(brace, sign, f"¡{message}!")

        def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
            return self.gettext(msgid1 if n == 1 else msgid2)

        def pgettext(self, context: str, message: str) -> str:
            return self.gettext(message)

    try:
        for style in STYLES.values():
            language.use(Damaged(), style)
            for said in (
                tr("{size} of {room} are free", size="4 GB", room="6 GB"),
                trc("memory", "{rate:.0f} GB/s", rate=4.0),
                trn("one file", "{count:,} files", 4),
            ):
                assert "4" in said
    finally:
        speak()


@pytest.mark.parametrize("space", [" ", "\N{NO-BREAK SPACE}", "\N{THIN SPACE}"])
def test_any_space_may_be_typed_where_the_narrow_one_is_written(space: str) -> None:
    speak(numbers=SPACE)
    assert plain(f"1{space}234{space}567,5 GB") == "1234567.5 GB"
    assert plain(f"1{space}23") == f"1{space}23"
    speak(numbers=POINT)
    assert plain(f"1{space}234") == f"1{space}234"
    speak()


def test_nothing_before_the_point_groups_no_thousands() -> None:
    """The key of a number pad writes a point where the reader writes a comma."""
    speak(numbers=POINT)
    assert plain("0.512 TB") == "0.512 TB"
    assert plain("1.512 TB") == "1512 TB"
    speak()
    with pytest.raises(ValueError, match="no size"):
        parse_bytes("0,512 TB")
