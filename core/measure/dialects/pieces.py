"""What one event of a stream says, in the words of no server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Summary:
    """What a server says about the whole request; None is what it does not tell."""

    tokens: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    finish: str = ""
    truncated: bool = False
    timings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """``text``: it brings text, ``thinking``: text that is no answer. ``count``: tokens written so
    far, ``new``: tokens that this event brings, ``prompt_done``: prompt tokens read so far.
    ``ends``: nothing of worth follows. ``model``: who answers."""

    text: bool = False
    thinking: bool = False
    count: int | None = None
    new: int | None = None
    prompt_done: int | None = None
    summary: Summary | None = None
    error: str = ""
    model: str = ""
    ends: bool = False


NOTHING = Piece()


def count_in(values: dict[str, Any], name: str) -> int | None:
    """A count that is there and is one; a missing count is unknown, not 0."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def words_in(values: dict[str, Any], name: str) -> str:
    """A text that is there and is one; else nothing."""
    value = values.get(name)
    return value if isinstance(value, str) else ""


def object_in(values: dict[str, Any], name: str) -> dict[str, Any]:
    """An object that is there and is one; else an empty one."""
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def error_in(values: dict[str, Any]) -> str:
    """What a server says went wrong, however it wraps it; else nothing."""
    error = values.get("error")
    if isinstance(error, dict):
        return words_in(error, "message") or "an error without words"
    if isinstance(error, str):
        return error or "an error without words"
    if values.get("object") == "error":  # older vLLM
        return words_in(values, "message") or "an error without words"
    return ""
