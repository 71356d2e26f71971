"""Reading model files, as functions for a runner."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from core.gguf import display, open_file
from core.gguf.header import Header
from core.gguf.names import is_projector
from core.language import tr
from core.model import model_from
from core.model.model import Model
from core.problems import Problem, Severity
from core.units import format_exact_bytes
from gui.workers.runner import Function, Handle

_MOST_ENTRIES = 10_000  # of a folder, when looking for projectors


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


def projectors_beside(path: Path) -> Function:
    """Files in the same folder that are projectors by their names. Answers a tuple of paths."""

    def look(handle: Handle) -> tuple[Path, ...]:
        try:
            names = sorted(entry.name for entry in islice(os.scandir(path.parent), _MOST_ENTRIES))
        except OSError:
            return ()
        found = (name for name in names if is_projector(name) and name != path.name)
        return tuple(path.parent / name for name in found)

    return look


def differences(headers: Sequence[Header]) -> Function:
    """How these files differ from what was read of them. Answers a tuple of `Problem`, one of the
    code "file-changed" or "file-gone" for each that does."""

    def look(handle: Handle) -> tuple[Problem, ...]:
        here = (header for header in headers if header.place.local)
        found = (_difference(header) for header in here if not handle.cancelled())
        return tuple(problem for problem in found if problem is not None)

    return look


def _difference(header: Header) -> Problem | None:
    name, where = display(header.path.name), display(str(header.path))
    try:
        now = header.path.stat()
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        return Problem(
            "file-gone",
            tr("{name} is not there any more; what is shown was read before.", name=name)
            if gone
            else tr(
                "{name} cannot be reached ({reason}); what is shown was read before.",
                name=name,
                reason=error.strerror,
            ),
            Severity.WARNING,
            tr("Put it back, or open it from where it lies now."),
            where,
        )
    if (now.st_size, now.st_mtime_ns) == (header.file_bytes, header.modified_ns):
        return None
    message = tr("{name} has changed on disk since it was read.", name=name)
    if now.st_size > header.file_bytes:
        message = tr(
            "{name} has grown from {before} to {size} since it was read, and may still be written.",
            name=name,
            before=format_exact_bytes(header.file_bytes),
            size=format_exact_bytes(now.st_size),
        )
    return Problem("file-changed", message, Severity.WARNING, tr("Reload it."), where)


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
