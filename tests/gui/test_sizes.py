"""What a window of any size shows: nothing cut, and a whole plan at 1280 x 800."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import resources
from core.machine import Machine, catalogue, combine, custom, with_ram
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.theme import Theme
from tests.support import plans
from tests.support.cut import cut
from tests.support.shown_window import shown_window

GIB = 2**30
RAM = custom(64 * GIB, 51.2e9, gpu=False)


HERE = plans.machine(id="this", name="This computer")


@pytest.fixture
def card() -> Machine:
    return catalogue.machine("nvidia-geforce-rtx-3090")


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(
        qtbot, theme, tmp_path, plans.machine(id="this", name="This computer"), (1280, 800)
    ) as made:
        yield made


def weigh(qtbot: QtBot, window: MainWindow, name: str, machine: Machine, **choice: object) -> None:
    """Open a specimen on a machine and let everything come to rest."""
    window.document.set_machine(machine)
    window.opening.open(next(path for path in resources.specimens() if name in path.name))
    qtbot.waitUntil(lambda: window.document.model is not None)
    plan = window.page.plan
    qtbot.waitUntil(plan.what_if.quantization.isEnabled)
    window.document.choose(**choice)
    plot = plan.speed.plot
    # Below what is scrolled to it is not painted, and loads nothing.
    qtbot.waitUntil(lambda: plot.canvas is not None or plot.visibleRegion().isEmpty())
    qtbot.wait(800)  # what would fit is searched a little later


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "fits": ("Qwen3.6-35B", {}),
    "does not fit": ("Qwen3.6-27B", {"context": 262_144}),
    "requantized": ("Gemma-3-27B", {"requantize": "IQ3_XXS", "cache_k": "q8_0"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_whole_plan_is_in_sight_at_1280_by_800(
    qtbot: QtBot, window: MainWindow, card: Machine, case: str
) -> None:
    name, choice = CASES[case]
    weigh(qtbot, window, name, with_ram(card, 64 * GIB), **choice)
    area = window.page.plan_area
    speed = window.page.plan.speed
    if case == "does not fit":  # advice goes first; of the speed the figures are in sight
        bottom = speed.at_depth.mapTo(area, speed.at_depth.rect().bottomLeft()).y()
        assert bottom <= area.height()
        return
    assert area.verticalScrollBar().maximum() == 0
    canvas = window.page.plan.speed.plot.canvas
    assert canvas is not None
    bottom = canvas.widget.mapTo(area, canvas.widget.rect().bottomLeft()).y()
    assert bottom <= area.height()
    assert canvas.widget.height() >= 7 * window.fontMetrics().height()


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_cut_in_a_window_of_any_width(
    qtbot: QtBot, window: MainWindow, card: Machine, case: str
) -> None:
    name, choice = CASES[case]
    two = combine(card, card, RAM)
    weigh(qtbot, window, name, two if case == "fits" else card, **choice)
    for width, height in ((1280, 800), (1100, 750), (800, 600), (520, 700)):
        window.resize(width, height)
        qtbot.wait(150)
        assert window.width() == width
        for tab in range(window.page.tabs.count()):
            window.page.tabs.setCurrentIndex(tab)
            qtbot.wait(80)
            assert cut(window) == [], f"{width} {window.page.tabs.tabText(tab)}"


@pytest.mark.parametrize("width", [1280, 800, 520])
def test_the_welcome_page_fits_a_window_of_any_width(
    qtbot: QtBot, window: MainWindow, width: int
) -> None:
    qtbot.waitUntil(lambda: window.welcome._summaries != {})
    window.resize(width, 700)
    qtbot.wait(80)
    assert window.width() == width
    assert cut(window) == []


def test_a_larger_font_asks_for_no_larger_window(
    qtbot: QtBot, window: MainWindow, card: Machine, qapp: QApplication
) -> None:
    before = qapp.font()
    larger = QFont(before)
    larger.setPointSizeF(13)
    qapp.setFont(larger)
    try:
        again = MainWindow(Document(), window.theme, KeptSettings(window.kept.path))
        qtbot.addWidget(again)
        again.show()
        weigh(qtbot, again, "Qwen3.6-35B", card)
        for width in (1280, 800):
            again.resize(width, 700)
            qtbot.wait(150)
            assert again.width() == width
            assert cut(again) == []
        again.close()
    finally:
        qapp.setFont(before)
