"""The columns of the two tables: machines for one model, and models on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import TypeVar

from core.compare.columns import UNKNOWN, Column
from core.compare.figures import Figures
from core.compare.grid import Cell
from core.compare.machines import PER, MachineRow
from core.compare.models import FAR, ModelRow
from core.gguf import display
from core.language import mark, tr, trc, written
from core.machine.machine import Device, Machine, spoken_name
from core.plan.plan import Verdict
from core.plan.verdict import REFUSED, SHORT_WORDS
from core.provenance import N, Number, Rank, Source, Unit, format_value
from core.units import UnitSystem, format_bandwidth, format_bytes, format_rate, format_tokens

R = TypeVar("R")
RATE = "tok/s"
_BEST_FIRST = (Verdict.DOES_NOT_FIT, Verdict.UNKNOWN, Verdict.TIGHT, Verdict.FITS)
_FILE = Source(Rank.DERIVED, mark("the file's tensor table"))
_MANY = Source(Rank.DERIVED, mark("the devices of the machine"))
_WISH = mark("In brackets where it does not fit: what it would be if it did.")


def machine_columns(currency: str = "") -> tuple[Column[MachineRow], ...]:
    """Columns of machines compared; ``currency`` is what the user calls it."""
    price = tr("Price ({currency})", currency=currency) if currency else tr("Price")
    return (
        Column(
            "machine",
            tr("Machine"),
            lambda r: display(spoken_name(r.machine.name)),
            plain=lambda r: display(r.machine.name),
            number=False,
        ),
        *_fit(lambda r: r.figures),
        *_speeds(lambda r: r.figures),
        Column(
            "memory_bytes",
            tr("Memory"),
            lambda r: memory(r.machine),
            words=lambda r, units: memory_words(r.machine, units),
            help=tr("Of each device that the model may lie on; no layer is split between two"),
            exported=(
                ("devices", lambda r: len(_working(r.machine))),
                ("memory_bytes", lambda r: _least(d.memory.value for d in _working(r.machine))),
            ),
        ),
        Column(
            "bandwidth_bytes_per_second",
            tr("Bandwidth"),
            lambda r: bandwidth(r.machine),
            words=lambda r, units: bandwidth_words(r.machine),
            help=tr("Of each device; two read one after the other, so that rates do not add up"),
        ),
        Column(
            "watts",
            tr("Power"),
            lambda r: r.watts,
            help=tr("What the card or the chip may draw, by its maker"),
        ),
        Column(
            "price",
            price,
            lambda r: r.price,
            words=lambda r, units: "" if r.price.value is None else written(r.price.value, ",.15g"),
            help=tr("Type it into the cell; it is kept"),
        ),
        Column(
            "tok_s_per_1000",
            tr("tok/s for {count:,} {currency}", count=PER, currency=currency).rstrip(),
            lambda r: r.per_price,
            RATE,
            help=tr("Tokens per second expected at the chosen depth, for so much money"),
            short=tr("tok/s for {count:,}", count=PER),
            words=lambda r, units: "" if r.price.value is None else _bare(r.per_price),
        ),
    )


def model_columns() -> tuple[Column[ModelRow], ...]:
    """Columns of models compared."""
    return (
        Column("model", tr("Model"), lambda r: r.name, number=False),
        Column(
            "quantization",
            tr("Quantization"),
            lambda r: r.label,
            number=False,
            plain=lambda r: r.exact_label,
        ),
        *_fit(lambda r: r.figures),
        Column("weights_bytes", tr("Weights"), lambda r: r.weights, help=tr("Of all tensors")),
        Column(
            "bytes_per_token",
            tr("All read"),
            lambda r: r.figures.plan.speed.bytes_per_token,
            help=tr("Weights, cache and state, for one token at the chosen depth"),
        ),
        Column(
            "cache_bytes_per_token",
            tr("Cache a token"),
            lambda r: r.figures.plan.memory.cache_per_token,
            words=lambda r, units: _bytes(r.figures.plan.memory.cache_per_token, units),
            help=tr("What one more token takes while no window is full"),
        ),
        Column(
            "cache_bytes_at_100000",
            tr("Cache at {count:,}", count=FAR),
            lambda r: r.cache_far,
            help=tr("Cache and state of one conversation so long"),
        ),
        *_speeds(lambda r: r.figures),
        Column(
            "mechanism",
            tr("What keeps it small"),
            lambda r: r.mechanism,
            number=False,
            help=tr("How layers keep less than all tokens of all heads"),
        ),
        Column("bits_per_weight", tr("Per weight"), lambda r: r.bits),
        Column("parameters", tr("Parameters"), lambda r: r.parameters),
        Column(
            "active_parameters",
            tr("Active"),
            lambda r: r.active,
            help=tr(
                "Parameters that one token uses: all of a dense model, a few experts of a mixture"
            ),
        ),
        Column(
            "weights_read_per_token",
            tr("Weights read"),
            lambda r: r.weights_read,
            help=tr("Of the weights, for one token"),
        ),
    )


def grid_columns() -> tuple[Column[Cell], ...]:
    """Columns of the cells of a grid, a line for each cell."""
    return (
        Column(
            "quantization",
            tr("Quantization"),
            lambda c: c.recipe.label,
            number=False,
            plain=lambda c: c.recipe.exact or c.recipe.label,
        ),
        Column("context", tr("Context"), lambda c: _count(c.context, Unit.TOKENS), tr("tokens")),
        Column("weights_bytes", tr("Weights"), lambda c: _count(c.recipe.bytes, Unit.BYTES)),
        Column(
            "verdict",
            tr("Verdict"),
            lambda c: c.verdict.value,
            words=lambda c, units: c.refused or tr(SHORT_WORDS[c.verdict]),
            number=False,
        ),
        Column(
            "room_bytes",
            tr("Free or lacking"),
            lambda c: c.room,
            words=lambda c, units: room_words(c.room, units),
        ),
        Column("ceiling_tok_s", tr("Ceiling"), lambda c: c.ceiling, RATE),
        Column("expected_tok_s", tr("Expected"), lambda c: c.expected, RATE),
    )


def _fit(of: Callable[[R], Figures]) -> tuple[Column[R], ...]:
    return (
        Column(
            "verdict",
            tr("Verdict"),
            lambda r: of(r).plan.verdict.value,
            words=lambda r, units: _verdict_words(of(r)),
            order=lambda r: -1 if of(r).refused else _BEST_FIRST.index(of(r).plan.verdict),
            number=False,
        ),
        Column(
            "room_bytes",
            tr("Free or lacking"),
            lambda r: of(r).room,
            words=lambda r, units: room_words(of(r).room, units),
            help=tr("On the device that has least; what lacks is summed over the devices"),
            short=tr("Free"),
        ),
        Column(
            "largest_context",
            tr("Largest context"),
            lambda r: of(r).largest,
            words=lambda r, units: _contexts(of(r)),
            order=lambda r: _context_order(of(r)),
            help=tr("The largest that fits with the chosen cache types, in tokens"),
            short=tr("Max context"),
            exported=(
                ("largest_context", lambda r: of(r).largest.value),
                ("largest_context_tight", lambda r: of(r).most),
            ),
        ),
    )


def _speeds(of: Callable[[R], Figures]) -> tuple[Column[R], ...]:
    def rate(
        name: str, title: str, short: str, fact: Callable[[Figures], Number[float]], help: str
    ) -> Column[R]:
        return Column(
            name,
            title,
            lambda r: fact(of(r)),
            RATE,
            help=tr("{what} In {unit}. {more}", what=help, unit=RATE, more=tr(_WISH)),
            words=lambda r, units: _wish(of(r), _bare(fact(of(r)))),
            short=short,
        )

    return (
        rate(
            "ceiling_empty_tok_s",
            tr("Ceiling, empty"),
            tr("Ceiling empty"),
            lambda f: f.at_empty,
            tr("The ceiling with an empty cache."),
        ),
        rate(
            "ceiling_tok_s",
            tr("At depth"),
            tr("Ceiling depth"),
            lambda f: f.plan.speed.ceiling,
            tr("The ceiling at the chosen depth."),
        ),
        rate(
            "ceiling_full_tok_s",
            tr("Full"),
            tr("Ceiling full"),
            lambda f: f.at_full,
            tr("The ceiling with all the context that the model was trained for."),
        ),
        Column(
            "expected_tok_s",
            tr("Expected"),
            lambda r: of(r).plan.speed.expected.mid,
            RATE,
            short=tr("Expect, {unit}", unit=RATE),
            help=tr(
                "What published runs lead to expect at the chosen depth. {more}", more=tr(_WISH)
            ),
            words=lambda r, units: _wish(of(r), expected_words(of(r))),
            exported=(
                ("expected_low_tok_s", lambda r: of(r).plan.speed.expected.low.value),
                ("expected_tok_s", lambda r: of(r).plan.speed.expected.mid.value),
                ("expected_high_tok_s", lambda r: of(r).plan.speed.expected.high.value),
            ),
        ),
        Column(
            "ttft_s",
            tr("First token"),
            lambda r: of(r).prompt,
            help=tr("From sending the prompt to the first token of the answer"),
            words=lambda r, units: _wish(of(r), format_value(of(r).prompt.value, Unit.SECONDS)),
        ),
    )


def memory(machine: Machine) -> Number[int]:
    """Of one device as it is; of several the sum, for sorting alone."""
    return _together(machine, lambda d: d.memory, sum)


def bandwidth(machine: Machine) -> Number[float]:
    """Of one device as it is; of several the least, for sorting alone."""
    return _together(machine, lambda d: d.bandwidth, min)


def memory_words(machine: Machine, units: UnitSystem) -> str:
    """ "24.0 GiB", "2 x 24.0 GiB", "24.0 GiB + 12.0 GiB": never a sum."""
    return _each([_bytes(d.memory, units) for d in _working(machine)])


def bandwidth_words(machine: Machine) -> str:
    """The same for rates."""
    values = [d.bandwidth.value for d in _working(machine)]
    return _each([tr(UNKNOWN) if v is None else format_bandwidth(v) for v in values])


def room_words(room: Number[int], units: UnitSystem) -> str:
    """What is free, or what lacks."""
    if room.value is None:
        return tr(UNKNOWN)
    size = format_bytes(abs(room.value), units)
    return size if room.value >= 0 else tr("lacks {size}", size=size)


def expected_words(figures: Figures) -> str:
    """ "34-52", as far as that is known."""
    band = figures.plan.speed.expected
    if band.low.value is None or band.high.value is None:
        return tr(UNKNOWN)
    return f"{_bare(band.low)}–{_bare(band.high)}"


def _count(value: int, unit: Unit) -> Number[int]:
    return Number(value, unit, _FILE)


def _working(machine: Machine) -> tuple[Device, ...]:
    """The devices that a model lies on by default: GPUs, else the RAM."""
    return machine.gpus or machine.devices


def _each(words: list[str]) -> str:
    counted = dict.fromkeys(words)
    return " + ".join(f"{words.count(w)} × {w}" if words.count(w) > 1 else w for w in counted)


def _together(
    machine: Machine, of: Callable[[Device], Number[N]], join: Callable[[list[N]], N]
) -> Number[N]:
    numbers = [of(device) for device in _working(machine)]
    if len(numbers) == 1:
        return numbers[0]
    values = [n.value for n in numbers if n.value is not None]
    value = join(values) if len(values) == len(numbers) else None
    return Number(value, numbers[0].unit, _MANY, note=tr("{count} devices", count=len(numbers)))


def _least(values: Iterable[int | None]) -> int | None:
    """The smallest; None where one is not known."""
    known = list(values)
    return None if None in known else min(value or 0 for value in known)


def _bare(rate: Number[float]) -> str:
    return tr(UNKNOWN) if rate.value is None else format_rate(rate.value).removesuffix(f" {RATE}")


def _wish(figures: Figures, text: str) -> str:
    return text if figures.fits or text == tr(UNKNOWN) else f"({text})"


def _verdict_words(figures: Figures) -> str:
    return tr(REFUSED if figures.refused else SHORT_WORDS[figures.plan.verdict])


def _contexts(figures: Figures) -> str:
    largest = figures.largest.value
    if largest == 0:
        return trc("how large a context", "none")
    if largest is None:
        return tr(UNKNOWN)
    tokens = format_tokens(largest)
    return tr("{tokens}, tight", tokens=tokens) if figures.only_tight else tokens


def _context_order(figures: Figures) -> float:
    """One that leaves room before any that does not, whatever its size; unknown last."""
    largest = figures.largest.value
    if largest is None:
        return -inf
    return 1 - 1 / (largest + 1) if figures.only_tight else largest


def _bytes(number: Number[int], units: UnitSystem) -> str:
    return tr(UNKNOWN) if number.value is None else format_bytes(number.value, units)
