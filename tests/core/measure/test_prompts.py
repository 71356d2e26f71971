"""Prompts: exact, fresh, and the longer one begins with the shorter one."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.measure.prompts import COMMON_WORDS, IdPrompts, TextPrompts, words_in

IDS = tuple(range(100, 400))
DEPTHS = st.integers(0, 3000)


@given(DEPTHS, st.sampled_from([(), (1,), (1, 2)]))
def test_ids_are_as_many_as_the_depth_and_begin_as_a_text_begins(
    depth: int, prefix: tuple[int, ...]
) -> None:
    prompt = IdPrompts("seed", prefix, IDS).prompt(depth, "tag")
    assert len(prompt.ids) == prompt.tokens == max(1, depth)
    assert prompt.ids[: len(prefix)] == prefix[: len(prompt.ids)]
    assert set(prompt.ids[len(prefix) :]) <= set(IDS)


@given(st.integers(1, 1000), st.integers(0, 1000))
def test_a_longer_prompt_of_a_tag_begins_with_the_shorter_one(short: int, more: int) -> None:
    ids = IdPrompts("seed", (1,), IDS)
    assert ids.prompt(short + more, "t").ids[:short] == ids.prompt(short, "t").ids
    text = TextPrompts("seed", COMMON_WORDS)
    assert text.prompt(short + more, "t").text.startswith(text.prompt(short, "t").text)


def test_prompts_of_other_tags_and_other_runs_differ_from_their_first_words() -> None:
    prompts: set[object] = set()
    for seed, tag in product("123", "ab"):
        prompts.add(IdPrompts(seed, (), IDS).prompt(64, tag).ids[:8])
        prompts.add(TextPrompts(seed, COMMON_WORDS).prompt(64, tag).text[:40])
    assert len(prompts) == 12


@pytest.mark.parametrize("more", [-1, 0, 1, 9])
def test_words_are_corrected_by_what_the_server_counts(more: int) -> None:
    """A server counts so many tokens more than there are words: the second prompt is exact."""
    prompts = TextPrompts("seed", COMMON_WORDS)
    first = prompts.prompt(500, "a")
    counted = first.text.count(" ") + more
    assert prompts.learn(first, counted) is (counted != 500)
    second = prompts.prompt(500, "b")
    assert second.text.count(" ") + more == 500
    assert not prompts.learn(second, 500)


def test_no_prompt_repeats_a_word_thirty_times_in_a_row() -> None:
    """Ollama gives up after thirty equal pieces."""
    words = TextPrompts("seed", COMMON_WORDS).prompt(20_000, "t").text.split()
    longest = run = 1
    for a, b in pairwise(words):
        run = run + 1 if a == b else 1
        longest = max(longest, run)
    assert longest < 10


def test_whole_words_are_found_in_both_ways_of_writing_a_space() -> None:
    words = [f"word{chr(97 + n)}" for n in range(20)]
    vocabulary = [f"▁{w}" for w in words[:10]] + [f"Ġ{w}" for w in words[10:]]
    odd = ["▁ab", "▁Word", "word", "▁w0rd", "Ġlongerthaneight", "<s>"]
    assert words_in(vocabulary + odd) == tuple(words)
    assert words_in(vocabulary[:5]) == ()


def test_the_words_kept_here_are_plain_and_many() -> None:
    assert len(set(COMMON_WORDS)) == len(COMMON_WORDS) > 250
    assert all(word.isalpha() and word.islower() for word in COMMON_WORDS)
