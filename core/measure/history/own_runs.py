"""What runs of this computer say about the next one: they correct what is expected."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.machine import as_dict
from core.machine.machine import Machine, OwnRun
from core.measure import metrics
from core.measure.diagnosis import point_of
from core.measure.history.snapshot import DepthFigures, PlanSnapshot
from core.measure.history.store import History, HistoryError, Stored

# Runs that were disturbed, or of something else, would teach the wrong thing.
_DISTURBED = frozenset(
    ("other-model", "other-device", "busy", "paging", "battery", "spill", "throttle", "split")
)
_LEAST_RUNS = 3
# So many of the latest runs count; older ones were of other drivers and builds.
_LATEST = 100


def own_runs(
    stored: Iterable[tuple[Stored, Iterable[str]]], machine: Machine
) -> tuple[OwnRun, ...]:
    """The runs that were made on this machine, in the order given. With each come the codes of
    what was found about it."""
    here = _hardware(as_dict(machine))
    found: list[OwnRun] = []
    for entry, codes in stored:
        if entry.plan is None or not entry.plan.fingerprint or not _DISTURBED.isdisjoint(codes):
            continue
        if _hardware(entry.run.machine) != here:
            continue
        found += _of_run(entry, entry.plan)
    return tuple(found)


def own_runs_in(path: Path, machine: Machine) -> tuple[OwnRun, ...]:
    """Those in a history file; none where there is no file. Never raises."""
    if not path.exists():
        return ()
    # Who looks at the history is told of damage; this is only a look in passing.
    history = History(path, mend=False)
    try:
        if history.problem is not None:
            return ()
        codes = {entry.id: entry.line.findings for entry in history.lines()}
        latest = history.all(_LATEST)
        return own_runs(((entry, codes.get(entry.run.id, ())) for entry in latest), machine)
    except HistoryError:
        return ()
    finally:
        history.close()


def _of_run(entry: Stored, plan: PlanSnapshot) -> list[OwnRun]:
    found = []
    for cell in entry.run.finished_cells:
        point = point_of(cell, plan)
        if cell.concurrency != 1 or point is None or point.steps.n < _LEAST_RUNS:
            continue
        if any(metrics.drafted(sample) for sample in cell.measured):
            continue
        figures = _figures(plan, point.depth)
        if figures is not None and figures.uncorrected is not None:
            found.append(
                OwnRun(
                    plan.fingerprint,
                    plan.configuration,
                    plan.backend,
                    round(point.depth),
                    point.steps.median,
                    figures.uncorrected,
                    plan.model,
                    plan.label,
                    figures.bytes,
                    figures.ceiling,
                    entry.run.started[:10],
                )
            )
    return found


def _figures(plan: PlanSnapshot, depth: float) -> DepthFigures | None:
    """What was expected where the rate belongs to."""
    near = [f for f in plan.at if abs(f.depth - depth) <= 2]
    return min(near, key=lambda f: abs(f.depth - depth), default=None)


def _hardware(values: dict[str, Any]) -> tuple[str, ...]:
    """What makes a computer another one for this: its devices by name."""
    devices = values.get("devices")
    if not isinstance(devices, list):
        return ("unknown",)
    return tuple(str(d.get("name")) for d in devices if isinstance(d, dict))
