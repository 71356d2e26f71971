"""Columns of a comparison: what a cell shows, what a program gets, and how rows are sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeAlias, TypeVar

from core import tabular
from core.language import mark
from core.provenance import Number, format_value
from core.units import UnitSystem

R = TypeVar("R")
Fact: TypeAlias = Number[int] | Number[float] | str
UNKNOWN = mark("unknown")
MIXED = mark("mixed")  # a quantization that has no name


@dataclass(frozen=True)
class Column(Generic[R]):
    """One column over rows of a kind.

    ``name`` is what programs call it, ``title`` what people read (``short`` where there is little
    room), ``unit`` what the title says so that cells need not. ``fact`` is the cell itself, which
    knows how it was come by; ``words`` says it where its unit's own words will not do, ``order`` is
    what it is sorted by where that is not its value. ``plain`` is what programs get where the cell
    holds words of the reader's language; ``exported`` are the columns that they get in its place.
    """

    name: str
    title: str
    fact: Callable[[R], Fact]
    unit: str = ""
    help: str = ""
    words: Callable[[R, UnitSystem], str] | None = None
    order: Callable[[R], float | str] | None = None
    plain: Callable[[R], str] | None = None
    number: bool = True
    exported: tuple[tuple[str, Callable[[R], Any]], ...] = ()
    short: str = ""

    def text(self, row: R, units: UnitSystem = UnitSystem.GIB) -> str:
        """What the cell shows."""
        if self.words is not None:
            return self.words(row, units)
        fact = self.fact(row)
        if isinstance(fact, str):
            return fact
        text = format_value(fact.value, fact.unit, units)
        return text.removesuffix(f" {self.unit}") if self.unit else text

    def exact(self, row: R) -> Any:
        """What a program gets: the value in its own unit, None where it is not known."""
        fact = self.fact(row) if self.plain is None else self.plain(row)
        return fact if isinstance(fact, str) else fact.value

    def key(self, row: R) -> float | str:
        """What the cell is sorted by: numbers, or words without regard to case. What is not known
        comes after all that is, where the largest come first."""
        if self.order is not None:
            return self.order(row)
        fact = self.fact(row)
        if isinstance(fact, str):
            return fact.casefold()
        return -inf if fact.value is None else fact.value


def as_markdown(
    columns: Sequence[Column[R]], rows: Sequence[R], units: UnitSystem = UnitSystem.GIB
) -> str:
    """A table as it is on the screen."""
    cells = [[column.text(row, units) for column in columns] for row in rows]
    titles = [heading(column) for column in columns]
    return tabular.markdown(titles, cells, [column.number for column in columns])


def as_csv(columns: Sequence[Column[R]], rows: Sequence[R]) -> str:
    """Exact values, a line each: bytes, tokens, tok/s, s, W; unknown is empty."""
    names, cells = _exact(columns, rows)
    return tabular.comma_separated(names, cells)


def as_json(columns: Sequence[Column[R]], rows: Sequence[R]) -> str:
    """Exact values, an object each; unknown is null."""
    names, cells = _exact(columns, rows)
    return tabular.json_objects(names, cells)


def heading(column: Column[Any]) -> str:
    """The title, and the unit that cells leave out."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _exact(columns: Sequence[Column[R]], rows: Sequence[R]) -> tuple[list[str], list[list[Any]]]:
    parts: list[tuple[str, Callable[[R], Any]]] = []
    for column in columns:
        parts += column.exported or ((column.name, column.exact),)
    return [name for name, _ in parts], [[value(row) for _, value in parts] for row in rows]
