"""What one run says about the next: its decode speeds, with what had been expected of them."""

from __future__ import annotations

from typing import Any

from core.machine.machine import OwnRun
from core.measure import metrics
from core.measure.diagnosis import diagnose, point_of
from core.measure.history.snapshot import DepthFigures, PlanSnapshot
from core.measure.run import Run

# Runs that were disturbed, or of something else, would teach the wrong thing.
_DISTURBED = frozenset(
    ("other-model", "other-device", "busy", "paging", "battery", "spill", "throttle", "split")
)
_LEAST_RUNS = 3


def teaching(run: Run, plan: PlanSnapshot | None) -> tuple[OwnRun, ...]:
    """One for each depth; none of a run that was disturbed, which its telemetry tells."""
    if plan is None or not plan.fingerprint:
        return ()
    if any(finding.code in _DISTURBED for finding in diagnose(run, plan)):
        return ()
    found = []
    for cell in run.finished_cells:
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
                    run.started[:10],
                )
            )
    return tuple(found)


def hardware(values: dict[str, Any]) -> tuple[str, ...]:
    """What makes a computer another one for this: its id and its devices by name, as
    `core.machine.as_dict` tells them."""
    devices = values.get("devices")
    if not isinstance(devices, list):
        return ("unknown",)
    names = (str(d.get("name")) for d in devices if isinstance(d, dict))
    return (str(values.get("id")), *names)


def _figures(plan: PlanSnapshot, depth: float) -> DepthFigures | None:
    """What was expected where the rate belongs to."""
    near = [f for f in plan.at if abs(f.depth - depth) <= 2]
    return min(near, key=lambda f: abs(f.depth - depth), default=None)
