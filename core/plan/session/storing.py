"""A session's choice as text, and back: what a program keeps between its runs."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from math import isfinite
from typing import Any

from core.plan.session.choice import Change, SessionChoice

_MOST = 10**9  # of anything that is counted here


def choice_to_json(choice: SessionChoice) -> str:
    """One line; durations without end are left out, as are other defaults."""
    default = SessionChoice()
    values = {
        name: value
        for name, value in asdict(choice).items()
        if value != getattr(default, name)
        and not (isinstance(value, float) and not isfinite(value))
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
_RATES = frozenset(("compact_above", "keep_alive", "prefill_rate", "decode_rate", "time_limit"))


def _understood(name: str, value: object, default: object) -> object:
    """The value where it is one of its kind, else ``_NOTHING``."""
    if isinstance(default, Change):
        return next((change for change in Change if change == value), _NOTHING)
    if isinstance(default, bool):
        return value if isinstance(value, bool) else _NOTHING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None if value is None and default is None else _NOTHING
    if not 0 <= value <= _MOST * 1024:
        return _NOTHING
    if isinstance(default, float) or name in _RATES:
        return float(value)
    return int(value)
