"""A choice survives the program; what is damaged costs only itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.recipes import RECIPES
from core.plan.choice import ALL_CACHE_TYPES, Choice, Engine, FlashAttention
from core.plan.keeping import choice_of, values_of

CHOICES = st.builds(
    Choice,
    context=st.none() | st.integers(1, 2**24),
    cache_k=st.sampled_from(ALL_CACHE_TYPES),
    cache_v=st.sampled_from(ALL_CACHE_TYPES),
    flash_attention=st.sampled_from(FlashAttention),
    slots=st.none() | st.integers(1, 256),
    unified_cache=st.none() | st.booleans(),
    engine=st.sampled_from(Engine),
    requantize=st.none() | st.sampled_from(RECIPES),
    gpu_layers=st.just("all") | st.integers(0, 999),
    cpu_moe=st.integers(0, 999),
    draft_head=st.booleans(),
    drafted=st.none() | st.integers(1, 16),
)


@given(CHOICES)
def test_what_was_chosen_comes_back_from_json(choice: Choice) -> None:
    assert choice_of(json.loads(json.dumps(values_of(choice)))) == choice


def test_nothing_chosen_is_nothing_kept() -> None:
    assert values_of(Choice()) == {}


@pytest.mark.parametrize(
    "values",
    [
        {"context": 0},
        {"context": "8192"},
        {"context": True},
        {"context": 2**40},
        {"cache_k": "q9_9"},
        {"engine": 4},
        {"requantize": "Q99_Z"},
        {"gpu_layers": "some"},
        {"gpu_layers": -1},
        {"swa_full": 1},
        {"slots": 257},
        {"slots": 2**31 - 1},
        {"backend": "steam"},
        {"projector": "/home/x/mmproj.gguf"},
        {"something new": 1},
    ],
)
def test_a_value_that_is_none_is_left_out(values: dict[str, object]) -> None:
    assert choice_of({**values, "ubatch": 64}) == Choice(ubatch=64)
