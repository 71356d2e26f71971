"""One server, asked in its own way: what the sweep knows of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from core.measure.dialects import llama_server, ollama, openai
from core.measure.prompts import (
    COMMON_WORDS,
    LEAST_CHOICES,
    IdPrompts,
    Prompt,
    TextPrompts,
)
from core.measure.recorder import Recorder, refusal
from core.measure.run import ServerKind, Target
from core.measure.wire.ask import Answer, NoAnswerError, ask
from core.measure.wire.http import Address, address_of, request_bytes
from core.problems import Problem

_RUNNING = re.compile(
    rb"^vllm:num_requests_running(?:\{[^\n]*\})? ([0-9]{1,18}(?:\.[0-9]+)?)(?: |$)", re.M
)


class ClientError(Exception):
    """The server cannot be measured; the one argument is a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Client(Protocol):
    """What a sweep asks for. ``prepare`` raises ClientError or NoAnswerError."""

    address: Address
    prompts: IdPrompts | TextPrompts
    takes_ids: bool
    fixed_length: bool  # it writes on past the end of a text

    def prepare(self, seed: str) -> None: ...
    def request(
        self, prompt: Prompt, tokens: int, *, user: int, cold: bool, salt: str
    ) -> tuple[bytes, Recorder]: ...
    def state(self) -> Answer: ...
    def busy(self) -> bool | None: ...


def client_for(target: Target, key: str = "", words: Sequence[str] = ()) -> Client:
    """The client for a server's kind. ``words`` are those of the model's own vocabulary."""
    match target.kind:
        case ServerKind.LLAMA_SERVER:
            return LlamaServer(target, key)
        case ServerKind.OLLAMA:
            return Ollama(target, key, words)
        case _:
            return OpenAi(target, key, words)


class _Base:
    fixed_length = True
    takes_ids = False

    def __init__(self, target: Target, key: str, words: Sequence[str] = ()) -> None:
        self.address = address_of(target.url)
        self.target = target
        self.prompts: IdPrompts | TextPrompts = TextPrompts("", COMMON_WORDS)
        self._key = key
        self._words = tuple(words) if len(words) >= LEAST_CHOICES else COMMON_WORDS

    def busy(self) -> bool | None:
        """Whether it works for anybody now; None where it does not tell."""
        return None

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Answer:
        return ask(self.address, path, body, self._key, connect_seconds=5.0, seconds=60.0)

    def _bytes(self, path: str, body: dict[str, Any]) -> bytes:
        return request_bytes(self.address, path, body, self._key)

    def _by_ids(self, seed: str, path: str, plain: dict[str, Any], flag: str) -> bool:
        """Take ids from the server's own tokenizer; False where it has none.

        Raises ClientError where it wants another key.
        """
        special = self._ask(path, {**plain, flag: True})
        if special.status in (401, 403, 503):
            raise ClientError(refusal(special.status, special.body))
        with_it = _ids(special)
        without = _ids(self._ask(path, {**plain, flag: False}))
        ids = sorted(set(without or ()))
        if with_it is None or without is None or len(ids) < LEAST_CHOICES:
            return False
        more = len(with_it) - len(without)
        prefix = with_it[:more] if more > 0 and with_it[more:] == without else ()
        self.prompts = IdPrompts(seed, prefix, ids)
        self.takes_ids = True
        return True


class LlamaServer(_Base):
    """llama.cpp's server, through its own /completion."""

    def prepare(self, seed: str) -> None:
        text = " " + " ".join(COMMON_WORDS)
        if not self._by_ids(seed, "/tokenize", {"content": text}, "add_special"):
            self.prompts = TextPrompts(seed, COMMON_WORDS)

    def request(
        self, prompt: Prompt, tokens: int, *, user: int, cold: bool, salt: str
    ) -> tuple[bytes, Recorder]:
        body = llama_server.body(prompt.ids, tokens, slot=user, cold=cold)
        if not prompt.ids:
            body["prompt"] = prompt.text
        if self.target.model:  # one of many models behind a router; a single one ignores it
            body["model"] = self.target.model
        return self._bytes(llama_server.PATH, body), Recorder(llama_server.read)

    def state(self) -> Answer:
        return self._ask("/health")

    def busy(self) -> bool | None:
        slots = self._ask("/slots").json()
        if not isinstance(slots, list):
            return None
        return any(isinstance(s, dict) and s.get("is_processing") is True for s in slots)


class Ollama(_Base):
    """Ollama, through its own /api/generate, at the context that is loaded already."""

    fixed_length = False

    def prepare(self, seed: str) -> None:
        self.prompts = TextPrompts(seed, self._words)

    def request(
        self, prompt: Prompt, tokens: int, *, user: int, cold: bool, salt: str
    ) -> tuple[bytes, Recorder]:
        target = self.target
        body = ollama.body(target.model, prompt.text, tokens, context=target.context)
        return self._bytes(ollama.PATH, body), Recorder(ollama.read, lines=True)

    def state(self) -> Answer:
        return self._ask("/api/version")


class OpenAi(_Base):
    """vLLM, LM Studio and whatever else has /v1: ids where it can tokenize, text elsewhere, and
    chat where it completes no plain text."""

    def __init__(self, target: Target, key: str, words: Sequence[str] = ()) -> None:
        super().__init__(target, key, words)
        self.fixed_length = target.kind is ServerKind.VLLM
        self._chat = False

    def prepare(self, seed: str) -> None:
        text = " " + " ".join(COMMON_WORDS)
        plain = {"model": self.target.model, "prompt": text}
        if self.target.kind is ServerKind.VLLM and self._by_ids(
            seed, "/tokenize", plain, "add_special_tokens"
        ):
            return
        self.prompts = TextPrompts(seed, self._words)
        tried = self._ask(
            openai.PATH, {"model": self.target.model, "prompt": " time", "max_tokens": 1}
        )
        if tried.status in (401, 403, 503):
            raise ClientError(refusal(tried.status, tried.body))
        self._chat = tried.status >= 300

    def request(
        self, prompt: Prompt, tokens: int, *, user: int, cold: bool, salt: str
    ) -> tuple[bytes, Recorder]:
        target = self.target
        body = openai.body(
            target.kind, target.model, prompt.ids or prompt.text, tokens, salt=salt, chat=self._chat
        )
        path = openai.CHAT_PATH if self._chat else openai.PATH
        return self._bytes(path, body), Recorder(openai.read, ends_at_done=True)

    def state(self) -> Answer:
        return self._ask("/v1/models")

    def busy(self) -> bool | None:
        if self.target.kind is not ServerKind.VLLM:
            return None
        running = _RUNNING.findall(self._ask("/metrics").body)
        return any(float(count) > 0 for count in running) if running else None


def _ids(answer: Answer) -> tuple[int, ...] | None:
    tokens = answer.object().get("tokens") if answer.status == 200 else None
    if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        return None
    return tuple(tokens)


__all__ = ["Client", "ClientError", "NoAnswerError", "client_for"]
