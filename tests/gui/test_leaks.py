"""The guard against leaks itself."""

from __future__ import annotations

import subprocess
import sys
from threading import Event, Thread

import pytest
from PySide6.QtCore import QThread, QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.support.leaks import no_leaks


def test_a_thread_left_running_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.leaks._PATIENCE_SECONDS", 0.05)
    end = Event()
    thread = Thread(target=end.wait, name="forgotten")
    with pytest.raises(AssertionError, match="thread forgotten"), no_leaks():
        thread.start()
    end.set()
    thread.join()


def test_a_qt_thread_left_running_is_named_with_its_place() -> None:
    thread = QThread()
    with pytest.raises(AssertionError, match=r"QThread started at .*test_leaks\.py"), no_leaks():
        thread.start()
    thread.quit()
    assert thread.wait(2000)


def test_a_timer_left_running_is_named_with_its_place() -> None:
    timer = QTimer()
    with pytest.raises(AssertionError, match=r"QTimer started at .*test_leaks\.py"), no_leaks():
        timer.start(10_000)
    timer.stop()


def test_a_process_left_running_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.leaks._PATIENCE_SECONDS", 0.05)
    with pytest.raises(AssertionError, match=r"process \d+ .*sleep"), no_leaks():
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    process.kill()
    process.wait()


def test_a_window_left_open_is_named() -> None:
    kept = []
    with pytest.raises(AssertionError, match="window QWidget \\(lonely\\)"), no_leaks():
        kept.append(QWidget())
        kept[0].setObjectName("lonely")
    kept[0].deleteLater()


def test_a_window_that_qtbot_closes_is_no_leak(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
