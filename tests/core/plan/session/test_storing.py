"""A session that is kept comes back as it was; what cannot be understood costs only itself."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from core.plan.session import PRESETS, Change, SessionChoice
from core.plan.session.storing import choice_from_json, choice_to_json

AGENT = PRESETS[1].choice


def test_presets_come_back_as_they_were() -> None:
    for preset in PRESETS:
        assert choice_from_json(choice_to_json(preset.choice), AGENT) == preset.choice


def test_any_field_comes_back() -> None:
    choice = SessionChoice(
        change=Change.OWN, change_at=7, keep_alive=60.0, prompt_cache=0, prefill_rate=12.5
    )
    assert choice_from_json(choice_to_json(choice), AGENT) == choice


def test_for_ever_is_not_written() -> None:
    choice = SessionChoice(keep_alive=inf)
    assert "Infinity" not in choice_to_json(choice)


def test_a_value_of_another_kind_costs_only_itself() -> None:
    text = '{"turns": "many", "new_tokens": 5, "change": "sideways", "sessions": -1, "x": 1}'
    assert choice_from_json(text, AGENT) == SessionChoice(new_tokens=5)


@given(st.text(max_size=40))
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(choice_from_json(text, AGENT), SessionChoice)
