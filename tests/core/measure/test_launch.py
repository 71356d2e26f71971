"""Starting llama-server with a plan: its options, its log, and how it may end."""

from __future__ import annotations

from typing import Any

import pytest

from core.check.engine_ends import ending
from core.measure import launch
from core.measure.launch import LoadLog, Phase
from core.plan.plan import Plan
from tests.support.engine_logs import CUDA, recorded
from tests.support.specimen_plans import specimen_plan


def plan(**choice: Any) -> Plan:
    """Llama 3.1 8B, whose 33 layers are all on an RTX 3090."""
    return specimen_plan("Llama-3.1-8B", **choice)


def test_it_is_started_with_the_options_of_the_plan_on_the_loopback_interface() -> None:
    made = plan(context=8192, cache_k="q8_0", cache_v="q8_0", slots=1)
    program, *words = launch.server_command(made, "/opt/llama-server", 40123)
    assert program == "/opt/llama-server"
    text = " ".join(words)
    for expected in (
        "-c 8192", "-ctk q8_0 -ctv q8_0", "-np 1", "--host 127.0.0.1 --port 40123",
        "-ngl 33", "--slots --metrics -lv 4",
    ):  # fmt: skip
        assert expected in text
    # What only a dry run wants would print a line for every token.
    assert "-v" not in words
    assert "-fit" not in words


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_its_log_tells_what_it_is_doing_however_it_is_cut(piece: int) -> None:
    text = recorded()["gemma3, 4 shared slots"]
    log = LoadLog()
    seen = [log.phase]
    for start in range(0, len(text), piece):
        log.feed(text[start : start + piece])
        if log.phase is not seen[-1]:
            seen.append(log.phase)
    assert seen[0] is Phase.STARTING
    assert Phase.CONTEXT in seen
    assert seen == sorted(seen, key=list(Phase).index)
    assert log.text == text


def test_of_a_log_without_end_the_beginning_is_looked_at_and_all_is_kept_for_long() -> None:
    log = LoadLog()
    piece = "x" * 65_536 + "\n"
    for _ in range(80):
        log.feed(piece)
    assert log.text == (80 * piece)[: launch.LOG_LIMIT]
    assert log.whole == 80 * piece
    for _ in range(1000):
        log.feed(piece)
    assert len(log.whole) == launch.WHOLE_LIMIT


def test_m46_a_server_that_lowers_the_context_is_told() -> None:
    """M46: asked for 200,000, "loaded successfully" with 152,576."""
    made = plan(context=200_000, slots=1)
    log = CUDA.replace("131072", "152576").replace("offloaded 65/65", "offloaded 33/33")
    (problem,) = launch.differences(made, log)
    assert problem.message == "Asked 200,000 → got 152,576 tokens of context."
    assert problem.severity == "warning"


def test_b07_layers_that_stayed_in_ram_are_told() -> None:
    """B07: 15 of 33 layers on the GPU, and only one line of the log says so."""
    made = plan(context=131_072)
    log = CUDA.replace("offloaded 65/65", "offloaded 15/33")
    (problem,) = launch.differences(made, log)
    assert problem.code == "fewer-layers"
    assert problem.message.startswith("15 of 33 layers are on the GPU")


def test_b07_a_cache_that_stayed_in_ram_is_told() -> None:
    """B07: KV buffer CPU 562 MiB."""
    made = plan(context=131_072)
    log = CUDA.replace("offloaded 65/65", "offloaded 33/33").replace(
        "CUDA0 KV buffer size =  4352.00", "CPU KV buffer size =   562.00"
    )
    (problem,) = launch.differences(made, log)
    assert problem.message.startswith("562 MiB of the KV cache lie in RAM")


def test_a_server_that_does_what_the_plan_says_is_no_matter() -> None:
    made = plan(context=131_072)
    log = CUDA.replace("offloaded 65/65", "offloaded 33/33")
    assert launch.differences(made, log) == ()
    assert launch.differences(made, "") == ()


@pytest.mark.parametrize(
    ("code", "log", "expected"),
    [
        (132, "", "It was built for another processor"),
        (127, "could not be started: Permission denied\n", "could not be started: Permission"),
        (1, "ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory", "GPU"),
        (1, "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 40123", "its port"),
        (1, "error: invalid argument: --metrics\n", "--metrics"),
    ],
)
def test_an_end_is_a_sentence(code: int, log: str, expected: str) -> None:
    problem = launch.ended("/opt/llama-server", code, log)
    assert problem is not None
    assert expected in problem.message


def test_an_end_without_an_error_is_none() -> None:
    assert launch.ended("llama-server", 0, "") is None
    assert ending("llama-server", 0, "") is None
