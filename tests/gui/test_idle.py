"""A window that nobody touches does nothing: no clock of its own runs on any page, and no thread
of the program is woken, so that neither the processor nor a GPU is kept from its sleep."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

import resources
from gui.main_window import MainWindow
from gui.theme import Theme
from tests.support import every_page
from tests.support.scenes import machine
from tests.support.shown_window import shown_window


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, machine()) as made:
        yield made


def running(window: MainWindow) -> list[str]:
    return [
        f"{type(timer.parent()).__name__}, {timer.interval()} ms"
        for timer in window.findChildren(QTimer)
        if timer.isActive()
    ]


def test_no_clock_runs_on_any_page_once_it_has_come_to_rest(
    qtbot: QtBot, window: MainWindow
) -> None:
    qtbot.waitUntil(lambda: not running(window))
    every_page.open_specimen(window, "Qwen3.6-35B")
    for place, _ in every_page.pages(window):
        qtbot.waitUntil(lambda: not running(window))
        qtbot.wait(300)  # it stays so
        assert running(window) == [], place


def switches(process: int) -> int:
    """How often the threads of a process went to sleep of their own accord, all together."""
    lines = (
        line
        for status in Path(f"/proc/{process}/task").glob("*/status")
        for line in status.read_text().splitlines()
    )
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


@pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc")
def test_no_thread_of_a_resting_program_is_woken(tmp_path: Path) -> None:
    specimen = next(path for path in resources.specimens() if "Qwen3.6-35B" in path.name)
    state = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "gui", str(specimen)],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, **state, "QT_QPA_PLATFORM": "offscreen"},
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            seen = [0]
            for _ in range(40):
                time.sleep(1)
                assert process.poll() is None
                seen.append(switches(process.pid))
                if len(seen) > 4 and seen[-1] > 50 and seen[-1] - seen[-4] <= 3:
                    break  # three seconds at rest
            else:
                pytest.fail(f"it never comes to rest: {seen}")
        finally:
            process.terminate()
