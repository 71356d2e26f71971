"""Ollama's own /api/generate. Its /v1 ignores num_ctx and cuts prompts without a word.

Fields as api/types.go and server/routes.go of 2026-08 have them.
"""

from __future__ import annotations

from typing import Any

from core.measure.dialects.pieces import (
    NOTHING,
    Piece,
    Summary,
    count_in,
    error_in,
    object_in,
    timings_in,
    words_in,
)

PATH = "/api/generate"
KEEP_ALIVE = "30m"  # its own five minutes may pass between two depths
_TIMES = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_cached_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
)


def body(model: str, prompt: str, tokens: int, *, context: int | None) -> dict[str, Any]:
    """The request. ``context`` is the one that the model is loaded with: another one, or the mere
    word "shift", loads it anew. A prompt that does not fit must be refused, not cut."""
    options: dict[str, Any] = {
        "num_predict": max(1, tokens),  # 0 would mean without limit
        "temperature": 0,
        "top_k": 1,
        "seed": 1,
    }
    if context is not None:
        options["num_ctx"] = context
    return {
        "model": model,
        "prompt": prompt,
        "raw": True,
        "stream": True,
        "truncate": False,
        "keep_alive": KEEP_ALIVE,
        "options": options,
    }


def read(values: dict[str, Any]) -> Piece:
    """One line of its stream."""
    if error := error_in(values):
        return Piece(error=error, ends=True)
    message = object_in(values, "message")
    answer = words_in(values, "response") or words_in(message, "content")
    thinking = words_in(values, "thinking") or words_in(message, "thinking")
    text, only_thinking = bool(answer or thinking), bool(thinking) and not answer
    model = words_in(values, "model")
    if values.get("done") is True:
        summary = Summary(
            tokens=count_in(values, "eval_count"),
            prompt_tokens=count_in(values, "prompt_eval_count"),
            cached_tokens=count_in(values, "prompt_eval_cached_count"),
            finish=words_in(values, "done_reason"),
            timings=timings_in({name: values[name] for name in _TIMES if name in values}),
        )
        return Piece(text, only_thinking, summary=summary, model=model, ends=True)
    return Piece(text, only_thinking, model=model) if text else NOTHING
