"""The tokens of a text are those that llama.cpp's own server makes of it.

The answers were recorded by ``tests/support/record_tokens.py``; ``tests/live`` asks a server anew.
"""

from __future__ import annotations

import pytest

from core.tokens import Tokenizer, Vocabulary
from core.tokens.splitting import SPLITS
from tests.support.record_tokens import recorded
from tests.support.vocabularies import TEXTS, Made


def tokenizer(made: Made) -> Tokenizer:
    return Tokenizer(
        Vocabulary(made.model, made.pre, made.tokens, made.types, made.scores, made.merges)
    )


@pytest.mark.parametrize("name", [*SPLITS, "llama", "llama, words joined"])
def test_every_text_has_the_engine_s_tokens(name: str) -> None:
    made, answers = recorded()[name]
    cutter = tokenizer(made)
    assert cutter.exact
    for text, ids in zip(TEXTS, answers, strict=True):
        assert cutter.encode(text) == ids, text


@pytest.mark.parametrize("name", ["qwen2", "gemma4", "llama"])
def test_the_pieces_of_a_text_are_the_text(name: str) -> None:
    cutter = tokenizer(recorded()[name][0])
    for text in TEXTS:
        pieces = cutter.pieces(text, special=False)
        whole = b"".join(piece.bytes for piece in pieces).decode()
        # SentencePiece writes a space before the first word, and "▁" is a space to it.
        if name == "llama":
            whole = whole.removeprefix(" ")
        if name != "qwen2":
            text = text.replace("▁", " ")
        assert whole == text


def test_special_tokens_are_found_where_a_server_finds_them() -> None:
    made = recorded()["qwen2"][0]
    cutter = tokenizer(made)
    (start,) = (n for n, token in enumerate(made.tokens) if token == "<|start|>")
    assert cutter.encode("<|start|>")[0] == start
    assert start not in cutter.encode("<|start|>", special=False)
    assert cutter.piece(start).bytes == b"<|start|>"
