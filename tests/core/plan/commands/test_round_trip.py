"""Out and in again: a command that is copied sets, when pasted, the settings that it came from."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.gguf.source import FilePlace
from core.machine import Machine, combine, custom
from core.plan import resolve
from core.plan.choice import ALL_CACHE_TYPES, CACHE_TYPES, Choice, Engine, FlashAttention
from core.plan.commands import Shell, command, read_settings
from core.plan.engines import RULES
from core.plan.plan import Plan, Settings
from tests.support.specimen_plans import RAM, on_a_3090, specimen_plan

GIB = 2**30


@cache
def base(word: str) -> Plan:
    return specimen_plan(word)


@cache
def machines() -> tuple[Machine, ...]:
    return (
        on_a_3090(),
        RAM,
        combine(custom(8 * GIB, 400e9), RAM),
    )


CHOICES = st.builds(
    Choice,
    context=st.none() | st.integers(1, 2**20),
    cache_k=st.sampled_from(ALL_CACHE_TYPES),
    cache_v=st.sampled_from(ALL_CACHE_TYPES),
    flash_attention=st.sampled_from(FlashAttention),
    ubatch=st.none() | st.integers(1, 4096),
    batch=st.none() | st.integers(1, 8192),
    slots=st.none() | st.integers(1, 64),
    unified_cache=st.none() | st.booleans(),
    swa_full=st.booleans(),
    engine=st.sampled_from(Engine),
    requantize=st.none() | st.sampled_from(["Q8_0", "Q4_K_M", "IQ4_XS"]),
    gpu_layers=st.just("all") | st.integers(0, 80),
    cpu_moe=st.integers(0, 10),
    backend=st.none() | st.sampled_from(["cpu", "vulkan", "cuda"]),
)
WORDS = ("Llama-3.2-1B", "Gemma-3-27B", "gpt-oss-20b")


def same(settings: Settings) -> Settings:
    """A single slot shares its cache with nobody, whatever is said."""
    return replace(settings, unified_cache=False) if settings.slots == 1 else settings


def sayable(plan: Plan) -> bool:
    """Whether the engine has a way to be told all of it: then nothing is noted but what vLLM always
    needs."""
    return all("vllm-gguf-plugin" in note for note in command(plan, Shell.BASH).notes)


@given(
    CHOICES,
    st.sampled_from(WORDS),
    st.integers(0, 2),
    st.sampled_from(Shell),
    st.booleans(),
)
def test_u21_what_is_written_is_read_as_the_same_settings(
    choice: Choice, word: str, machine: int, shell: Shell, everything: bool
) -> None:
    plan = resolve(base(word).model, machines()[machine], choice)
    assume(sayable(plan) and "illegal" not in [p.code for p in plan.problems])
    text = command(plan, shell, everything=everything).text
    reading = read_settings(text, plan, shell)
    assert not reading.unread, text
    # From any choice: what was there before is gone.
    before = Choice(
        context=777, cache_k="q5_1", slots=9, swa_full=True, gpu_layers=3, cpu_moe=2, ubatch=9
    )
    kept = replace(before, requantize=plan.settings.requantize)
    after = resolve(plan.model, plan.machine, reading.applied(kept))
    assert same(after.settings) == same(plan.settings), text


@given(
    engine=st.sampled_from([Engine.LLAMA_SERVER, Engine.LLAMA_CLI, Engine.IK_LLAMA]),
    drafted=st.none() | st.integers(1, 16),
    cache=st.sampled_from(CACHE_TYPES),
    layers=st.just("all") | st.integers(0, 30),
    shell=st.sampled_from(Shell),
    head=st.booleans(),
)
def test_a_draft_comes_back_with_its_options(
    engine: Engine, drafted: int | None, cache: str, layers: Any, shell: Shell, head: bool
) -> None:
    if head:
        choice = Choice(engine=engine, draft_head=True, drafted=drafted, draft_cache_k=cache)
        plan = resolve(base("Qwen3.6-27B").model, on_a_3090(), choice)
    else:
        choice = Choice(
            engine=engine,
            draft=base("Llama-3.2-1B").model,
            drafted=drafted,
            draft_gpu_layers=layers,
            draft_cache_v=cache,
        )
        plan = resolve(base("Gemma-3-27B").model, on_a_3090(), choice)
    assume(sayable(plan))
    reading = read_settings(command(plan, shell).text, plan, shell)
    assert not reading.unread
    before = Choice(draft_head=True, drafted=9, draft_cache_k="q4_0", draft_gpu_layers=1)
    after = resolve(plan.model, plan.machine, reading.applied(before))
    assert after.settings == plan.settings


@given(CHOICES)
def test_every_choice_of_llama_server_can_be_said(choice: Choice) -> None:
    plan = resolve(
        base("gpt-oss-20b").model, on_a_3090(), replace(choice, engine=Engine.LLAMA_SERVER)
    )
    assert command(plan, Shell.BASH).notes == ()


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("shell", Shell)
def test_the_default_choice_of_every_engine_comes_back(engine: Engine, shell: Shell) -> None:
    plan = specimen_plan("Llama-3.1-8B", engine=engine)
    assert sayable(plan)
    text = command(plan, shell).text
    for known in (None, shell):
        reading = read_settings(text, plan, known)
        assert reading.engine is engine
        after = resolve(plan.model, plan.machine, reading.applied(Choice(cache_k="q4_0")))
        assert after.settings == plan.settings
        assert not reading.unread


@pytest.mark.parametrize(
    "name", ["it's a “model”.gguf", "50% & more.gguf", "$HOME `x`.gguf", "日本.gguf"]
)
@pytest.mark.parametrize("engine", [Engine.LLAMA_SERVER, Engine.OLLAMA, Engine.VLLM])
@pytest.mark.parametrize("shell", Shell)
def test_an_odd_path_hides_no_setting(name: str, engine: Engine, shell: Shell) -> None:
    plan = specimen_plan("Llama-3.2-1B", engine=engine, context=3000, slots=3)
    header = replace(plan.model.file.header, place=FilePlace(Path("/models/my models") / name))
    file = replace(plan.model.file, header=header)
    plan = resolve(replace(plan.model, file=file), plan.machine, plan.choice)
    reading = read_settings(command(plan, shell).text, plan, shell)
    assert not [note for note in reading.notes if "stays" in note]
    after = resolve(plan.model, plan.machine, reading.applied(Choice()))
    assert after.settings == plan.settings


def test_what_an_engine_cannot_be_told_is_said() -> None:
    def notes(word: str = "gpt-oss-20b", **choice: Any) -> str:
        return " ".join(command(specimen_plan(word, **choice), Shell.BASH).notes)

    assert "experts in RAM" in notes(engine=Engine.OLLAMA, cpu_moe=3)
    assert "one cache type" in notes(engine=Engine.OLLAMA, cache_k="q8_0")
    assert "one batch size" in notes(engine=Engine.LM_STUDIO, batch=1024, ubatch=256)
    assert "whole models" in notes(engine=Engine.VLLM, gpu_layers=5)
    assert "full window cache" in notes(engine=Engine.LM_STUDIO, swa_full=True)
    assert set(RULES) == set(Engine)


def test_a_path_that_no_shell_can_have_has_a_stand_in() -> None:
    plan = specimen_plan("Llama-3.2-1B")
    for name, shell in (("a\nb.gguf", Shell.CMD), ("a\udcff.gguf", Shell.BASH)):
        header = replace(plan.model.file.header, place=FilePlace(Path("/models") / name))
        model = replace(plan.model, file=replace(plan.model.file, header=header))
        made = command(resolve(model, plan.machine, plan.choice), shell)
        assert "-m model.gguf" in made.text
        assert "cannot be written" in made.notes[0]
        made.text.encode()
