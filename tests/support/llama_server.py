"""A real llama.cpp server for tests: started, spoken to over HTTP, and ended whatever happens.

    with llama_server(model, n_ctx=4096) as server:
        urllib.request.urlopen(server.url + "/health")

`engine_log` starts one only for what it says while it loads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple

import pytest

_SCRIPT = Path(__file__).with_name("llama_http.py")
_LAST_WORDS = "listening on http"
_SECONDS = 60.0  # until it is ready; a tiny model takes less than one


class Server(NamedTuple):
    """Where a running server listens ("http://127.0.0.1:40123") and its process id."""

    url: str
    pid: int


@contextmanager
def llama_server(model: Path, **options: object) -> Iterator[Server]:
    """A server with this model; options are fields of xllamacpp's CommonParams.

    The test is skipped without the wheel and fails where the server does not come up. The process
    ends with this one even where this one is killed: its standard input closes.
    """
    process = _start(model, options, subprocess.DEVNULL)
    try:
        yield Server(_address(process), process.pid)
    finally:
        _end(process)


def engine_log(model: Path, **options: object) -> str:
    """What llama.cpp prints while it loads this model, with ``-v``, until it is ready or fails."""
    process = _start(model, {"verbosity": 9, "warmup": False} | options, subprocess.PIPE)
    said: list[str] = []
    complete = Event()
    log = process.stderr
    assert log is not None

    def read() -> None:
        for line in log:
            said.append(line)
            if _LAST_WORDS in line:
                complete.set()
        complete.set()

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        _ready(process)
        # Its log is written by a thread of its own, which may lag behind.
        complete.wait(_SECONDS)
    finally:
        _end(process)
        reader.join(_SECONDS)
        log.close()
    return "".join(said)


def _start(model: Path, options: dict[str, object], log: int) -> subprocess.Popen[str]:
    pytest.importorskip("xllamacpp")
    words = [
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in options.items()
    ]
    # Threads of OpenMP that spin would take the processor from everybody else.
    quiet = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", "GGML_NO_BACKTRACE": "1"}
    return subprocess.Popen(
        [sys.executable, str(_SCRIPT), str(model), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **quiet},
    )


def _address(process: subprocess.Popen[str]) -> str:
    line = _ready(process)
    if not line.startswith("READY "):
        pytest.fail(f"the server ended with status {process.wait()}")
    return line.split()[1]


def _ready(process: subprocess.Popen[str]) -> str:
    """The line that says where it listens; empty where it ended before."""
    lines: Queue[str] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("READY "):
                lines.put(line)
                return
        lines.put("")

    Thread(target=read, daemon=True).start()
    try:
        return lines.get(timeout=_SECONDS)
    except Empty:
        pytest.fail(f"the server was not ready within {_SECONDS:.0f} s")


def _end(process: subprocess.Popen[str]) -> None:
    """Ask, wait, then insist."""
    end = monotonic() + 10
    process.terminate()
    while process.poll() is None and monotonic() < end:
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.terminate()
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
