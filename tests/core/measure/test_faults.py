"""Whatever a server does wrong is a sentence, and no finished cell is lost.

Requests for text are numbered: 0 is the first, discarded one; a cell with one cold request, one
warm-up and six runs has eight, so that the first one has 1 to 8 and the second 9 to 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from time import monotonic

import pytest

from core.measure import metrics, sweep, waiting
from core.measure.control import Control
from core.measure.events import Event, Progress, SampleDone
from core.measure.run import Cell, Run, RunStatus, SampleKind, ServerKind
from tests.support.played_servers import (
    Fault,
    Played,
    llama_end,
    ollama_end,
    openai_end,
    playing,
)
from tests.support.replay import (
    END,
    HEAD_STREAM,
    Act,
    Asked,
    Break,
    Pause,
    answer,
    chunk,
    event,
    line,
)
from tests.support.sweeps import PLAN, swept

TWO = replace(PLAN, depths=(64, 128))
SECOND_RUN = 12  # the second measured request of the second cell


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for what will not come."""
    monkeypatch.setattr(waiting, "GONE_SECONDS", 0.3)
    monkeypatch.setattr(waiting, "IDLE_SECONDS", 0.3)


def token(count: int) -> bytes:
    return event({"content": "x", "tokens_predicted": count, "stop": False})


def whole(asked: Asked, cached: int | None = None, **changes: object) -> Iterable[Act]:
    """A sound answer but for these changes of its last event."""
    n, prompt = asked.body["n_predict"], len(asked.body["prompt"])
    yield HEAD_STREAM
    for number in range(n):
        yield Pause(0.001)
        yield token(number + 1)
    yield event(llama_end("m", prompt, prompt - 1 if cached is None else cached, n) | changes)
    yield END


def begun(*acts: Act) -> Fault:
    """Two tokens, then this."""
    return lambda asked: [HEAD_STREAM, token(1), Pause(0.001), token(2), *acts]


def instead(*acts: Act) -> Fault:
    """Only this."""
    return lambda asked: acts


def first_is_safe(run: Run) -> None:
    """The first cell is whole and sound."""
    first = run.cells[0]
    assert first.finished
    assert len(first.measured) == 6
    assert metrics.exact_depth(first) == 64


def problem_codes(cell: Cell) -> list[str]:
    return [problem.code for sample in cell.samples for problem in sample.problems]


def test_a_server_that_dies_in_the_middle_ends_the_run_and_keeps_what_was_finished() -> None:
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, target):

        def die(asked: Asked) -> Iterator[Act]:
            yield HEAD_STREAM
            yield token(1)
            yield token(2)
            server.die()
            yield Break()

        played.faults[SECOND_RUN] = die
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.FAILED
    first_is_safe(run)
    (problem,) = run.problems
    assert problem.code == "server_gone"
    assert "The server has ended." in problem.message
    assert "resume" in problem.advice
    partial = run.cells[1]
    assert not partial.finished
    assert len(partial.measured) == 1
    assert partial.samples[-1].tokens == 2


def test_a_server_that_was_never_there_is_a_failed_run() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        server.die()
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.FAILED
    assert [problem.code for problem in run.problems] == ["server_gone"]


@pytest.mark.parametrize(
    "fault",
    [
        begun(Break()),
        begun(),
        begun(END),
        begun(event({"error": {"code": 500, "message": "CUDA error: out of memory"}})),
        begun(chunk(b"data: {not json}\n\n"), END),
        begun(chunk(b"zz\n"), chunk(b'data: {"half')),
        begun(b"what is this?\r\n"),
        instead(b"SSH-2.0-OpenSSH\r\n"),
        instead(HEAD_STREAM, END),
        instead(),
    ],
    ids=[
        *("reset", "closed", "ended early", "error in the stream", "no JSON", "half a line"),
        *("broken chunk", "no HTTP", "nothing in it", "nothing at all"),
    ],
)
def test_an_answer_that_goes_wrong_once_is_asked_for_again(fault: Fault) -> None:
    with playing(ServerKind.LLAMA_SERVER, Played(faults={SECOND_RUN: fault})) as (_, target):
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.DONE
    first_is_safe(run)
    second = run.cells[1]
    assert second.finished
    assert len(second.measured) == 6
    assert len(problem_codes(second)) == 1
    # What came before the fault is kept, and a warm-up comes before the next that counts.
    assert [sample.kind.value for sample in second.samples] == [
        *("cold", "warm_up", "run", "run", "warm_up", "run", "run", "run", "run", "run")
    ]


def test_an_answer_that_always_goes_wrong_gives_up_its_cell_and_no_other() -> None:
    fault = begun(event({"error": {"message": "out of memory"}}))
    faults = dict.fromkeys((3, 5, 7), fault)
    # A warm-up comes after each failure, so that three in a row are these.
    faults = dict.fromkeys(range(3, 6), fault)
    with playing(ServerKind.LLAMA_SERVER, Played(faults=faults)) as (_, target):
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.DONE
    bad, good = run.cells
    assert not bad.finished
    assert [problem.code for problem in bad.problems] == ["server_error"]
    assert "out of memory" in bad.problems[0].message
    assert good.finished


def test_a_server_that_loads_is_waited_for() -> None:
    loading = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    played = Played(states=[(503, loading), (503, loading)])
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, said = swept(target, replace(PLAN, depths=(64,)))
    assert run.status is RunStatus.DONE
    assert "waiting" in [each.phase for each in said if isinstance(each, Progress)]


def test_a_server_that_unloads_between_two_requests_is_waited_for() -> None:
    loading = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    played = Played(faults={SECOND_RUN: instead(answer(loading, 503))})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.DONE
    assert problem_codes(run.cells[1]) == ["loading"]


def test_a_server_that_wants_a_key_ends_the_run_with_a_sentence() -> None:
    wrong = {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}
    played = Played(faults={SECOND_RUN: instead(answer(wrong, 401))})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.FAILED
    first_is_safe(run)
    assert [problem.code for problem in run.problems] == ["needs_key"]


def test_a_depth_beyond_a_context_that_nobody_told_gives_up_its_cell() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played(context=300)) as (_, target):
        run, _ = swept(replace(target, context=None), replace(PLAN, depths=(32, 400)))
    assert run.status is RunStatus.DONE
    assert run.cells[0].finished
    assert [problem.code for problem in run.cells[1].problems] == ["beyond_context"]


def test_a_refused_depth_leaves_the_smaller_ones_finished() -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "message": "5001 tokens, 4096"}
    played = Played(faults={9: instead(answer({"error": error}, 400))})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, TWO)
    assert run.status is RunStatus.DONE
    first_is_safe(run)
    assert [problem.code for problem in run.cells[1].problems] == ["beyond_context"]
    assert "5001 tokens" in run.cells[1].problems[0].message


def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    played = Played(faults={SECOND_RUN: begun(Pause(300))})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        begin = monotonic()
        run, _ = swept(target, replace(TWO, stall_seconds=0.3))
    assert monotonic() - begin < 60
    assert run.status is RunStatus.DONE
    assert problem_codes(run.cells[1]) == ["stall"]
    assert len(run.cells[1].measured) == 6


def test_an_answer_cut_off_at_the_end_of_the_context_gives_up_its_cell() -> None:
    played = Played(faults={SECOND_RUN: lambda asked: whole(asked, truncated=True)})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, TWO)
    first_is_safe(run)
    assert [problem.code for problem in run.cells[1].problems] == ["context_full"]
    assert not run.cells[1].finished


def test_an_answer_that_ends_early_for_length_means_that_the_context_is_full() -> None:
    """The OpenAI kind says "length" for both; only the count tells them apart."""
    played = Played()

    def short(asked: Asked) -> Iterable[Act]:
        prompt = len(asked.body["prompt"].split()) + 1
        parts = [event({"choices": [{"text": "x"}]})] * 3
        end = openai_end("m", prompt, 3)
        return [HEAD_STREAM, *parts, event(end), event("[DONE]"), END]

    played.faults = dict.fromkeys(range(11, 15), short)
    with playing(ServerKind.LM_STUDIO, played) as (_, target):
        run, _ = swept(target, TWO)
    codes = [problem.code for cell in run.cells for problem in cell.problems]
    assert "context_full" in codes


def test_a_text_that_ends_by_itself_is_tried_with_other_words() -> None:
    played = Played()

    def stops(asked: Asked) -> Iterable[Act]:
        prompt = len(asked.body["prompt"].split()) + 1
        end = ollama_end("m", prompt, prompt - 1, 2, 0) | {"done_reason": "stop"}
        parts: list[Act] = [line({"response": "x", "done": False}), Pause(0.001)] * 2
        return [HEAD_STREAM, *parts, line(end), END]

    with playing(ServerKind.OLLAMA, played) as (server, target):
        plain, _ = swept(target, replace(PLAN, depths=(64,)))
        number = played.count + len(plain.cells[0].samples) - 2  # a measured one of the next run
        played.faults = {number: stops}
        run, _ = swept(target, replace(PLAN, depths=(64,)))
        prompts = {body["prompt"] for body in server.bodies("/api/generate")}
    (cell,) = run.cells
    assert problem_codes(cell) == ["early_end"]
    assert cell.finished
    assert len(cell.measured) == 6
    assert len({prompt for prompt in prompts if len(prompt.split()) == 63}) >= 3


def test_another_model_than_the_one_that_was_asked_for_is_told_once() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played(model="other.gguf")) as (_, target):
        run, _ = swept(replace(target, model="wanted"), replace(PLAN, depths=(64,)))
    assert run.status is RunStatus.DONE
    (problem,) = run.problems
    assert problem.code == "other_model"
    assert problem.message == "other.gguf answered, although wanted was asked for."


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/models/a.gguf", "a.gguf", True),
        ("C:\\models\\A.gguf", "a", True),
        ("qwen3:latest", "qwen3", True),
        ("qwen3:14b", "qwen3:4b", False),
    ],
)
def test_a_models_name_may_be_written_in_several_ways(one: str, other: str, same: bool) -> None:
    assert sweep._same_name(one, other) is same


def test_a_model_that_had_been_unloaded_does_not_count_for_its_first_request() -> None:
    """Keep-alive ran out: load_duration is 19 s."""
    played = Played()

    def reloaded(asked: Asked) -> Iterable[Act]:
        n, prompt = asked.body["options"]["num_predict"], len(asked.body["prompt"].split()) + 1
        parts: list[Act] = [line({"response": "x", "done": False}), Pause(0.001)] * n
        return [HEAD_STREAM, *parts, line(ollama_end("m", prompt, 0, n, 19 * 10**9)), END]

    with playing(ServerKind.OLLAMA, played) as (_, target):
        plain, _ = swept(target, replace(PLAN, depths=(64,)))
        played.faults = {played.count + len(plain.cells[0].samples) - 2: reloaded}
        run, _ = swept(target, replace(PLAN, depths=(64,)))
    (cell,) = run.cells
    assert problem_codes(cell) == ["reloaded"]
    assert len(cell.measured) == 6


def test_another_client_is_waited_for_and_told_where_it_does_not_end() -> None:
    played = Played(busy=[False, False, True, True])
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)))
    assert problem_codes(run.cells[0]) == []
    played = Played(busy=[False] * 3 + [True] * 60)
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,), warm_ups=0))
    assert "busy" in problem_codes(run.cells[0])
    assert run.cells[0].finished


def test_another_client_that_came_while_a_request_ran_is_seen_at_its_end() -> None:
    """The server was idle before the first measured request, and works on when it has ended."""
    played = Played(busy=[False] * 4 + [True, True])
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)))
    (cell,) = run.cells
    marked = [any(p.code == "busy" for p in s.problems) for s in cell.measured]
    assert marked == [True] + [False] * 5
    (said,) = [p for p in cell.problems if p.code == "busy"]
    assert "during 1 of 6 requests" in said.message
    # A slot that takes a moment to be let go of is no other client.
    played = Played(busy=[False] * 4 + [True, False])
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)))
    assert problem_codes(run.cells[0]) == []


def test_a_slot_that_another_client_used_in_between_is_seen_by_its_cache() -> None:
    played = Played(faults={SECOND_RUN: lambda asked: whole(asked, cached=1)})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, TWO)
    second = run.cells[1]
    assert problem_codes(second) == ["read_again"]
    assert len(second.measured) == 6
    assert second.problems == () or second.problems[0].code != "read_again"


def test_a_server_that_cannot_go_back_is_measured_and_told() -> None:
    def reads_all(asked: Asked) -> Iterable[Act]:
        return whole(asked, cached=0)

    played = Played(faults=dict.fromkeys(range(2, 9), reads_all))
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)))
    assert run.cells[0].finished
    assert "read_again" in [problem.code for problem in run.cells[0].problems]


def test_a_request_that_the_computer_slept_through_is_repeated() -> None:
    # The clocks are looked at before and after each request: before and after the probe, the cold
    # one and the warm-up; then 40 s pass during a measured one.
    slept = chain([0.0] * 7, repeat(40.0))
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(64,)), asleep=lambda: next(slept))
    (cell,) = run.cells
    assert problem_codes(cell) == ["slept"]
    assert len(cell.measured) == 6


@pytest.mark.parametrize("kind", [SampleKind.COLD, SampleKind.RUN])
def test_a_cancel_ends_at_once_and_keeps_what_there_is(kind: SampleKind) -> None:
    number = 9 if kind is SampleKind.COLD else SECOND_RUN
    played = Played(faults={number: begun(Pause(300))})
    at: list[float] = []

    def watch(said: Event, control: Control) -> None:
        if isinstance(said, Progress) and said.tokens == 2 and said.depth == 128 and not at:
            at.append(monotonic())
            control.cancel()

    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        run, said = swept(target, TWO, watch=watch)
        assert monotonic() - at[0] < 30
    assert run.status is RunStatus.STOPPED
    assert run.problems == ()
    first_is_safe(run)
    last = [each for each in said if isinstance(each, SampleDone)][-1].sample
    assert (last.kind, last.tokens) == (kind, 2)
    assert [problem.code for problem in last.problems] == ["stopped"]


def test_a_prompt_that_was_cut_without_a_word_is_no_measurement_of_its_depth() -> None:
    """Report A05: 4,095 of 8,942 tokens were read."""
    played = Played(context=20_000)

    def cut(asked: Asked) -> Iterable[Act]:
        parts = [line({"response": "x", "done": False})] * 4
        return [HEAD_STREAM, *parts, line(ollama_end("m", 4095, 0, 4, 0)), END]

    played.faults = {1: cut}
    with playing(ServerKind.OLLAMA, played) as (_, target):
        run, _ = swept(target, replace(PLAN, depths=(8942,)))
    assert [problem.code for problem in run.cells[0].problems] == ["prompt_cut"]
    assert "4,095 of 8,942" in run.cells[0].problems[0].message
