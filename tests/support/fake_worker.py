"""A measuring process that measures nothing: it replays a run that was made up, event by event.

    python fake_worker.py SCENARIO

``done`` ends well, ``waits`` stops after the first depth until it is told to cancel, ``dies`` ends
there without a word, ``fails`` ends with a problem, ``noise`` says other things between the events.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import sleep

sys.path.insert(0, str(Path(__file__).parents[2]))

from core.measure.codec import from_json
from core.measure.events import (
    CellDone,
    Ended,
    Event,
    Progress,
    SampleDone,
    Started,
    TelemetryRead,
    to_line,
)
from core.measure.job import Job
from core.measure.readings import Reading
from core.measure.run import RunStatus
from core.problems import Problem
from tests.support import runs

RATES = {0: 50.0, 512: 45.0, 1024: 40.0}
GONE = Problem("server_gone", "The server closed the connection.", advice="Look at its log.")


def command(scenario: str) -> Callable[..., tuple[str, ...]]:
    """What takes the place of ``core.measure.inner.command``."""
    return lambda module, *words: (sys.executable, "-u", __file__, scenario)


def main(scenario: str) -> None:
    job = from_json(Job, json.loads(sys.stdin.readline()))
    told: list[str] = []
    listener = threading.Thread(target=lambda: told.extend(iter(sys.stdin.readline, "")))
    listener.daemon = True
    listener.start()

    def say(event: Event) -> None:
        if scenario == "noise":
            sys.stdout.write('Traceback (most recent call last):\n{"event": "news"}\n{half\n')
        line = to_line(event) + "\n"
        sys.stdout.write(line[: len(line) // 2])
        sys.stdout.flush()
        sys.stdout.write(line[len(line) // 2 :])
        sys.stdout.flush()

    run = job.run
    say(Started(run, 12.0))
    done = {cell.key for cell in run.finished_cells}
    for depth in run.plan.depths:
        if (depth, 1) in done:
            continue
        rate = RATES.get(depth, 30.0)
        made = runs.cell(depth, [rate * (1 + n / 100) for n in range(run.plan.runs)])
        for number, sample in enumerate(made.samples):
            say(Progress(depth, 1, sample.kind.value, number / 20, 10, None, rate, 9.0))
            say(SampleDone(depth, 1, sample))
        say(CellDone(made))
        say(TelemetryRead(Reading(at_ns=depth * 10**6, cpu=0.4, other_cpu=0.01)))
        if scenario == "dies":
            sys.exit(1)
        if scenario == "fails":
            say(Ended(RunStatus.FAILED, "2026-01-01T00:01:00Z", (GONE,)))
            sys.exit(1)
        while scenario == "waits":
            if "cancel\n" in told:
                say(Ended(RunStatus.STOPPED, "2026-01-01T00:01:00Z"))
                return
            if not listener.is_alive():
                return
            sleep(0.01)
    say(Ended(RunStatus.DONE, "2026-01-01T00:01:00Z"))


if __name__ == "__main__":
    main(sys.argv[1])
