"""The options of `measure`, from the command line's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.command_line.requests import BadRequestError, request_from, whole_number
from core.plan.choice import INT_MAX

_MOST_CELLS = 256
_OF_A_NEW_RUN = ("depths", "runs", "tokens", "warm_ups", "cold", "concurrency")


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for; ``depths`` are None where nobody named any. ``resume`` is the beginning
    of a run's id, or "last"."""

    url: str = ""
    depths: tuple[int, ...] | None = None
    runs: int = 6
    tokens: int = 64
    warm_ups: int = 1
    cold: int = 1
    concurrency: tuple[int, ...] = (1,)
    name: str = ""
    model: str = ""
    bandwidth: float | None = None
    resume: str = ""
    no_history: bool = False
    json: bool = False


def options_from(values: Mapping[str, object]) -> Options:
    """The options; None counts as not given. Raises BadRequestError with one sentence."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        match name:
            case "depths":
                found[name] = _numbers(name, value, 0, INT_MAX)
            case "concurrency":
                found[name] = _numbers(name, value, 1, 256)
            case "runs":
                found[name] = whole_number(name, value, 1, 1000)
            case "tokens":
                found[name] = whole_number(name, value, 2, 100_000)
            case "warm_ups" | "cold":
                found[name] = whole_number(name, value, 0, 100)
            case "bandwidth":
                found[name] = request_from({"file": "-", name: value}).bandwidth
            case "json" | "no_history":
                found[name] = bool(value)
            case _:
                found[name] = str(value)
    options = Options(**found)
    if len(options.depths or ()) * len(options.concurrency) > _MOST_CELLS:
        raise BadRequestError(f"depths and concurrency make more than {_MOST_CELLS} cells")
    if options.resume:
        given = [name for name in _OF_A_NEW_RUN if values.get(name) is not None]
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise BadRequestError(f"an interrupted run goes on as it was planned, without {names}")
    return options


def _numbers(name: str, value: object, least: int, most: int) -> tuple[int, ...]:
    """Whole numbers with commas between them, each once, ascending."""
    words = [word.strip() for word in str(value).split(",")]
    return tuple(sorted({whole_number(name, word, least, most) for word in words}))
