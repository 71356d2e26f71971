"""The commands themselves, word for word, as the engines' own documents have them."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from core.gguf.source import FilePlace
from core.plan import resolve
from core.plan.choice import Engine, FlashAttention
from core.plan.commands import Shell, command, flags
from core.plan.commands.llama import every_option
from core.plan.plan import Plan
from tests.support.specimen_plans import specimen_plan


def text(word: str = "Llama-3.1-8B", shell: Shell = Shell.BASH, **choice: Any) -> str:
    return command(at("/F", specimen_plan(word, **choice)), shell).text


def words_of(plan: Plan, everything: bool = True) -> list[str]:
    """The command as bash takes it, which goes on in the next line after a backslash."""
    return shlex.split(command(plan, Shell.BASH, everything=everything).text.replace("\\\n", ""))


def at(path: str, plan: Plan) -> Plan:
    """The plan of a file that lies elsewhere."""
    header = replace(plan.model.file.header, place=FilePlace(Path(path)))
    model = replace(plan.model, file=replace(plan.model.file, header=header))
    return resolve(model, plan.machine, plan.choice)


def test_only_what_llama_server_would_not_do_by_itself_is_said() -> None:
    assert text() == "llama-server -m /F -c 16384"
    assert text(slots=4) == "llama-server -m /F -c 16384 -np 4"
    assert text(slots=8, unified_cache=True) == "llama-server -m /F -c 16384 -np 8 -kvu"
    assert text(unified_cache=False) == "llama-server -m /F -c 16384 -np 4"
    assert text(cache_k="q8_0", cache_v="q8_0", flash_attention=FlashAttention.ON) == (
        "llama-server -m /F -c 16384 -ctk q8_0 -ctv q8_0 -fa on"
    )
    assert text(gpu_layers=20, ubatch=1024, backend="cpu") == (
        "llama-server -m /F -c 16384 -ub 1024 -dev none"
    )
    assert text(gpu_layers=20) == "llama-server -m /F -c 16384 -ngl 20"
    assert text("gpt-oss-20b", cpu_moe=7) == "llama-server -m /F -c 16384 -ncmoe 7"
    assert text(engine=Engine.LLAMA_CLI) == "llama-cli -m /F -c 16384"


def test_where_it_is_tight_the_layers_are_not_left_to_llama_cpp() -> None:
    """Left alone, --fit takes layers off a card that has less than its margin free."""
    assert text("Qwen3.6-27B", context=120_000).endswith(" -ngl all")


def test_all_options_are_those_of_a_dry_run() -> None:
    plan = specimen_plan("Llama-3.1-8B", cache_k="q8_0")
    made = words_of(plan)
    assert made[1:] == every_option(plan, unified=True)


def test_every_option_that_is_written_is_one_of_llama_cpp() -> None:
    plan = specimen_plan(
        "gpt-oss-20b", cpu_moe=3, swa_full=True, gpu_layers=9, backend="vulkan", slots=3, ubatch=9,
        batch=77, cache_k="q4_0", cache_v="q8_0", flash_attention=FlashAttention.ON,
    )  # fmt: skip
    for everything in (False, True):
        words = words_of(plan, everything)
        place = 1
        while place < len(words):
            flag = flags.of(words[place], flags.LLAMA)
            assert flag is not None and flag.meaning is not None
            place += 1 + flag.values


def test_a_quantization_comes_first() -> None:
    made = text(requantize="IQ4_XS")
    assert made == (
        "# Quantize first\nllama-quantize /F /F-IQ4_XS.gguf IQ4_XS\n\n"
        "# Then start it with\nllama-server -m /F-IQ4_XS.gguf -c 16384"
    )


def test_ollama_has_its_variables_and_a_modelfile() -> None:
    made = text(engine=Engine.OLLAMA, cache_k="q8_0", cache_v="q8_0", slots=2, gpu_layers=20)
    name = "f"
    assert made == (
        "# Start the server with\n"
        "OLLAMA_NUM_PARALLEL=2 OLLAMA_KV_CACHE_TYPE=q8_0 OLLAMA_FLASH_ATTENTION=1 ollama serve\n\n"
        "# Modelfile\nFROM /F\nPARAMETER num_ctx 16384\nPARAMETER num_gpu 20\n\n"
        f"# Then\nollama create {name} -f Modelfile\nollama run {name}"
    )
    made = text(shell=Shell.POWERSHELL, engine=Engine.OLLAMA, slots=2)
    assert "$env:OLLAMA_NUM_PARALLEL = '2'\nollama serve" in made
    made = text(shell=Shell.CMD, engine=Engine.OLLAMA, slots=2, backend="cpu")
    assert "set OLLAMA_NUM_PARALLEL=2\nset CUDA_VISIBLE_DEVICES=-1\nollama serve" in made
    assert made.startswith("rem ")


def test_a05_ollama_s_context_is_baked_into_a_model_so_that_its_v1_endpoint_keeps_it() -> None:
    """A05: num_ctx of a request to /v1 is dropped, and 4,096 tokens are left without a word."""
    made = text(engine=Engine.OLLAMA, context=16_384)
    assert "PARAMETER num_ctx 16384" in made
    assert "ollama create f -f Modelfile" in made


def test_lm_studio_has_a_command_and_its_settings_in_words() -> None:
    made = text(engine=Engine.LM_STUDIO, slots=2, cache_k="q8_0", cpu_moe=3, gpu_layers=11)
    assert made == (
        "# Load it with\nlms load F --context-length 16384 --gpu 0.3333 --parallel 2\n\n"
        "# In the load settings of the model\n# K Cache Quantization Type: q8_0\n"
        "# Layers whose experts are forced onto the CPU: 3"
    )


def test_vllm_is_told_how_many_requests_it_may_serve() -> None:
    made = text(engine=Engine.VLLM, slots=8, context=4096)
    assert made == "vllm serve /F --max-model-len 4096 --max-num-seqs 8"


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        (Shell.BASH, "llama-server -m '/m/it'\"'\"'s 50%.gguf'"),
        (Shell.POWERSHELL, "llama-server -m '/m/it''s 50%.gguf'"),
        (Shell.CMD, 'llama-server -m ^"/m/it\'s 50^%^.gguf^"'),
    ],
)
def test_a_path_is_quoted_as_the_shell_must_have_it(shell: Shell, expected: str) -> None:
    plan = at("/m/it's 50%.gguf", specimen_plan("Llama-3.2-1B"))
    assert command(plan, shell).text == f"{expected} -c 16384"


def test_every_option_that_is_taken_over_is_one_that_llama_cpp_itself_has() -> None:
    """Its own argument parser is part of the wheel of its server; older names are gone from it."""
    found = find_spec("xllamacpp")
    assert found is not None and found.submodule_search_locations
    (library,) = Path(found.submodule_search_locations[0]).glob("xllamacpp*.so")
    words = set(re.findall(rb"--[a-z][a-z0-9-]+", library.read_bytes()))
    taken = [
        name
        for name, flag in flags.LLAMA.items()
        if flag.meaning is not None and name.startswith("--")
    ]
    assert len(taken) > 25
    for name in taken:
        assert name.encode() in words, name
