"""Raw pieces: before GGUF had shards, large files were cut anywhere, to be joined again.

Only the first piece has a header, and its data seems to be cut off.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from core.gguf.source import Place
from core.gguf.text import display
from core.language import tr, trn
from core.problems import Problem
from core.units import format_exact_bytes

# big.gguf.part1of2, big.gguf.part00, big.gguf-split-a, big.gguf.part-aa, big.gguf.001
_NAME = re.compile(
    r"(?P<stem>.+\.gguf)(?:[.-](?:part|split)-?(?:\d+(?:-?of-?\d+)?|[a-z]{1,2})|\.\d{3})",
    re.IGNORECASE,
)
_MOST_NEIGHBOURS = 10_000


class Pieces(NamedTuple):
    """What a piece's name says: the file that it is of, and all pieces of it in the folder."""

    stem: str
    found: tuple[Path, ...]

    @property
    def bytes(self) -> int:
        """All pieces together; one that went away counts nothing."""
        total = 0
        for path in self.found:
            try:
                total += path.stat().st_size
            except OSError:
                continue
        return total


def pieces_of(place: Place) -> Pieces | None:
    """The pieces that a file is one of; None for any other name, and for a file elsewhere."""
    path = place.path
    if not place.local:
        return None
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    found = [path]
    try:
        for other in islice(path.parent.iterdir(), _MOST_NEIGHBOURS):
            named = _NAME.fullmatch(other.name)
            if named and named["stem"] == match["stem"] and other.name != path.name:
                found.append(other)
    except OSError:
        pass
    return Pieces(match["stem"], tuple(sorted(found)))


def first_piece(place: Place, truncated: Problem) -> Problem:
    """``truncated`` in other words where the file is the first of several pieces."""
    pieces = pieces_of(place)
    if pieces is None or truncated.missing_bytes is None or truncated.offset is None:
        return truncated
    needed = truncated.offset + truncated.missing_bytes
    count = len(pieces.found)
    stem = display(pieces.stem)
    return Problem(
        "piece",
        trn(
            "This is the first piece of {name}, a file that must be joined first: {count} piece "
            "found with {size} of the {needed} needed.",
            "This is the first piece of {name}, a file that must be joined first: {count} pieces "
            "found with {size} of the {needed} needed.",
            count,
            name=stem,
            size=format_exact_bytes(pieces.bytes),
            needed=format_exact_bytes(needed),
        ),
        advice=tr(
            "Join the pieces in order (on Linux: cat PIECES > {name}), then open the result.",
            name=stem,
        ),
        where=truncated.where,
        offset=truncated.offset,
        missing_bytes=truncated.missing_bytes,
    )
