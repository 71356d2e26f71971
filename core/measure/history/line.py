"""A run in one line of a list, worked out once: reading every stamp of a hundred runs takes a
second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from core.language import mark, tr
from core.machine.machine import OwnRun
from core.measure import metrics
from core.measure.history.snapshot import PlanSnapshot
from core.measure.run import Run

_UNKNOWN = mark("unknown model")


@dataclass(frozen=True, slots=True)
class Line:
    """``name`` is for `shown_name`. ``decode`` (tok/s) and ``share`` of the ceiling are those of
    the least depth. ``hardware`` is the computer that it ran on and ``teaches`` what it says about
    the next run there, which needs the telemetry."""

    name: str
    server: str
    machine: str = ""
    file: str = ""
    cache: str = ""
    depths: int = 0
    deepest: int = 0
    decode: float | None = None
    share: float | None = None
    hardware: tuple[str, ...] = ()
    teaches: tuple[OwnRun, ...] = ()


def line_of(run: Run, plan: PlanSnapshot | None) -> Line:
    """The line of a run, by its own name."""
    # Diagnosis reads what is kept of plans here.
    from core.measure.history.teaching import hardware, teaching

    target = run.target
    cells = sorted(
        (c for c in run.cells if c.concurrency == 1 and c.measured), key=lambda cell: cell.depth
    )
    decode = share = None
    if cells:
        summary, steps = metrics.best_decode(cells[0]), metrics.steps(cells[0])
        decode = summary.median if summary is not None else None
        depth = metrics.point_depth(cells[0])
        figures = plan.figures(depth) if plan is not None and depth is not None else None
        if steps is not None and figures is not None and figures.ceiling:
            share = steps.median / figures.ceiling
    return Line(
        name=own_name(run, plan),
        server=f"{target.kind.value} {target.version.partition('-')[0]}".strip(),
        machine=plan.machine if plan is not None else "",
        file=PurePath(target.model_path).name or target.model,
        cache=f"{target.cache_k} {target.cache_v}".strip(),
        depths=len(cells),
        deepest=cells[-1].depth if cells else 0,
        decode=decode,
        share=share,
        hardware=hardware(run.machine),
        teaches=teaching(run, plan),
    )


def own_name(run: Run, plan: PlanSnapshot | None) -> str:
    """What a run is called where nobody named it: its model. This is kept with the run; what is
    shown is `shown_name`."""
    if plan is not None:
        return " ".join(word for word in (plan.model, plan.label) if word)
    return run.target.model or _UNKNOWN


def shown_name(name: str) -> str:
    """What `own_name` gave, in the reader's language."""
    return tr(_UNKNOWN) if name == _UNKNOWN else name
