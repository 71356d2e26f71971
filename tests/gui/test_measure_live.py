"""The whole page against llama.cpp's own server: started with the plan, measured, stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from core.gguf import open_file
from core.measure import metrics
from core.measure.discovery import find
from core.measure.history import History
from core.measure.run import RunStatus
from core.model import model_from
from gui.document import Document
from gui.panels.measure import servers
from gui.panels.measure.page import MeasurePage
from gui.widgets.live_text import LiveText
from gui.workers import server
from gui.workers.run_history import RunHistory
from gui.workers.runner import Runner
from tests.support import real_llama_server
from tests.support.specimen_plans import RAM
from tests.support.tiny_gguf import write_tiny_llama

pytestmark = pytest.mark.live
_SECONDS = 120_000


@pytest.fixture
def page(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MeasurePage]:
    program = real_llama_server.install(tmp_path / "bin")
    document = Document()
    document.set_this_computer(replace(RAM, id="this", name="This computer"))
    document.set_model(model_from(open_file(write_tiny_llama(tmp_path / "tiny.gguf"))))
    document.choose(context=2048, slots=1)
    history = RunHistory(tmp_path / "runs.sqlite")
    made = MeasurePage(document, history, str(program.parent))
    # B06: a card whose memory grows by 500 MiB with the load.
    used = iter([1_000, 1_500, 1_500])
    monkeypatch.setattr(server, "memory_used", lambda: (("A card", next(used) * 2**20),))
    # Only our own server: what else runs on this computer is no matter of the test.
    monkeypatch.setattr(servers, "looking_for_servers", lambda keys: lambda handle: _ours(made))
    qtbot.addWidget(made)
    made.resize(1280, 700)
    made.show()
    yield made
    made.end()
    for runner in made.findChildren(Runner):
        runner.stop()
    history.close()
    history.deleteLater()


def _ours(page: MeasurePage) -> tuple[object, ...]:
    url = page.own.server.url
    return (find(url),) if url else ()


def _notes(page: MeasurePage) -> str:
    return " ".join(label.shown for label in page.own.notes.findChildren(LiveText))


def test_from_the_start_of_a_server_to_the_history_and_its_end(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path
) -> None:
    qtbot.waitUntil(page.own.start.isEnabled, timeout=_SECONDS)
    QTest.mouseClick(page.own.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.target is not None, timeout=_SECONDS)
    target = page.target
    assert target is not None
    assert target.context == 2048
    assert "Ready at 127.0.0.1:" in page.own.status.shown
    qtbot.waitUntil(page.own.notes.isVisible, timeout=_SECONDS)
    assert "500 MiB more in use than before the load" in _notes(page)
    assert "listening" in page.own.server.log.text
    page.choices.depths.setText("0, 256, 1024")
    page.choices.depths.textEdited.emit("0, 256, 1024")
    page.choices.tokens.setValue(32)
    qtbot.waitUntil(page.progress.start.isEnabled)
    QTest.mouseClick(page.progress.start, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.worker.run is not None and not page.busy, timeout=_SECONDS)
    run = page.worker.run
    assert run is not None
    assert run.status is RunStatus.DONE, run.problems
    # The depths are exact, and this side agrees with the server's own timings.
    assert [metrics.exact_depth(cell) for cell in run.cells] == [1, 256, 1024]
    assert [len(cell.measured) for cell in run.cells] == [6, 6, 6]
    history = History(tmp_path / "runs.sqlite")
    stored = history.load(run.id)
    history.close()
    assert stored is not None
    assert stored.run.cells == run.cells
    assert stored.plan is not None
    assert stored.plan.settings["requested_context"] == 2048
    assert all(figures.ceiling for figures in stored.plan.at)
    chart = page.view.decode.chart
    assert chart is not None
    assert [dot.x for dot in chart.series[-1].dots] == [
        pytest.approx(depth + 15.5) for depth in (1, 256, 1024)
    ]
    codes = {line.message.shown for line in page.view.findings.lines}
    assert any("ceiling" in words for words in codes)
    family = psutil.Process(page.own.server._process.pid).children(recursive=True)
    with qtbot.waitSignal(page.own.server.ended, timeout=_SECONDS):
        QTest.mouseClick(page.own.stop, Qt.MouseButton.LeftButton)
    psutil.wait_procs(family, timeout=30)
    assert not any(p.is_running() for p in family)
    qtbot.waitUntil(lambda: page.target is None, timeout=_SECONDS)
    assert not page.progress.start.isEnabled()
