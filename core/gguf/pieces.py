"""Raw pieces: before GGUF had shards, large files were cut anywhere, to be joined again.

Only the first piece has a header, and its data seems to be cut off.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from core.gguf.text import display
from core.problems import Problem
from core.units import format_exact_bytes

# big.gguf.part1of2, big.gguf-split-a, big.gguf.part-aa, big.gguf.001
_NAME = re.compile(
    r"(?P<stem>.+\.gguf)(?:\.part-?(?P<number>\d+)(?:-?of-?\d+)?|[-.](?:split|part)-?"
    r"(?P<letters>[a-z]{1,2})|\.(?P<digits>\d{3}))",
    re.IGNORECASE,
)
_MOST_NEIGHBOURS = 10_000


class Piece(NamedTuple):
    """A piece by its name: which one, of what, and all pieces of it that lie in the folder."""

    number: int
    stem: str
    found: tuple[Path, ...]


def piece_of(path: Path) -> Piece | None:
    """The piece that a path names; None for any other name."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    stem = match["stem"]
    found = [path]
    try:
        for other in islice(path.parent.iterdir(), _MOST_NEIGHBOURS):
            named = _NAME.fullmatch(other.name)
            if named and named["stem"] == stem and other.name != path.name:
                found.append(other)
    except OSError:
        pass
    return Piece(_number(match), stem, tuple(sorted(found)))


def first_piece(path: Path, truncated: Problem) -> Problem:
    """``truncated`` in other words where the file is the first of several pieces."""
    piece = piece_of(path)
    if piece is None or truncated.missing_bytes is None or truncated.offset is None:
        return truncated
    needed = truncated.offset + truncated.missing_bytes
    sizes = []
    for other in piece.found:
        try:
            sizes.append(other.stat().st_size)
        except OSError:
            continue
    count = len(piece.found)
    return Problem(
        "piece",
        f"This is piece {piece.number} of {display(piece.stem)}, a file that must be joined first: "
        f"{count} piece{'s' if count > 1 else ''} found with {format_exact_bytes(sum(sizes))} of "
        f"the {format_exact_bytes(needed)} needed.",
        advice=f"Join them in order (on Linux: cat the pieces > {display(piece.stem)}), then open "
        "the result.",
        where=truncated.where,
        offset=truncated.offset,
        missing_bytes=truncated.missing_bytes,
    )


def _number(match: re.Match[str]) -> int:
    if match["letters"] is None:
        return int(match["number"] or match["digits"])
    number = 0
    for letter in match["letters"].lower():
        number = 26 * number + ord(letter) - ord("a")
    return number + 1
