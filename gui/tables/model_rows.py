"""Models as rows: what each is, how large, whether it fits on this computer and how fast."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt

from core.language import tr, written
from core.plan.plan import Verdict
from core.plan.verdict import SHORT_WORDS
from core.provenance import Unit, format_value
from core.units import UnitSystem, format_bytes, format_rate, format_tokens
from gui.tables.sheet import Column, Sheet, longest

# Thousands of rows are shown anew while they come: their widths are not measured.
_WIDEST_SIZE = "1,023 MiB"
_BOUND = "\x1e"
# What fits comes first.
_ORDER = (Verdict.FITS, Verdict.TIGHT, Verdict.DOES_NOT_FIT, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One row; None and "" where something is not known. ``verdict`` is None where nobody has
    judged; ``state`` then stands in its place. ``about`` is the tip over name and verdict."""

    name: str
    label: str = ""
    bits: float | None = None
    bytes: int | None = None
    parameters: int | None = None
    active: int = 0
    context: int | None = None
    verdict: Verdict | None = None
    ceiling: float | None = None
    state: str = ""
    where: str = ""
    about: str = ""


class ModelSheet(Sheet):
    """Shows lines in the columns that ``names`` lists; new lines keep order and selection."""

    def __init__(self, names: Collection[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._lines: tuple[ModelLine, ...] = ()
        self._units = UnitSystem.GIB

    @property
    def lines(self) -> tuple[ModelLine, ...]:
        """All rows, in the order they came."""
        return self._lines

    def show(self, lines: Sequence[ModelLine], units: UnitSystem, *, anew: bool = False) -> None:
        """Show these; ``anew`` drops the order and the selection of what was shown before."""
        lines = self._lines = tuple(lines)
        self._units = units
        columns = [c for c in self._columns_of() if c.name in self._names]
        if anew or not self.columns:
            self.set_source(columns, len(lines), lambda: _haystack(lines))
        else:
            self.grow(columns, len(lines), lambda: _haystack(lines))

    def needles(self, folded: str) -> tuple[str, ...]:
        """The words of the filter; those of a verdict mean that verdict and no other that they
        are a part of, as "cabe" is of "no cabe"."""
        left, found = f" {' '.join(folded.split())} ", []
        words = {tr(each).casefold() for each in SHORT_WORDS.values()}
        for verdict in sorted(words, key=len, reverse=True):
            while f" {verdict} " in left:
                left = left.replace(f" {verdict} ", " ", 1)
                found.append(_as_verdict(verdict))
        return (*found, *left.split())

    def _columns_of(self) -> list[Column]:
        lines, units = self._lines, self._units

        def column(
            name: str,
            title: str,
            value: Callable[[ModelLine], Any],
            text: Callable[[ModelLine], str],
            *,
            key: Callable[[ModelLine], Any] | None = None,
            tip: Callable[[ModelLine], str] | None = None,
            number: bool = False,
            stretch: int = 0,
            wanted: bool = False,
            help: str = "",
            widest: str | tuple[str, ...] = "",
            elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
        ) -> Column:
            def order(line: ModelLine) -> Any:
                if key is not None:
                    return key(line)
                found = value(line)
                return (found is not None, found or 0) if number else str(found).casefold()

            return Column(
                name=name,
                title=title,
                text=lambda n: text(lines[n]),
                exact=lambda n: value(lines[n]),
                keys=lambda: [order(line) for line in lines],
                tip=None if tip is None else lambda n: tip(lines[n]),
                number=number,
                help=help,
                stretch=stretch,
                wanted=wanted,
                widest=widest,
                elide=elide,
            )

        return [
            column("name", tr("model"), lambda n: n.name, lambda n: n.name, tip=_about, stretch=3),
            column(
                "where",
                tr("where"),
                lambda n: n.where,
                lambda n: n.where,
                stretch=2,
                elide=Qt.TextElideMode.ElideRight,
            ),
            column(
                "label",
                tr("quantization"),
                lambda n: n.label or None,
                lambda n: n.label,
                widest=longest(line.label for line in lines),
            ),
            column(
                "verdict",
                tr("fits"),
                lambda n: None if n.verdict is None else n.verdict.value,
                _verdict_words,
                key=_verdict_key,
                tip=lambda n: n.about or _verdict_words(n),
                wanted=True,
                widest=(*map(tr, SHORT_WORDS.values()), *{line.state for line in lines}),
                help=tr("Whether it fits into the memory of the machine"),
            ),
            column(
                "bits_per_weight",
                tr("bits"),
                lambda n: n.bits,
                lambda n: "" if n.bits is None else written(n.bits, ".2f"),
                number=True,
                widest="16.00",
                help=tr("Bits per weight"),
            ),
            column(
                "bytes",
                tr("size"),
                lambda n: n.bytes,
                lambda n: "" if n.bytes is None else format_bytes(n.bytes, units),
                number=True,
                wanted=True,
                widest=_WIDEST_SIZE,
                help=tr("Of all files together"),
            ),
            column(
                "parameters",
                tr("parameters"),
                lambda n: n.parameters,
                lambda n: _count(n.parameters),
                tip=_parameters,
                number=True,
                widest="999 M",
            ),
            column(
                "context_length",
                tr("context"),
                lambda n: n.context,
                lambda n: format_tokens(n.context) if n.context else "",
                number=True,
                widest="10,485,760",
                help=tr("Tokens that the model was trained for"),
            ),
            column(
                "ceiling_tok_s",
                tr("ceiling"),
                lambda n: n.ceiling,
                lambda n: "" if n.ceiling is None else format_rate(n.ceiling),
                number=True,
                wanted=True,
                widest="10,000 tok/s",
                help=tr("The fastest that it could write, if reading memory were all there is"),
            ),
        ]


def _count(count: int | None) -> str:
    return format_value(count, Unit.PARAMETERS) if count else ""


def _parameters(line: ModelLine) -> str:
    words = _count(line.parameters)
    if not line.active:
        return words
    return tr("{count}, {active} of them used for a token", count=words, active=_count(line.active))


def _haystack(lines: Sequence[ModelLine]) -> list[str]:
    return [
        " ".join((n.name, n.label, n.where, n.state, _as_verdict(_verdict_words(n)))).casefold()
        for n in lines
    ]


def _as_verdict(words: str) -> str:
    """Between two bounds that nobody types: the whole of it can be found, and a part as well."""
    return f"{_BOUND}{words}{_BOUND}"


def _verdict_words(line: ModelLine) -> str:
    return line.state if line.verdict is None else tr(SHORT_WORDS[line.verdict])


def _verdict_key(line: ModelLine) -> Any:
    place = len(_ORDER) if line.verdict is None else _ORDER.index(line.verdict)
    return (place, -(line.ceiling or 0.0), line.state)


def _about(line: ModelLine) -> str:
    return "\n".join(part for part in (line.name, line.where, line.about) if part)
