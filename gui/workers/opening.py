"""Reading model files, as functions for a runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.gguf import display, open_file
from core.model import model_from
from core.model.model import Model
from gui.workers.runner import Function, Handle


@dataclass(frozen=True, slots=True)
class Summary:
    """A model in a few words. ``active_parameters`` is 0 where a token uses them all; ``bytes``
    are those of its tensors."""

    path: Path
    name: str
    label: str
    parameters: int
    active_parameters: int
    bytes: int


def opening(path: Path) -> Function:
    """Read the file, or the family of shards it belongs to. Answers a `Model`."""

    def read(handle: Handle) -> Model:
        return model_from(open_file(path, handle.cancelled, handle.progress))

    return read


def summarising(paths: Sequence[Path]) -> Function:
    """Read each file and say what it is. Answers a tuple of `Summary`."""

    def read(handle: Handle) -> tuple[Summary, ...]:
        return tuple(_summary(model_from(open_file(p, handle.cancelled))) for p in paths)

    return read


def missing(paths: Sequence[Path]) -> Function:
    """Which of these files are not there (any more). Answers a set of paths."""

    def look(handle: Handle) -> frozenset[Path]:
        return frozenset(path for path in paths if not handle.cancelled() and not _exists(path))

    return look


def _summary(model: Model) -> Summary:
    path = model.file.header.path
    weights = model.weights
    return Summary(
        path=path,
        name=display(model.name) or path.stem,
        label=model.label,
        parameters=weights.parameters,
        active_parameters=weights.active_parameters if model.shape.experts else 0,
        bytes=weights.bytes,
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
