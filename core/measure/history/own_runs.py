"""What runs of this computer say about the next one: they correct what is expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from core.machine import as_dict
from core.machine.machine import Machine, OwnRun
from core.measure.history.line import Line
from core.measure.history.store import History, HistoryError
from core.measure.history.teaching import hardware
from core.whole_file import require_file

# So many of the latest runs count; older ones were of other drivers and builds.
_LATEST = 100


def own_runs(lines: Iterable[Line], machine: Machine) -> tuple[OwnRun, ...]:
    """The runs that were made on this machine, in the order given."""
    here = hardware(as_dict(machine))
    return tuple(run for line in lines if line.hardware == here for run in line.teaches)


def own_runs_in(path: Path, machine: Machine) -> tuple[OwnRun, ...]:
    """Those in a history file, the latest first; none where there is no file. Never raises."""
    try:
        require_file(path)
    except OSError:
        return ()
    # Who looks at the history is told of damage; this is only a look in passing.
    history = History(path, mend=False)
    try:
        if history.problem is not None:
            return ()
        return own_runs((entry.line for entry in history.lines()[:_LATEST]), machine)
    except HistoryError:
        return ()
    finally:
        history.close()


def with_own_runs(machine: Machine, path: Path) -> Machine:
    """The machine with what was measured on it, as a history file has it."""
    found = own_runs_in(path, machine)
    return replace(machine, runs=found) if found else machine
