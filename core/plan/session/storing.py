"""A session's choice as text, and back: what a program keeps between its runs."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from math import inf
from typing import Any

from core.plan.choice import MOST_TOKENS
from core.plan.session.choice import LIMITS, Change, SessionChoice

_ANY = (0.0, float(MOST_TOKENS))  # of what has no limits of its own: tokens
_FOR_EVER = -1  # as keep_alive is written for Ollama: JSON has no infinity


def choice_to_json(choice: SessionChoice) -> str:
    """One line; defaults are left out."""
    default = SessionChoice()
    values = {
        name: _FOR_EVER if value == inf else value
        for name, value in asdict(choice).items()
        if value != getattr(default, name)
    }
    return json.dumps(values)


def choice_from_json(text: str, default: SessionChoice) -> SessionChoice:
    """The choice that was kept. A value that cannot be understood costs only itself; a text that
    cannot be is the ``default``."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        return default
    if not isinstance(stored, dict):
        return default
    kept: dict[str, Any] = {}
    for field in fields(SessionChoice):
        if field.name in stored:
            value = _understood(field.name, stored[field.name], field.default)
            if value is not _NOTHING:
                kept[field.name] = value
    return SessionChoice(**kept)


_NOTHING = object()
_WHOLE = frozenset(("prompt_cache", "checkpoints"))  # of those that are None by default


def _understood(name: str, value: object, default: object) -> object:
    """The value where it is one of its kind, else ``_NOTHING``."""
    if isinstance(default, Change):
        return next((change for change in Change if change == value), _NOTHING)
    if isinstance(default, bool):
        return value if isinstance(value, bool) else _NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None if value is None and default is None else _NOTHING
    if name == "keep_alive" and value == _FOR_EVER:
        return inf
    low, high = LIMITS.get(name, _ANY)
    if not low <= value <= high or value == inf:
        return _NOTHING
    return int(value) if isinstance(default, int) or name in _WHOLE else float(value)
