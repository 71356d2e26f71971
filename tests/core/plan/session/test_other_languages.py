"""A session in another language: numbers as they are written there, and no word that is stored."""

from __future__ import annotations

import re

import pytest

from core.language import speak
from core.plan.session import Change, SessionChoice, headline
from core.plan.session.storing import choice_from_json, choice_to_json
from core.plan.session.words import duration
from tests.support.marking import bare, marked
from tests.support.sessions import plan_of, session


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.25, "250 ms"), (2.5, "2,50 s"), (30.0, "30 s"), (600.0, "10 min"), (630.0, "10 min 30 s")],
)
def test_a_duration_has_no_rest_of_nothing_however_tenths_are_written(
    seconds: float, words: str
) -> None:
    assert duration(seconds) == words.replace(",", ".")
    speak(numbers="12.345,6")
    assert duration(seconds) == words


def test_every_sentence_passes_the_language() -> None:
    with marked():
        made = session(
            plan_of(context=16_384),
            prefill=100.0,
            decode=10.0,
            system_tokens=5000,
            turns=12,
            thinking_tokens=300,
            change=Change.START,
        )
        said = [headline(made), *(problem.message for problem in made.problems)]
    assert made.problems
    for words in said:
        assert "⟦" in words
        assert not re.search(r"[^\W\d_]{4,}", bare(words).replace("llama-server", "")), words


def test_what_is_kept_of_a_choice_is_the_same_in_every_language() -> None:
    choice = SessionChoice(change=Change.AFTER_TOOLS, pause=2.5)
    kept = choice_to_json(choice)
    with marked():
        assert choice_to_json(choice) == kept
        assert choice_from_json(kept, SessionChoice()) == choice
