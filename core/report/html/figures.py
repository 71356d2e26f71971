"""A figure on the page: what is shown, its exact value, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.language import tr
from core.provenance import RANK_WORDS, Number, Source, explain, format_value, origin_words
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


def source_words(source: Source) -> str:
    """Who says so, how far that can be trusted, and since when: "datasheet: maker, 2020-09-01"."""
    rank = tr(RANK_WORDS[source.rank]).lower()
    return ", ".join(each for each in (f"{rank}: {origin_words(source)}", source.date) if each)


def _row(figure: Figure, system: UnitSystem) -> Markup:
    number = figure.number
    lines = explain(number, system).split("\n")[1:]
    why = [line for line in lines if line != _told(number.source)]
    if number.value is not None and number.unit.value in ("B", "B/token"):
        why.insert(0, format_exact_bytes(round(number.value)))
    source = element("small", source_words(number.source))
    if why:
        details = joined(*(element("div", line) for line in why))
        source = element("details", element("summary", source), details)
    return element(
        "tr",
        element("th", figure.name, scope="row"),
        element("td", value(number, system, figure.key, figure.shown), class_="number"),
        element("td", source),
    )


def _told(source: Source) -> str:
    """The line of an explanation that the summary says already."""
    date = f", {source.date}" if source.date else ""
    return f"{tr(RANK_WORDS[source.rank])}: {origin_words(source)}{date}"
