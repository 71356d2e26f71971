"""Streams of Ollama, LM Studio and vLLM on a written schedule: every figure to the microsecond.

The streams are built by hand after the servers' sources and documentation (Ollama 2026-08,
LM Studio 2026-04, vLLM 2026-10); the clock is the script's own.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.measure import metrics
from core.measure.checks import checked
from core.measure.dialects import llama_server, ollama, openai
from core.measure.recorder import Recorder
from core.measure.run import Cell, Sample, SampleKind, TokenSource
from tests.support.wire import play

MS = 1000  # microseconds


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)


def sse(values: dict[str, Any] | str) -> bytes:
    return f"data: {values if isinstance(values, str) else json.dumps(values)}\n\n".encode()


def ndjson(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"


def delta(**values: Any) -> bytes:
    return sse({"model": "m", "choices": [{"index": 0, "delta": values, "finish_reason": None}]})


def usage(prompt: int, written: int, **more: Any) -> bytes:
    values = {"prompt_tokens": prompt, "completion_tokens": written, **more}
    return sse({"model": "m", "choices": [], "usage": values})


def test_ollama() -> None:
    """513 tokens of prompt in 912 ms, then 11 tokens 30.5 ms apart."""
    first = 950 * MS
    lines: list[tuple[int, bytes]] = [
        (first + n * 30_500, ndjson({"model": "m", "response": f" w{n}", "done": False}))
        for n in range(11)
    ]
    last = {
        "model": "m",
        "response": "",
        "done": True,
        "done_reason": "length",
        "load_duration": 41_000_000,
        "prompt_eval_count": 513,
        "prompt_eval_duration": 912_000_000,
        "eval_count": 11,
        "eval_duration": 305_000_000,
    }
    lines.append((1_256 * MS, ndjson(last)))
    sample = play(Recorder(ollama.read, lines=True), lines, kind=SampleKind.COLD)
    assert sample.sound
    assert metrics.ttft(sample) == 0.95
    assert metrics.tpot(sample) == pytest.approx(0.0305, abs=1e-9)
    assert metrics.server_decode_rate(sample) == pytest.approx(10 / 0.305, rel=1e-12)
    assert metrics.prefill_rate(sample) == pytest.approx(513 / 0.912, rel=1e-12)
    assert metrics.gaps(sample) == pytest.approx((0.0305,) * 10, abs=1e-9)
    assert (sample.tokens, sample.prompt_tokens, sample.cached_tokens) == (11, 513, None)
    assert (sample.finish, sample.token_source) == ("length", TokenSource.TIMINGS)


def test_ollama_thinks_before_it_answers() -> None:
    """Report B04: the first text of any kind is the first token, the first answer is told apart."""
    lines = [
        (100 * MS, ndjson({"message": {"content": "", "thinking": "Okay"}, "done": False})),
        (400 * MS, ndjson({"message": {"content": "Hi"}, "done": False})),
        (410 * MS, ndjson({"message": {"content": ""}, "done": True, "eval_count": 3})),
    ]
    sample = play(Recorder(ollama.read, lines=True), lines)
    assert (metrics.ttft(sample), metrics.first_answer(sample)) == (0.1, 0.4)


def test_lm_studio() -> None:
    """Text completions with the usage in the last event; no timings of its own."""
    pieces: list[tuple[int, bytes]] = [
        (
            1_088 * MS + n * 12_345,
            sse({"choices": [{"index": 0, "text": f" {n}", "finish_reason": None}]}),
        )
        for n in range(20)
    ]
    end = 1_330 * MS
    pieces += [
        (end, sse({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})),
        (end, usage(2000, 20)),
        (end, sse("[DONE]")),
    ]
    sample = play(Recorder(openai.read, ends_at_done=True), pieces, kind=SampleKind.COLD)
    assert sample.sound
    assert metrics.ttft(sample) == 1.088
    assert metrics.tpot(sample) == pytest.approx(0.012345, abs=1e-9)
    assert metrics.server_decode_rate(sample) is None
    assert metrics.prefill_rate(sample) == pytest.approx(2000 / 1.088, rel=1e-12)
    far = replace(sample, round_trip_ns=88_000_000)
    assert metrics.prefill_rate(far) == pytest.approx(2000, rel=1e-12)
    assert (sample.tokens, sample.token_source) == (20, TokenSource.USAGE)


def test_vllm() -> None:
    """The role comes with the first block of the prompt and is no token; an event may bring
    several tokens, whose ids say how many."""
    pieces = [
        (5 * MS, delta(role="assistant", content="")),
        (200 * MS, _vllm(" one", [1], 1)),
        (240 * MS, _vllm(" two three", [2, 3], 3)),
        (300 * MS, _vllm(" four five six", [4, 5, 6], 6)),
        (301 * MS, sse({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})),
        (301 * MS, usage(35, 6, prompt_tokens_details={"cached_tokens": 16})),
        (301 * MS, sse("[DONE]")),
    ]
    sample = play(Recorder(openai.read, ends_at_done=True), pieces)
    assert sample.sound
    assert metrics.ttft(sample) == 0.2
    assert sample.counts == (1, 3, 6)
    assert metrics.tpot(sample) == pytest.approx(0.1 / 5, abs=1e-12)
    assert metrics.gaps(sample) == pytest.approx((0.04, 0.06), abs=1e-12)
    assert (sample.tokens, sample.prompt_tokens, sample.cached_tokens) == (6, 35, 16)
    assert metrics.uncached(sample) == 19


def _vllm(text: str, ids: list[int], written: int) -> bytes:
    choice = {"index": 0, "text": text, "finish_reason": None, "token_ids": ids}
    counts = {"prompt_tokens": 35, "completion_tokens": written}
    return sse({"model": "m", "choices": [choice], "usage": counts})


def test_chunks_are_not_tokens() -> None:
    """Report B01: 40 chunks with 160 tokens in 4 s are 40 tok/s, never 10."""
    pieces = [(100 * MS * (n + 1), delta(content="abcd")) for n in range(40)]
    timings = {"predicted_n": 160, "predicted_ms": 4000.0}
    last = {
        "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 160},
        "timings": timings,
    }
    pieces += [(4000 * MS, sse(last)), (4000 * MS, sse("[DONE]"))]
    sample = play(Recorder(openai.read, ends_at_done=True), pieces)
    assert (sample.tokens, len(sample.arrivals_ns)) == (160, 40)
    assert sample.token_source is TokenSource.TIMINGS
    assert metrics.best_decode_rate(sample) == pytest.approx(159 / 4, rel=1e-12)
    ours = metrics.decode_rate(sample)
    assert ours is not None
    assert ours == pytest.approx(40, rel=0.03)


def test_where_nobody_counts_the_arrivals_are_a_lower_bound_and_called_so() -> None:
    """Report B01: only chunks are there."""
    pieces = [(100 * MS * (n + 1), delta(content="abcd")) for n in range(40)]
    pieces += [
        (4000 * MS, sse({"choices": [{"delta": {}, "finish_reason": "length"}]})),
        (4000 * MS, sse("[DONE]")),
    ]
    sample = play(Recorder(openai.read, ends_at_done=True), pieces)
    assert (sample.tokens, sample.token_source) == (40, TokenSource.EVENTS)


@pytest.mark.parametrize(
    "kept",
    [
        {"timings": {"prompt_n": 1, "cache_n": 7999, "prompt_ms": 12.0, "predicted_n": 2}},
        {"usage": {"prompt_tokens": 8000, "prompt_tokens_details": {"cached_tokens": 7990}}},
    ],
    ids=["llama-server", "the OpenAI kind"],
)
def test_what_was_in_the_cache_never_counts_as_prefill(kept: dict[str, Any]) -> None:
    """Report B03: 7,999 of 8,000 tokens were kept, so that nothing was read."""
    pieces = [
        (20 * MS, delta(content="a")),
        (30 * MS, delta(content="b")),
        (30 * MS, sse({"choices": [{"delta": {}, "finish_reason": "length"}], **kept})),
        (30 * MS, sse("[DONE]")),
    ]
    sample = play(Recorder(openai.read, ends_at_done=True), pieces, kind=SampleKind.COLD)
    assert metrics.prefill_rate(sample) is None
    told = checked(sample, 8000, 2, exact=True)
    assert [problem.code for problem in told.problems] == ["cached"]
    assert metrics.prefill(Cell(8000, samples=(told,))) is None


def test_ollamas_missing_count_of_a_cached_prompt_is_unknown_and_no_rate() -> None:
    """Report B03: prompt_eval_count is absent where everything was kept."""
    lines = [
        (20 * MS, ndjson({"response": "a", "done": False})),
        (25 * MS, ndjson({"response": "", "done": True, "prompt_eval_duration": 12_000_000})),
    ]
    sample = play(Recorder(ollama.read, lines=True), lines)
    assert sample.prompt_tokens is None
    assert metrics.prefill_rate(sample) is None


def test_text_that_was_held_back_and_came_at_once_gives_way_to_the_servers_times() -> None:
    """Report B04: nothing for 3 s, then 90 tokens in one burst; 150 tokens in 5 s."""
    pieces = [(3000 * MS, b"".join(_piece(n + 1) for n in range(90)))]
    pieces += [(3000 * MS + (n - 89) * 33_333, _piece(n + 1)) for n in range(90, 150)]
    last = {
        "content": "",
        "stop": True,
        "stop_type": "limit",
        "tokens_predicted": 150,
        "tokens_evaluated": 10,
        "timings": {"predicted_n": 150, "predicted_ms": 4966.7},
    }
    pieces.append((5000 * MS, sse(last)))
    sample = play(Recorder(llama_server.read), pieces)
    assert sample.tokens == 150
    assert metrics.best_decode_rate(sample) == pytest.approx(30, rel=1e-4)
    assert metrics.shared_reads(sample) == pytest.approx(89 / 149)
    ours = metrics.decode_rate(sample)
    assert ours is not None
    assert ours > 2 * 30  # the stamps alone would flatter it
    cell = Cell(10, samples=(sample,) * 6)
    off = metrics.disagreement(cell)
    assert off is not None
    assert off > metrics.DELIVERY


def _piece(count: int) -> bytes:
    return sse({"content": "x", "tokens_predicted": count, "stop": False})


def test_a_request_that_loaded_the_model_does_not_count_and_the_median_is_that_of_the_others() -> (
    None
):
    """Report B05: 81 tok/s, whatever the first request with its load of 19 s took."""
    rates = (82.5, 79.4, 81.0, 80.2, 81.6, 80.8, 82.0)

    def sample(rate: float, load: float) -> Sample:
        timings = {
            "load_duration": int(load * 1e9),
            "eval_count": 64,
            "eval_duration": round(63 / rate * 1e9),
        }
        raw = Sample(
            SampleKind.RUN,
            0,
            tuple(int((20 + n / rate) * 1e9) for n in range(64)),
            tokens=64,
            finish="length",
            server_timings=timings,
        )
        return checked(raw, 0, 64, exact=False)

    samples = [sample(rate, 19.0 if n == 0 else 0.04) for n, rate in enumerate(rates)]
    assert [problem.code for problem in samples[0].problems] == ["reloaded"]
    cell = Cell(0, samples=tuple(samples))
    decode = metrics.server_decode(cell)
    assert decode is not None
    assert decode.n == 6
    assert decode.median == pytest.approx(80.9, rel=1e-6)
    assert decode.low == pytest.approx(79.4, rel=1e-6)
    assert decode.high == pytest.approx(82.0, rel=1e-6)


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ([(10, sse({"error": {"message": "out of memory"}}))], "server_error"),
        ([(10, b'event: error\ndata: {"message":"boom"}\n\n')], "server_error"),
        ([(10, delta(content="a")), (20, b"data: {half\n\n"), (30, sse("[DONE]"))], "garbage"),
        ([(10, delta(content="a")), (20, b'data: {"choi')], "cut_off"),
        ([(10, delta(content="a"))], "cut_off"),
        ([(10, b"data: 5\n\n"), (11, sse("[DONE]"))], "garbage"),
        ([], "cut_off"),
    ],
    ids=["error", "named error", "no JSON", "half an event", "no end", "a number", "nothing"],
)
def test_a_stream_that_goes_wrong_is_told_and_its_figures_are_not_used(
    pieces: list[tuple[int, bytes]], code: str
) -> None:
    sample = play(Recorder(openai.read, ends_at_done=True), pieces)
    assert not sample.sound
    assert sample.problems[0].code == code
    assert sample.problems[0].message.endswith(".") or "gave up" in sample.problems[0].message


def test_a_stream_without_its_last_word_is_whole_where_it_said_why_it_ended() -> None:
    """Some servers leave [DONE] out."""
    end = sse({"choices": [{"delta": {}, "finish_reason": "length"}]})
    sample = play(Recorder(openai.read, ends_at_done=True), [(10, delta(content="a")), (20, end)])
    assert sample.sound


@given(
    st.lists(st.binary(max_size=200), max_size=8),
    st.sampled_from([llama_server.read, ollama.read, openai.read]),
    st.booleans(),
)
def test_any_bytes_make_a_sample_and_raise_nothing(
    parts: list[bytes], read: Any, lines: bool
) -> None:
    recorder = Recorder(read, lines=lines, ends_at_done=not lines)
    sample = play(recorder, list(enumerate(parts)))
    assert recorder.done
    assert metrics.decode_rate(sample) is None or sample.arrivals_ns


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), _nested))
def test_events_of_any_shape_make_a_sample_and_raise_nothing(values: Any) -> None:
    names = ("choices", "usage", "timings", "error", "stop", "content", "message", "done", "delta")
    for read in (llama_server.read, ollama.read, openai.read):
        for name in names:
            read({name: values})
            read({name: [values], "stop": True, "done": True})
