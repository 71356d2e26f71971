"""The common /v1/completions and /v1/chat/completions: vLLM, LM Studio and all others."""

from __future__ import annotations

from typing import Any

from core.measure.dialects.pieces import (
    Piece,
    Summary,
    count_in,
    error_in,
    object_in,
    timings_in,
    words_in,
)
from core.measure.run import ServerKind

PATH = "/v1/completions"
CHAT_PATH = "/v1/chat/completions"
_THINKING = ("reasoning_content", "reasoning", "thinking")


def body(
    kind: ServerKind,
    model: str,
    prompt: str | tuple[int, ...],
    tokens: int,
    *,
    salt: str = "",
    chat: bool = False,
) -> dict[str, Any]:
    """The request; vLLM is told to write on past the end of the text and to say whose tokens came.

    ``salt`` keeps vLLM from using what other requests left in its cache.
    """
    values: dict[str, Any] = {
        "model": model,
        "max_tokens": max(1, tokens),
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if chat:
        values["messages"] = [{"role": "user", "content": prompt}]
    else:
        values["prompt"] = list(prompt) if isinstance(prompt, tuple) else prompt
    if kind is ServerKind.VLLM:
        values |= {
            "ignore_eos": True,
            "min_tokens": max(1, tokens),
            "return_token_ids": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
        if salt:
            values["cache_salt"] = salt
    return values


def read(values: dict[str, Any]) -> Piece:
    """One event of its stream, of either path."""
    if error := error_in(values):
        return Piece(error=error, ends=True)
    choices = values.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    if not isinstance(choice, dict):
        choice = {}
    delta = object_in(choice, "delta")
    answer = bool(words_in(choice, "text") or words_in(delta, "content") or delta.get("tool_calls"))
    thinking = not answer and any(words_in(delta, name) for name in _THINKING)
    usage, timings = object_in(values, "usage"), timings_in(object_in(values, "timings"))
    summary = None
    finish = words_in(choice, "finish_reason")
    if usage or timings or finish:
        cached = count_in(object_in(usage, "prompt_tokens_details"), "cached_tokens")
        summary = Summary(
            tokens=count_in(usage, "completion_tokens"),
            prompt_tokens=count_in(usage, "prompt_tokens"),
            cached_tokens=count_in(timings, "cache_n") if cached is None else cached,
            finish=finish,
            timings=timings,
        )
    ids = choice.get("token_ids")
    return Piece(
        text=answer or thinking,
        thinking=thinking,
        count=count_in(usage, "completion_tokens"),
        new=len(ids) if isinstance(ids, list) else None,
        summary=summary,
        model=words_in(values, "model"),
    )
