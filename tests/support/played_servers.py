"""Servers of four kinds as scripts: they keep a cache, count tokens and write at a steady pace.

What goes wrong is a function of the number of a request for text (0 is the first), which may
replace the whole answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.measure.run import ServerKind, Target
from tests.support.replay import (
    END,
    HEAD_STREAM,
    Act,
    Asked,
    Pause,
    Replay,
    Script,
    always,
    answer,
    event,
    line,
    replay,
)

PACE = 0.001  # seconds between two tokens: the servers are quick, the tests measure no speed
Fault = Callable[[Asked], Iterable[Act] | None]


@dataclass
class Played:
    """What a played server remembers. ``faults`` by the number of the request for text; ``pace`` is
    that of llama-server: where it is quick, whoever has to wait for a processor may get an answer
    in one piece, which says nothing of a pace."""

    context: int = 4096
    model: str = "m"
    faults: dict[int, Fault] = field(default_factory=dict)
    pace: float = PACE
    count: int = 0
    kept: dict[int, list[Any]] = field(default_factory=dict)
    busy: list[bool] = field(default_factory=list)  # what /slots says, one after the other
    states: list[tuple[int, Any]] = field(default_factory=list)  # what /health says first

    def fault(self, asked: Asked) -> Iterable[Act] | None:
        number, self.count = self.count, self.count + 1
        found = self.faults.get(number)
        return found(asked) if found else None

    def cached(self, slot: int, prompt: list[Any], use: bool) -> int:
        """Tokens of the prompt that are kept from the one before; the last is always read."""
        before = self.kept.get(slot, []) if use else []
        same = 0
        while same < min(len(before), len(prompt) - 1) and before[same] == prompt[same]:
            same += 1
        self.kept[slot] = list(prompt)
        return same


def llama_scripts(played: Played) -> dict[str, Script]:
    """llama-server: ids, timings, slots."""

    def completion(asked: Asked) -> Iterable[Act]:
        fault = played.fault(asked)
        if fault is not None:
            yield from fault
            return
        body = asked.body
        prompt, n = body["prompt"], body["n_predict"]
        cached = played.cached(body["id_slot"], prompt, body["cache_prompt"])
        if len(prompt) >= played.context:
            error = {"code": 400, "type": "exceed_context_size_error", "message": "context size"}
            yield answer({"error": error}, 400)
            return
        yield HEAD_STREAM
        for number in range(n):
            yield Pause(played.pace)
            yield event({"content": "x", "tokens_predicted": number + 1, "stop": False})
        ended = llama_end(played.model, len(prompt), cached, n)
        ended["timings"]["predicted_ms"] = (n - 1) * played.pace * 1e3
        yield event(ended)
        yield END

    def health(asked: Asked) -> Iterable[Act]:
        status, values = played.states.pop(0) if played.states else (200, {"status": "ok"})
        return [answer(values, status, "llama.cpp")]

    def slots(asked: Asked) -> Iterable[Act]:
        busy = played.busy.pop(0) if played.busy else False
        return [answer([{"id": 0, "n_ctx": played.context, "is_processing": busy}])]

    def tokenize(asked: Asked) -> Iterable[Act]:
        ids = [10 + n for n in range(40)]
        return [answer({"tokens": [1, *ids] if asked.body["add_special"] else ids})]

    return {
        "/completion": completion,
        "/health": health,
        "/slots": slots,
        "/tokenize": tokenize,
    }


def llama_end(model: str, prompt: int, cached: int, n: int, **changes: Any) -> dict[str, Any]:
    """The last event of /completion."""
    return {
        "content": "",
        "stop": True,
        "stop_type": "limit",
        "truncated": False,
        "model": model,
        "tokens_predicted": n,
        "tokens_evaluated": prompt,
        "timings": {
            "cache_n": cached,
            "prompt_n": prompt - cached,
            "prompt_ms": prompt * 0.5,
            "predicted_n": n,
            "predicted_ms": (n - 1) * PACE * 1e3,
        },
        **changes,
    }


def ollama_scripts(played: Played, more: int = 1, load_ns: int = 9_000_000) -> dict[str, Script]:
    """Ollama: text, of which it counts ``more`` tokens than words; no ids and no cached count."""

    def generate(asked: Asked) -> Iterable[Act]:
        fault = played.fault(asked)
        if fault is not None:
            yield from fault
            return
        prompt = asked.body["prompt"].split()
        n = asked.body["options"]["num_predict"]
        cached = played.cached(0, prompt, True)
        yield HEAD_STREAM
        for number in range(n):
            yield Pause(PACE)
            yield line({"model": played.model, "response": f" {number}", "done": False})
        yield line(ollama_end(played.model, len(prompt) + more, cached, n, load_ns))
        yield END

    return {"/api/generate": generate, "/api/version": always({"version": "0.32.9"})}


def ollama_end(model: str, prompt: int, cached: int, n: int, load_ns: int) -> dict[str, Any]:
    """The last line of /api/generate."""
    return {
        "model": model,
        "response": "",
        "done": True,
        "done_reason": "length",
        "load_duration": load_ns,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": max(1, prompt - cached) * 500_000,
        "eval_count": n,
        "eval_duration": int((n - 1) * PACE * 1e9),
    }


def openai_scripts(played: Played, more: int = 1, chat_only: bool = False) -> dict[str, Script]:
    """LM Studio and the rest: text, usage at the end, no timings."""

    def completions(asked: Asked) -> Iterable[Act]:
        if chat_only and "prompt" in asked.body:
            yield answer({"error": {"message": "no such path"}}, 404)
            return
        if not asked.body.get("stream"):
            yield answer({"choices": [{"text": " x"}]})
            return
        fault = played.fault(asked)
        if fault is not None:
            yield from fault
            return
        text = asked.body.get("prompt") or asked.body["messages"][0]["content"]
        tokens = list(text) if isinstance(text, list) else text.split()
        counted = len(tokens) + (0 if isinstance(text, list) else more)
        yield HEAD_STREAM
        for number in range(asked.body["max_tokens"]):
            yield Pause(PACE)
            choice: dict[str, Any] = {"delta": {"content": f" {number}"}}
            if "prompt" in asked.body:
                choice = {"text": f" {number}"}
            yield event({"model": played.model, "choices": [choice]})
        yield event(openai_end(played.model, counted, asked.body["max_tokens"]))
        yield event("[DONE]")
        yield END

    models: Any = {"object": "list", "data": [{"id": played.model}]}
    return {
        "/v1/completions": completions,
        "/v1/chat/completions": completions,
        "/v1/models": always(models),
    }


def openai_end(model: str, prompt: int, n: int, finish: str = "length") -> dict[str, Any]:
    """The last event before [DONE]."""
    return {
        "model": model,
        "choices": [{"text": "", "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": n},
    }


def vllm_scripts(played: Played) -> dict[str, Script]:
    """vLLM: as the others, and it tokenizes, and says how many requests it runs."""

    def tokenize(asked: Asked) -> Iterable[Act]:
        ids = [10 + n for n in range(40)]
        return [answer({"tokens": [1, *ids] if asked.body["add_special_tokens"] else ids})]

    def metrics(asked: Asked) -> Iterable[Act]:
        running = 1.0 if played.busy and played.busy.pop(0) else 0.0
        return [answer(f'vllm:num_requests_running{{engine="0"}} {running}\n')]

    return {**openai_scripts(played, 0), "/tokenize": tokenize, "/metrics": metrics}


@contextmanager
def playing(kind: ServerKind, played: Played, **options: Any) -> Iterator[tuple[Replay, Target]]:
    """A played server of a kind, and the target that discovery would make of it."""
    makers: dict[ServerKind, Callable[..., dict[str, Script]]] = {
        ServerKind.LLAMA_SERVER: llama_scripts,
        ServerKind.OLLAMA: ollama_scripts,
        ServerKind.LM_STUDIO: openai_scripts,
        ServerKind.OPENAI: openai_scripts,
        ServerKind.VLLM: vllm_scripts,
    }
    with replay(makers[kind](played, **options)) as server:
        slots = 1 if kind is ServerKind.LLAMA_SERVER else None
        yield server, Target(kind, server.url, played.model, context=played.context, slots=slots)
