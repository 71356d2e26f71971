"""Traffic recorded from llama.cpp's server gives the figures that its timings and its counts say.

The counts of events are those of the recordings' own notes; times are those of their chunks.
"""

from __future__ import annotations

import pytest

from core.measure import metrics
from core.measure.recorder import refusal
from core.measure.run import TokenSource
from tests.support.wire import play_recording, recorder_for, recordings

STREAMS = [
    ("b10434/chat_stream_usage", 24),
    ("b10434/completion_stream_timings", 24),
    ("b10434/v1_completions_stream", 8),
    ("b11549/chat_stream_usage", 12),
    ("b11549/completion_stream_timings", 12),
]


@pytest.mark.parametrize(("name", "tokens"), STREAMS)
def test_the_clients_rate_agrees_with_the_servers_within_three_per_cent(
    name: str, tokens: int
) -> None:
    sample = play_recording(name)
    assert sample.sound
    assert (sample.tokens, sample.token_source) == (tokens, TokenSource.TIMINGS)
    ours, theirs = metrics.decode_rate(sample), metrics.server_decode_rate(sample)
    assert ours is not None
    assert theirs is not None
    assert ours == pytest.approx(theirs, rel=0.03)


def test_tokens_are_counted_by_the_server_where_characters_are_held_back() -> None:
    sample = play_recording("tiny/chat_stream_64tok_utf8_holdback")
    assert (sample.tokens, len(sample.arrivals_ns)) == (64, 58)


def test_thinking_counts_for_the_first_token_and_its_tags_are_tokens_without_text() -> None:
    sample = play_recording("b10434/chat_stream_reasoning")
    assert (sample.tokens, len(sample.arrivals_ns)) == (24, 18)
    first = metrics.ttft(sample)
    answer = metrics.first_answer(sample)
    assert first is not None
    assert answer is None or answer >= first


def test_an_event_of_progress_is_no_token_although_it_names_one() -> None:
    name = "b10434/completion_stream_progress"
    sample = play_recording(name)
    assert len(sample.arrivals_ns) == 8
    first_text = next(at for at, data in recordings()[name].chunks if b'"content":"The"' in data)
    assert sample.arrivals_ns[0] == first_text * 1000
    assert sample.first_byte_ns == recordings()[name].chunks[0][0] * 1000
    assert sample.counts == tuple(range(1, 9))
    assert (sample.prompt_tokens, sample.cached_tokens) == (1501, 0)


def test_counts_along_the_way_give_the_rate_where_the_first_event_brings_several_tokens() -> None:
    sample = play_recording("tiny/completion_stream_tokens_timings")
    assert len(sample.counts) == len(sample.arrivals_ns)
    assert sample.counts[:4] == (1, 4, 5, 6)
    passed = (sample.arrivals_ns[-1] - sample.arrivals_ns[0]) / 1e9
    assert metrics.tpot(sample) == passed / (sample.counts[-1] - 1)


def test_bursts_of_speculation_are_steps_of_the_engine() -> None:
    """Nine events within 0.3 ms, then 100 ms nothing: the median gap would be 0.035 ms."""
    sample = play_recording("b10434/completion_stream_speculative_ngram")
    assert [count for _, count in metrics.bursts(sample)] == [1, 9, 9, 9, 9, 9, 2]
    assert metrics.gaps(sample)[1] == pytest.approx(0.097157, abs=1e-6)
    assert metrics.drafted(sample) == (41, 41)
    # 48 tokens, 41 of them from the draft and the first from the prompt: 6 passes in 558.384 ms.
    assert metrics.step_rate(sample) == pytest.approx(6 / 0.558384, rel=1e-9)
    assert metrics.server_decode_rate(sample) == pytest.approx(47 / 0.558384, rel=1e-9)


def test_a_text_that_ends_at_once_has_no_token_that_could_be_timed() -> None:
    sample = play_recording("b10434/chat_stream_early_eos")
    assert (sample.tokens, sample.finish, sample.arrivals_ns) == (1, "stop", ())
    assert metrics.decode_rate(sample) is None


def test_an_answer_that_filled_the_context_says_so() -> None:
    recording = recordings()["b10434/gen_truncated_at_ctx"]
    piece = recorder_for("completion_x")._read(recording.json())
    assert piece.summary is not None
    assert (piece.summary.truncated, piece.summary.tokens) == (True, 10)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("b10434/err_401_no_key", "needs_key", "wants a key"),
        ("b10434/err_503_loading_health", "loading", "Loading model"),
        ("b10434/err_context_overflow", "beyond_context", "5001 tokens"),
        ("b11549/err_context_overflow", "beyond_context", "tokens"),
        ("b10434/err_501_metrics_disabled", "refused", "--metrics"),
    ],
)
def test_a_refusal_is_a_sentence_with_what_to_do(name: str, code: str, said: str) -> None:
    recording = recordings()[name]
    problem = refusal(recording.status, recording.body)
    assert problem.code == code
    assert said in problem.message
    assert problem.advice
