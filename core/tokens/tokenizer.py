"""A tokenizer made from a vocabulary: the tokens that llama.cpp would read for a text.

Vocabularies with merges (BPE) and those with scores (SentencePiece) are known. Everything is plain
Python with the ``regex`` library: the tokenizer libraries build a vocabulary of 250,000 tokens in
one call that holds the interpreter for seconds, and none merges by the scores of a GGUF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.language import tr
from core.problems import Problem, Severity
from core.tokens.merging import merged
from core.tokens.splitting import split_for
from core.tokens.vocabulary import TokenType, Vocabulary, VocabularyError

_SPACE = "▁"
_CACHED = 1 << 18  # words whose tokens are kept
_LONGEST_CACHED = 64  # characters
_CHUNK = 1 << 8  # words between two looks at whether to stop
_HEAD = 3  # characters by which most special tokens are known not to be in a text
# Characters without any place to cut, as in encoded data: merging them takes seconds already, and a
# hundred bytes for each.
_LONGEST_WORD = 1 << 19
_MATCHED = (TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.UNKNOWN)


def _byte_letters() -> dict[int, str]:
    """GPT-2's letter for every byte: printable ones stand for themselves."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in printable}
    for number, byte in enumerate(b for b in range(256) if b not in letters):
        letters[byte] = chr(256 + number)
    return letters


_LETTERS = _byte_letters()
_BYTE_NAMES = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
_BYTES = {letter: byte for byte, letter in _LETTERS.items()}


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a text. ``bytes`` are what it stands for, ``text`` the same as characters (a
    part of a character is shown as "�"). ``kind`` is the file's type of token."""

    id: int
    text: str
    bytes: bytes
    kind: int


class Tokenizer:
    """Cuts text into the tokens of one vocabulary.

    ``exact`` says that the result is that of llama.cpp; where it is False, ``doubt`` says why.
    Raises VocabularyError for a kind of vocabulary that has no rule here.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = vocabulary.tokens
        self._types = vocabulary.types
        self._ids = {token: n for n, token in enumerate(vocabulary.tokens) if token}
        self._cache: dict[str, tuple[int, ...]] = {}
        self._scores = vocabulary.scores
        self._sentence = vocabulary.model == "llama"
        self._prefix = False
        self._whole_words = False
        self._ranks: dict[tuple[str, str], int] = {}
        self.exact, self.doubt = True, ""
        if self._sentence:
            self._raw = True
            self._prefix = vocabulary.space_prefix is not False
            self._patterns: tuple[Any, ...] = ()
            self._parts = self._parts_pattern(vocabulary.tokens)
            if len(vocabulary.scores) != len(vocabulary.tokens):
                self._doubt(tr("the vocabulary has no scores"))
        elif vocabulary.model in ("gpt2", "gemma4"):
            self._make_merging(vocabulary)
        else:
            raise VocabularyError(
                Problem(
                    "vocabulary-kind",
                    tr(
                        "There is no rule for vocabularies of the kind {kind!r}.",
                        kind=vocabulary.model[:40],
                    ),
                    Severity.NOTE,
                    tr("Type the number of tokens, or take the estimate."),
                )
            )
        if len(self._ids) != len(vocabulary.tokens):
            self._doubt(tr("the vocabulary holds a token twice, or an empty one"))
        # The engine looks for the longest first, in what the ones before have left.
        special = [n for n, kind in enumerate(vocabulary.types) if kind in _MATCHED]
        special = [n for n in special if n < len(self._tokens) and self._tokens[n]]
        self._special = sorted(special, key=lambda n: -len(self._tokens[n].encode(*_STORED)))

    def encode(
        self, text: str, special: bool = True, cancelled: Callable[[], bool] = lambda: False
    ) -> list[int]:
        """Ids of the tokens, without one that only marks the beginning.

        ``special`` also finds the names of control tokens in the text, as a server does in a
        prompt. Raises VocabularyError where ``cancelled`` says so, and where too long a part of the
        text cannot be cut.
        """
        found: list[int] = []
        after_special = True
        for part in self._partition(text, special, cancelled):
            if isinstance(part, int):
                found.append(part)
                after_special = True
                continue
            prefix = self._prefix and after_special
            self._encode_part(part, prefix, found, cancelled)
            after_special = False
        return found

    def pieces(self, text: str, special: bool = True) -> list[Piece]:
        """The tokens with what each stands for, in the order of the text."""
        return [self.piece(number) for number in self.encode(text, special)]

    def piece(self, number: int) -> Piece:
        """What a token stands for."""
        token = self._tokens[number]
        kind = self._types[number] if number < len(self._types) else TokenType.NORMAL
        if kind in _MATCHED:
            stored = token.encode(*_STORED)
        elif kind == TokenType.BYTE and token in _BYTE_NAMES:
            stored = _BYTE_NAMES[token]
        elif self._raw:
            stored = token.replace(_SPACE, " ").encode(*_STORED)
        else:
            stored = b"".join(
                bytes([_BYTES[letter]]) if letter in _BYTES else letter.encode(*_STORED)
                for letter in token
            )
        return Piece(number, stored.decode("utf-8", "replace"), stored, int(kind))

    def _make_merging(self, vocabulary: Vocabulary) -> None:
        import regex

        split, known = split_for(vocabulary.model, vocabulary.pre)
        if not known:
            self._doubt(tr("how {name!r} cuts a text is not known", name=vocabulary.pre[:40]))
        self._raw = split.raw
        self._whole_words = split.whole_words
        self._patterns = tuple(regex.compile(pattern) for pattern in split.patterns)
        for rank, merge in enumerate(vocabulary.merges):
            place = merge.find(" ", 1)
            if place > 0:
                self._ranks.setdefault((merge[:place], merge[place + 1 :]), rank)
        self._parts = self._parts_pattern(vocabulary.tokens) if split.raw else None

    def _doubt(self, why: str) -> None:
        self.exact, self.doubt = False, why

    @staticmethod
    def _parts_pattern(tokens: Sequence[str]) -> Any:
        """Where no token runs over the start of a word, words can be merged one by one: the result
        is the same, and their tokens can be kept. None where one does."""
        import regex

        if any(_SPACE in token.lstrip(_SPACE) for token in tokens if not token.startswith("<")):
            return None
        return regex.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")

    def _partition(
        self, text: str, special: bool, cancelled: Callable[[], bool]
    ) -> Iterator[str | int]:
        parts: list[str | int] = [text] if text else []
        # A file may call every token a special one; that they begin alike saves most of the search.
        heads: dict[str, bool] = {}
        for number in self._special:
            token = self._tokens[number]
            if not special and self._types[number] != TokenType.USER_DEFINED:
                continue
            head = token[:_HEAD]
            if head not in heads:
                heads[head] = head in text
            if not heads[head]:
                continue
            if cancelled():
                raise _stopped()
            if token not in text:
                continue
            cut: list[str | int] = []
            for part in parts:
                if isinstance(part, int) or token not in part:
                    cut.append(part)
                    continue
                pieces = part.split(token)
                for place, piece in enumerate(pieces):
                    if place:
                        cut.append(number)
                    if piece:
                        cut.append(piece)
            parts = cut
        yield from parts

    def _encode_part(
        self, part: str, prefix: bool, found: list[int], cancelled: Callable[[], bool]
    ) -> None:
        if self._raw:
            part = part.replace(" ", _SPACE)
            if prefix:
                part = _SPACE + part
        for count, word in enumerate(self._words(part)):
            if count % _CHUNK == 0 and cancelled():
                raise _stopped()
            if len(word) > _LONGEST_WORD:
                raise VocabularyError(
                    Problem(
                        "long-word",
                        tr(
                            "{count:,} characters stand together without a place to cut them.",
                            count=len(word),
                        ),
                        Severity.NOTE,
                    )
                )
            found += self._word(word)

    def _words(self, part: str) -> Iterator[str]:
        words: Iterator[str] = iter((part,))
        for pattern in self._patterns:
            words = _cut(words, pattern)
        if self._parts is not None:
            words = _cut(words, self._parts)
        return words

    def _word(self, word: str) -> tuple[int, ...]:
        known = self._cache.get(word)
        if known is None:
            known = tuple(self._merge(word))
            if len(word) <= _LONGEST_CACHED and len(self._cache) < _CACHED:
                self._cache[word] = known
        return known

    def _merge(self, word: str) -> list[int]:
        if self._sentence:
            return self._ids_of(merged(word, self._score))
        if not self._raw:
            word = "".join(map(_LETTERS.__getitem__, word.encode(*_STORED)))
        whole = self._whole_words or (self._raw and not word.strip("\n"))
        if whole and word in self._ids:
            return [self._ids[word]]
        return self._ids_of(merged(word, lambda left, right: self._ranks.get((left, right))))

    def _score(self, left: str, right: str) -> float | None:
        number = self._ids.get(left + right)
        if number is None:
            return None
        return -self._scores[number] if number < len(self._scores) else 0.0

    def _ids_of(self, symbols: Sequence[str]) -> list[int]:
        found: list[int] = []
        for symbol in symbols:
            number = self._ids.get(symbol)
            if number is not None:
                found.append(number)
                continue
            # A byte letter that is no token is lost in the engine too, unless it is plain ASCII.
            for byte in symbol.encode(*_STORED):
                name = f"<0x{byte:02X}>" if self._raw else chr(byte) if byte < 128 else ""
                if name in self._ids:
                    found.append(self._ids[name])
        return found


def _stopped() -> VocabularyError:
    return VocabularyError(Problem("cancelled", tr("Counting was stopped."), Severity.NOTE))


class Start(NamedTuple):
    """How two requests begin alike: the characters and the tokens that both share, and the tokens
    of each. What follows the shared tokens of the second is read again by an engine that keeps
    a prefix."""

    characters: int
    tokens: int
    first: int
    second: int


def common_start(
    first: str, second: str, tokenizer: Tokenizer, cancelled: Callable[[], bool] = lambda: False
) -> Start:
    """Where a request begins to differ from the one before it. Raises VocabularyError as
    `Tokenizer.encode` does."""
    one, two = (tokenizer.encode(text, cancelled=cancelled) for text in (first, second))
    return Start(_same(first, second), _same(one, two), len(one), len(two))


def _same(first: Sequence[object], second: Sequence[object]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(first), len(second)))


# Bytes that are no UTF-8 were read by surrogateescape and are written back as they were.
_STORED = ("utf-8", "surrogateescape")


def _cut(parts: Iterator[str], pattern: Any) -> Iterator[str]:
    """Matches of a pattern and what lies between them."""
    for part in parts:
        end = 0
        for match in pattern.finditer(part):
            start, stop = match.span()
            if start > end:
                yield part[end:start]
            if stop > start:
                yield part[start:stop]
            end = stop
        if end < len(part):
            yield part[end:]
