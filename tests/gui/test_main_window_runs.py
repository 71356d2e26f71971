"""What was measured on this computer is in the plan and in its picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import as_dict
from core.measure.history import History, snapshot
from core.measure.run import RunStatus
from core.model import model_from
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.panels.measure import servers
from gui.theme import Theme
from gui.workers import computer
from tests.support import runs
from tests.support.specimen_plans import on_a_3090, specimen_plan

HERE = replace(on_a_3090(), id="this", name="This computer")


def test_runs_of_this_computer_correct_the_plan_from_the_start(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = specimen_plan("Llama-3.1-8B", HERE)
    kept = snapshot(plan, (0,), tokens=runs.TOKENS)
    expected = next(f.uncorrected for f in kept.at if f.depth == 32)
    assert expected
    run = runs.run({0: [0.8 * expected] * 6}, machine=as_dict(HERE))
    history = History(tmp_path / "runs.sqlite")
    history.begin(run, kept)
    history.finish(run)
    history.close()
    monkeypatch.setattr(computer, "detecting", lambda handle: HERE)
    window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: bool(window.document.machine.runs))
    path = next(p for p in resources.specimens() if p.name.startswith("Llama-3.1-8B"))
    window.document.set_model(model_from(open_file(path)))
    made = window.document.plan
    assert made is not None
    assert "own run" in made.speed.expected.basis + made.speed.expected.mid.note
    plot = window.page.plan.speed.plot
    assert plot._curve is not None
    ((depth, rate),) = plot._curve.measured
    assert depth == 32
    assert rate == pytest.approx(0.8 * expected, rel=1e-6)
    # Deleted runs say nothing any more.
    window.measuring.history.delete([run.id])
    qtbot.waitUntil(lambda: window.document.machine.runs == ())
    window.close()


def test_an_interrupted_run_comes_back_from_the_history_to_the_page_that_resumes_it(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "looking_for_servers", lambda keys: lambda handle: ())
    run = runs.run({0: [50.0] * 6}, status=RunStatus.STOPPED)
    history = History(tmp_path / "runs.sqlite")
    history.begin(run, None)
    history.close()
    window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    window.show()
    path = next(p for p in resources.specimens() if p.name.startswith("Llama-3.1-8B"))
    window.document.set_model(model_from(open_file(path)))
    window.page_bar.open_named("History")
    page = window.measuring._history_page
    assert page is not None
    qtbot.waitUntil(lambda: page.resume.isVisible())
    page.resume.click()
    assert window.page_bar.tabText(window.page_bar.currentIndex()) == "Measure"
    measure = window.measuring._measure
    assert measure is not None
    assert measure.view.run is not None
    assert measure.view.run.id == run.id
    assert measure.progress.resume.isVisible()
    window.close()


def test_without_a_history_no_file_is_made(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer, "detecting", lambda handle: HERE)
    window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.document.this_computer is not None)
    qtbot.waitUntil(lambda: not window.measuring._looker.running)
    window.close()
    assert not list(tmp_path.glob("runs.sqlite*"))
