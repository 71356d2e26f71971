"""Words of a file's own vocabulary, for servers that take text and count its tokens."""

from __future__ import annotations

from core.gguf import PageError, read_page
from core.gguf.header import Array, Header
from core.measure.prompts import words_in

_TOKENS = "tokenizer.ggml.tokens"
_PAGE = 8192
ENOUGH = 2000


def words_of(header: Header) -> tuple[str, ...]:
    """Words that are one token each in this vocabulary, some two thousand at most; empty where the
    file has none or does not give them any more."""
    tokens = header.metadata.get(_TOKENS)
    if not isinstance(tokens, Array):
        return ()
    found: list[str] = []
    try:
        for start in range(0, tokens.count, _PAGE):
            page = read_page(header, tokens, start, min(start + _PAGE, tokens.count))
            found += [token for token in page if isinstance(token, str)]
            if len(words_in(found)) >= ENOUGH:
                break
    except (PageError, OSError):
        pass
    return words_in(found)[:ENOUGH]
