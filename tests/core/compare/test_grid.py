"""Recipe by context: every cell is what the plan of that choice says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from core.compare import contexts_of, grid, recipes_of
from core.gguf import open_file
from core.machine import machine_from
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice, FlashAttention
from core.plan.plan import Verdict
from resources import specimens

CARD = machine_from("nvidia-geforce-rtx-3090 + ram:64GiB@51.2")
_BEST_FIRST = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT)


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


def test_a_cell_is_what_its_own_plan_says() -> None:
    model = specimen("Qwen3.6-35B")
    made = grid(model, CARD, Choice(cache_k="q8_0", cache_v="q8_0"))
    assert made.contexts == (4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144)
    assert made.recipes[0].ftype is None
    for row in made.cells[::5]:
        for cell in row[::3]:
            choice = Choice(
                context=cell.context,
                cache_k="q8_0",
                cache_v="q8_0",
                requantize=cell.recipe.ftype,
            )
            plan = resolve(model, CARD, choice)
            assert (cell.verdict, cell.ceiling) == (plan.verdict, plan.speed.ceiling)
            assert plan.settings.depth == cell.context


def test_more_context_never_fits_better_and_is_never_faster() -> None:
    made = grid(specimen("Llama-3.1-8B"), CARD, Choice())
    for row in made.cells:
        for less, more in pairwise(row):
            assert _BEST_FIRST.index(less.verdict) <= _BEST_FIRST.index(more.verdict)
            assert (less.ceiling.value or 0) >= (more.ceiling.value or 0)


def test_recipes_come_from_large_to_small_after_the_file_itself() -> None:
    model = specimen("Llama-3.1-8B")
    first, *others = recipes_of(model)
    assert first.label == "as it is: Q4_K_M"
    assert first.bytes == model.weights.bytes
    assert [r.bytes for r in others] == sorted((r.bytes for r in others), reverse=True)
    assert {"Q8_0", "Q4_K_M", "IQ4_XS"} <= {r.ftype for r in others}


@pytest.mark.parametrize(
    ("word", "chosen", "contexts"),
    [
        ("Mistral-7B", None, (4096, 8192, 16_384, 32_768)),
        ("Mistral-7B", 10_000, (4096, 8192, 10_000, 16_384, 32_768)),
        ("LFM2-1.2B", None, (4096, 8192, 16_384, 32_768, 65_536, 128_000)),
    ],
)
def test_contexts_double_up_to_what_the_model_was_trained_for(
    word: str, chosen: int | None, contexts: tuple[int, ...]
) -> None:
    assert contexts_of(specimen(word), chosen) == contexts


def test_a_choice_that_the_engine_refuses_says_why_in_every_cell() -> None:
    model = specimen("Llama-3.1-8B")
    choice = Choice(cache_v="q8_0", flash_attention=FlashAttention.OFF)
    made = grid(model, CARD, choice, contexts=(4096,))
    assert all(cell.refused for row in made.cells for cell in row)
