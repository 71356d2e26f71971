"""A running llama.cpp server cuts texts into the tokens that we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gguf import open_file
from core.tokens import Tokenizer, read_vocabulary
from tests.support.llama_server import llama_server
from tests.support.record_tokens import ask, engine_tokens, vocabularies
from tests.support.vocabularies import TEXTS

pytestmark = pytest.mark.live


@pytest.mark.parametrize("name", ["qwen35", "llama-bpe", "gpt-4o", "gemma4", "llama"])
def test_the_server_makes_the_same_tokens_of_a_file(tmp_path: Path, name: str) -> None:
    ids = engine_tokens(vocabularies()[name], tmp_path)
    cutter = Tokenizer(read_vocabulary(open_file(tmp_path / "tiny.gguf").header))
    assert [cutter.encode(text) for text in TEXTS] == ids


@pytest.mark.download
@pytest.mark.parametrize("name", ["gemma3_270m", "smollm2_135m"])
def test_real_vocabularies_are_cut_as_the_server_cuts_them(
    request: pytest.FixtureRequest, name: str
) -> None:
    """262,144 tokens with scores, and 49,152 with merges."""
    path: Path = request.getfixturevalue(name)
    cutter = Tokenizer(read_vocabulary(open_file(path).header))
    assert cutter.exact
    # SmolLM2 has no token for some bytes: what only they could write is lost, in the engine too.
    rare = "".join(map(chr, (*range(0xA0, 0x3000, 7), *range(0x1F300, 0x1F700, 5))))
    with llama_server(path, n_ctx=512, n_parallel=1, warmup=False) as server:
        wrong = [text for text in (*TEXTS, rare) if cutter.encode(text) != ask(server.url, text)]
    assert wrong == []
