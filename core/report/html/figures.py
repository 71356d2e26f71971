"""A figure on the page: what is shown, its exact value, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.language import tr
from core.provenance import Number, explain, format_value, source_line
from core.report.html.markup import Markup, element, joined
from core.units import UnitSystem, format_exact_bytes


class Figure(NamedTuple):
    """One line of a table. ``key`` is the figure's place in the JSON report ("memory.total_bytes"),
    empty where it has none. ``shown`` replaces the text that the unit would give it."""

    name: str
    number: Number[int] | Number[float]
    key: str = ""
    shown: str = ""


def table(title: str, figures: Sequence[Figure], system: UnitSystem) -> Markup:
    """Figures below each other; each opens to its formula and its inputs."""
    head = element(
        "tr",
        element("th", title, scope="col"),
        element("th", "", scope="col"),
        element("th", tr("Source"), scope="col"),
    )
    return element("table", element("thead", head), element("tbody", *rows(figures, system)))


def rows(figures: Sequence[Figure], system: UnitSystem) -> list[Markup]:
    """The lines of such a table."""
    return [_row(figure, system) for figure in figures]


def value(number: Number[int] | Number[float], system: UnitSystem, key: str, shown: str) -> Markup:
    """The figure itself; a program reads its exact value and its place in the JSON report."""
    words = shown or format_value(number.value, number.unit, system)
    if number.value is None:
        return element("span", words, class_="unknown", data_key=key or None)
    return element("data", words, value=repr(number.value), data_key=key or None)


def _row(figure: Figure, system: UnitSystem) -> Markup:
    number = figure.number
    said = source_line(number.source)
    why = [line for line in explain(number, system).split("\n")[1:] if line != said]
    if number.value is not None and number.unit.value in ("B", "B/token"):
        why.insert(0, format_exact_bytes(round(number.value)))
    source = element("small", said[:1].lower() + said[1:])
    if why:
        details = joined(*(element("div", line) for line in why))
        source = element("details", element("summary", source), details)
    return element(
        "tr",
        element("th", figure.name, scope="row"),
        element("td", value(number, system, figure.key, figure.shown), class_="number"),
        element("td", source),
    )
