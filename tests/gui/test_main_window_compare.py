"""The page "Compare" in the window: its key, what it keeps between starts, what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import resources
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.panels.compare import ComparePage
from gui.theme import Theme
from gui.workers import computer
from tests.support.scenes import machine

Start = Callable[[], MainWindow]


def path_of(word: str) -> Path:
    return next(path for path in resources.specimens() if word in path.stem)


@pytest.fixture
def start(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Opens a window on the same settings as the one before, with a model in it."""
    monkeypatch.setattr(computer, "detecting", lambda handle: machine())
    made: list[MainWindow] = []

    def begin() -> MainWindow:
        for window in made:
            window.close()
        window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
        made.append(window)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        qtbot.waitUntil(lambda: window.document.this_computer is not None)
        window.opening.open(path_of("Qwen3-4B"))
        qtbot.waitUntil(lambda: window.document.plan is not None)
        return window

    yield begin
    for window in made:
        window.close()


def page_of(window: MainWindow) -> ComparePage:
    page = window.findChild(ComparePage)
    assert page is not None
    return page


def test_the_page_is_made_when_its_key_is_pressed(qtbot: QtBot, start: Start) -> None:
    window = start()
    assert window.findChild(ComparePage) is None
    QTest.keyClick(window, Qt.Key.Key_5, Qt.KeyboardModifier.ControlModifier)
    page = page_of(window)
    assert page.isVisible()
    focus = QApplication.focusWidget()
    assert focus is not None and page.isAncestorOf(focus)


def test_machines_prices_and_files_are_kept_between_starts(qtbot: QtBot, start: Start) -> None:
    window = start()
    window.commands.compare.trigger()
    page = page_of(window)
    page.chosen.add(["2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2"])
    page.chosen.set_price("nvidia-geforce-rtx-3090", 700.0)
    page.chosen.set_currency("EUR")
    page.tabs.setCurrentWidget(page.models)
    page.models.add_files([path_of("Llama-3.2-1B")])
    qtbot.waitUntil(lambda: len(page.models.rows) == 2)

    again = start()
    again.commands.compare.trigger()
    page = page_of(again)
    assert page.chosen.texts[-1] == "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2"
    assert page.chosen.prices == {"nvidia-geforce-rtx-3090": 700.0}
    assert page.machines.currency.text() == "EUR"
    page.tabs.setCurrentWidget(page.models)
    qtbot.waitUntil(lambda: len(page.models.rows) == 2)


def test_a_machine_that_is_taken_is_the_plans_and_can_be_undone(qtbot: QtBot, start: Start) -> None:
    window = start()
    window.commands.compare.trigger()
    page = page_of(window)
    page.machines.table.selectRow(2)
    page.machines.use()
    name = page.machines.rows[2].machine.name
    assert window.document.machine.name == name
    assert window.message.text() == f"The plan is for {name} now."
    window.commands.undo.trigger()
    assert window.document.machine == window.document.this_computer


def test_a_model_of_the_comparison_is_opened_in_the_window(qtbot: QtBot, start: Start) -> None:
    window = start()
    window.commands.compare.trigger()
    page = page_of(window)
    page.tabs.setCurrentWidget(page.models)
    page.models.add_files([path_of("Llama-3.2-1B")])
    qtbot.waitUntil(lambda: len(page.models.rows) == 2)
    page.models.table.selectRow(1)
    page.models.use()
    qtbot.waitUntil(lambda: window.windowTitle().startswith("Llama 3.2 1B"))
    # The model that is open now stands once, in front.
    qtbot.waitUntil(lambda: [row.name for row in page.models.rows] == ["Llama 3.2 1B Instruct"])


def test_closing_the_model_and_opening_another_goes_on(qtbot: QtBot, start: Start) -> None:
    window = start()
    window.commands.compare.trigger()
    page = page_of(window)
    for view in (page.machines, page.models, page.grid):
        page.tabs.setCurrentWidget(view)
    window.opening.close_model()
    assert not window.commands.compare.isEnabled()
    window.opening.open(path_of("Mistral-7B"))
    qtbot.waitUntil(lambda: window.document.plan is not None)
    qtbot.waitUntil(lambda: page.grid.model.contexts[-1:] == (32_768,))
    qtbot.waitUntil(lambda: not page.grid.working)
