"""What one event of a stream says, in the words of no server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from core.language import tr

# No server counts further than a float is exact to, and no time is longer in any unit.
MOST = 2**53
_MOST_WORDS = 200  # of a text among the timings


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
    return value if type(value) is int and 0 <= value <= MOST else None


def timings_in(values: dict[str, Any]) -> dict[str, Any]:
    """What a server says about times, as it says it, without what no clock and no counter shows."""
    return {name: value for name, value in values.items() if _is_plain(value)}


def _is_plain(value: object) -> bool:
    if isinstance(value, int | float):
        return abs(value) <= MOST  # no number is not
    return value is None or (isinstance(value, str) and len(value) <= _MOST_WORDS)


def words_in(values: dict[str, Any], name: str) -> str:
    """A text that is there and is one; else nothing. Half a character counts as "?"."""
    value = values.get(name)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def object_in(values: dict[str, Any], name: str) -> dict[str, Any]:
    """An object that is there and is one; else an empty one."""
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def error_in(values: dict[str, Any]) -> str:
    """What a server says went wrong, however it wraps it; else nothing."""
    error = values.get("error")
    if isinstance(error, dict):
        return words_in(error, "message") or tr("an error without words")
    if isinstance(error, str):
        return error or tr("an error without words")
    if values.get("object") == "error":  # older vLLM
        return words_in(values, "message") or tr("an error without words")
    return ""
