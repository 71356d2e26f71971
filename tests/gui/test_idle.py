"""A window that nobody touches does nothing: no clock of its own runs on any page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

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
        qtbot.waitUntil(lambda: not running(window), timeout=5000)
        qtbot.wait(300)  # it stays so
        assert running(window) == [], place
