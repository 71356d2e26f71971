"""Keys with Alt: each leads to one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QAbstractButton, QLabel, QMenu, QTabBar, QWidget
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.language import NAMES, speak
from core.machine.machine import DeviceKind
from core.model import model_from
from gui.document import Document
from gui.main_window import MainWindow
from gui.panels.plan.combination import CombinationDialog
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.theme import Theme
from tests.support import plans
from tests.support.shown_window import shown_window

CARD = plans.machine(
    plans.device("RTX 3090", kind=DeviceKind.GPU, memory=24 * 2**30, bandwidth=936e9),
    plans.device("RAM", memory=64 * 2**30),
    id="this",
    name="This computer",
)


@pytest.fixture(params=NAMES, autouse=True)
def spoken(request: pytest.FixtureRequest) -> None:
    """In every language that there is."""
    speak(request.param)


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path, spoken: None) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, CARD, (1280, 800)) as made:
        yield made


def open_mixture(qtbot: QtBot, window: MainWindow) -> None:
    """A mixture of experts on a card: every control of the plan is there."""
    path = next(p for p in resources.specimens() if p.name.startswith("Mixtral"))
    window.document.set_model(model_from(open_file(path)))
    qtbot.waitUntil(window.page.plan.what_if.quantization.isEnabled)
    assert window.page.plan.what_if.experts.isVisible()


def labels(top: QWidget) -> list[str]:
    """Every visible text whose letter behind "&" is a key."""
    found: list[str] = []
    for widget in top.findChildren(QWidget):
        if not widget.isVisible():
            continue
        if isinstance(widget, QAbstractButton) or (isinstance(widget, QLabel) and widget.buddy()):
            found.append(widget.text())
        elif isinstance(widget, QTabBar):
            found += [widget.tabText(i) for i in range(widget.count())]
    return found


def twice(texts: list[str]) -> list[str]:
    keys = Counter(key for text in texts if (key := QKeySequence.mnemonic(text).toString()))
    assert keys
    return [key for key, count in keys.items() if count > 1]


def test_no_two_places_of_the_window_have_the_same_key(qtbot: QtBot, window: MainWindow) -> None:
    bar = [action.text() for action in window.menuBar().actions()]
    assert twice(bar + labels(window)) == []
    open_mixture(qtbot, window)
    assert twice(bar + labels(window)) == []
    assert len(labels(window)) > 10


def test_no_two_lines_of_a_menu_have_the_same_key(window: MainWindow) -> None:
    for action in window.menuBar().actions():
        menu = action.menu()
        assert isinstance(menu, QMenu)
        assert twice([line.text() for line in menu.actions()]) == []


def test_no_two_fields_of_a_machine_of_ones_own_have_the_same_key(qtbot: QtBot) -> None:
    units = Document().units
    for dialog in (OwnMachineDialog(CARD, units), CombinationDialog(units, CARD)):
        qtbot.addWidget(dialog)
        dialog.show()
        assert twice(labels(dialog)) == []
