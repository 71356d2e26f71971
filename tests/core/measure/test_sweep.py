"""The sweep against played servers of every kind: what it asks for, and what it makes of it."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from core.measure import metrics
from core.measure.control import Control
from core.measure.events import Event, Progress
from core.measure.run import Cell, RunPlan, RunStatus, SampleKind, ServerKind
from core.measure.work import Rates, expected_seconds, steps
from tests.support.played_servers import Played, playing
from tests.support.sweeps import PLAN, swept


def kinds(cell: Cell) -> list[str]:
    return [sample.kind.value for sample in cell.samples]


@pytest.mark.parametrize("kind", list(ServerKind))
def test_every_kind_of_server_is_swept_at_exact_depths(kind: ServerKind) -> None:
    with playing(kind, Played()) as (_, target):
        run, said = swept(target)
    assert run.status is RunStatus.DONE
    assert run.problems == ()
    assert [cell.depth for cell in run.finished_cells] == [0, 64, 256]
    # A server that takes text adds a token of its own: with one word it is at two.
    least = 1 if kind in (ServerKind.LLAMA_SERVER, ServerKind.VLLM) else 2
    assert [metrics.exact_depth(cell) for cell in run.cells] == [least, 64, 256]
    for cell in run.cells:
        assert len(cell.measured) == 6
        assert all(sample.tokens == 8 for sample in cell.measured)
        assert kinds(cell)[-7:] == ["warm_up"] + ["run"] * 6
        assert "cold" in kinds(cell)
        assert metrics.decode(cell) is not None
    assert any(isinstance(event, Progress) for event in said)


def test_ids_begin_with_the_token_that_begins_a_text_and_are_new_for_each_cold_request() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        run, _ = swept(target, replace(PLAN, depths=(64,), cold=3))
        bodies = server.bodies("/completion")
    cold = [body for body in bodies[1:] if not body["cache_prompt"]]
    warm = [body for body in bodies if body["cache_prompt"]]
    assert len(cold) == 3
    assert all(body["prompt"][0] == 1 and len(body["prompt"]) == 64 for body in cold)
    assert len({tuple(body["prompt"][1:9]) for body in cold}) == 3
    assert {tuple(body["prompt"]) for body in warm} == {tuple(cold[-1]["prompt"])}
    for body in bodies:
        assert body["ignore_eos"] is True
        assert body["stream"] is True
        assert body["temperature"] == 0
    samples = run.cells[0].measured
    assert all(sample.cached_tokens == 63 for sample in samples)


def test_with_no_cold_requests_each_token_of_the_deepest_prompt_is_read_once() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(0, 64, 256), cold=0))
    fills = [s for cell in run.cells for s in cell.samples if s.kind is SampleKind.FILL]
    assert [(s.prompt_tokens, s.cached_tokens) for s in fills] == [(1, 0), (64, 1), (256, 64)]


def test_ollama_keeps_its_context_refuses_to_cut_and_stays_loaded() -> None:
    """Reports A04 and A05: num_ctx is the loaded one each time, and /v1 is never asked."""
    with playing(ServerKind.OLLAMA, Played()) as (server, target):
        swept(target, replace(PLAN, depths=(64,)))
    asked = {each.path for each in server.asked}
    assert asked == {"/api/generate", "/api/version"}
    for body in server.bodies("/api/generate"):
        assert body["options"]["num_ctx"] == 4096
        assert body["options"]["num_predict"] >= 1
        assert body["raw"] is True
        assert body["truncate"] is False
        assert body["keep_alive"] == "30m"
        assert "shift" not in body


def test_a_depth_beyond_the_context_is_said_before_anything_is_sent() -> None:
    """Report A05: 8,942 tokens are planned, Ollama has loaded 4,096."""
    with playing(ServerKind.OLLAMA, Played()) as (server, target):
        run, _ = swept(target, replace(PLAN, depths=(8942,)))
        assert server.bodies("/api/generate") == []
    assert run.status is RunStatus.FAILED
    (problem,) = run.cells[0].problems
    assert problem.code == "beyond_context"
    assert "8,942" in problem.message
    assert "4,096" in problem.message
    assert "OLLAMA_CONTEXT_LENGTH" in problem.advice


def test_a_server_of_text_is_corrected_by_what_it_counts() -> None:
    with playing(ServerKind.OLLAMA, Played(), more=9) as (server, target):
        run, _ = swept(target, replace(PLAN, depths=(64, 128)), words=[f"w{n}" for n in range(50)])
    assert [metrics.exact_depth(cell) for cell in run.cells] == [64, 128]
    prompts = [body["prompt"] for body in server.bodies("/api/generate")]
    assert all(prompt.startswith(" w") for prompt in prompts)


def test_a_server_that_only_chats_is_asked_in_a_chat() -> None:
    with playing(ServerKind.OPENAI, Played(), more=7, chat_only=True) as (server, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)))
    assert metrics.exact_depth(run.cells[0]) == 64
    assert server.bodies("/v1/chat/completions")


def test_vllm_writes_on_past_the_end_and_shares_no_cache_with_others() -> None:
    with playing(ServerKind.VLLM, Played()) as (server, target):
        swept(target, replace(PLAN, depths=(64,)))
    for body in server.bodies("/v1/completions"):
        assert body["ignore_eos"] is True
        assert body["min_tokens"] == body["max_tokens"]
        assert body["stream_options"]["include_usage"] is True
        assert body["cache_salt"]
        assert all(isinstance(token, int) for token in body["prompt"])


def test_requests_at_the_same_time_have_slots_and_prompts_of_their_own() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        plan = replace(PLAN, depths=(64,), concurrency=(1, 3))
        run, _ = swept(replace(target, slots=3), plan)
    one, three = run.cells
    assert (one.concurrency, three.concurrency) == (1, 3)
    assert len(three.measured) == 18
    assert {sample.user for sample in three.measured} == {0, 1, 2}
    total, each = metrics.total_rate(three), metrics.decode(three)
    assert total is not None
    assert each is not None
    assert total.n == 6
    assert total.median > each.median
    warm = [b for b in server.bodies("/completion") if b["id_slot"] == 2 and b["cache_prompt"]]
    assert warm


def test_more_requests_at_once_than_slots_are_not_tried() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,), concurrency=(1, 2)))
    assert run.status is RunStatus.DONE
    given_up = next(cell for cell in run.cells if cell.concurrency == 2)
    assert [problem.code for problem in given_up.problems] == ["too_few_slots"]


def test_what_was_finished_is_not_measured_again() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        first, _ = swept(target, replace(PLAN, depths=(64,)))
        server.asked.clear()
        run, _ = swept(target, replace(PLAN, depths=(64, 128)), cells=first.cells)
        depths = {len(body["prompt"]) for body in server.bodies("/completion")}
    assert depths == {128, 256}  # 256 is the first, discarded request
    assert run.cells[0] == first.cells[0]
    assert [cell.depth for cell in run.finished_cells] == [64, 128]


def test_a_resumed_run_with_nothing_left_is_done() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        first, _ = swept(target, replace(PLAN, depths=(64,)))
        server.asked.clear()
        run, _ = swept(target, replace(PLAN, depths=(64,)), cells=first.cells)
        assert server.bodies("/completion") == []
    assert run.status is RunStatus.DONE


def test_a_pause_holds_the_next_request_and_goes_on_where_it_was() -> None:
    phases: list[str] = []

    def watch(event: Event, control: Control) -> None:
        if isinstance(event, Progress):
            phases.append(event.phase)
            if event.phase == "paused":
                control.resume()
        elif getattr(event, "sample", None) is not None and "paused" not in phases:
            control.pause()

    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)), watch=watch)
    assert "paused" in phases
    assert run.status is RunStatus.DONE
    assert len(run.cells[0].measured) == 6


def test_the_key_goes_to_the_server_and_into_no_event() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        _, said = swept(target, replace(PLAN, depths=(64,)), key="sk-geheim")
        headers = [asked.headers.get("authorization") for asked in server.asked]
    assert set(headers) == {"Bearer sk-geheim"}
    assert "geheim" not in repr(said)


def test_progress_says_how_far_it_is_and_how_long_it_takes() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        _, said = swept(target, replace(PLAN, tokens=64))
    progress = [event for event in said if isinstance(event, Progress)]
    with_time = [event for event in progress if event.left_seconds is not None]
    assert with_time
    shares = [event.done for event in progress]
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] > 0.5


def test_the_work_of_a_plan_is_what_the_notes_work_out() -> None:
    """128K in eight depths of 16K, 7 requests of 65 tokens each: each token read once at 500 tok/s
    is 262 s, and the writing at 10 tok/s 364 s."""
    depths = tuple(16_384 * n for n in range(1, 9))
    plan = RunPlan(depths, runs=6, tokens=65, cold=0)
    rates = Rates(500.0, ((0, 10.0),))
    read = sum(s.prompt for s in steps(plan) if s.kind is SampleKind.FILL)
    assert read == 131_072
    seconds = expected_seconds(steps(plan), rates)
    assert seconds is not None
    assert seconds == pytest.approx(262 + 364, rel=0.01)


def test_without_rates_no_duration_is_made_up() -> None:
    assert expected_seconds(steps(PLAN), Rates()) is None
    assert expected_seconds(steps(PLAN), Rates(decode=((0, 10.0),))) is None


@pytest.mark.parametrize(("depth", "rate"), [(0, 100.0), (500, 200 / 3), (1000, 50.0), (9e9, 50.0)])
def test_rates_between_depths_are_interpolated_in_time(depth: float, rate: float) -> None:
    rates = Rates(decode=((0, 100.0), (1000, 50.0)))
    assert rates.decode_at(int(depth)) == pytest.approx(rate)


def test_every_request_goes_straight_to_the_server_uncompressed_on_a_connection_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy of the environment, compression, and a connection that a server closes after a
    hundred requests would each be counted as the server's time."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        run, _ = swept(target, PLAN)
    assert run.status is RunStatus.DONE
    asked = [each for each in server.asked if each.path == "/completion"]
    assert {each.headers["accept-encoding"] for each in asked} == {"identity"}
    assert {each.headers["connection"] for each in asked} == {"close"}


def test_localhost_is_asked_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a name stands for ::1 first, each connection may wait two seconds for it to fail."""
    hosts: list[str] = []
    connect = socket.create_connection

    def recorded(address: tuple[str, int], *rest: Any) -> socket.socket:
        hosts.append(address[0])
        return connect(address, *rest)

    monkeypatch.setattr(socket, "create_connection", recorded)
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        named = replace(target, url=target.url.replace("127.0.0.1", "localhost"))
        run, _ = swept(named, replace(PLAN, depths=(64,)))
    assert run.status is RunStatus.DONE
    assert set(hosts) == {"127.0.0.1"}
