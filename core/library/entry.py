"""One model of the library."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from core.gguf.header import HELPERS
from core.gguf.names import is_imatrix, is_projector
from core.language import mark
from core.library.facts import Facts, Fit

# Size and time of every file: by them it is told whether a model is still what was read.
Stamp: TypeAlias = tuple[tuple[int, int], ...]


class State(StrEnum):
    WHOLE = mark("whole")
    INCOMPLETE = mark("incomplete")  # still being downloaded, cut off, or a shard is missing
    UNREADABLE = mark("not readable")


@dataclass(frozen=True, slots=True)
class Entry:
    """A model, its shards counted as one; or a file that serves one.

    ``path`` opens it. ``where`` says in whose folder it lies. ``projectors`` lie beside it and are
    meant for it, as far as names tell. ``remark`` is a sentence where the state is not whole.
    """

    path: Path
    name: str
    bytes: int
    files: int
    where: str
    stamp: Stamp
    facts: Facts | None = None
    fit: Fit | None = None
    state: State = State.WHOLE
    remark: str = ""
    projectors: tuple[Path, ...] = ()

    @property
    def helper(self) -> bool:
        """Whether it serves a model and is none."""
        if self.facts is not None:
            return self.facts.kind in HELPERS
        return is_projector(self.path.name) or is_imatrix(self.path.name)
