"""llama-server's own /completion: prompts as token ids, and the engine's timings.

Fields as llama.cpp b10434 to b11549 send them (recorded, and tools/server/README.md).
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

PATH = "/completion"


def body(ids: tuple[int, ...], tokens: int, *, slot: int, cold: bool) -> dict[str, Any]:
    """The request: so many tokens whatever they are, the likeliest each time."""
    return {
        "prompt": list(ids),
        "n_predict": max(1, tokens),  # 0 writes one as well
        "stream": True,
        "cache_prompt": not cold,
        "id_slot": slot,
        "ignore_eos": True,
        "temperature": 0,
        "top_k": 1,
        "samplers": ["top_k"],
        "return_progress": True,
    }


def read(values: dict[str, Any]) -> Piece:
    """One event of its stream."""
    if error := error_in(values):
        return Piece(error=error, ends=True)
    text = bool(words_in(values, "content"))
    count = count_in(values, "tokens_predicted")
    if values.get("stop") is True:
        timings = timings_in(object_in(values, "timings"))
        summary = Summary(
            tokens=count,
            prompt_tokens=count_in(values, "tokens_evaluated"),
            cached_tokens=count_in(timings, "cache_n"),
            finish=words_in(values, "stop_type"),
            truncated=values.get("truncated") is True,
            timings=timings,
        )
        return Piece(text, count=count, summary=summary, model=words_in(values, "model"), ends=True)
    if "prompt_progress" in values:
        # Such an event names a token 0 that nobody wrote.
        return Piece(prompt_done=count_in(object_in(values, "prompt_progress"), "processed"))
    return Piece(text, count=count) if text else NOTHING
