"""Frozen values to plain JSON and back, field by field.

Fields that a reader does not know are passed over and those that a writer did not know take their
defaults, so that newer and older versions read each other's runs.
"""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from core.language import tr

T = TypeVar("T")

_DEEPEST = 32  # of values that are kept as they came


class BadValueError(ValueError):
    """JSON that does not hold the value which was asked for; the one argument says where."""


def to_json(value: Any) -> Any:
    """Plain values for ``json.dumps``: dataclasses as objects, tuples as lists."""
    if is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    return value.value if isinstance(value, StrEnum) else value


def from_json(kind: type[T], value: Any) -> T:
    """The value of this type in parsed JSON. Raises BadValueError."""
    read: T = _read(kind, value, kind.__name__)
    return read


_HINTS: dict[type[Any], dict[str, Any]] = {}


def _hints(kind: type[Any]) -> dict[str, Any]:
    """The types of a class's fields, looked up once: looking costs more than reading a value."""
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return _as_it_came(value, where)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (kind,) = (option for option in get_args(kind) if option is not type(None))
        return _read(kind, value, where)
    if origin is tuple:
        return _tuple(get_args(kind), value, where)
    if origin is dict:
        if not isinstance(value, dict):
            raise BadValueError(tr("{where} is no object", where=where))
        inner = get_args(kind)[1]
        return {
            whole(str(key)): _read(inner, item, f"{where}.{key}") for key, item in value.items()
        }
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, value, where)
    return _plain(kind, value, where)


def _tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise BadValueError(tr("{where} is no list", where=where))
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], item, where) for item in value)
    if len(kinds) != len(value):
        raise BadValueError(
            tr("{where} does not have {count} items", where=where, count=len(kinds))
        )
    return tuple(_read(kind, item, where) for kind, item in zip(kinds, value, strict=True))


def _object(kind: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise BadValueError(tr("{where} is no object", where=where))
    found = {}
    for field in fields(kind):
        if field.name in value:
            found[field.name] = _read(
                _hints(kind)[field.name], value[field.name], f"{where}.{field.name}"
            )
        elif field.default is MISSING and field.default_factory is MISSING:
            raise BadValueError(tr("{where} has no {name}", where=where, name=field.name))
    return kind(**found)


def _plain(kind: Any, value: Any, where: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        try:
            return kind(value)
        except ValueError:
            raise BadValueError(
                tr("{where} is none of {names}", where=where, names=", ".join(kind))
            ) from None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(_number(value, where))
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return _as_it_came(value, where)
    raise BadValueError(tr("{where} is no {kind}", where=where, kind=kind.__name__))


def _as_it_came(value: Any, where: str, depth: int = 0) -> Any:
    """Any JSON value, if it can be calculated with, kept in a table and written out again."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, int | float):
        return _number(value, where)
    if isinstance(value, list | dict) and depth >= _DEEPEST:
        raise BadValueError(tr("{where} is nested too deeply", where=where))
    if isinstance(value, list):
        return [_as_it_came(item, where, depth + 1) for item in value]
    if isinstance(value, dict):
        return {whole(str(key)): _as_it_came(item, where, depth + 1) for key, item in value.items()}
    return value


def _number(value: float, where: str) -> float:
    """A number that fits into 64 bits; the same object."""
    if isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63:
        return value
    raise BadValueError(tr("{where} is no number that can be", where=where))


def whole(text: str) -> str:
    """The text; half a character (JSON can write one) becomes "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
