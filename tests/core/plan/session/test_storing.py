"""A session that is kept comes back as it was; what cannot be understood costs only itself."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.session import PRESETS, Change, SessionChoice, plan_session
from core.plan.session.choice import LIMITS
from core.plan.session.storing import choice_from_json, choice_to_json
from tests.support.specimen_plans import specimen_plan

AGENT = PRESETS[1].choice


def test_presets_come_back_as_they_were() -> None:
    for preset in PRESETS:
        assert choice_from_json(choice_to_json(preset.choice), AGENT) == preset.choice


def test_any_field_comes_back() -> None:
    choice = SessionChoice(
        change=Change.OWN, change_at=7, keep_alive=60.0, prompt_cache=0, prefill_rate=12.5
    )
    assert choice_from_json(choice_to_json(choice), AGENT) == choice


def test_for_ever_comes_back_though_json_has_no_infinity() -> None:
    choice = SessionChoice(keep_alive=inf)
    assert "Infinity" not in choice_to_json(choice)
    assert choice_from_json(choice_to_json(choice), AGENT) == choice


@pytest.mark.parametrize(
    "text",
    [
        '{"turns": 1000000000, "new_tokens": 0, "answer_tokens": 0}',
        '{"sessions": 1000000000, "side_requests": 1000000000}',
        '{"checkpoint_step": 0, "turns": 5000, "system_tokens": 16777216}',
        '{"disk_rate": 0, "prefill_rate": 0, "decode_rate": 1e-300}',
        '{"keep_alive": Infinity, "pause": NaN, "compact_above": -1}',
    ],
)
def test_no_kept_choice_makes_a_session_that_never_ends(text: str) -> None:
    choice = choice_from_json(text, AGENT)
    default = SessionChoice()
    for name, (low, high) in LIMITS.items():
        value = getattr(choice, name)
        assert value == getattr(default, name) or low <= value <= high
    made = plan_session(specimen_plan("Gemma-3-27B", context=131_072), choice)
    assert len(made.turns) <= LIMITS["turns"][1]


def test_a_value_of_another_kind_costs_only_itself() -> None:
    text = '{"turns": "many", "new_tokens": 5, "change": "sideways", "sessions": -1, "x": 1}'
    assert choice_from_json(text, AGENT) == SessionChoice(new_tokens=5)


@given(st.text(max_size=40))
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(choice_from_json(text, AGENT), SessionChoice)
