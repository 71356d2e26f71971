"""One request for a report: options by name, from the command line or from a line of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from core.gguf import excerpt
from core.machine.machine import Backend
from core.model import RECIPES
from core.plan.choice import (
    ALL_CACHE_TYPES,
    CACHE_TYPES,
    INT_MAX,
    MOST_SLOTS,
    Choice,
    Engine,
    FlashAttention,
)
from core.units import LARGEST, parse_bandwidth, parse_bytes

LONGEST_LINE = 1 << 20  # bytes; a request has some hundreds
_MOST_DRAFTED = 1024  # tokens; no engine drafts a hundred
# Thousands may be grouped; "4,09" is a slip, not 409.
_WHOLE = re.compile(r"[+-]?(?:[0-9]{1,3}(?:[,_][0-9]{3}){1,5}|[0-9]{1,20})")
_RATE = "936 GB/s"
_SIZE = "24 GB or 24 GiB"


class BadRequestError(Exception):
    """A request that cannot be carried out; the one argument is a sentence for its sender."""


@dataclass(frozen=True, slots=True)
class Request:
    """A file, the choice, and the machine: its id ("this" for this computer) or plain figures.

    ``bandwidth`` is bytes per second, ``memory`` bytes; None where nobody said. ``projector`` and
    ``draft`` are files loaded beside the model: whoever opens them puts them into the choice.
    """

    file: str
    choice: Choice
    machine: str | None = None
    bandwidth: float | None = None
    memory: int | None = None
    projector: str | None = None
    draft: str | None = None


def request_from(values: Mapping[str, object]) -> Request:
    """The request of these options, by their names with underscores; None counts as not given.

    Text is taken as it is typed on the command line, so that "4096" and 4096 are the same.
    Raises BadRequestError with one sentence that names the option.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _PARSERS:
            raise BadRequestError(f"there is no option {_shown(name)}{_meant(name, _PARSERS)}")
        if value is not None:
            found[name] = _PARSERS[name](name, value)
    found.pop("json", None)  # an answer to a request is always JSON
    file = found.pop("file", None)
    if file is None:
        raise BadRequestError("the request names no file")
    chosen = {name: value for name, value in found.items() if name in _OF_CHOICE}
    rest = {name: value for name, value in found.items() if name not in _OF_CHOICE}
    return Request(file, Choice(**chosen), **rest)


def values_of_line(line: bytes) -> dict[str, object]:
    """The options in one line of a requests file. Raises BadRequestError with one sentence."""
    if len(line) > LONGEST_LINE:
        raise BadRequestError(f"the line has more than {LONGEST_LINE:,} bytes")
    try:
        values = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadRequestError("the line is no UTF-8 text") from None
    except (ValueError, RecursionError):
        raise BadRequestError("the line is no JSON") from None
    if not isinstance(values, dict):
        raise BadRequestError('the line is no JSON object; write it like {"file": "model.gguf"}')
    return values


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadRequestError(f"{name} must be text, not {_shown(value)}")
    return value


def _number(least: int, most: int) -> Callable[[str, object], int]:
    def parse(name: str, value: object) -> int:
        number: int | None = None
        if isinstance(value, str):
            text = value.strip()
            if _WHOLE.fullmatch(text):
                number = int(text.replace(",", "").replace("_", ""))
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        if number is None or not least <= number <= most:
            raise BadRequestError(
                f"{name} must be a whole number from {least:,} to {most:,}, not {_shown(value)}"
            )
        return number

    return parse


def _layers(name: str, value: object) -> int | str:
    if isinstance(value, str) and value.strip().lower() == "all":
        return "all"
    try:
        return _number(0, INT_MAX)(name, value)
    except BadRequestError:
        raise BadRequestError(
            f'{name} must be a whole number or "all", not {_shown(value)}'
        ) from None


def _one_of(*words: str) -> Callable[[str, object], str]:
    """One of these words, in whatever case."""

    def parse(name: str, value: object) -> str:
        text = value.strip().lower() if isinstance(value, str) else ""
        for word in words:
            if word.lower() == text:
                return word
        raise BadRequestError(
            f"{name} must be one of {', '.join(words)}, not {_shown(value)}{_meant(text, words)}"
        )

    return parse


def _flash_attention(name: str, value: object) -> FlashAttention:
    if isinstance(value, bool):
        return FlashAttention.ON if value else FlashAttention.OFF
    return FlashAttention(_one_of(*FlashAttention)(name, value))


def _engine(name: str, value: object) -> Engine:
    return Engine(_one_of(*Engine)(name, value))


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadRequestError(f"{name} must be true or false, not {_shown(value)}")
    return value


def _memory(name: str, value: object) -> int:
    """Bytes; a bare number is GB."""
    size = _positive(value, 1e9)
    if size is None and isinstance(value, str):
        size = _parsed(parse_bytes, value, "GB")
    if size is None:
        raise BadRequestError(f"{name} must be a size like {_SIZE}, not {_shown(value)}")
    return round(size)


def _bandwidth(name: str, value: object) -> float:
    """Bytes per second; a bare number is GB/s."""
    rate = _positive(value, 1e9)
    if rate is None and isinstance(value, str):
        rate = _parsed(parse_bandwidth, value)
    if rate is None:
        raise BadRequestError(f"{name} must be a rate like {_RATE}, not {_shown(value)}")
    return rate


def _positive(value: object, unit: float) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value * unit if 1 / unit <= value <= LARGEST / unit else None


def _parsed(parse: Callable[..., float], *arguments: str) -> float | None:
    try:
        number = parse(*arguments)
    except ValueError:
        return None
    return number if number >= 1 else None


def _shown(value: object) -> str:
    return f'"{excerpt(value)}"' if isinstance(value, str) else excerpt(json.dumps(value))


def _meant(word: str, words: Mapping[str, object] | tuple[str, ...]) -> str:
    close = get_close_matches(word.lower(), [w.lower() for w in words], n=1)
    return f"; did you mean {close[0]}?" if close else ""


def whole_number(name: str, value: object, least: int = 1, most: int = INT_MAX) -> int:
    """A count of tokens, as text or as a number. Raises BadRequestError."""
    return _number(least, most)(name, value)


_PARSERS: dict[str, Callable[[str, object], object]] = {
    "file": _text,
    "context": _number(1, INT_MAX),
    "depth": _number(0, INT_MAX),
    "cache_k": _one_of(*ALL_CACHE_TYPES),
    "cache_v": _one_of(*ALL_CACHE_TYPES),
    "flash_attention": _flash_attention,
    "ubatch": _number(1, INT_MAX),
    "batch": _number(1, INT_MAX),
    "slots": _number(1, MOST_SLOTS),
    "unified_cache": _switch,
    "swa_full": _switch,
    "engine": _engine,
    "requantize": _one_of(*RECIPES),
    "machine": _text,
    "bandwidth": _bandwidth,
    "memory": _memory,
    "gpu_layers": _layers,
    "cpu_moe": _number(0, INT_MAX),
    "backend": _one_of(*Backend),
    "projector": _text,
    "projector_on_gpu": _switch,
    "draft": _text,
    "draft_head": _switch,
    "draft_gpu_layers": _layers,
    "draft_cache_k": _one_of(*CACHE_TYPES),
    "draft_cache_v": _one_of(*CACHE_TYPES),
    "drafted": _number(1, _MOST_DRAFTED),
    "json": _switch,
}
_FILES = frozenset(("projector", "draft"))
_OF_CHOICE = frozenset(field.name for field in fields(Choice)) - _FILES
