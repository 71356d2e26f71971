"""Pasted commands and settings: what they set, what does not matter, what is not understood."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.machine import custom
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.commands import Reading, Shell, flags, read_settings
from core.plan.plan import Plan
from tests.support.specimen_plans import specimen_plan


@pytest.fixture(scope="module")
def llama() -> Plan:
    return specimen_plan("Llama-3.1-8B")


@pytest.fixture(scope="module")
def mixture() -> Plan:
    return specimen_plan("Qwen3.6-35B-A3B")


def changed(reading: Reading) -> dict[str, Any]:
    """What is not the default of a choice."""
    blank = Choice(engine=reading.engine or Engine.LLAMA_SERVER)
    return {k: v for k, v in reading.changes.items() if v != getattr(blank, k) or k == "engine"}


def test_a_llama_server_line_sets_what_it_says_and_the_rest_is_the_engine_s_default(
    llama: Plan,
) -> None:
    reading = read_settings(
        "llama-server -m /models/Llama-3.1-8B-Instruct-Q4_K_M.gguf -c 32768 -np 2 -ctk q8_0 "
        "-ctv q8_0 -fa on -ub 1024 -ngl 99 --host 0.0.0.0 --port 8080 --temp 0.7 -t 8",
        llama,
    )
    assert reading.whole
    assert changed(reading) == {
        "engine": Engine.LLAMA_SERVER,
        "context": 32768,
        "slots": 2,
        "cache_k": "q8_0",
        "cache_v": "q8_0",
        "flash_attention": FlashAttention.ON,
        "ubatch": 1024,
    }
    assert reading.changes["gpu_layers"] == "all"
    assert reading.changes["cpu_moe"] == 0
    assert reading.changes["requantize"] is None
    assert reading.no_matter == ("--host 0.0.0.0", "--port 8080", "--temp 0.7")
    assert [each.text for each in reading.unread] == ["-t 8"]


@pytest.mark.parametrize(
    "text",
    [
        "llama-server \\\n  -c 8192 \\\n  --cache-type-k q4_0",
        "& 'C:\\llama cpp\\llama-server.exe' `\n  --ctx-size 8192 `\n  -ctk q4_0",
        '"C:\\llama cpp\\llama-server.exe" ^\n  --ctx-size=8192 ^\n  --cache_type_k=q4_0',
        "LLAMA_ARG_CTX_SIZE=8192 LLAMA_ARG_CACHE_TYPE_K=q4_0 ./llama-server",
        "set LLAMA_ARG_CTX_SIZE=8192\nset LLAMA_ARG_CACHE_TYPE_K=q4_0\nllama-server.exe",
        "$env:LLAMA_ARG_CTX_SIZE = '8192'; $env:LLAMA_ARG_CACHE_TYPE_K='q4_0'; llama-server",
        "export LLAMA_ARG_CTX_SIZE=8192\nllama-server -ctk q4_0",
        "docker run --gpus all -p 8080:8080 -v /m:/m ghcr.io/ggml-org/llama.cpp:server-cuda "
        "-c 8192 -ctk q4_0",
        "docker run -e LLAMA_ARG_CTX_SIZE=8192 ghcr.io/ggml-org/llama.cpp:server -ctk q4_0",
        "cd ~/llama.cpp && ./build/bin/llama-server -c 8192 -ctk q4_0 2>&1 | tee log.txt",
    ],
)
def test_it_may_be_written_for_any_shell(llama: Plan, text: str) -> None:
    reading = read_settings(text, llama)
    assert reading.engine is Engine.LLAMA_SERVER
    assert (reading.changes["context"], reading.changes["cache_k"]) == (8192, "q4_0")
    assert reading.changes["cache_v"] == "f16"


def test_of_repeated_options_the_last_wins_and_an_option_wins_over_a_variable(
    llama: Plan,
) -> None:
    assert read_settings("llama-server -c 4096 -c 8192", llama).changes["context"] == 8192
    text = "LLAMA_ARG_CTX_SIZE=4096 llama-server -c 2048"
    assert read_settings(text, llama).changes["context"] == 2048


def test_loose_options_change_what_they_name_and_nothing_else(llama: Plan) -> None:
    reading = read_settings("-ctk q8_0 --parallel 3", llama)
    assert not reading.whole
    assert reading.changes == {"cache_k": "q8_0", "slots": 3}


def test_a_command_without_a_context_takes_the_trained_one_as_llama_server_does(
    llama: Plan,
) -> None:
    reading = read_settings("llama-server -m x.gguf -c 0", llama)
    assert reading.changes["context"] == 131_072
    reading = read_settings("llama-server -m x.gguf", llama)
    assert reading.changes["context"] == 131_072
    assert any("131,072" in note for note in reading.notes)
    assert any("x.gguf; the open file stays" in note for note in reading.notes)


def test_experts_layers_and_devices(mixture: Plan) -> None:
    def of(text: str) -> dict[str, Any]:
        return read_settings(f"llama-server {text}", mixture).changes

    assert of("-ncmoe 12 -ngl 20")["cpu_moe"] == 12
    assert of("-ncmoe 12 -ngl 20")["gpu_layers"] == 20
    assert of("--cpu-moe")["cpu_moe"] == 40
    assert of("-ngl all")["gpu_layers"] == of("-ngl auto")["gpu_layers"] == "all"
    assert of("-ngl -1")["gpu_layers"] == "all"
    assert of("-dev none")["backend"] == "cpu"
    assert of("-dev CUDA0")["backend"] is None  # what a 3090 has anyway
    assert of("-dev Vulkan0")["backend"] == "vulkan"
    assert of("-np 4 -kvu")["unified_cache"] is True
    assert of("-no-kvu")["unified_cache"] is False
    assert of("-fa")["flash_attention"] is FlashAttention.ON  # a switch, in older builds
    assert of("-fa -c 512")["context"] == 512
    assert of("-fa off --swa-full")["swa_full"] is True


def test_what_is_not_understood_is_listed_with_its_reason(llama: Plan) -> None:
    reading = read_settings(
        "llama-server -c 8k -ctk q9 -np 0 -ot exps=CPU --new-thing 7 -md d.gguf --draft 4 stray",
        llama,
    )
    reasons = {each.text: each.why for each in reading.unread}
    assert "whole number" in reasons["-c 8k"]
    assert "q8_0" in reasons["-ctk q9"]
    assert "1 to 256" in reasons["-np 0"]
    assert "single tensors" in reasons["-ot exps=CPU"]
    assert "no such option" in reasons["--new-thing 7"]
    assert "added beside" in reasons["-md d.gguf"]
    assert reading.changes["drafted"] == 4
    assert "before it" in reasons["stray"]
    kept = {"context", "cache_k", "slots"}  # named, but not understood: they stay
    assert not kept & reading.changes.keys()
    assert reading.changes["cache_v"] == "f16"
    assert not any("names no context" in note for note in reading.notes)


_GIVEN = st.sampled_from(sorted(flags.LLAMA)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.just("on")  # before it had a value, it was a switch
        if flags.LLAMA[name].meaning is flags.Meaning.FLASH
        else st.sampled_from(["20", "32k", "0", "-1", "on", "q8_0", "none", "CUDA0", "x.gguf"]),
    )
)


@given(st.lists(_GIVEN, max_size=8), st.booleans())
def test_every_option_that_is_given_stands_in_exactly_one_list(
    given_options: list[tuple[str, str]], whole: bool
) -> None:
    """Taken over, without effect, not taken over; a file that stays closed is named in a note."""
    options = [
        " ".join([name, *[value] * flags.LLAMA[name].values]) for name, value in given_options
    ]
    text = " ".join(["llama-server", *options] if whole else options)
    reading = read_settings(text, specimen_plan_once())
    listed = [
        *(each.text for each in reading.taken),
        *reading.no_matter,
        *{each.text for each in reading.unread},
    ]
    named = {text for text in options if text.split()[0] in ("-m", "--model")}
    assert len(listed) == len(set(listed)), text
    assert set(options) - named <= set(listed), text
    if any("x.gguf" in text for text in named):
        assert any("x.gguf; the open file stays" in note for note in reading.notes)
    for each in reading.taken:
        assert set(each.fields) <= reading.changes.keys()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("llama-server -c 32k", "context"),
        ("llama-server -ub x", "ubatch"),
        ("llama-server -np many", "slots"),
        ("llama-server -ctk q9", "cache_k"),
        ("llama-server --flash-attn=perhaps", "flash_attention"),
        ("llama-server -ngl some", "gpu_layers"),
        ("llama-server -ncmoe few", "cpu_moe"),
        ("llama-server -dev CUDA0,Vulkan1", "backend"),
        ("llama-server -c", "context"),
        ("llama-bench -p 99999999", "context"),
        ("vllm serve x --max-model-len long", "context"),
        ("vllm serve x --kv-cache-dtype q9", "cache_k"),
        ("lms load x -c 32k", "context"),
        ("lms load x --gpu most", "gpu_layers"),
        ("FROM x.gguf\nPARAMETER num_ctx 32k", "context"),
        ("OLLAMA_CONTEXT_LENGTH=32k ollama serve", "context"),
    ],
)
def test_what_is_named_but_not_understood_stays_as_it_is(llama: Plan, text: str, kept: str) -> None:
    reading = read_settings(text, llama)
    assert reading.whole
    assert kept not in reading.changes
    assert reading.unread
    assert not any("names no context" in n for n in reading.notes if kept == "context")


def test_llama_bench_reserves_its_longest_test(llama: Plan) -> None:
    reading = read_settings("llama-bench -m a.gguf -p 512,2048 -n 128 -d 0,8192 -fa 1", llama)
    assert reading.engine is Engine.LLAMA_CLI
    assert reading.changes["context"] == 8192 + 2048
    assert reading.changes["depth"] == 8192
    assert reading.changes["flash_attention"] is FlashAttention.ON
    assert read_settings("llama-bench", llama).changes["context"] == 512
    several = read_settings("llama-bench -ngl 10-30+10 -b 256,512", llama)
    assert (several.changes["gpu_layers"], several.changes["batch"]) == (10, 256)
    assert len(several.unread) == 2


def test_ik_llama_is_known_by_its_own_options(llama: Plan) -> None:
    reading = read_settings("./llama-server -c 8192 -fmoe -amb 512", llama)
    assert reading.engine is Engine.IK_LLAMA
    assert [each.text for each in reading.unread] == ["-fmoe", "-amb 512"]


def test_a_quantization_is_known_by_the_name_that_is_proposed_for_it(llama: Plan) -> None:
    text = "llama-quantize a.gguf b.gguf iq4_xs 8"
    assert read_settings(text, llama).changes == {"requantize": "IQ4_XS"}
    text = "llama-server -m Llama-3.1-8B-Instruct-Q4_K_M-Q8_0.gguf -c 512"
    assert read_settings(text, llama).changes["requantize"] == "Q8_0"


OLLAMA = """\
# Modelfile
FROM ./Llama-3.1-8B-Instruct-Q4_K_M.gguf
PARAMETER num_ctx 32768
PARAMETER temperature 0.7
PARAMETER num_gpu 20
PARAMETER num_thread 8
SYSTEM \"\"\"You are
PARAMETER num_ctx 1
a helper.\"\"\"
"""


def test_ollama_s_modelfile_and_variables(llama: Plan) -> None:
    reading = read_settings(OLLAMA, llama)
    assert reading.engine is Engine.OLLAMA
    assert reading.changes["context"] == 32768
    assert reading.changes["gpu_layers"] == 20
    assert reading.changes["requantize"] is None
    assert [each.text for each in reading.unread] == ["num_thread 8"]
    text = (
        "OLLAMA_KV_CACHE_TYPE=q8_0 OLLAMA_FLASH_ATTENTION=1 OLLAMA_NUM_PARALLEL=2 "
        "OLLAMA_KEEP_ALIVE=1h OLLAMA_CONTEXT_LENGTH=8192 ollama serve"
    )
    reading = read_settings(text, llama)
    assert changed(reading) == {
        "engine": Engine.OLLAMA,
        "cache_k": "q8_0",
        "cache_v": "q8_0",
        "flash_attention": FlashAttention.ON,
        "slots": 2,
        "context": 8192,
    }
    assert "OLLAMA_KEEP_ALIVE=1h" in reading.no_matter


@pytest.mark.parametrize(
    "text",
    [
        '{"model": "x", "options": {"num_ctx": 8192, "temperature": 0}}',
        '{"num_ctx": 8192}',
        "/set parameter num_ctx 8192",
        ">>> /set parameter num_ctx 8192",
        'Environment="OLLAMA_CONTEXT_LENGTH=8192"',
        "OLLAMA_CONTEXT_LENGTH: 8192",
    ],
)
def test_num_ctx_in_all_its_places(llama: Plan, text: str) -> None:
    reading = read_settings(text, llama)
    assert reading.engine is Engine.OLLAMA
    assert reading.changes["context"] == 8192
    assert not reading.whole


def test_lm_studio_s_command_settings_and_json(mixture: Plan) -> None:
    text = "lms load qwen --context-length 16384 --gpu 0.5 --parallel 2 --ttl 300 -y"
    reading = read_settings(text, mixture)
    assert reading.engine is Engine.LM_STUDIO
    assert (reading.changes["context"], reading.changes["slots"]) == (16384, 2)
    assert reading.changes["gpu_layers"] == 21  # of 42: 40, a draft block, the output
    assert read_settings("lms load x --gpu off", mixture).changes["gpu_layers"] == 0
    text = "K Cache Quantization Type: Q8_0\nFlash Attention: on\nEvaluation Batch Size: 256"
    assert read_settings(text, mixture).changes == {
        "engine": Engine.LM_STUDIO,
        "cache_k": "q8_0",
        "flash_attention": FlashAttention.ON,
        "batch": 256,
        "ubatch": 256,
    }
    text = '{"contextLength": 4096, "flashAttention": false, "gpu": {"ratio": "max"}}'
    reading = read_settings(text, mixture)
    assert reading.changes["flash_attention"] is FlashAttention.OFF
    assert reading.changes["gpu_layers"] == "all"


def test_vllm(llama: Plan) -> None:
    text = (
        "vllm serve ./Llama-3.1-8B-Instruct-Q4_K_M.gguf --max-model-len 32k --max-num-seqs=4 "
        "--kv-cache-dtype fp8 --gpu-memory-utilization 0.95 --port 8000 --compilation-config 3"
    )
    reading = read_settings(text, llama)
    assert reading.engine is Engine.VLLM
    assert (reading.changes["context"], reading.changes["slots"]) == (32_000, 4)
    assert read_settings("--max-model-len 32K", llama).changes["context"] == 32_768
    assert (reading.changes["cache_k"], reading.changes["cache_v"]) == ("fp8", "fp8")
    unread = {each.text.split()[0] for each in reading.unread}
    assert unread == {
        "--gpu-memory-utilization",
        "--compilation-config",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "hello",
        "rm -rf /",
        '{"a":',
        "{" * 5000,
        "[" * 90_000,
        "llama-server '",
        "llama-server -c",
        "llama-server -c 99999999999999999999999999",
        "llama-server -np -5",
        "$env:",
        "set",
        "FROM",
        "ollama",
        "lms",
        "x" * 200_000,
        "\0\u202e‮" * 100,
    ],
)
def test_hostile_text_ends_in_a_sentence(llama: Plan, text: str) -> None:
    reading = read_settings(text, llama)
    said = [*reading.notes, *(each.sentence for each in reading.unread)]
    assert said or reading.engine is not None
    for sentence in said:
        assert "\n" not in sentence and "\u202e" not in sentence
        assert len(sentence) < 700  # every character escaped


@given(
    st.lists(
        st.sampled_from(
            [*flags.LLAMA, *flags.BENCH, "llama-server", "ollama", "lms", "load", "vllm", "FROM",
             "PARAMETER", "num_ctx", "8192", "q8_0", "-1", "on", "=", "'", '"', "\\", "`", "^",
             "\n", "{", "}", "$env:", "set", "OLLAMA_NUM_PARALLEL=", "--max-model-len", "--gpu"]
        )
        | st.text(max_size=6),
        max_size=12,
    ),
    st.sampled_from([None, *Shell]),
)  # fmt: skip
def test_whatever_is_pasted_the_answer_can_be_resolved(
    words: list[str], shell: Shell | None
) -> None:
    plan = specimen_plan_once()
    reading = read_settings(" ".join(words), plan, shell)
    choice = reading.applied(plan.choice)
    assert choice.context is None or 0 < choice.context <= 2**24
    assert choice.slots is None or 0 < choice.slots <= 256


@pytest.mark.parametrize("shell", [None, *Shell])
@pytest.mark.parametrize(
    "piece",
    [" ", "\n", "\t", "a ", "'", '"', "\\", "\\a", "`", "^", "%", "> ", "2>&1 ", "- ", "# ", ": ",
     "-c 1 ", "-x", "--a=b ", "FROM a\n", "OLLAMA_A=1 ", "$env:A ", "set ", "x: y\n", "& '", "^\n"],
)  # fmt: skip
def test_long_text_of_one_kind_is_read_in_one_go(llama: Plan, piece: str, shell: Shell) -> None:
    """Where a pattern went over the same place again and again, this would take hours."""
    text = (piece * 30_000)[:30_000]
    for whole in (text, f"llama-server {text}", f"{text}:"):
        reading = read_settings(whole, llama, shell)
        assert len(reading.unread) <= 200


_MADE: list[Plan] = []


def specimen_plan_once() -> Plan:
    if not _MADE:
        _MADE.append(specimen_plan("Llama-3.1-8B", custom(24 * 2**30, 936e9)))
    return _MADE[0]


def test_the_share_that_vllm_takes_anyway_is_no_other_choice(llama: Plan) -> None:
    line = "vllm serve model.gguf --max-model-len 8192 --gpu-memory-utilization "
    assert read_settings(line + "0.9", llama).unread == ()
    (other,) = read_settings(line + "0.5", llama).unread
    assert "90 %" in other.why
