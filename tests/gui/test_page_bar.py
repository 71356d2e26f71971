"""The pages of an open model are made when they are first looked at."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from gui.main_window.page_bar import PageBar


@pytest.fixture
def views(qtbot: QtBot) -> QStackedWidget:
    stack = QStackedWidget()
    stack.addWidget(QWidget())
    qtbot.addWidget(stack)
    return stack


def test_a_page_is_made_once_and_only_when_somebody_looks(
    qtbot: QtBot, views: QStackedWidget
) -> None:
    made: list[QWidget] = []

    def make() -> QWidget:
        made.append(QLineEdit())
        return made[-1]

    bar = PageBar(views)
    qtbot.addWidget(bar)
    bar.add_page("Second", make)
    bar.add_page("Third", QWidget)
    assert (bar.count(), made) == (3, [])
    for name in ("Second", "Plan", "Second"):
        bar.open_named(name)
    assert len(made) == 1
    assert bar.page(1) is made[0]
    shown = views.currentWidget()
    assert shown is not None and shown.isAncestorOf(made[0])
    assert not made[0].acceptDrops()


def test_the_bar_follows_whoever_turns_the_page(qtbot: QtBot, views: QStackedWidget) -> None:
    bar = PageBar(views)
    qtbot.addWidget(bar)
    bar.add_page("Second", QWidget)
    bar.open_named("Second")
    assert views.currentIndex() == 1
    views.setCurrentIndex(0)
    assert bar.currentIndex() == 0
