"""A running llama.cpp server cuts texts into the tokens that we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gguf import open_file
from core.tokens import Tokenizer, read_vocabulary
from tests.support.record_tokens import engine_tokens, vocabularies
from tests.support.vocabularies import TEXTS

pytestmark = pytest.mark.live


@pytest.mark.parametrize("name", ["qwen35", "llama-bpe", "gpt-4o", "gemma4", "llama"])
def test_the_server_makes_the_same_tokens_of_a_file(tmp_path: Path, name: str) -> None:
    ids = engine_tokens(vocabularies()[name], tmp_path)
    cutter = Tokenizer(read_vocabulary(open_file(tmp_path / "tiny.gguf").header))
    assert [cutter.encode(text) for text in TEXTS] == ids
