"""A choice as plain values that outlive the program, and back.

What is loaded beside the model is left out: the file may have gone or changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TypeAlias

from core.machine.machine import Backend
from core.model.recipes import RECIPES
from core.plan.choice import (
    ALL_CACHE_TYPES,
    CACHE_TYPES,
    INT_MAX,
    MOST_SLOTS,
    Choice,
    Engine,
    FlashAttention,
)

Kept: TypeAlias = str | int | bool
_FILES = ("projector", "draft")


def values_of(choice: Choice) -> dict[str, Kept]:
    """What differs from the defaults, by the names of `Choice`; for json.dumps."""
    default = Choice()
    return {
        field.name: getattr(choice, field.name)
        for field in fields(Choice)
        if field.name not in _FILES
        and getattr(choice, field.name) != getattr(default, field.name)
        and getattr(choice, field.name) is not None
    }


def choice_of(values: Mapping[str, object]) -> Choice:
    """The choice again. A value that no version of this program can have written costs only
    itself."""
    known = {}
    for name, value in values.items():
        read = _READERS.get(name)
        found = read(value) if read is not None else None
        if found is not None:
            known[name] = found
    return Choice(**known)  # type: ignore[arg-type]  # each reader gives its field's own type


def _count(least: int, most: int = INT_MAX) -> Callable[[object], int | None]:
    def read(value: object) -> int | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if least <= value <= most else None

    return read


def _layers(value: object) -> object:
    return "all" if value == "all" else _count(0)(value)


def _switch(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _one_of(words: tuple[str, ...]) -> Callable[[object], object]:
    def read(value: object) -> object:
        return next((word for word in words if word == value), None)

    return read


_READERS: dict[str, Callable[[object], object]] = {
    "context": _count(1),
    "depth": _count(0),
    "cache_k": _one_of(ALL_CACHE_TYPES),
    "cache_v": _one_of(ALL_CACHE_TYPES),
    "flash_attention": _one_of(tuple(FlashAttention)),
    "ubatch": _count(1),
    "batch": _count(1),
    "slots": _count(1, MOST_SLOTS),
    "unified_cache": _switch,
    "swa_full": _switch,
    "engine": _one_of(tuple(Engine)),
    "requantize": _one_of(RECIPES),
    "gpu_layers": _layers,
    "cpu_moe": _count(0),
    "backend": _one_of(tuple(backend.value for backend in Backend)),
    "projector_on_gpu": _switch,
    "draft_head": _switch,
    "draft_gpu_layers": _layers,
    "draft_cache_k": _one_of(CACHE_TYPES),
    "draft_cache_v": _one_of(CACHE_TYPES),
    "drafted": _count(1),
}
