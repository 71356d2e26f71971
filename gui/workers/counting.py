"""Counting the tokens of a text file, as a function for a runner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.gguf import display
from core.gguf.header import Header
from core.language import tr
from core.problems import Problem, Severity
from core.tokens import (
    Counted,
    Piece,
    Start,
    Tokenizer,
    VocabularyError,
    common_start,
    counted,
    tokenizer_of,
)
from core.units import format_bytes
from core.whole_file import open_file
from gui.workers.runner import Function, Handle

_LARGEST = 32 << 20  # bytes of a text
_LOOKED_AT = 1 << 13
_SHOWN = 40  # characters of what differs


@dataclass(frozen=True, slots=True)
class TextCount:
    """How many tokens a file has, for the ``field`` that it was dropped on; or what went wrong."""

    field: str
    path: Path
    counted: Counted | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class StartFound:
    """How two requests begin alike, and the text from where the second differs; or what went
    wrong."""

    start: Start | None
    differs: str = ""
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class CutText:
    """A text as tokens. ``exact`` says that llama.cpp cuts it the same, ``doubt`` why it may not;
    ``pieces`` is empty where there is no rule, and ``doubt`` says so."""

    text: str
    pieces: tuple[Piece, ...]
    exact: bool
    doubt: str = ""


class Counter:
    """Keeps the tokenizer of the last model: making one takes a second."""

    def __init__(self) -> None:
        self._known: tuple[Header, Tokenizer | Problem] | None = None

    def counting(self, header: Header, path: Path, field: str) -> Function:
        """Count the tokens of a text file with the vocabulary of this model. Answers a
        `TextCount`."""

        def count(handle: Handle) -> TextCount | None:
            text = _read(path)
            if isinstance(text, Problem):
                return TextCount(field, path, None, text)
            try:
                tokenizer = self._learn(header, handle)
                return TextCount(field, path, counted(tokenizer, text, handle.cancelled))
            except VocabularyError:
                return None  # nobody waits for it any more

        return count

    def comparing(self, header: Header, first: Path, second: Path) -> Function:
        """Find where the second of two requests differs from the first. Answers a
        `StartFound`."""

        def compare(handle: Handle) -> StartFound | None:
            texts = [_read(path) for path in (first, second)]
            one, two = texts
            if isinstance(one, Problem):
                return StartFound(None, problem=one)
            if isinstance(two, Problem):
                return StartFound(None, problem=two)
            try:
                tokenizer = self._learn(header, handle)
                if isinstance(tokenizer, Problem):
                    return StartFound(None, problem=_no_start(tokenizer.message))
                start = common_start(one, two, tokenizer, handle.cancelled)
            except VocabularyError as error:
                if error.problem.code != "cancelled":
                    return StartFound(None, problem=_no_start(error.problem.message))
                return None  # nobody waits for it any more
            differs = " ".join(two[start.characters :][:_SHOWN].split())
            return StartFound(start, differs)

        return compare

    def cutting(self, header: Header, text: str) -> Function:
        """Cut a short text into the tokens of this model's vocabulary. Answers a `CutText`."""

        def cut(handle: Handle) -> CutText | None:
            try:
                tokenizer = self._learn(header, handle)
                if isinstance(tokenizer, Problem):
                    return CutText(text, (), exact=False, doubt=tokenizer.message)
                pieces = tuple(tokenizer.pieces(text))
            except VocabularyError:
                return None  # nobody waits for it any more
            return CutText(text, pieces, tokenizer.exact, tokenizer.doubt)

        return cut

    def _learn(self, header: Header, handle: Handle) -> Tokenizer | Problem:
        known = self._known
        if known is None or known[0] is not header:
            known = self._known = (header, tokenizer_of(header, handle.cancelled))
        return known[1]


def _no_start(why: str) -> Problem:
    return Problem("no-start", why, Severity.WARNING)


def _read(path: Path) -> str | Problem:
    name = display(path.name)
    try:
        with open_file(path) as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        return Problem(
            "unreadable-text",
            tr("{name} cannot be read ({reason}).", name=name, reason=error.strerror),
            Severity.WARNING,
        )
    if len(data) > _LARGEST:
        return Problem(
            "large-text",
            tr(
                "{name} has more than {size}; no context holds so long a text.",
                name=name,
                size=format_bytes(_LARGEST),
            ),
            Severity.WARNING,
        )
    if b"\0" in data[:_LOOKED_AT]:
        return Problem(
            "no-text",
            tr("{name} is no plain text.", name=name),
            Severity.WARNING,
            tr("Save it as a text file first."),
        )
    return data.decode("utf-8", "replace")
