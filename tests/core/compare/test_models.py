"""Models on one machine: what keeps a cache small, and how large it is at 100,000 tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.compare import Candidate, ModelRow, compare_models
from core.compare.mechanism import mechanism
from core.gguf import open_file
from core.machine import machine_from
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice
from resources import specimens
from tests.support.heads import heads

CARD = machine_from("nvidia-geforce-rtx-3090 + ram:64GiB@51.2")
SPECIMENS = {path.stem: model_from(open_file(path)) for path in specimens()}


def specimen(word: str) -> Model:
    return next(model for stem, model in SPECIMENS.items() if word in stem)


def rows(*candidates: Candidate, **options: object) -> list[ModelRow]:
    return list(compare_models(candidates, CARD, Choice(**options)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("Gemma-3-27B", "window: 52 of 62 layers keep 1,024 tokens"),
        ("gpt-oss-20b", "window: 12 of 24 layers keep 128 tokens"),
        ("Qwen3.6-35B", "hybrid: 30 of 40 layers keep a state of fixed size"),
        ("Qwen3.6-27B", "hybrid: 48 of 64 layers keep a state of fixed size"),
        ("DeepSeek-V3", "latent: one row of 576 for all heads"),
        ("Llama-3.1-8B", "whole context in every layer; grouped: 32 heads share 8 of K and V"),
    ],
)
def test_the_mechanism_is_told_from_the_files_own_keys(word: str, words: str) -> None:
    assert mechanism(specimen(word)).startswith(words)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("mamba2-dense", "recurrent: a state of fixed size in every layer, no cache"),
        ("falcon-h1-dense", "whole context in every layer; a state of fixed size beside it"),
        ("deepseek4-moe", "window: 4 of 4 layers keep 32 tokens; compressed: a row for 4 tokens"),
        ("glm-dsa-moe", "latent: one row of 576 for all heads; sparse: a token reads 131,072 rows"),
        ("llada-dense", "keeps no cache"),
        ("baichuan-dense", "whole context in every layer"),
    ],
)
def test_rarer_mechanisms_are_told_too(head: str, words: str, tmp_path: Path) -> None:
    path = heads()[head].write(tmp_path / "model.gguf")
    assert mechanism(model_from(open_file(path))).startswith(words)


@pytest.mark.parametrize(
    ("word", "per_token", "state"),
    [
        # Per token as worked in the model cards' dimensions, f16; 100,000 tokens pad to 100,096.
        ("Llama-3.1-8B", 131_072, 0),
        ("Llama-3.3-70B", 327_680, 0),
        ("Qwen3-4B", 147_456, 0),
        ("Qwen3.6-35B", 20_480, 65_863_680),
        ("Qwen3.6-27B", 65_536, 48 * 3_268_608),
    ],
)
def test_the_cache_at_100_000_tokens_is_rows_times_bytes_of_a_row(
    word: str, per_token: int, state: int
) -> None:
    (row,) = rows(Candidate(specimen(word)))
    assert row.figures.plan.memory.cache_per_token.value == per_token
    assert row.cache_far.value == 100_096 * per_token + state


def test_a_window_keeps_the_cache_at_100_000_tokens_small() -> None:
    # 12 of 24 layers keep 128 tokens and a batch of 512 for each of one conversation.
    (row,) = rows(Candidate(specimen("gpt-oss-20b")))
    full = 12 * 2 * 512 * 2 * 100_096
    window = 12 * 2 * 512 * 2 * 768
    assert row.cache_far.value == full + window


def test_a_mixture_reads_a_part_of_its_weights_and_a_dense_model_nearly_all() -> None:
    mixture, dense = rows(Candidate(specimen("Qwen3.6-35B")), Candidate(specimen("Qwen3.6-27B")))
    for row in (mixture, dense):
        assert row.weights.value is not None and row.weights_read.value is not None
    assert (mixture.weights_read.value or 0) < 0.15 * (mixture.weights.value or 0)
    assert (dense.weights_read.value or 0) > 0.9 * (dense.weights.value or 0)
    # That is why the larger file is the faster model.
    assert (mixture.weights.value or 0) > (dense.weights.value or 0)
    assert (mixture.figures.at_empty.value or 0) > 5 * (dense.figures.at_empty.value or 0)


def test_two_quantizations_of_one_file_are_two_rows() -> None:
    model = specimen("Llama-3.1-8B")
    own, smaller = rows(Candidate(model), Candidate(model, "IQ4_XS"))
    assert (own.label, smaller.label) == ("Q4_K_M", "Q4_K_M → IQ4_XS")
    assert (smaller.weights.value or 0) < (own.weights.value or 0)
    assert smaller.cache_far == own.cache_far
    assert (smaller.figures.at_empty.value or 0) > (own.figures.at_empty.value or 0)


def test_a_model_takes_no_more_context_than_it_was_trained_for() -> None:
    short, long = rows(
        Candidate(specimen("Mistral-7B")), Candidate(specimen("Qwen3.6-35B")), context=200_000
    )
    assert short.figures.plan.settings.requested_context == 32_768
    assert long.figures.plan.settings.requested_context == 200_000
    assert "32,768" in short.cache_far.note


def test_what_was_chosen_for_the_open_model_alone_is_not_asked_of_others() -> None:
    own, other = specimen("Qwen3.6-35B"), specimen("Llama-3.1-8B")
    choice = Choice(gpu_layers=3, cpu_moe=7)
    first, second = compare_models([Candidate(own), Candidate(other)], CARD, choice, own=own)
    settings = (first.figures.plan.settings, second.figures.plan.settings)
    assert [s.gpu_layers for s in settings] == [3, 33]
    assert [s.cpu_moe for s in settings] == [7, 0]


def test_the_open_model_is_compared_with_the_very_plan_that_is_shown() -> None:
    # Four slots share the context, so that each has what the model was trained for.
    own = specimen("Mistral-7B")
    choice = Choice(context=4 * 32_768, slots=4, unified_cache=False)
    (row,) = compare_models([Candidate(own)], CARD, choice, own=own)
    assert row.figures.plan == resolve(own, CARD, choice)
