"""A measurement under way, seen from the side that started it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath
from threading import Timer
from typing import IO

from core.language import mark
from core.measure import inner
from core.measure.clocks import utc_now
from core.measure.codec import to_json
from core.measure.events import Ended, Event, from_line, grown
from core.measure.job import Job
from core.measure.run import Run, RunStatus, Target
from core.problems import Problem

END_SECONDS = 5.0  # what a worker may take to end once it was asked to

WORKER_GONE = Problem(
    "worker_gone",
    mark("The measuring process ended before the measurement did."),
    advice=mark("What was finished is kept; resume to measure the rest."),
)


def job_line(job: Job) -> str:
    """What a worker is told first, without the line's end."""
    return json.dumps(to_json(job), separators=(",", ":"))


def resumed(run: Run, target: Target) -> Run:
    """The run as it goes on against this server, which `can_go_on` says is the same: what was
    finished stays, all else is measured anew."""
    return replace(
        run,
        target=target,
        status=RunStatus.RUNNING,
        ended="",
        cells=run.finished_cells,
        problems=(),
    )


def can_go_on(run: Run, target: Target) -> bool:
    """Whether a server is that of the run: started anew it may have another port, but not another
    model, context or cache."""

    def what(server: Target) -> tuple[object, ...]:
        return (
            server.kind,
            PurePath(server.model_path).name or server.model,
            server.context,
            server.cache_k,
            server.cache_v,
            server.gpu_layers,
        )

    return what(run.target) == what(target)


OTHER_SERVER = Problem(
    "other_server",
    mark(
        "The server does not run what the interrupted run measured: the model, the context or the "
        "cache is another."
    ),
    advice=mark("Start it as it was, or measure anew."),
)


class Session:
    """Starts the worker and gives its events; ``run`` is what they amount to so far.

    Use it as a context: no worker outlives it. `cancel`, `pause` and `resume` may be called from
    any thread while another one reads the events.
    """

    def __init__(self, job: Job) -> None:
        self.run = job.run
        self._stopped = False
        self._killer: Timer | None = None
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.CREATE_NO_WINDOW
        self._process = subprocess.Popen(
            inner.command(inner.WORKER),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": inner.python_path()},
            creationflags=flags,
        )
        self._write(job_line(job))

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    def events(self) -> Iterator[Event]:
        """Every event as it comes; the last one is an `Ended`, whatever becomes of the worker."""
        stream: IO[bytes] | None = self._process.stdout
        assert stream is not None
        over = False
        for line in stream:
            event = from_line(line)
            if event is None:
                continue
            self.run = grown(self.run, event)
            over = isinstance(event, Ended)
            yield event
            if over:
                break
        if not over:
            status = RunStatus.STOPPED if self._stopped else RunStatus.FAILED
            ended = Ended(status, utc_now(), () if self._stopped else (WORKER_GONE,))
            self.run = grown(self.run, ended)
            yield ended

    def pause(self) -> None:
        """Wait before the next request."""
        self._write("pause")

    def resume(self) -> None:
        """Go on after a pause."""
        self._write("resume")

    def cancel(self) -> None:
        """End at once; the events come to their end within `END_SECONDS`."""
        if self._stopped:
            return
        self._stopped = True
        self._write("cancel")
        self._killer = Timer(END_SECONDS, self._process.kill)
        self._killer.daemon = True
        self._killer.start()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        """End the worker, if it has not ended, and wait for it."""
        process = self._process
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._killer is not None:
            self._killer.cancel()
            self._killer.join()
        if process.stdout is not None:
            process.stdout.close()

    def _write(self, line: str) -> None:
        """A worker that has died does not listen; its events say so."""
        stream = self._process.stdin
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.write(line.encode() + b"\n")
                stream.flush()
