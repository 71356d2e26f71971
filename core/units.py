"""Bytes, GB and GiB, tokens and rates: the only place where a value becomes text, in the reader's
way of writing numbers (`core.language`).

Inside the program bytes are whole bytes and rates are per second. GB is 10^9, GiB is 2^30; one
text never mixes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from math import floor

from core.language import tr, trc, written


class UnitSystem(StrEnum):
    """Which of the two families of byte units the reader wants to see."""

    GIB = "GiB"
    GB = "GB"


_STEPS: dict[UnitSystem, tuple[tuple[str, int], ...]] = {
    UnitSystem.GIB: (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)),
    UnitSystem.GB: (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)),
}
_FACTORS = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "kb": 10**3,
    "m": 10**6,
    "mb": 10**6,
    "g": 10**9,
    "gb": 10**9,
    "t": 10**12,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
# A comma groups thousands and nothing else: "24,5 GB" is refused, not read as 245.
_QUANTITY = re.compile(
    r"((?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)"
)
_LEAST_SHOWN = 0.01  # what is less is no nought
LARGEST = 10**18  # bytes or bytes per second: more than any computer has


def format_bytes(count: int, system: UnitSystem = UnitSystem.GIB) -> str:
    """Three significant digits and the fitting unit: "4.58 GiB", "131 KiB", "-1.10 GiB", "12 B".

    A value just under a step is shown in the larger unit rather than as "1024 MiB".
    """
    sign = "-" if count < 0 else ""
    size = abs(count)
    for name, step in _STEPS[system]:
        if round(size / step, 2) >= 1:
            return f"{sign}{_three_digits(size / step)} {name}"
    return f"{sign}{written(size, '')} B"


def format_bytes_in(count: int, unit: str, digits: int = 2) -> str:
    """The number alone, in a named unit ("GiB", "MB"): for columns that share one unit."""
    return written(count / _FACTORS[unit.lower()], f",.{digits}f")


def format_parts(parts: Sequence[int], unit: str, digits: int = 2) -> list[str]:
    """Parts of one total in a named unit, rounded so that what is shown adds up to the total.

    What rounding down leaves over goes to the parts that lost most: 0.334, 0.333 and 0.333 of one
    become 0.34, 0.33 and 0.33.
    """
    step = _FACTORS[unit.lower()] / 10**digits
    exact = [part / step for part in parts]
    counts = [floor(value) for value in exact]
    missing = round(sum(parts) / step) - sum(counts)
    by_loss = sorted(range(len(parts)), key=lambda n: counts[n] - exact[n])
    for n in by_loss[:missing]:
        counts[n] += 1
    return [written(count / 10**digits, f",.{digits}f") for count in counts]


def format_exact_bytes(count: int) -> str:
    """Every byte, grouped by thousands: "21,718,480,960 B"."""
    return f"{written(count)} B"


def format_bandwidth(bytes_per_second: float) -> str:
    """Bandwidth is quoted in GB/s (10^9) by everybody, whatever the unit of sizes; below one, as of
    a slow disk, in the smaller units of the same family."""
    value = bytes_per_second / 1e9
    if value > 0 and round(value, 2) < 1:
        return f"{format_bytes(round(bytes_per_second), UnitSystem.GB)}/s"
    return f"{written(value, ',.0f' if value >= 99.5 else '.1f')} GB/s"


def format_rate(tokens_per_second: float) -> str:
    """Tokens per second: "70 tok/s", "8.4 tok/s", "0.52 tok/s", "<0.01 tok/s"."""
    if 0 < tokens_per_second < _LEAST_SHOWN / 2:
        return f"<{written(_LEAST_SHOWN, '')} tok/s"
    if tokens_per_second >= 99.5:
        return f"{written(tokens_per_second, ',.0f')} tok/s"
    return f"{_three_digits(tokens_per_second)} tok/s"


def format_rates(low: float, high: float) -> str:
    """From one rate to another: "8.40 to 70.0 tok/s"."""
    return tr("{low} to {high}", low=bare_rate(low), high=format_rate(high))


def bare_rate(tokens_per_second: float) -> str:
    """Tokens per second where the unit stands elsewhere: "8.40"."""
    return format_rate(tokens_per_second).removesuffix(" tok/s")


def format_flops(per_second: float) -> str:
    """Operations per second as makers quote them: "142 TFLOPS", "8.60 TFLOPS", "512 GFLOPS"."""
    for name, step in (("T", 1e12), ("G", 1e9)):
        if round(per_second / step, 2) >= 1:
            return f"{_three_digits(per_second / step)} {name}FLOPS"
    return f"{written(per_second, ',.0f')} FLOPS"


def format_count(count: int) -> str:
    """A count of parameters in the field's words: "35.5 B", "494 M", "1.77 M", "640"."""
    for name, step in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if round(count / step, 2) >= 1:
            return f"{_three_digits(count / step)} {name}"
    return str(count)


def format_operations(count: int) -> str:
    """A count of operations: "35.5 B". Of parameters everybody says B; elsewhere a language may
    have a way of its own."""
    for step, words in (
        (10**12, trc("operations", "{value} T")),
        (10**9, trc("operations", "{value} B")),
        (10**6, trc("operations", "{value} M")),
    ):
        if round(count / step, 2) >= 1:
            return words.format(value=_three_digits(count / step))
    return written(count)


def format_tokens(count: int) -> str:
    """An exact number of tokens, grouped: "262,144"."""
    return written(count)


def format_share(share: float) -> str:
    """A share of one as per cent: "72 %", "0.4 %", "<0.1 %"."""
    per_cent = 100 * share
    if 0 < per_cent < 0.1:
        return f"<{written(0.1, '')} %"
    return f"{written(per_cent, '.1f' if per_cent < 9.95 else '.0f')} %"


def format_seconds(seconds: float) -> str:
    """A duration: "16 ms", "2.4 s", "1 min 10 s", "2 h 5 min"."""
    if 0 < seconds * 1000 < _LEAST_SHOWN / 2:
        return f"<{written(_LEAST_SHOWN, '')} ms"
    if seconds < 0.9995:
        return f"{_three_digits(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{_three_digits(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def parse_bytes(text: str, default_unit: str = "b") -> int:
    """Bytes from "24 GB", "24GiB", "512 MiB"; a bare number is in ``default_unit``.

    Written as Python writes numbers, whatever the reader's language: what is typed into the window
    passes `core.language.plain` first. A bare K, M, G or T is a power of ten. Raises ValueError
    with a sentence.
    """
    match = _QUANTITY.fullmatch(text.strip().lower())
    unit = match.group(2) or default_unit.lower() if match else ""
    if match is None or unit not in _FACTORS:
        raise ValueError(tr("{text!r} is no size; write it like 24 GB or 24 GiB", text=text[:40]))
    count = float(match.group(1).replace(",", "")) * _FACTORS[unit]
    if count > LARGEST:
        raise ValueError(tr("{text!r} is more than any computer has", text=text[:40]))
    return round(count)


def parse_bandwidth(text: str) -> float:
    """Bytes per second from "936", "936 GB/s" or "51.2 GiB/s"; a bare number is GB/s.

    Raises ValueError with a sentence.
    """
    try:
        return float(parse_bytes(text.strip().removesuffix("/s"), "GB"))
    except ValueError:
        problem = tr("{text!r} is no bandwidth; write it like 936 GB/s", text=text[:40])
        raise ValueError(problem) from None


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return written(value, ",.0f")
    return written(value, ".1f" if value >= 9.995 else ".2f")
