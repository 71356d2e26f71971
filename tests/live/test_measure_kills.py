"""Killing the window, the worker or the server in the middle of a measurement.

Whatever dies, and whenever: cells that were kept stay, the history stays whole, and no process is
left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from random import Random
from threading import Thread
from time import monotonic, sleep

import pytest

from core.measure.history import History
from core.measure.run import Run, RunStatus
from tests.support import real_llama_server
from tests.support.kills import gone, kill_rounds
from tests.support.tiny_gguf import write_tiny_llama

pytestmark = pytest.mark.live
if sys.platform == "win32":
    pytest.skip("SIGKILL is POSIX", allow_module_level=True)

ROUNDS = kill_rounds(2)
ROOT = Path(__file__).parents[2]
SECONDS = 90.0


class Window:
    """The page in a process of its own, and what it has said."""

    def __init__(self, model: Path, folder: Path, history: Path) -> None:
        words = [str(model), str(folder), str(history)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.headless_measure", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        self.said: list[list[str]] = []
        self._lines: Queue[list[str]] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                self._lines.put(line.split())

    def until(self, word: str) -> list[str]:
        """The next line that begins so."""
        end = monotonic() + SECONDS
        while monotonic() < end:
            with suppress(Empty):
                line = self._lines.get(timeout=0.1)
                self.said.append(line)
                if line[0] == word:
                    return line
            if self.process.poll() is not None and self._lines.empty():
                break
        pytest.fail(f"the window never said {word}: {self.said[-5:]}")

    def rest(self) -> None:
        """Everything that it had said."""
        self._reader.join(10)
        while not self._lines.empty():
            self.said.append(self._lines.get())

    def of(self, word: str) -> list[int]:
        return [int(line[1]) for line in self.said if line[0] == word]


@contextmanager
def window(tmp_path: Path) -> Iterator[Window]:
    program = real_llama_server.install(tmp_path / "bin")
    model = tmp_path / "tiny.gguf"
    if not model.exists():
        write_tiny_llama(model)
    made = Window(model, program.parent, tmp_path / "runs.sqlite")
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        made.rest()
        assert made.process.stdout is not None
        made.process.stdout.close()


def latest(tmp_path: Path) -> Run:
    history = History(tmp_path / "runs.sqlite")
    assert history.problem is None
    run = history.all()[0].run
    (verdict,) = history._connection.execute("PRAGMA integrity_check").fetchone()
    history.close()
    assert verdict == "ok"
    return run


def finished(run: Run) -> list[int]:
    return [cell.depth for cell in run.finished_cells]


@pytest.mark.parametrize("round", range(ROUNDS))
def test_the_window_is_killed(tmp_path: Path, round: int) -> None:
    with window(tmp_path) as made:
        made.until("worker")
        if round % 3:  # at any moment: before the first cell, and after some
            made.until("kept")
        sleep(Random(round).uniform(0, 0.3))
        made.process.send_signal(signal.SIGKILL)
        made.process.wait()
        made.rest()
        for pid in (*made.of("server"), *made.of("worker")):
            assert gone(pid)
    run = latest(tmp_path)
    assert run.status is RunStatus.STOPPED
    assert set(made.of("kept")) <= set(finished(run))


@pytest.mark.parametrize("round", range(ROUNDS))
def test_the_worker_is_killed(tmp_path: Path, round: int) -> None:
    with window(tmp_path) as made:
        worker = int(made.until("worker")[1])
        if round % 3:
            made.until("kept")
        sleep(Random(round).uniform(0, 0.3))
        os.kill(worker, signal.SIGKILL)
        assert made.until("ended") == ["ended", "failed"]
        run = latest(tmp_path)
        assert run.status is RunStatus.FAILED
        assert any(problem.code == "worker_gone" for problem in run.problems)
        assert set(made.of("kept")) <= set(finished(run))
    for pid in made.of("server"):
        assert gone(pid)


@pytest.mark.parametrize("round", range(ROUNDS))
def test_the_server_is_killed(tmp_path: Path, round: int) -> None:
    with window(tmp_path) as made:
        made.until("worker")
        if round % 3:
            made.until("kept")
        sleep(Random(round).uniform(0, 0.3))
        for pid in made.of("server"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        status = made.until("ended")[1]
        run = latest(tmp_path)
        assert run.status.value == status == "failed"
        assert run.problems or any(cell.problems for cell in run.cells)
        assert set(made.of("kept")) <= set(finished(run))
    for pid in (*made.of("server"), *made.of("worker")):
        assert gone(pid)
