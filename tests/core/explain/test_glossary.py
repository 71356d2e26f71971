"""The glossary: complete, consistent, and found in words as they stand on the screen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.explain.glossary import search, term_named, terms, terms_in

ASKED = (
    "prefill",
    "decode",
    "KV cache",
    "MoE",
    "bits per weight",
    "ubatch",
    "TTFT",
    "TPOT",
    "flash attention",
    "slots",
    "quantization",
    "speculation",
    "sliding window",
    "latent attention",
    "recurrent state",
    "depth",
    "ceiling",
    "expected band",
    "spill",
    "mmap",
)


@pytest.mark.parametrize("name", ASKED)
def test_every_word_of_the_field_is_explained(name: str) -> None:
    term = term_named(name)
    assert term is not None
    assert len(term.text) > 60


def test_no_word_stands_twice_and_every_reference_leads_somewhere() -> None:
    names = [name.casefold() for term in terms() for name in (term.name, *term.also)]
    assert len(names) == len(set(names))
    for term in terms():
        for name in term.see:
            found = term_named(name)
            assert found is not None and found.name == name
            assert found is not term


def test_an_explanation_is_a_few_whole_sentences() -> None:
    for term in terms():
        assert re.fullmatch(r"[A-Z].*[.!]", term.text), term.name
        assert "\n" not in term.text
        assert len(term.text) <= 420, term.name


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("&Context", ["context"]),
        ("KV cache: 0.31 GiB", ["KV cache"]),
        ("Fl&ash attention", ["flash attention"]),
        ("ceiling, up to the context chosen", ["ceiling", "context"]),
        ("E&xperts in RAM", ["experts in RAM"]),
        ("Bytes of one token by part", ["bytes of one token"]),
        ("GPU &layers", ["GPU layers"]),
        ("Slotshaped decoders", []),
        ("", []),
    ],
)
def test_words_on_the_screen_lead_to_the_longest_name_in_them(words: str, found: list[str]) -> None:
    assert [term.name for term in terms_in(words)] == found


def test_a_search_puts_names_before_texts_and_nothing_typed_finds_everything() -> None:
    assert tuple(search("")) == terms()
    assert search("moe")[0].name == "mixture of experts"
    found = [term.name for term in search("bandwidth")]
    assert found[0] == "memory bandwidth"
    assert "decode" in found
    assert search("no such word at all") == []


@given(st.text(max_size=60))
def test_any_words_are_searched_and_scanned_without_harm(words: str) -> None:
    assert set(search(words)) <= set(terms())
    assert set(terms_in(words)) <= set(terms())
