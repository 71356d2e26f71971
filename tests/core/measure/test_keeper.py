"""The keeper of a server: nothing that it started outlives whoever wanted it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from core.measure import inner
from tests.support.kills import gone

if sys.platform == "win32":
    pytest.skip("signals are POSIX", allow_module_level=True)

_SLEEPS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
_DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + _SLEEPS


@contextmanager
def keeper(*words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        inner.command(inner.KEEPER, *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def first_pid(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_what_it_keeps_ends_when_its_input_closes() -> None:
    with keeper(sys.executable, "-c", _SLEEPS) as process:
        pid = first_pid(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
        assert gone(pid)


def test_a_program_that_does_not_listen_is_killed() -> None:
    with keeper(sys.executable, "-c", _DEAF) as process:
        pid = first_pid(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
        assert gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="a signal at a parent's death is Linux's")
def test_what_it_keeps_ends_where_the_keeper_is_killed() -> None:
    with keeper(sys.executable, "-c", _SLEEPS) as process:
        pid = first_pid(process)
        process.kill()
        assert gone(pid)


def test_what_it_keeps_ends_where_whoever_started_it_is_killed() -> None:
    code = (
        "import subprocess, sys, time\n"
        "from core.measure import inner\n"
        f"subprocess.Popen(inner.command(inner.KEEPER, sys.executable, '-c', {_SLEEPS!r}),"
        " stdin=subprocess.PIPE)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as parent:
        pid = first_pid(parent)
        keeper_pid = psutil.Process(pid).ppid()
        parent.kill()
    assert gone(pid)
    assert gone(keeper_pid)


def test_what_the_program_started_ends_with_it() -> None:
    family = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {_SLEEPS!r}])\n"
        "import time; time.sleep(600)\n"
    )
    with keeper(sys.executable, "-c", family) as process:
        pid = first_pid(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)
        assert gone(pid)


@pytest.mark.parametrize(
    ("code", "status"),
    [("import sys; sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 4)", 128 + 4), ("", 0)],
)
def test_its_status_is_that_of_the_program(code: str, status: int) -> None:
    with keeper(sys.executable, "-c", code) as process:
        assert process.wait(60) == status


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    with keeper(str(tmp_path / "llama-server")) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait(60) == 127
    assert said == "could not be started: No such file or directory\n"


def test_interrupting_the_terminal_ends_it_in_order() -> None:
    with keeper(sys.executable, "-c", _SLEEPS) as process:
        pid = first_pid(process)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
        assert gone(pid)
