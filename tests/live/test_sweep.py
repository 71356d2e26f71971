"""A sweep against llama.cpp's own server: exact depths, and rates that agree with its timings."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median

import pytest

from core import command_line
from core.gguf import open_file
from core.machine.detect import detect
from core.measure import metrics
from core.measure.discovery import State, discover, find, match_file
from core.measure.events import CellDone, SampleDone
from core.measure.history import History, history_path
from core.measure.history.own_runs import own_runs
from core.measure.job import Job
from core.measure.metrics import DELIVERY
from core.measure.run import Run, RunPlan, RunStatus, SampleKind, ServerKind, Target
from core.measure.session import Session
from core.model import model_from
from tests.support.llama_server import Server, llama_server
from tests.support.sweeps import swept
from tests.support.tiny_gguf import write_tiny_llama

pytestmark = pytest.mark.live
CONTEXT = 16_640
DEEP = RunPlan((1024, 4096, 16_384), runs=6, tokens=48)
# So late a reader may wake on a computer that is busy with other tests: more than 3 % of the time
# of writing at the lesser depths of so small a model, and less than that at the deepest.
LATE_SECONDS = 0.04


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Server]:
    with llama_server(model, n_ctx=CONTEXT, n_parallel=1) as running:
        yield running


@pytest.fixture
def target(server: Server) -> Target:
    found = find(server.url)
    assert found.state is State.READY
    return found.targets[0]


def test_the_server_tells_what_it_runs(target: Target, server: Server, model: Path) -> None:
    assert target.kind is ServerKind.LLAMA_SERVER
    assert (target.context, target.slots, target.trained_context) == (CONTEXT, 1, 131_072)
    assert target.pid == server.pid
    assert match_file(target, model_from(open_file(model))).same is True
    # The same by what it counts, where its path says nothing.
    apart = replace(target, model_path="")
    assert match_file(apart, model_from(open_file(model))).same is True


def test_it_is_found_by_its_process_although_its_port_is_any(server: Server) -> None:
    found = {each.url: each for each in discover()}
    (target,) = found[server.url].targets
    assert found[server.url].driver == ""
    assert target.pid == server.pid
    assert target.context == CONTEXT


def test_a_sweep_to_16k_is_exact_and_agrees_with_the_servers_timings(target: Target) -> None:
    with Session(Job(Run("live", "", target, DEEP))) as measuring:
        for _ in measuring.events():
            pass
    run = measuring.run
    assert run.status is RunStatus.DONE
    assert [metrics.exact_depth(cell) for cell in run.cells] == [1024, 4096, 16_384]
    for cell in run.cells:
        assert len(cell.measured) == 6
        for sample in cell.measured:
            assert sample.tokens == DEEP.tokens
            assert sample.cached_tokens == cell.depth - 1
        (cold,) = [s for s in cell.samples if s.kind is SampleKind.COLD]
        assert (cold.cached_tokens, cold.prompt_tokens) == (0, cell.depth)
        prefill = metrics.prefill(cell)
        assert prefill is not None
        pairs = [(metrics.tpot(s), metrics.server_decode_rate(s)) for s in cell.measured]
        gaps = DEEP.tokens - 1
        written = [(ours * gaps, gaps / theirs) for ours, theirs in pairs if ours and theirs]
        assert len(written) == 6
        ours, theirs = (median(times) for times in zip(*written, strict=True))
        assert abs(ours - theirs) <= max(DELIVERY * theirs, LATE_SECONDS)
    assert all(metrics.decode(cell) for cell in run.cells)
    assert run.telemetry[-1].server_memory


def test_without_cold_requests_the_deepest_prompt_is_read_once(target: Target) -> None:
    plan = RunPlan((512, 1024, 2048), runs=2, tokens=8, cold=0)
    run, _ = swept(target, plan)
    fills = [s for cell in run.cells for s in cell.samples if s.kind is SampleKind.FILL]
    assert [s.prompt_tokens for s in fills] == [512, 1024, 2048]
    assert [s.cached_tokens for s in fills[1:]] == [512, 1024]


def test_the_least_depth_is_measured_once_more_after_the_deepest(target: Target) -> None:
    """S15: what a long prompt leaves behind shows only then."""
    run, _ = swept(target, RunPlan((64, 512), runs=6, tokens=8, again=3))
    assert run.status is RunStatus.DONE
    least = run.cells[0]
    again = [s for s in least.samples if s.kind is SampleKind.AGAIN]
    assert len(again) == 3
    assert len(least.measured) == 6
    deepest = max(s.started_ns for s in run.cells[1].samples)
    assert all(s.started_ns > deepest for s in again)
    assert all(s.sound and s.prompt_tokens == 64 and s.tokens == 8 for s in again)
    # Its prompt is in the cache again: the time of these runs is that of writing.
    assert all((s.cached_tokens or 0) >= 48 for s in again)


def test_two_at_the_same_time_share_a_server_with_two_slots(model: Path) -> None:
    with llama_server(model, n_ctx=2048, n_parallel=2, kv_unified=False) as two:
        (target,) = find(two.url).targets
        assert (target.slots, target.context) == (2, 1024)
        run, _ = swept(target, RunPlan((256,), runs=2, tokens=16, concurrency=(1, 2)))
    one, both = run.cells
    assert (len(one.measured), len(both.measured)) == (2, 4)
    assert all(s.prompt_tokens == 256 and s.cached_tokens == 255 for s in both.measured)


@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_is_killed_at_any_moment_loses_no_finished_cell(
    model: Path, seed: int
) -> None:
    moment = Random(seed).randrange(1, 16)
    with llama_server(model, n_ctx=2048, n_parallel=1) as doomed:
        (target,) = find(doomed.url).targets
        plan = RunPlan((256, 1024), runs=6, tokens=16)
        finished: list[int] = []
        with Session(Job(Run("killed", "", target, plan), telemetry_seconds=0)) as measuring:
            samples = 0
            for event in measuring.events():
                if isinstance(event, CellDone) and event.cell.finished:
                    finished.append(event.cell.depth)
                if isinstance(event, SampleDone):
                    samples += 1
                    if samples == moment:
                        os.kill(doomed.pid, signal.SIGKILL)
        run = measuring.run
    assert run.status is RunStatus.FAILED
    assert [cell.depth for cell in run.finished_cells] == finished
    assert all(len(cell.measured) == 6 for cell in run.finished_cells)
    assert [problem.code for problem in run.problems] == ["server_gone"]


def test_a_prompt_beyond_the_context_is_turned_down_in_words(target: Target) -> None:
    blind = replace(target, context=None)
    run, _ = swept(blind, RunPlan((256, CONTEXT + 500), runs=2, tokens=8))
    assert run.status is RunStatus.DONE
    good, bad = run.cells
    assert good.finished
    assert [problem.code for problem in bad.problems] == ["beyond_context"]


def test_the_command_line_prints_the_share_of_the_ceiling(
    server: Server,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The server's own file is found by its path; a ceiling needs a bandwidth."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    words = ("measure", server.url, "--depths", "1024", "--tokens", "16", "--json")
    status = command_line.main((*words, "--bandwidth", "20"), lambda files: 9)
    assert status == 0
    # A bandwidth that was typed teaches nothing about this computer.
    history = History(history_path())
    (line,) = [entry.line for entry in history.lines()]
    history.close()
    assert line.hardware[0] == "custom"
    assert own_runs([line], detect()) == ()
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["depth"] == 1024
    steps = cell["server_decode_tok_s"]["median"]
    assert cell["share_of_ceiling"] == pytest.approx(steps / cell["ceiling_tok_s"], rel=1e-6)
    assert 0 < cell["share_of_ceiling"] < 1


@pytest.mark.download
def test_a_real_model_agrees_with_its_servers_timings(gemma3_270m: Path) -> None:
    """Gemma 3 270M: windows, a vocabulary of 262,144, no chat template."""
    with llama_server(gemma3_270m, n_ctx=1024, n_parallel=1) as server:
        (target,) = find(server.url).targets
        model = model_from(open_file(gemma3_270m))
        assert match_file(replace(target, model_path=""), model).same is True
        run, _ = swept(target, RunPlan((64, 256), runs=3, tokens=12, cold=1))
    assert [metrics.exact_depth(cell) for cell in run.finished_cells] == [64, 256]
    for cell in run.cells:
        off = metrics.disagreement(cell)
        assert off is None or abs(off) <= DELIVERY
        assert metrics.time_to_first(cell) is not None
