"""The measuring process: a job on standard input, events as JSON lines on standard output.

    python -m core.measure.worker

A process of its own, because a window that draws in the same one falsifies every stamp. The first
line of its input is the job; later lines are "pause", "resume" and "cancel". When its input closes,
whoever started it has gone, and it ends as well.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import perf_counter_ns
from typing import BinaryIO

from core.language import speak, tr
from core.measure.client import client_for
from core.measure.clocks import utc_now
from core.measure.codec import BadValueError, from_json
from core.measure.control import Control
from core.measure.events import Ended, Event, TelemetryRead, to_line
from core.measure.job import Job
from core.measure.run import Run, RunStatus
from core.measure.sweep import Sweep
from core.measure.telemetry import Sampler
from core.measure.telemetry.amd import AmdGpus
from core.measure.telemetry.nvidia import open_gpus
from core.measure.telemetry.sampler import GpuSource
from core.measure.telemetry.system import System
from core.problems import Problem

SWITCH_SECONDS = 1e-4  # no thread holds another one up for longer; the default is 5 ms


class Outbox:
    """Writes lines from a thread of its own: a reader that lags must not hold up a stamp."""

    def __init__(self, stream: BinaryIO, broken: Callable[[], None]) -> None:
        self._stream = stream
        self._broken = broken
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def say(self, event: Event) -> None:
        """Hand an event over; returns at once."""
        self._lines.put(to_line(event).encode() + b"\n")

    def close(self, seconds: float = 10.0) -> None:
        """Write what is left."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(line)
                self._stream.flush()
            except OSError:
                self._broken()
                return


def work(job: Job, control: Control, say: Callable[[Event], None]) -> RunStatus:
    """Carry out a job in this process."""
    target = job.run.target
    zero = perf_counter_ns() - _measured_before(job.run)
    nvidia = open_gpus() if job.telemetry_seconds else None
    sampler = None
    if job.telemetry_seconds:
        sources: list[GpuSource] = [AmdGpus(), *([nvidia] if nvidia else [])]
        sampler = Sampler(
            lambda reading: say(TelemetryRead(reading)),
            System(target.pid),
            sources,
            zero_ns=zero,
            seconds=job.telemetry_seconds,
        )
        sampler.start()
    last: list[Ended] = []

    def pass_on(event: Event) -> None:
        """The end is said last, after the last reading."""
        if isinstance(event, Ended):
            last.append(event)
        else:
            say(event)

    try:
        return Sweep(
            job.run,
            client_for(target, job.key, job.words),
            control,
            pass_on,
            skip=[cell.key for cell in job.run.finished_cells],
            rates=job.rates,
            zero_ns=zero,
        ).measure()
    finally:
        if sampler is not None and sampler.stop() and nvidia is not None:
            nvidia.close()
        for event in last:
            say(event)


def _measured_before(run: Run) -> int:
    """How long a run that is resumed has taken already, in ns: its times go on from there."""
    readings = (reading.at_ns for reading in run.telemetry)
    samples = (s.started_ns + (s.ended_ns or 0) for cell in run.cells for s in cell.samples)
    return max((*readings, *samples), default=0)


def main(source: BinaryIO | None = None, sink: BinaryIO | None = None) -> int:
    """Run as a process; the streams are for tests."""
    # The terminal's Ctrl+C goes to every process of its group; the one that started us decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_SECONDS)
    source = source or os.fdopen(0, "rb", closefd=False)
    sink = sink or os.fdopen(1, "wb", closefd=False)
    control = Control()
    outbox = Outbox(sink, control.cancel)
    try:
        return _carry_out(source, control, outbox)
    finally:
        outbox.close()
        control.close()


def _carry_out(source: BinaryIO, control: Control, outbox: Outbox) -> int:
    """Read the job and do it; 1 where it failed."""
    try:
        job = from_json(Job, json.loads(source.readline()))
    except (ValueError, RecursionError) as error:
        clause = str(error) if isinstance(error, BadValueError) else tr("it is no JSON")
        problem = Problem("bad_job", tr("The measurement was not understood: {why}.", why=clause))
        outbox.say(Ended(RunStatus.FAILED, utc_now(), (problem,)))
        return 1
    speak(job.language, job.numbers)
    Thread(target=_obey, args=(source, control), name="commands", daemon=True).start()
    try:
        return 1 if work(job, control, outbox.say) is RunStatus.FAILED else 0
    except Exception as error:
        # A fault of ours is told as one; its traceback goes to standard error.
        problem = Problem(
            "internal",
            tr("The measurement failed inside the program: {error}.", error=type(error).__name__),
            advice=tr("Please report it."),
            where=_place(error),
        )
        outbox.say(Ended(RunStatus.FAILED, utc_now(), (problem,)))
        raise


def _place(error: BaseException) -> str:
    """Where it was raised: "sweep.py:120"."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _obey(source: BinaryIO, control: Control) -> None:
    for line in iter(source.readline, b""):
        match line.strip():
            case b"pause":
                control.pause()
            case b"resume":
                control.resume()
            case b"cancel":
                control.cancel()
    control.cancel()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a driver's thread that hangs must not keep it
