"""The measuring process: what it is told, what it says, and that nothing is left of it."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event as Flag
from threading import Thread, Timer
from time import monotonic, sleep

import psutil
import pytest

from core.language import speak, tr
from core.measure import inner, session, worker
from core.measure.events import CellDone, Ended, Event, Progress, TelemetryRead, from_line
from core.measure.job import Job
from core.measure.run import Run, RunStatus, ServerKind, Target
from core.measure.session import Session, job_line, resumed
from tests.support.kills import gone, kill_rounds
from tests.support.played_servers import Played, playing
from tests.support.replay import Act, Asked, Pause
from tests.support.sweeps import PLAN

TWO = replace(PLAN, depths=(64, 128))


def job_for(target: Target, telemetry: float = 0.0) -> Job:
    run = Run("id", "2026-01-01T00:00:00Z", target, TWO)
    return Job(run, telemetry_seconds=telemetry)


def slow(asked: Asked) -> list[Act]:
    return [Pause(300)]


def test_a_job_is_carried_out_in_another_process_and_its_events_make_the_run() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        with Session(job_for(target, telemetry=0.05)) as measuring:
            assert measuring.pid != os.getpid()
            events = list(measuring.events())
        run = measuring.run
    assert isinstance(events[-1], Ended)
    assert run.status is RunStatus.DONE
    assert [len(cell.measured) for cell in run.finished_cells] == [6, 6]
    assert run.telemetry
    assert any(isinstance(event, TelemetryRead) for event in events)
    assert gone(measuring.pid)


def test_a_cancel_is_heard_at_once_and_what_was_finished_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "END_SECONDS", 300)  # nobody helps it to its end
    played = Played(faults={12: slow})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        with Session(job_for(target)) as measuring:
            begin = 0.0
            for event in measuring.events():
                if isinstance(event, Progress) and event.depth == 128 and played.count == 13:
                    begin = begin or monotonic()
                    measuring.cancel()
            assert monotonic() - begin < 30
        run = measuring.run
    assert run.status is RunStatus.STOPPED
    assert [cell.depth for cell in run.finished_cells] == [64]
    assert run.problems == ()


def test_a_pause_holds_it_and_it_goes_on() -> None:
    paused = Flag()
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        with Session(job_for(target)) as measuring:
            for event in measuring.events():
                if isinstance(event, CellDone) and not paused.is_set():
                    measuring.pause()
                if isinstance(event, Progress) and event.phase == "paused":
                    paused.set()
                    measuring.resume()
        assert measuring.run.status is RunStatus.DONE


@pytest.mark.parametrize("moment", [1, 9, 12])
def test_a_worker_that_is_killed_loses_no_finished_cell_and_is_told(moment: int) -> None:
    played = Played(faults={moment: slow})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        with Session(job_for(target)) as measuring:
            killed = False
            for event in measuring.events():
                if isinstance(event, Progress) and played.count > moment and not killed:
                    killed = True
                    os.kill(measuring.pid, signal.SIGKILL)
        run = measuring.run
    assert killed
    assert run.status is RunStatus.FAILED
    assert [problem.code for problem in run.problems] == ["worker_gone"]
    assert [cell.depth for cell in run.finished_cells] == ([64] if moment >= 9 else [])
    assert gone(measuring.pid)


def killed_after(seconds: float, server_dies: bool) -> tuple[Run, list[int]]:
    """A run in which the server or the worker is killed, and the depths said to be finished."""
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        with Session(job_for(target)) as measuring:

            def kill() -> None:
                server.die() if server_dies else os.kill(measuring.pid, signal.SIGKILL)

            timer = Timer(seconds, kill)
            timer.start()
            finished = [
                event.cell.depth
                for event in measuring.events()
                if isinstance(event, CellDone) and event.cell.finished
            ]
            timer.cancel()
            timer.join()
        assert gone(measuring.pid)
        return measuring.run, finished


def test_workers_and_servers_killed_at_random_moments_lose_no_finished_cell() -> None:
    random = Random(0)
    for number in range(kill_rounds(6)):
        run, finished = killed_after(random.uniform(0.05, 0.6), server_dies=number % 3 == 0)
        assert run.status in (RunStatus.FAILED, RunStatus.DONE)
        assert [cell.depth for cell in run.finished_cells] == finished
        assert all(len(cell.measured) == 6 for cell in run.finished_cells)


def test_what_was_lost_is_measured_on_resume_and_nothing_else() -> None:
    played = Played(faults={12: slow})
    with playing(ServerKind.LLAMA_SERVER, played) as (server, target):
        with Session(job_for(target)) as measuring:
            for event in measuring.events():
                if isinstance(event, Progress) and played.count > 12:
                    measuring.cancel()
        before = measuring.run
        server.asked.clear()
        played.faults.clear()
        with Session(replace(job_for(target), run=resumed(before, target))) as again:
            list(again.events())
        depths = {len(body["prompt"]) for body in server.bodies("/completion")}
    assert depths == {128, 256}
    assert again.run.status is RunStatus.DONE
    assert again.run.cells[0] == before.cells[0]
    # Its times go on where they were.
    last = max(s.started_ns for s in before.cells[0].samples)
    assert all(s.started_ns > last for s in again.run.cells[1].samples)


def test_no_worker_outlives_whoever_started_it() -> None:
    played = Played(faults={1: slow})
    with playing(ServerKind.LLAMA_SERVER, played) as (_, target):
        code = (
            "import sys\n"
            "from core.measure.codec import from_json\n"
            "from core.measure.job import Job\n"
            "from core.measure.session import Session\n"
            "import json\n"
            "with Session(from_json(Job, json.loads(sys.argv[1]))) as measuring:\n"
            "    print(measuring.pid, flush=True)\n"
            "    list(measuring.events())\n"
        )
        root = Path(__file__).resolve().parents[3]
        with subprocess.Popen(
            [sys.executable, "-c", code, job_line(job_for(target))],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        ) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            end = monotonic() + 60
            while played.count < 2 and monotonic() < end:
                sleep(0.02)
            parent.kill()
        assert gone(pid)


def test_a_worker_that_does_not_listen_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "END_SECONDS", 0.3)
    with playing(ServerKind.LLAMA_SERVER, Played(faults={1: slow})) as (_, target):
        with Session(job_for(target)) as measuring:
            os.kill(measuring.pid, signal.SIGSTOP)
            measuring.cancel()
            events = list(measuring.events())
        assert isinstance(events[-1], Ended)
        assert measuring.run.status is RunStatus.STOPPED
    assert gone(measuring.pid)


def run_here(text: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[Event | None]]:
    """The worker in this process, with these bytes on its standard input."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    sink = io.BytesIO()
    status = worker.main(io.BytesIO(text), sink)
    return status, [from_line(line) for line in sink.getvalue().splitlines()]


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"not json\n", b"{}\n", b'{"run": 5}\n', b'{"run": {"id": "x"}}\n']
)
def test_a_job_that_is_none_is_answered_with_a_sentence(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, events = run_here(text, monkeypatch)
    (ended,) = events
    assert status == 1
    assert isinstance(ended, Ended)
    assert ended.status is RunStatus.FAILED
    assert [problem.code for problem in ended.problems] == ["bad_job"]


def test_a_fault_of_our_own_is_told_as_one_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(worker, "client_for", broken)
    target = Target(ServerKind.LLAMA_SERVER, "http://127.0.0.1:9")
    sink = io.BytesIO()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    with pytest.raises(ZeroDivisionError):
        worker.main(io.BytesIO(job_line(job_for(target)).encode() + b"\n"), sink)
    ended = from_line(sink.getvalue().splitlines()[-1])
    assert isinstance(ended, Ended)
    assert ended.problems[0].code == "internal"
    assert ended.problems[0].where.startswith("test_worker.py:")


def test_the_key_is_on_no_command_line_and_in_no_event() -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, target):
        with Session(replace(job_for(target), key="sk-geheim")) as measuring:
            words = psutil.Process(measuring.pid).cmdline()
            environment = psutil.Process(measuring.pid).environ()
            said = repr(list(measuring.events()))
        assert {a.headers.get("authorization") for a in server.asked} == {"Bearer sk-geheim"}
    assert "geheim" not in " ".join(words) + repr(environment) + said + repr(measuring.run)


def test_a_reader_that_lags_holds_nothing_up() -> None:
    """The outbox takes what it is given although nobody reads."""
    reading, writing = os.pipe()
    broken = Flag()
    with os.fdopen(writing, "wb", buffering=0) as sink:
        outbox = worker.Outbox(sink, broken.set)
        begin = monotonic()
        for _ in range(2000):
            outbox.say(Progress(0, 1, "run" * 50, 0.5))
        assert monotonic() - begin < 30
        read: list[bytes] = []
        with os.fdopen(reading, "rb") as source:
            taking = Thread(target=lambda: read.extend(source.readlines()))
            taking.start()
            outbox.close()
            sink.close()
            taking.join(60)
    assert len(read) == 2000
    assert not broken.is_set()


@pytest.mark.parametrize("code", ["en", "es"])
def test_it_speaks_the_language_of_whoever_made_the_job(code: str) -> None:
    speak(code)
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        plan = replace(TWO, depths=(20_000,))
        run = Run("id", "2026-01-01T00:00:00Z", replace(target, context=16_384), plan)
        with Session(Job(run, telemetry_seconds=0.0)) as measuring:
            list(measuring.events())
    (cell,) = measuring.run.cells
    (problem,) = cell.problems
    assert problem.code == "beyond_context"
    assert problem.message == tr(
        "Depth {depth:,} and {tokens:,} tokens more do not fit into the server's context of "
        "{context:,}.",
        depth=20_000,
        tokens=TWO.tokens,
        context=16_384,
    )
    assert ("20.000" if code == "es" else "20,000") in problem.message


def test_it_is_started_by_the_program_itself_where_it_is_bundled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bundle has one executable; here the module `gui` stands for it."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    executable, *words = inner.command(inner.WORKER)
    assert executable == sys.executable
    with playing(ServerKind.LLAMA_SERVER, Played()) as (_, target):
        done = subprocess.run(
            [executable, "-m", "gui", *words],
            input=f"{job_line(job_for(target))}\npause\nresume\n".encode(),
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[3],
            timeout=60,
            check=False,
        )
    events = [from_line(line) for line in done.stdout.splitlines()]
    # Its input ended at once, as when whoever started it has gone.
    assert isinstance(events[-1], Ended)
    assert events[-1].status is RunStatus.STOPPED
    assert done.returncode == 0
