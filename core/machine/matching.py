"""Finding the catalogue row of a name as a driver or an operating system prints it.

A wrong match is worse than none: a laptop GPU must not inherit the bandwidth of the desktop card
of the same number. So every word that changes the part has to agree, and what the name leaves open
(memory size, memory type, bin) is decided by figures or stays ambiguous.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache

from core.machine.rows import GIB, Row, RowKind, all_rows

# Words that makers, drivers and firmware add without changing the part.
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "nvidia geforce amd ati intel radeon instinct tesla graphics gpu corporation generation "
        "series workstation edition with design processor developer kit engineering reference gen "
        "w core cpu",
    )
)
# Words of a row's name that no driver prints: chip, revision, where it was sold.
_CHIP = re.compile(r"(?:ad|ga|gp|tu)\d{3}")
_UNPRINTED = frozenset({"refresh", "oem", "3840sp", "dgxs"})
_MEMORY_TYPE = re.compile(r"g?ddr\dx?|hbm\de?")
_FORM_FACTOR = re.compile(r"pcie|sxm\d?")
_MEMORY_SIZE = re.compile(r"(\d+) ?gb\b")
# Up to this generation a driver prints the same name for a laptop's GPU as for the card; only the
# spelling of "Super" tells them apart: "RTX 2070 Super" is a laptop's, "RTX 2070 SUPER" the card.
_SAME_NAME_ON_LAPTOPS = re.compile(r"10[5-8]0|16[56]0|20[5-8]0")
_LAPTOP_SUPER = re.compile(r"NVIDIA GeForce RTX 20\d0 Super\b")
_TOLERANCE = 0.03  # of bandwidth: makers round


class _Form(Enum):
    CARD = "card"
    MOBILE = "mobile"
    MAX_Q = "max-q"
    NOT_MAX_Q = "mobile, and certainly not max-q"


@dataclass(frozen=True, slots=True)
class _Name:
    """A name taken apart. ``words`` is what identifies the part."""

    words: frozenset[str]
    form: _Form
    memory_gb: int | None
    memory_type: str
    form_factor: str


def match(
    name: str,
    memory_bytes: int | None = None,
    *,
    bandwidth: float | None = None,
    gpu_cores: int | None = None,
) -> tuple[Row, ...]:
    """The rows that a name may stand for: none, one, or several where it is ambiguous.

    ``memory_bytes`` is the total as the driver reports it, ``bandwidth`` bytes per second from
    the driver's clock and bus, ``gpu_cores`` of an Apple chip; each one narrows the choice. Rows
    that differ in nothing a plan needs count as one, the plainest. A list that knows two parts
    under one number says both: "AMD Instinct MI250X / MI250".
    """
    if " / " in name:
        parts = [
            match(part, memory_bytes, bandwidth=bandwidth, gpu_cores=gpu_cores)
            for part in name.split(" / ")
        ]
        return tuple(dict.fromkeys(row for rows in parts for row in rows))
    asked = _parse(name)
    if not asked.words:
        return ()
    found = [row for row, names in _index() if any(_agrees(asked, n, row) for n in names)]
    if not found:
        found = [row for row, names in _index() if _is_union(asked, names, row)]
    size = memory_bytes if memory_bytes is not None else _bytes(asked.memory_gb)
    if size is not None:
        found = [row for row in found if not row.fixed_memory or _memory_fits(row, size)]
    if gpu_cores is not None:
        found = [row for row in found if row.gpu_cores in (None, gpu_cores)]
    if bandwidth is not None:
        close = [r for r in found if abs(r.bandwidth / bandwidth - 1) <= _TOLERANCE]
        found = close or found
    return tuple(_without_twins(found))


def common_bandwidth(rows: tuple[Row, ...]) -> Row | None:
    """A row whose bandwidth all the rows share, or None: ambiguous names need not be unknown."""
    if not rows or any(abs(r.bandwidth / rows[0].bandwidth - 1) > 0.01 for r in rows):
        return None
    return rows[0]


def _parse(text: str) -> _Name:
    low = re.sub(r"\((?:r|tm)\)|[®™]", " ", text.lower())
    low = low.replace("(pascal)", "pascal")
    low = re.sub(r"\(.*?\)", " ", low).replace("max-q", "maxq")
    low = re.sub(r"\bdesktop|\b\d+th\b", " ", low)
    low = re.sub(r"(?<=\d)ti\b", " ti", low)  # some laptop makers' "RTX 3050Ti"
    size = _MEMORY_SIZE.search(low)
    low = _MEMORY_SIZE.sub(" ", low)
    words = set(re.findall(r"[a-z0-9+]+", low))
    form = _Form.CARD
    if "maxq" in words:
        form = _Form.MAX_Q
    elif words & {"laptop", "mobile"}:
        form = _Form.MOBILE
    elif _LAPTOP_SUPER.match(text):
        form = _Form.NOT_MAX_Q
    kind = next((w for w in words if _MEMORY_TYPE.fullmatch(w)), "")
    factor = next((w for w in words if _FORM_FACTOR.fullmatch(w)), "")
    words -= _FILLERS | {"maxq", "laptop", "mobile", kind, factor}
    return _Name(frozenset(words), form, int(size[1]) if size else None, kind, factor)


@cache
def _index() -> tuple[tuple[Row, tuple[_Name, ...]], ...]:
    return tuple((row, _row_names(row)) for row in all_rows() if row.kind is not RowKind.CPU)


def _row_names(row: Row) -> tuple[_Name, ...]:
    names: list[_Name] = []
    before: list[str] = []
    for part in row.name.split(" / "):
        # "Ryzen 7 8845HS / 7840HS" means Ryzen 7 7840HS.
        words = part.split()
        if len(words) == 1 and before:
            words = [*before[:-1], *words]
        before = words
        name = _parse(" ".join(words))
        shown = frozenset(w for w in name.words if not _CHIP.fullmatch(w)) - _UNPRINTED
        form = name.form if row.kind is RowKind.LAPTOP_GPU else _Form.CARD
        if row.kind is not RowKind.LAPTOP_GPU and name.form is _Form.MAX_Q:
            shown |= {"maxq"}  # a card of its own: RTX PRO 6000 Blackwell Max-Q
        names.append(_Name(shown, form, None, name.memory_type, name.form_factor))
        if "oem" in name.words:  # some drivers do print that
            oem = shown | {"oem"}
            names.append(_Name(oem, form, None, name.memory_type, name.form_factor))
    return tuple(names)


def _agrees(asked: _Name, own: _Name, row: Row) -> bool:
    words = asked.words
    if asked.form is _Form.MAX_Q and "maxq" in own.words:
        words |= {"maxq"}
    if words != own.words or not _attributes_agree(asked, own, row):
        return False
    if row.vendor != "NVIDIA":  # AMD's and Intel's names for laptops have a letter of their own
        return True
    if row.kind is not RowKind.LAPTOP_GPU:
        return asked.form is _Form.CARD or "maxq" in words or row.kind is RowKind.DATACENTER
    old = any(_SAME_NAME_ON_LAPTOPS.fullmatch(w) for w in words)
    match asked.form:
        case _Form.MOBILE:  # since the 30 series "Laptop GPU" covers Max-Q as well
            return True
        case _Form.NOT_MAX_Q:
            return own.form is _Form.MOBILE
        case _Form.MAX_Q:
            return own.form is _Form.MAX_Q
        case _Form.CARD:
            return old and own.form is _Form.MOBILE and "super" not in words


def _attributes_agree(asked: _Name, own: _Name, row: Row) -> bool:
    if asked.memory_type and asked.memory_type != row.memory_type.lower():
        return False
    if asked.form_factor and own.form_factor:  # "sxm" of a row stands for any of them
        return asked.form_factor.startswith(own.form_factor)
    return True


def _is_union(asked: _Name, names: tuple[_Name, ...], row: Row) -> bool:
    """A processor's name that carries its GPU's: "Ryzen AI 9 HX 370 w/ Radeon 890M"."""
    if row.kind is not RowKind.APU or len(names) < 2:
        return False
    inside = [n.words for n in names if n.words <= asked.words]
    return len(inside) > 1 and frozenset().union(*inside) == asked.words


def _memory_fits(row: Row, size: int) -> bool:
    """Drivers keep up to 0.5 %, ECC a sixteenth; a board that shares RAM keeps a tenth."""
    low = 0.82 if row.kind is RowKind.APU else 0.92
    return low * row.nominal_bytes <= size <= 1.01 * row.nominal_bytes


def _bytes(memory_gb: int | None) -> int | None:
    return None if memory_gb is None else memory_gb * GIB


def _without_twins(rows: list[Row]) -> list[Row]:
    """One row of each set that agrees in memory, bandwidth and cores: the plainest name."""
    kept: list[Row] = []
    for row in sorted(rows, key=_plainness):
        if not any(_twins(row, other) for other in kept):
            kept.append(row)
    return kept


def _plainness(row: Row) -> tuple[bool, bool, int, int]:
    return ("Max-Q" in row.name, "OEM" in row.name, len(row.name), row.year or 0)


def _twins(one: Row, other: Row) -> bool:
    return (
        one.memory_gb == other.memory_gb
        and abs(one.bandwidth / other.bandwidth - 1) <= 0.01
        and one.gpu_cores == other.gpu_cores
    )
