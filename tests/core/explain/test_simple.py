"""U25: what calculators on the web say of a cache, explained with the file that is open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.explain.simple import SimpleFormula, simple_formula
from core.plan.choice import CACHE_TYPES, Engine
from core.units import UnitSystem
from tests.support.specimen_plans import specimen_plan

GIB = 2**30


def of(word: str, **choice: Any) -> SimpleFormula:
    found = simple_formula(specimen_plan(word, **choice))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("word", "context", "simple", "real"),
    [
        # 4 times too high, as at least six tools had it: 48 of 64 and 30 of 40 layers keep a state.
        ("Qwen3.6-27B", 262_144, 64 * GIB, 16 * GIB),
        ("Qwen3.6-35B", 131_072, 10 * GIB, 2560 * 2**20),
        # 62 x 16 heads x 128: every layer with the whole context. 52 keep a window of 1,024.
        ("Gemma-3-27B", 131_072, 62 * GIB, round(10.609 * GIB)),
        ("gpt-oss-20b", 131_072, 6 * GIB, 3 * GIB + 18 * 2**20),
    ],
)
def test_u25_reported_overestimates_are_reproduced_and_explained(
    word: str, context: int, simple: int, real: int
) -> None:
    found = of(word, context=context, slots=1)
    assert found.bytes == simple
    assert found.cache == pytest.approx(real, rel=1e-4)
    assert not found.agrees
    assert found.reasons


def test_u25_the_sentence_says_both_figures_and_why() -> None:
    assert of("Gemma-3-27B", context=131_072, slots=1).words(UnitSystem.GIB) == (
        "A simple formula, 2 x 62 layers x 16 heads x 128 x 2 bytes x 131,072 tokens, would say "
        "62.0 GiB for the whole context. The plan reserves 10.6 GiB, because 52 layers "
        "keep only the last 1,024 tokens."
    )
    four = of("Gemma-3-27B", context=131_072, slots=4, unified_cache=True)
    assert four.reasons == ("52 layers keep only the last 1,024 tokens of each of 4 requests",)
    assert four.cache == pytest.approx(11.828 * GIB, rel=1e-4)
    assert of("DeepSeek-V3.1", context=65_536).reasons == (
        "its attention keeps one compressed row in place of keys and values",
    )


def test_u25_where_every_layer_keeps_everything_the_formula_is_right() -> None:
    """domain.md 3: 131,072 B a token, 17.2 GB at 131,072 tokens."""
    found = of("Llama-3.1-8B", context=131_072)
    assert found.agrees
    assert found.bytes == found.cache == 131_072 * 131_072
    assert found.words(UnitSystem.GIB).endswith("every layer keeps every token.")


def test_a_quantized_cache_and_requests_that_each_have_one_are_reasons() -> None:
    packed = of("Llama-3.1-8B", context=8192, cache_k="q8_0", cache_v="q4_0")
    assert packed.reasons == ("K is stored as q8_0 and V as q4_0, not as f16",)
    each = of("Llama-3.1-8B", context=8192, slots=4, engine=Engine.OLLAMA)
    assert each.reasons == ("the engine reserves it for each of 4 requests",)
    assert each.cache == 4 * each.bytes


@given(
    st.sampled_from(["Llama-3.1-8B", "Gemma-3-27B", "Qwen3.6-35B", "LFM2-1.2B", "gpt-oss-20b"]),
    st.integers(1024, 262_144),
    st.sampled_from(CACHE_TYPES),
    st.sampled_from([Engine.LLAMA_SERVER, Engine.OLLAMA, Engine.LM_STUDIO, Engine.IK_LLAMA]),
)
def test_a_difference_always_has_a_reason(
    word: str, context: int, cache_type: str, engine: Engine
) -> None:
    found = of(word, context=context, cache_k=cache_type, cache_v=cache_type, engine=engine)
    assert found.agrees or found.reasons
