"""Servers that lie, never end, or say what no server can: a sentence, in time, and no figure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from math import isfinite
from time import monotonic
from typing import Any

import pytest

from core.measure import metrics, sweep, waiting
from core.measure.diagnosis import diagnose
from core.measure.dialects import llama_server, ollama, openai
from core.measure.export import as_json, text
from core.measure.prompts import TextPrompts
from core.measure.run import Run, RunStatus, ServerKind
from core.measure.wire.events import MOST_EVENT, ServerSentEvents
from core.measure.wire.http import MOST_HEAD, Response, WireError
from tests.support.played_servers import Fault, Played, llama_end, openai_end, playing
from tests.support.replay import END, HEAD_STREAM, Act, Asked, Pause, answer, chunk, event
from tests.support.sweeps import PLAN, swept

ONE = replace(PLAN, depths=(64,), runs=2)
HUGE = 10**400


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for what will not come."""
    monkeypatch.setattr(waiting, "GONE_SECONDS", 0.3)
    monkeypatch.setattr(waiting, "IDLE_SECONDS", 0.3)


class Always(dict[int, Fault]):
    """The same answer to every request for text."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault = fault

    def get(self, key: int, default: Any = None) -> Any:
        return self._fault


def ending(**changes: Any) -> Fault:
    """Every token as asked for, and these changes of the last event; those of "timings" by name."""

    def play(asked: Asked) -> Iterable[Act]:
        n, prompt = asked.body["n_predict"], len(asked.body["prompt"])
        kept = prompt - 1 if asked.body["cache_prompt"] else 0
        last = llama_end("m", prompt, kept, n)
        timings = changes.get("timings")
        others = {name: value for name, value in changes.items() if name != "timings"}
        if isinstance(timings, dict):
            others["timings"] = last["timings"] | timings
        yield HEAD_STREAM
        for number in range(n):
            yield Pause(0.001)
            yield event({"content": "x", "tokens_predicted": number + 1, "stop": False})
        yield event(last | others)
        yield END

    return play


def measured(fault: Fault, **plan: Any) -> Run:
    with playing(ServerKind.LLAMA_SERVER, Played(faults=Always(fault))) as (_, target):
        run, _ = swept(target, replace(ONE, **plan))
    return run


def codes(run: Run) -> set[str]:
    return {p.code for p in (*run.problems, *(p for c in run.cells for p in c.problems))}


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float):
        yield value


@pytest.mark.parametrize("value", [-5, 0, 1e-320, 1e308, float("nan"), float("inf"), HUGE, 2**63])
@pytest.mark.parametrize(
    "name",
    ["predicted_ms", "predicted_n", "prompt_ms", "prompt_n", "cache_n", "draft_n", "load_duration"],
)
def test_a_time_or_a_count_that_cannot_be_leaves_every_figure_finite(
    name: str, value: float
) -> None:
    timings = {name: value} | ({"draft_n_accepted": value} if name == "draft_n" else {})
    run = measured(ending(timings=timings))
    assert "internal" not in codes(run)
    findings = diagnose(run, None)
    found = as_json(run, lambda depth: 100.0, findings)
    assert all(isfinite(number) for number in numbers(found))
    json.dumps(found, allow_nan=False)
    assert "inf" not in text(run, lambda depth: 100.0, findings).split()


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens_predicted": 2**40},
        {"tokens_evaluated": 2**40},
        {"timings": {"predicted_n": 10_000}},
    ],
    ids=["written", "read", "written, by the timings"],
)
def test_counts_that_cannot_be_give_no_figure_but_a_sentence(changes: dict[str, Any]) -> None:
    run = measured(ending(**changes))
    assert "miscounted" in codes(run)
    assert all(metrics.best_decode(cell) is None for cell in run.cells)


def test_a_usage_beyond_what_was_asked_for_and_what_came_gives_no_figure() -> None:
    """The OpenAI kind has no timings: the rate follows from the usage alone."""

    def boast(asked: Asked) -> Iterable[Act]:
        prompt = len(asked.body["prompt"].split()) + 1
        yield HEAD_STREAM
        for _ in range(asked.body["max_tokens"]):
            yield Pause(0.001)
            yield event({"choices": [{"text": "x"}]})
        yield event(openai_end("m", prompt, 1_000_000))
        yield event("[DONE]")
        yield END

    with playing(ServerKind.OPENAI, Played(faults=Always(boast))) as (_, target):
        run, _ = swept(target, ONE)
    assert "miscounted" in codes(run)
    assert all(metrics.best_decode(cell) is None for cell in run.cells)


@pytest.mark.parametrize(
    "sign",
    [
        chunk(b": keep-alive\n\n"),
        event({"content": "", "stop": False}),
        event({"prompt_progress": {"processed": 7}}),
    ],
    ids=["comments", "events without text", "the same progress again and again"],
)
def test_signs_of_life_that_get_nowhere_are_given_up_in_time(
    sign: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "SLOWEST_PREFILL", 1e6)

    def alive(asked: Asked) -> Iterable[Act]:
        yield HEAD_STREAM
        for _ in range(2000):
            yield sign
            yield Pause(0.01)

    begun = monotonic()
    run = measured(alive, stall_seconds=0.3)
    assert monotonic() - begun < 15
    assert run.status is RunStatus.FAILED
    assert codes(run) == {"stall"}


def test_a_prompt_that_is_read_further_and_further_is_waited_for() -> None:
    def slow(asked: Asked) -> Iterable[Act]:
        if not asked.body["cache_prompt"]:
            yield HEAD_STREAM
            for part in range(8):
                yield event({"prompt_progress": {"processed": part * 8}})
                yield Pause(0.1)
            n, prompt = asked.body["n_predict"], len(asked.body["prompt"])
            for number in range(n):
                yield event({"content": "x", "tokens_predicted": number + 1, "stop": False})
                yield Pause(0.001)
            yield event(llama_end("m", prompt, 0, n))
            yield END
        else:
            yield from ending()(asked) or ()

    run = measured(slow, stall_seconds=0.5)
    assert run.status is RunStatus.DONE


def test_an_answer_that_never_ends_is_ended() -> None:
    def endless(asked: Asked) -> Iterable[Act]:
        yield HEAD_STREAM
        yield from repeat(event({"content": "x", "stop": False}) * 100, 100_000)

    run = measured(endless)
    assert run.status is RunStatus.FAILED
    assert codes(run) == {"endless"}


def test_a_server_that_fails_at_every_measured_request_is_given_up() -> None:
    """The warm-ups between them go well, which gets nobody anywhere."""
    count = 0

    def play(asked: Asked) -> Iterable[Act]:
        nonlocal count
        count += asked.body["n_predict"] == ONE.tokens
        if asked.body["n_predict"] == ONE.tokens and count % 2 == 0:
            return [HEAD_STREAM, event("{no JSON"), END]
        return ending()(asked) or ()

    run = measured(play)
    assert run.status is RunStatus.FAILED
    assert "garbage" in codes(run)


def test_a_name_of_control_characters_is_told_without_them() -> None:
    played = Played(model="m\x1b]0;x\x07\u202e")
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(replace(target, model="wanted"), ONE)
    (problem,) = run.problems
    assert problem.code == "other_model"
    assert problem.message.isprintable()


@pytest.mark.parametrize("line", ["1.2.3", "...", "", "1" * 400, "{" * 20_000, "NaN"])
def test_a_count_of_running_requests_that_is_none_is_not_known(line: str) -> None:
    played = Played()
    with playing(ServerKind.VLLM, played) as (server, target):
        words = f'vllm:num_requests_running{{a="b"}} {line}\n' * 20
        server.scripts["/metrics"] = lambda asked: [answer(words)]
        run, _ = swept(target, ONE)
    assert run.status is RunStatus.DONE


def test_heads_that_are_no_answer_are_passed_over_and_have_an_end() -> None:
    response = Response()
    going_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert response.feed(going_on * 1000 + b"HTTP/1.1 200 OK\r\n\r\nbody") == b"body"
    response = Response()
    with pytest.raises(WireError, match="no end"):
        for _ in range(2 * MOST_HEAD // len(going_on)):
            response.feed(going_on)


def test_an_event_of_empty_lines_has_an_end() -> None:
    events = ServerSentEvents()
    with pytest.raises(WireError, match="no end"):
        for _ in range(MOST_EVENT // 1000):
            list(events.feed(b"data:\n" * 100))


@pytest.mark.parametrize("read", [llama_server.read, ollama.read, openai.read])
def test_half_a_character_in_a_name_becomes_a_question_mark(read: Any) -> None:
    values = json.loads(
        '{"model": "m\\ud800", "content": "x", "stop": true, "response": "x", "done": true}'
    )
    assert read(values).model == "m?"


def test_a_prompt_length_that_cannot_be_teaches_nothing() -> None:
    prompts = TextPrompts("seed", ("a", "b"))
    assert not prompts.learn(prompts.prompt(64, "x"), 2**53)
    assert prompts.prompt(64, "x").tokens == 64
