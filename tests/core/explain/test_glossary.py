"""The glossary: complete, consistent, and found in words as they stand on the screen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.explain.glossary import entries, search, term_named, terms, terms_in
from core.language import NAMES, SOURCE, speak

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
    "router",
    "norms",
    "dense",
    "tok/s",
    "CUDA",
    "VRAM",
    "RAM",
    "MT/s",
    "arithmetic",
    "padding",
    "n-grams",
    "RAG",
    "dry run",
)


OTHERS = sorted(set(NAMES) - {SOURCE})


@pytest.mark.parametrize("name", ASKED)
def test_every_word_of_the_field_is_explained(name: str) -> None:
    term = term_named(name)
    assert term is not None
    assert len(term.text) > 60


@pytest.mark.parametrize("code", NAMES)
def test_no_word_stands_twice_and_every_reference_leads_somewhere(code: str) -> None:
    speak(code)
    names = [name.casefold() for term in terms() for name in (term.name, *term.also)]
    assert len(names) == len(set(names))
    for term in terms():
        for name in term.see:
            found = term_named(name)
            assert found is not None and found.name == name
            assert found is not term


@pytest.mark.parametrize("code", NAMES)
def test_an_explanation_is_a_few_whole_sentences(code: str) -> None:
    speak(code)
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
        ("weights", ["weights"]),
        ("Parameters", ["parameters"]),
        ("Free", ["free memory"]),
        ("Keep free", ["keep free"]),
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


@pytest.mark.parametrize("code", OTHERS)
def test_another_language_has_the_same_entries_in_the_same_order(code: str) -> None:
    english, others = entries(SOURCE), entries(code)
    assert len(english) == len(others)
    places = {term.name: place for place, term in enumerate(english)}
    in_other = {term.name: place for place, term in enumerate(others)}
    for one, other in zip(english, others, strict=True):
        assert [places[name] for name in one.see] == [in_other[name] for name in other.see]
        assert one.text != other.text


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("name", ASKED)
def test_the_words_of_the_field_are_found_in_every_language(code: str, name: str) -> None:
    here = term_named(name)
    assert here is not None
    place = entries(SOURCE).index(here)
    speak(code)
    assert term_named(name) == entries(code)[place]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("&Contexto", ["contexto"]),
        ("Caché KV: 0,31 GiB", ["caché KV"]),
        ("KV cache", ["caché KV"]),
        ("E&xpertos en RAM", ["expertos en RAM"]),
        ("Velocidad de decodificación", ["decodificación"]),
        ("Flash attention", ["flash attention"]),
        ("Capas en &GPU", ["capas en la GPU"]),
        ("pesos", ["pesos"]),
        ("Parámetros", ["parámetros"]),
        ("Libre", ["memoria libre"]),
        ("Dejar libre", ["dejar libre"]),
        ("Parte del ancho de banda máximo", ["parte del techo"]),
        ("sobrecarga del motor", ["sobrecarga"]),
        ("3 ranuras, profundidad 8192", ["ranuras", "profundidad"]),
        ("Nada de eso", []),
    ],
)
def test_words_on_a_spanish_screen_lead_to_their_terms(words: str, found: list[str]) -> None:
    speak("es")
    assert [term.name for term in terms_in(words)] == found


def test_what_is_typed_without_accents_is_found() -> None:
    speak("es")
    assert search("decodificacion")[0].name == "decodificación"
    assert search("fisica") == search("física")


def test_a_language_that_is_left_leaves_no_words_behind() -> None:
    speak("es")
    assert term_named("techo") is not None
    speak()
    assert term_named("techo") is None
    assert [term.name for term in terms_in("ceiling")] == ["ceiling"]


@given(st.text(max_size=60))
def test_any_words_are_searched_and_scanned_without_harm(words: str) -> None:
    assert set(search(words)) <= set(terms())
    assert set(terms_in(words)) <= set(terms())
