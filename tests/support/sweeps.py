"""A sweep in this process, with everything that it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.measure.client import client_for
from core.measure.clocks import asleep_seconds
from core.measure.control import Control
from core.measure.events import Ended, Event, Started, grown
from core.measure.run import Cell, Run, RunPlan, Target
from core.measure.sweep import Sweep

PLAN = RunPlan((0, 64, 256), runs=6, tokens=8, stall_seconds=5)
Watch = Callable[[Event, Control], None]


def swept(
    target: Target,
    plan: RunPlan = PLAN,
    *,
    cells: Sequence[Cell] = (),
    watch: Watch = lambda event, control: None,
    words: Sequence[str] = (),
    key: str = "",
    asleep: Callable[[], float] = asleep_seconds,
) -> tuple[Run, list[Event]]:
    """What a sweep amounts to, and everything that it said."""
    run = Run("id", "2026-01-01T00:00:00Z", target, plan, cells=tuple(cells))
    said: list[Event] = []
    control = Control()

    def say(event: Event) -> None:
        nonlocal run
        said.append(event)
        run = grown(run, event)
        watch(event, control)

    skip = [cell.key for cell in cells if cell.finished]
    try:
        status = Sweep(
            run, client_for(target, key, words), control, say, skip=skip, asleep=asleep
        ).measure()
    finally:
        control.close()
    assert isinstance(said[0], Started)
    assert isinstance(said[-1], Ended)
    assert said[-1].status is status is run.status
    return run, said
