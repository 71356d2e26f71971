"""A server of our own: started with a plan, ready when it answers, and gone when we are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from core.measure import launch
from core.measure.launch import Phase
from core.problems import Problem
from gui.workers.engine import free_port
from gui.workers.server import OwnServer
from tests.support import real_llama_server
from tests.support.specimen_plans import file_plan
from tests.support.stand_in import ENDS, ILLEGAL, WAITS, stand_in
from tests.support.tiny_gguf import write_tiny_llama

_SECONDS = 60_000


@pytest.fixture
def server(qtbot: QtBot) -> Iterator[OwnServer]:
    own = OwnServer()
    yield own
    own.end()
    own.deleteLater()


@pytest.fixture
def real(tmp_path: Path) -> Callable[..., tuple[tuple[str, ...], int]]:
    """The command and the port of a real server with a tiny model."""

    def make(**options: object) -> tuple[tuple[str, ...], int]:
        program = real_llama_server.install(tmp_path / "bin", **options)  # type: ignore[arg-type]
        model = write_tiny_llama(tmp_path / "tiny.gguf")
        port = free_port()
        plan = file_plan(model, context=2048, slots=1)
        return launch.server_command(plan, str(program), port), port

    return make


@pytest.mark.live
def test_it_loads_answers_and_stops(
    qtbot: QtBot, server: OwnServer, real: Callable[..., tuple[tuple[str, ...], int]]
) -> None:
    phases: list[Phase] = []
    server.changed.connect(lambda: phases.append(server.phase))
    command, port = real()
    with qtbot.waitSignal(server.ready, timeout=_SECONDS) as ready:
        server.start(command, port)
    assert ready.args == [f"http://127.0.0.1:{port}"]
    assert server.is_ready
    assert {Phase.STARTING, Phase.READY} <= set(phases)
    assert "listening on" in server.log.text
    family = psutil.Process(server._process.pid).children(recursive=True)
    with qtbot.waitSignal(server.ended, timeout=_SECONDS) as ended:
        server.stop()
    assert ended.args == [None]
    assert not server.running
    psutil.wait_procs(family, timeout=30)
    assert not any(p.is_running() for p in family)


@pytest.mark.live
def test_m46_what_the_server_really_reserved_is_read_from_its_log(
    qtbot: QtBot,
    server: OwnServer,
    tmp_path: Path,
    real: Callable[..., tuple[tuple[str, ...], int]],
) -> None:
    """M46: a server that shrinks the context to fit, and says so in its log only."""
    command, port = real(shrink_to=1024)
    with qtbot.waitSignal(server.ready, timeout=_SECONDS):
        server.start(command, port)
    plan = file_plan(tmp_path / "tiny.gguf", context=2048, slots=1)
    # The server writes its log in a thread of its own.
    qtbot.waitUntil(lambda: bool(launch.differences(plan, server.log.text)))
    (problem,) = launch.differences(plan, server.log.text)
    assert problem.message == "Asked 2,048 → got 1,024 tokens of context."


@pytest.mark.parametrize(
    ("log", "then", "expected"),
    [
        ("build: 1\n", ILLEGAL, "another processor"),
        ("cudaMalloc failed: out of memory\n", "sys.exit(1)", "ran out of GPU memory"),
        ("error: invalid argument: --metrics\n", "sys.exit(1)", "--metrics"),
        ("couldn't bind HTTP server socket\n", "sys.exit(1)", "port"),
        ("", ENDS, "ended by itself"),
    ],
)
def test_every_end_is_a_sentence(
    qtbot: QtBot, server: OwnServer, tmp_path: Path, log: str, then: str, expected: str
) -> None:
    program = stand_in(tmp_path / "bin", "llama-server", log, then)
    with qtbot.waitSignal(server.ended, timeout=_SECONDS) as ended:
        server.start([str(program)], free_port())
    (problem,) = ended.args
    assert isinstance(problem, Problem)
    assert expected in problem.message
    assert not server.running


def test_a_program_that_is_not_there_is_a_sentence(
    qtbot: QtBot, server: OwnServer, tmp_path: Path
) -> None:
    with qtbot.waitSignal(server.ended, timeout=_SECONDS) as ended:
        server.start([str(tmp_path / "llama-server")], free_port())
    assert "could not be started: No such file" in ended.args[0].message


def test_one_that_is_still_loading_can_be_stopped(
    qtbot: QtBot, server: OwnServer, tmp_path: Path
) -> None:
    program = stand_in(tmp_path / "bin", "llama-server", "load_tensors: x\n", WAITS)
    with qtbot.waitSignal(server.said, timeout=_SECONDS):
        server.start([str(program)], free_port())
    with qtbot.waitSignal(server.ended, timeout=_SECONDS) as ended:
        server.stop()
    assert ended.args == [None]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ending_it_leaves_nothing_behind(qtbot: QtBot, server: OwnServer, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "bin", "llama-server", "a line\n", WAITS)
    with qtbot.waitSignal(server.said, timeout=_SECONDS):
        server.start([str(program)], free_port())
    family = psutil.Process(server._process.pid).children(recursive=True)
    assert family
    server.end()
    psutil.wait_procs(family, timeout=30)
    assert not any(p.is_running() for p in family)
