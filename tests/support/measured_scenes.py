"""The pages "Measure" and "History" for a picture: a run as a server of a known speed would give
it, on the machine of the pictures."""

from __future__ import annotations

from dataclasses import replace

from core.machine import as_dict
from core.measure.discovery import Found, State
from core.measure.history import PlanSnapshot, snapshot
from core.measure.run import Run, RunPlan, RunStatus, ServerKind
from core.plan.plan import Plan
from gui.main_window import MainWindow
from gui.panels.history.page import HistoryPage
from gui.panels.measure.page import MeasurePage
from tests.support import runs

TARGET = replace(runs.TARGET, model="Qwen3-4B-Instruct-2507-Q4_K_M.gguf")
SERVERS = (
    Found("http://127.0.0.1:8080", State.READY, ServerKind.LLAMA_SERVER, (TARGET,)),
    Found("http://127.0.0.1:11434", State.EMPTY, ServerKind.OLLAMA, available=("llama3.2:latest",)),
)
_DEPTHS = (0, 2048, 4096, 8192, 16_000)


def _made(plan: Plan, share: float, id: str, started: str) -> tuple[Run, PlanSnapshot]:
    """Runs at this share of the ceiling, less with depth, a per cent apart."""
    kept = snapshot(plan, _DEPTHS, tokens=runs.TOKENS)
    rates = {}
    for depth in _DEPTHS:
        there = kept.figures(depth + 31.5)
        assert there is not None
        ceiling = (there.ceiling or 0.0) * (share - depth / 200_000)
        rates[depth] = [ceiling * (1 + n / 500) for n in range(6)]
    run = runs.run(
        rates,
        id=id,
        started=started,
        target=TARGET,
        machine=as_dict(plan.machine),
        status=RunStatus.DONE,
    )
    return replace(run, plan=RunPlan(_DEPTHS)), kept


def measure(window: MainWindow) -> None:
    """A run that has ended."""
    plan = window.document.plan
    assert plan is not None
    window.commands.measure_run.trigger()
    page = window.findChild(MeasurePage)
    assert page is not None
    run, kept = _made(plan, 0.62, "a", "2026-01-01T10:00:00Z")
    page.worker.run, page._plan = run, kept
    page._ended()


def history(window: MainWindow) -> None:
    """Four runs, the latest shown."""
    plan = window.document.plan
    assert plan is not None
    for number, share in enumerate((0.55, 0.62, 0.61, 0.64)):
        run, kept = _made(plan, share, f"run-{number}", f"2026-01-0{number + 1}T10:00:00Z")
        window.measuring.history.begin(run, kept)
        window.measuring.history.finish(run)
    window.measuring.history.rename("run-1", "with the new driver")
    window.measuring.history.note("run-3", "Curtain open, fans at half speed.")
    window.commands.history.trigger()
    assert window.findChild(HistoryPage) is not None
