"""Runs out to a file and in from one, off the GUI thread: a long history takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from core.language import tr
from core.measure.history import History, HistoryError, Stored
from core.measure.history.transfer import (
    TransferError,
    read_file,
    to_csv_text,
    to_json_text,
    to_markdown,
)
from core.problems import Problem
from core.whole_file import write_out
from gui.workers.runner import Function, Handle

Read: TypeAlias = Callable[[], tuple[Stored, ...]]


def exporting(read: Read, path: Path) -> Function:
    """Write what ``read`` gives, as the name's ending says. Answers how many, or a Problem."""

    def export(handle: Handle) -> int | Problem:
        try:
            runs = read()
            text = to_csv_text(runs) if path.suffix.lower() == ".csv" else to_json_text(runs)
            write_out(path, text)
        except HistoryError as error:
            return error.problem
        except OSError as error:
            return Problem(
                "export",
                tr("The file could not be written: {reason}.", reason=error.strerror or error),
                where=str(path),
            )
        return len(runs)

    return export


def telling(read: Read) -> Function:
    """What ``read`` gives as Markdown. Answers a text, or a Problem."""

    def tell(handle: Handle) -> str | Problem:
        try:
            return "\n".join(map(to_markdown, read()))
        except HistoryError as error:
            return error.problem

    return tell


@dataclass(frozen=True, slots=True)
class Imported:
    """``runs`` of a file, of which so many were ``new``; None where nobody has taken them in."""

    runs: tuple[Stored, ...]
    new: int | None


def importing(path: Path, history: Path | None) -> Function:
    """Take the runs of a file into a history. Answers `Imported`, or a Problem."""

    def take_in(handle: Handle) -> Imported | Problem:
        try:
            runs = read_file(path)
            return Imported(runs, None if history is None else _added(history, runs))
        except (TransferError, HistoryError) as error:
            return error.problem

    return take_in


def _added(history: Path, runs: tuple[Stored, ...]) -> int | None:
    own = History(history, mend=False)
    try:
        return own.add(runs) if own.problem is None else None
    finally:
        own.close()
