"""How many tokens a text has: counted where the vocabulary allows it, else estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.gguf.header import Header
from core.language import mark, tr
from core.problems import Problem
from core.provenance import Input, Number, Rank, Source, Unit
from core.tokens.tokenizer import Tokenizer
from core.tokens.vocabulary import VocabularyError, read_vocabulary

# The rule of thumb of OpenAI's documentation for English; code and other languages take more.
BYTES_PER_TOKEN = 4
_THUMB = Source(Rank.ESTIMATED, mark("a rule of thumb: 4 bytes of English text a token"))
_OWN = Source(Rank.DERIVED, mark("the file's vocabulary, cut and merged as llama.cpp b11434 does"))
_CLOSE = Source(Rank.ESTIMATED, mark("the file's vocabulary, cut by a common rule"))


@dataclass(frozen=True, slots=True)
class Counted:
    """``tokens`` of a text of ``bytes`` bytes. ``exact`` says that llama.cpp counts the same."""

    tokens: Number[int]
    bytes: int
    exact: bool


def estimated(text: str, why: str) -> Counted:
    """About how many tokens a text has; ``why`` says why they could not be counted."""
    size = len(text.encode("utf-8", "surrogateescape"))
    value = -(-size // BYTES_PER_TOKEN)
    number = Number(
        value,
        Unit.TOKENS,
        _THUMB,
        mark("bytes / 4"),
        (Input(mark("text"), size, Unit.BYTES),),
        tr("An estimate: {why} Code and other languages take more tokens.", why=why),
    )
    return Counted(number, size, exact=False)


def tokenizer_of(
    header: Header, cancelled: Callable[[], bool] = lambda: False
) -> Tokenizer | Problem:
    """The tokenizer of this file, or why it has none that this program knows.

    Takes a second for a large vocabulary: for a worker. Raises VocabularyError only where
    ``cancelled`` said so.
    """
    try:
        return Tokenizer(read_vocabulary(header, cancelled))
    except VocabularyError as error:
        if error.problem.code == "cancelled":
            raise
        return error.problem


def counted(
    tokenizer: Tokenizer | Problem, text: str, cancelled: Callable[[], bool] = lambda: False
) -> Counted:
    """Count with what `tokenizer_of` gave; an estimate where that cannot be done. Raises
    VocabularyError only where ``cancelled`` said so."""
    if isinstance(tokenizer, Problem):
        return estimated(text, tokenizer.message)
    size = len(text.encode("utf-8", "surrogateescape"))
    try:
        count = len(tokenizer.encode(text, cancelled=cancelled))
    except VocabularyError as error:
        if error.problem.code == "cancelled":
            raise
        return estimated(text, error.problem.message)
    note = "" if tokenizer.exact else tr("An estimate: {why}.", why=tokenizer.doubt)
    return Counted(
        Number(
            count,
            Unit.TOKENS,
            _OWN if tokenizer.exact else _CLOSE,
            mark("tokens of the text"),
            (Input(mark("text"), size, Unit.BYTES),),
            note,
        ),
        size,
        tokenizer.exact,
    )
