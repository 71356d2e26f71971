"""The largest context that fits: a figure whose own plan fits, and the next step does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.gguf import open_file
from core.machine import Machine, combine, custom
from core.machine.machine import unknown_bytes
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.fits import PAIRS, LargestContext, largest_contexts, search_context
from core.plan.plan import Verdict
from core.problems import Severity
from resources import specimens
from tests.support import memory
from tests.support.memory import file_of

GIB = 2**30


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


@pytest.fixture(scope="module")
def llama() -> Model:
    return specimen("Llama-3.1-8B")


def with_host(size: int) -> Machine:
    return combine(custom(size, 936e9), custom(64 * GIB, 51.2e9, gpu=False))


def largest(model: Model, machine: Machine, **options: Any) -> dict[str, LargestContext]:
    return {each.types: each for each in largest_contexts(model, machine, Choice(**options))}


@pytest.mark.parametrize(
    ("word", "memory", "options"),
    [
        ("Llama-3.1-8B", 12 * GIB, {}),
        ("Llama-3.1-8B", 12 * GIB, {"slots": 3}),
        ("Llama-3.1-8B", 12 * GIB, {"slots": 3, "engine": Engine.OLLAMA}),
        ("Llama-3.1-8B", 8 * GIB, {"gpu_layers": 20}),
        ("Gemma-3-27B", 24 * GIB, {}),
        ("Qwen3.6-27B", 24 * GIB, {"requantize": "IQ4_XS"}),
        ("Qwen3-30B", 24 * GIB, {"cpu_moe": 4, "ubatch": 1024}),
    ],
)
def test_the_largest_context_fits_and_one_step_more_does_not(
    word: str, memory: int, options: dict[str, Any]
) -> None:
    model, machine = specimen(word), with_host(memory)
    found = largest_contexts(model, machine, Choice(**options))
    assert [(each.cache_k, each.cache_v) for each in found] == list(PAIRS)
    each_slot = options.get("slots", 1) if "engine" not in options else 1
    step = 256 * each_slot
    for each in found:
        assert each.most and each.comfortable and not each.refused
        kept = {**options, "cache_k": each.cache_k, "cache_v": each.cache_v}

        def verdict(context: int, kept: dict[str, Any] = kept) -> Verdict:
            return resolve(model, machine, Choice(**{**kept, "context": context})).verdict

        assert each.comfortable % step == each.most % step == 0
        assert verdict(each.comfortable) is Verdict.FITS
        assert verdict(each.most) in (Verdict.FITS, Verdict.TIGHT)
        if each.whole:
            assert each.most == (model.shape.context_length or 0) * each_slot
        else:
            assert verdict(each.most + step) is Verdict.DOES_NOT_FIT
        if each.comfortable < each.most:
            assert verdict(each.comfortable + step) is Verdict.TIGHT
    sizes = [each.most or 0 for each in found]
    assert sizes == sorted(sizes)  # q4_0 goes further than q8_0, and that further than f16


def test_llama_3_1_8b_in_5_gib_of_room_holds_as_many_tokens_as_128_kib_go_into_it(
    llama: Model,
) -> None:
    # Beside the RAM alone: all that is left, but for the mask of 1 KiB a token, becomes cache.
    empty = resolve(llama, custom(64 * GIB, gpu=False), Choice(context=4096))
    base = (empty.memory.total.value or 0) - 4096 * 129 * 1024
    machine = custom(base + 5 * GIB, gpu=False)
    most = largest(llama, machine)["f16"].most
    assert most is not None
    assert most == pytest.approx(5 * GIB / (129 * 1024), rel=0.01)


def test_a_model_that_fits_as_a_whole_says_that_it_was_trained_for_no_more(llama: Model) -> None:
    for each in largest(llama, with_host(80 * GIB)).values():
        assert each.whole
        assert each.comfortable == each.most == 131_072
    small = largest(llama, with_host(80 * GIB), slots=4)["f16"]
    assert small.most == 4 * 131_072  # each slot gets all of it
    ollama = largest(llama, with_host(80 * GIB), slots=2, engine=Engine.OLLAMA)["f16"]
    assert ollama.most == 131_072  # the option is for one request


def test_a_trained_length_that_is_no_multiple_of_the_step_is_offered_to_the_token(
    llama: Model,
) -> None:
    odd = replace(llama, shape=replace(llama.shape, context_length=1000))
    found = largest(odd, with_host(24 * GIB))["f16"]
    assert (found.comfortable, found.most, found.whole) == (1000, 1000, True)


def test_where_not_even_the_smallest_context_fits_there_is_none(llama: Model) -> None:
    for each in largest(llama, custom(2 * GIB, gpu=False)).values():
        assert each.comfortable is None
        assert each.most is None
        assert not each.refused


def test_between_tight_and_too_much_there_may_be_no_comfortable_one(llama: Model) -> None:
    empty = resolve(llama, custom(64 * GIB, gpu=False), Choice(context=256))
    machine = custom((empty.memory.total.value or 0) + GIB // 4, gpu=False)
    found = largest(llama, machine)["f16"]
    assert found.comfortable is None
    assert found.most
    assert found.most > 256


def test_types_that_the_engine_refuses_have_a_reason_instead_of_a_figure(llama: Model) -> None:
    ollama = largest(
        llama, with_host(24 * GIB), engine=Engine.OLLAMA, flash_attention=FlashAttention.OFF
    )
    assert ollama["f16"].most and not ollama["f16"].refused
    assert ollama["q8_0"].most is None
    assert "q8_0" in ollama["q8_0"].refused
    off = largest(llama, with_host(24 * GIB), flash_attention=FlashAttention.OFF)
    assert off["f16"].most
    assert "flash attention is off" in off["q4_0"].refused


def test_vllm_is_asked_about_the_halving_that_it_has(llama: Model) -> None:
    vllm = largest(llama, with_host(24 * GIB), engine=Engine.VLLM)
    assert list(vllm) == ["f16", "fp8"]
    # Half the bytes of a token, so about twice the tokens.
    assert (vllm["fp8"].most or 0) > 1.9 * (vllm["f16"].most or 0) or vllm["fp8"].whole


def test_vllm_s_share_of_the_card_is_the_limit_and_not_the_card(llama: Model) -> None:
    machine = with_host(12 * GIB)
    found = largest(llama, machine, engine=Engine.VLLM)["f16"]
    assert found.most is not None and not found.whole
    choice = Choice(engine=Engine.VLLM, context=found.most)
    assert not [p for p in resolve(llama, machine, choice).problems if p.severity is Severity.ERROR]
    beyond = resolve(llama, machine, replace(choice, context=found.most + 256))
    assert "reserved-share" in [p.code for p in beyond.problems]
    assert found.most < (largest(llama, machine)["f16"].most or 0)


def test_no_context_is_told_where_none_decides_or_the_cache_is_not_known() -> None:
    encoder = model_from(memory.model("bge-large-en").file)
    assert largest_contexts(encoder, with_host(24 * GIB), Choice()) == ()
    mamba = model_from(memory.model("mamba-2.8b").file)
    assert largest_contexts(mamba, with_host(24 * GIB), Choice()) == ()
    unknown = model_from(
        file_of({"general.architecture": "never-heard-of", "never-heard-of.block_count": 4})
    )
    assert largest_contexts(unknown, with_host(24 * GIB), Choice()) == ()


def test_a_machine_of_unknown_size_has_no_largest_context(llama: Model) -> None:
    card = custom(24 * GIB)
    gpu = replace(card.devices[0], memory=unknown_bytes("driver", "It does not say."))
    machine = replace(card, devices=(gpu, card.devices[1]))
    assert {each.most for each in largest(llama, machine).values()} == {None}


def test_the_depth_and_the_context_of_the_choice_do_not_count(llama: Model) -> None:
    machine = with_host(12 * GIB)
    first = largest_contexts(llama, machine, Choice())
    assert largest_contexts(llama, machine, Choice(context=100, depth=50)) == first


def test_a_search_gives_others_a_turn_before_each_of_its_few_budgets(llama: Model) -> None:
    turns = sum(1 for _ in search_context(llama, with_host(12 * GIB), Choice(), "q8_0", "q8_0"))
    assert 3 <= turns < 30


def test_a_tight_context_is_offered_where_the_comfortable_one_is_of_no_use_beside_it() -> None:
    small = LargestContext("f16", "f16", 1_536, 43_264)
    assert (small.offered, small.words) == (43_264, "43,264, tight")
    large = LargestContext("f16", "f16", 30_976, 43_264)
    assert (large.offered, large.words) == (30_976, "30,976")
    assert LargestContext("f16", "f16", None, None).words == "none"
