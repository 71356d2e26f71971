"""The vocabulary of a GGUF file: its tokens, their kinds and scores, and the merges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from core.gguf import PageError, read_page
from core.gguf.header import Array, Header, Value
from core.language import tr
from core.problems import Problem, Severity

_PAGE = 16_384  # elements read at once, so that a thread can be told to stop
_KEY = "tokenizer.ggml."


class TokenType(IntEnum):
    """What a token is, by the numbers of the file."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class VocabularyError(Exception):
    """The file has no vocabulary that can be read. ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What a file says of its tokens. ``model`` is "gpt2", "llama", "gemma4"…, ``pre`` the name of
    the pre-tokenizer ("qwen2"), empty where the file names none. ``types`` and ``scores`` are
    parallel to ``tokens``, and empty where the file has none. ``space_prefix`` is None where the
    file does not say."""

    model: str
    pre: str
    tokens: tuple[str, ...]
    types: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    merges: tuple[str, ...] = ()
    space_prefix: bool | None = None


def read_vocabulary(header: Header, cancelled: Callable[[], bool] = lambda: False) -> Vocabulary:
    """Read it from the file of this header; 250,000 tokens take about a second.

    Raises VocabularyError where the file has none, cannot be read, or ``cancelled`` says so.
    """
    model = header.metadata.get(f"{_KEY}model")
    if not isinstance(model, str) or not isinstance(header.metadata.get(f"{_KEY}tokens"), Array):
        raise VocabularyError(
            Problem(
                "no-vocabulary",
                tr("The file holds no list of tokens."),
                Severity.NOTE,
                tr("Open a whole model file to count with its own vocabulary."),
            )
        )
    pre = header.metadata.get(f"{_KEY}pre")
    prefix = header.metadata.get(f"{_KEY}add_space_prefix")

    def array(name: str) -> list[Value]:
        return _elements(header, f"{_KEY}{name}", cancelled)

    return Vocabulary(
        model=model,
        pre=pre if isinstance(pre, str) else "",
        tokens=tuple(str(token) for token in array("tokens")),
        types=tuple(int(kind) for kind in array("token_type") if isinstance(kind, int)),
        scores=tuple(float(s) for s in array("scores") if isinstance(s, int | float)),
        merges=tuple(str(merge) for merge in array("merges")),
        space_prefix=prefix if isinstance(prefix, bool) else None,
    )


def _elements(header: Header, key: str, cancelled: Callable[[], bool]) -> list[Value]:
    array = header.metadata.get(key)
    if not isinstance(array, Array):
        return []
    found: list[Value] = []
    try:
        for start in range(0, array.count, _PAGE):
            if cancelled():
                raise VocabularyError(
                    Problem("cancelled", tr("Reading was stopped."), Severity.NOTE)
                )
            found += read_page(header, array, start, start + _PAGE)
    except PageError as error:
        raise VocabularyError(error.problem) from error
    return found
