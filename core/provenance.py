"""Where a figure comes from, kept beside the figure.

Nothing is formatted until somebody looks, so that making a plan costs no string work.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from core import units
from core.language import mark, tr, written
from core.units import UnitSystem


class Rank(StrEnum):
    """How far a figure can be trusted, best first."""

    MEASURED = "measured"  # timed or read back on this computer
    DERIVED = "derived"  # follows exactly from the file by the engine's own rule
    DATASHEET = "datasheet"  # the maker's figure, or computed from the maker's figures
    REPORTED = "reported"  # a driver, an operating system, a file or a user says so
    ESTIMATED = "estimated"  # a model with a known error
    ASSUMED = "assumed"  # nobody said; a convention


RANK_WORDS = {
    Rank.MEASURED: mark("Measured"),
    Rank.DERIVED: mark("Derived"),
    Rank.DATASHEET: mark("Datasheet"),
    Rank.REPORTED: mark("Reported"),
    Rank.ESTIMATED: mark("Estimated"),
    Rank.ASSUMED: mark("Assumed"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """Who says so: ``origin`` is a short phrase ("NVML", "file header"), ``date`` ISO or empty."""

    rank: Rank
    origin: str
    date: str = ""


class Unit(StrEnum):
    """The unit of a value as it is stored. Bytes are always whole bytes, never GB or GiB."""

    BYTES = "B"
    BYTES_PER_SECOND = "B/s"
    BYTES_PER_TOKEN = "B/token"
    TOKENS = "tokens"
    TOKENS_PER_SECOND = "tok/s"
    FLOPS = "FLOP/s"
    SECONDS = "s"
    BITS_PER_WEIGHT = "bits/weight"
    PARAMETERS = "parameters"
    SHARE = "share"  # 0..1
    WATTS = "W"
    COUNT = ""


@dataclass(frozen=True, slots=True)
class Input:
    """One value that went into a formula."""

    name: str
    value: float | int | str | None
    unit: Unit = Unit.COUNT


N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Number(Generic[N]):
    """A figure which knows how it was come by.

    Its words are English, marked for translation (`core.language.mark`), and translated where they
    are shown.

    ``value`` is None where it is not known; ``note`` then says why. ``formula`` is written in
    the names of ``inputs`` ("bandwidth / bytes per token").
    """

    value: N | None
    unit: Unit
    source: Source
    formula: str = ""
    inputs: tuple[Input, ...] = ()
    note: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


def format_value(
    value: float | int | str | None, unit: Unit, system: UnitSystem = UnitSystem.GIB
) -> str:
    """A value in the words of its unit; "unknown" where there is none."""
    if value is None:
        return tr("unknown")
    if isinstance(value, str):
        return tr(value)
    match unit:
        case Unit.BYTES:
            return units.format_bytes(round(value), system)
        case Unit.BYTES_PER_TOKEN:
            return tr("{size}/token", size=units.format_bytes(round(value), system))
        case Unit.BYTES_PER_SECOND:
            return units.format_bandwidth(value)
        case Unit.TOKENS_PER_SECOND:
            return units.format_rate(value)
        case Unit.FLOPS:
            return units.format_flops(value)
        case Unit.TOKENS:
            return tr("{count} tokens", count=units.format_tokens(round(value)))
        case Unit.SECONDS:
            return units.format_seconds(value)
        case Unit.PARAMETERS:
            return units.format_count(round(value))
        case Unit.SHARE:
            return units.format_share(value)
        case Unit.WATTS:
            return f"{written(value, ',.0f')} W"
        case Unit.BITS_PER_WEIGHT:
            return tr("{value:.2f} bits", value=value)
        case Unit.COUNT:
            return written(value, "," if isinstance(value, int) else ",.4g")


def origin_words(source: Source) -> str:
    """Who says so, in the reader's language. Of "catalogue: TechPowerUp c2770; bandwidth = bus x
    clock" those phrases that are known; the rest is somebody's own name or words."""
    known = tr(source.origin)
    who, colon, which = source.origin.partition(": ")
    if not colon or known != source.origin:
        return known
    return f"{tr(who)}: {'; '.join(map(tr, which.split('; ')))}"


def source_line(source: Source) -> str:
    """How far it can be trusted, who says so, and since when: "Datasheet: maker, 2020-09-01"."""
    date = f", {source.date}" if source.date else ""
    return f"{tr(RANK_WORDS[source.rank])}: {origin_words(source)}{date}"


def explain(number: Number[int] | Number[float], system: UnitSystem = UnitSystem.GIB) -> str:
    """How a figure was come by, in lines: value, formula, inputs, source with date and rank, note.

    The same text is the tooltip, the help on focus and what a screen reader says.
    """
    lines = [format_value(number.value, number.unit, system)]
    if number.value is not None and number.unit in (Unit.BYTES, Unit.BYTES_PER_TOKEN):
        lines[0] += f" ({units.format_exact_bytes(round(number.value))})"
    if number.formula:
        lines.append(f"= {tr(number.formula)}")
    lines += [f"{tr(i.name)}: {format_value(i.value, i.unit, system)}" for i in number.inputs]
    lines.append(source_line(number.source))
    if number.note:
        lines.append(tr(number.note))
    return "\n".join(lines)
