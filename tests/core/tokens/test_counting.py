"""Counting the tokens of a text with the vocabulary of a file, and saying so where it cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import resources
from core.gguf import open_file
from core.provenance import Rank
from core.tokens import (
    Tokenizer,
    Vocabulary,
    VocabularyError,
    common_start,
    counted,
    read_vocabulary,
    tokenizer_of,
)
from tests.support.record_tokens import recorded
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.vocabularies import TEXTS, Made


def written(folder: Path, made: Made) -> Path:
    return write_tiny_llama(folder / "tiny.gguf", tokenizer=made.add_to)


def test_a_file_s_own_vocabulary_counts_exactly(tmp_path: Path) -> None:
    made, answers = recorded()["qwen35"]
    found = counted(tokenizer_of(open_file(written(tmp_path, made)).header), TEXTS[0])
    assert (found.tokens.value, found.exact) == (len(answers[0]), True)
    assert found.tokens.source.rank is Rank.DERIVED


def test_an_unknown_pre_tokenizer_is_an_estimate_that_says_so(tmp_path: Path) -> None:
    made = replace(recorded()["qwen2"][0], pre="brand-new")
    found = counted(tokenizer_of(open_file(written(tmp_path, made)).header), TEXTS[0])
    assert not found.exact
    assert found.tokens.source.rank is Rank.ESTIMATED
    assert "'brand-new'" in found.tokens.note


def test_a_file_without_tokens_is_estimated_at_four_bytes_each() -> None:
    header = open_file(resources.specimens()[0]).header
    found = counted(tokenizer_of(header), "x" * 1001)
    assert (found.tokens.value, found.exact) == (251, False)
    assert "no list of tokens" in found.tokens.note


def test_a_kind_without_a_rule_is_estimated(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="'bert'"):
        Tokenizer(Vocabulary("bert", "", ("[UNK]", "##a")))


def test_odd_vocabularies_are_no_reason_to_fail() -> None:
    odd = Vocabulary("gpt2", "qwen2", ("a", "a", "", "ab"), (9, 3), merges=("", " ", "a", "a b c"))
    cutter = Tokenizer(odd)
    assert not cutter.exact
    assert cutter.encode("ab \udcff\x00") is not None
    assert Tokenizer(Vocabulary("llama", "", ())).encode("text") == []


def test_a_byte_without_a_token_is_lost_as_it_is_in_the_engine() -> None:
    # SmolLM2's vocabulary lacks some bytes; its server returns no token for them.
    cutter = Tokenizer(Vocabulary("gpt2", "gpt-2", ("a", "Ã", "Ä")))
    assert cutter.encode("a") == [0]
    assert cutter.encode("é") == [1]  # C3 A9, of which A9 has no token


def test_counting_can_be_stopped(tmp_path: Path) -> None:
    header = open_file(written(tmp_path, recorded()["qwen2"][0])).header
    with pytest.raises(VocabularyError, match="stopped"):
        tokenizer_of(header, lambda: True)
    cutter = Tokenizer(read_vocabulary(header))
    with pytest.raises(VocabularyError, match="stopped"):
        cutter.encode("text", cancelled=lambda: True)


def test_a_long_word_takes_no_time_that_grows_with_its_square(tmp_path: Path) -> None:
    made = recorded()["llama, words joined"][0]
    cutter = Tokenizer(Vocabulary(made.model, made.pre, made.tokens, made.types, made.scores))
    assert len(cutter.encode("lorem ipsum " * 5_000)) > 5_000


def test_two_requests_are_compared_up_to_their_first_difference() -> None:
    """A01: which token of two captured requests is the first that differs."""
    made = recorded()["qwen2"][0]
    cutter = Tokenizer(Vocabulary(made.model, made.pre, made.tokens, made.types, (), made.merges))
    first = "You are a helper.\nTime: 12:00:01\n" + "tools " * 50
    second = first.replace("12:00:01", "12:00:02")
    start = common_start(first, second, cutter)
    assert first[: start.characters].endswith("12:00:0")
    assert 0 < start.tokens < 40 < start.second
    longer = common_start(first, first + "more", cutter)
    assert longer.characters == len(first)
    assert longer.second > longer.tokens >= longer.first - 1


def test_characters_without_a_place_to_cut_are_estimated_before_they_take_minutes(
    tmp_path: Path,
) -> None:
    made = recorded()["llama, words joined"][0]
    text = "x" * (1 << 20)
    found = counted(tokenizer_of(open_file(written(tmp_path, made)).header), text)
    assert (found.exact, found.tokens.value) == (False, (1 << 20) // 4)
    assert "characters stand together" in found.tokens.note


def test_special_tokens_by_the_hundred_thousand_take_no_minutes_and_can_be_stopped() -> None:
    names = tuple(f"<|s{number}|>" for number in range(200_000))
    tokenizer = Tokenizer(Vocabulary("gpt2", "llama3", ("a", *names), (1, *([3] * len(names)))))
    text = "a" * 300_000
    assert len(tokenizer.encode(text)) == 300_000
    assert tokenizer.encode("a<|s7|>a<|s77|>") == [0, 8, 0, 78]
    looks = 0

    def after_some() -> bool:
        nonlocal looks
        looks += 1
        return looks > 100

    with pytest.raises(VocabularyError) as told:
        tokenizer.encode(text + "<|s", cancelled=after_some)
    assert told.value.problem.code == "cancelled"


def test_a_byte_token_without_a_byte_stands_for_its_name() -> None:
    odd = ("<0xZZ>", "<0x-1>", "<0x 1>", "<0xFF>", "<0x1F600>")
    tokenizer = Tokenizer(Vocabulary("llama", "", odd, (6,) * 5))
    assert [tokenizer.piece(n).bytes for n in range(5)] == [
        *(b"<0xZZ>", b"<0x-1>", b"<0x 1>", b"\xff", b"<0x1F600>")
    ]


def test_comparing_two_requests_can_be_stopped() -> None:
    made = recorded()["qwen2"][0]
    cutter = Tokenizer(Vocabulary(made.model, made.pre, made.tokens, made.types, (), made.merges))
    with pytest.raises(VocabularyError, match="stopped"):
        common_start("one", "two", cutter, lambda: True)
