"""The whole way without a mouse: from the welcome page to a plan, and everything on it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QTabBar,
    QToolTip,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.machine.machine import DeviceKind
from gui.main_window import MainWindow, preferences
from gui.theme import Theme, ThemeMode
from gui.widgets.file_card import FileCard
from tests.support import every_page, plans
from tests.support.shown_window import shown_window

KEY = Qt.Key
SHIFT = Qt.KeyboardModifier.ShiftModifier
_LEAST_PIXELS = 20  # a caret alone is not enough
CARD = plans.machine(
    plans.device("RTX 3090", kind=DeviceKind.GPU, memory=24 * 2**30, used=2**30, bandwidth=936e9),
    plans.device("RAM", memory=64 * 2**30),
    id="this",
    name="This computer",
)


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, CARD, (1280, 800), active=True) as made:
        qtbot.wait(50)
        yield made


def focus() -> QWidget:
    found = QApplication.focusWidget()
    assert found is not None
    return found


def press(key: Qt.Key, *, control: bool = False) -> None:
    held = Qt.KeyboardModifier.ControlModifier if control else Qt.KeyboardModifier.NoModifier
    QTest.keyClick(focus(), key, held)


def walk_to(name: str) -> QWidget:
    """Press Tab until the keyboard is on the widget of this name."""
    for _ in range(200):
        here = focus()
        text = here.text() if isinstance(here, QAbstractButton) else ""
        if (here.accessibleName() or text).startswith(name):
            return here
        press(KEY.Key_Tab)
    raise AssertionError(f"the Tab key never comes to {name}")


def open_specimen(qtbot: QtBot, window: MainWindow, name: str) -> None:
    qtbot.waitUntil(lambda: any(c.accessibleName() == name for c in cards(window)))
    walk_to(name)
    press(KEY.Key_Return)
    qtbot.waitUntil(lambda: window.document.model is not None)
    qtbot.waitUntil(window.page.plan.what_if.quantization.isEnabled)
    qtbot.wait(50)


def cards(window: MainWindow) -> list[FileCard]:
    return window.welcome.findChildren(FileCard)


def test_a_specimen_is_opened_weighed_and_moved_to_another_machine(
    qtbot: QtBot, window: MainWindow
) -> None:
    assert focus() is window.welcome.open_button
    open_specimen(qtbot, window, "Llama 3.1 8B Instruct")
    document = window.document
    walk_to("Context")
    press(KEY.Key_Right)
    assert document.choice.context == 32_768
    walk_to("K cache type")
    press(KEY.Key_Q)  # the first of the list with that letter
    assert document.choice.cache_k == "q8_0"
    press(KEY.Key_Z, control=True)
    assert document.choice.cache_k == "f16"
    walk_to("Reset")
    press(KEY.Key_Space)
    assert document.choice.context is None
    walk_to("Machine")
    qtbot.wait(20)  # its text is selected by then
    QTest.keyClicks(focus(), "rtx 4090")
    press(KEY.Key_Return)
    assert "RTX 4090" in document.machine.name
    press(KEY.Key_F, control=True)
    assert window.page.tensors.filter.hasFocus()
    QTest.keyClicks(focus(), "attn_q")
    assert len(window.page.tensors.table.rows) == 32
    press(KEY.Key_Down)
    assert isinstance(focus(), QAbstractItemView)


def test_undo_takes_back_what_enter_took_out_of_a_field(qtbot: QtBot, window: MainWindow) -> None:
    """Fields keep Ctrl+Z to themselves: a context typed and taken could not be taken back."""
    open_specimen(qtbot, window, "Llama 3.1 8B Instruct")
    document, box = window.document, window.page.plan.what_if.context.box
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(focus(), "32768")
    press(KEY.Key_Return)
    assert document.choice.context == 32_768
    press(KEY.Key_Z, control=True)
    assert document.choice.context is None
    assert focus() is box
    QTest.keyClick(box, KEY.Key_Z, Qt.KeyboardModifier.ControlModifier | SHIFT)
    assert document.choice.context == 32_768
    press(KEY.Key_Up)  # an arrow is a step as well
    assert document.choice.context == 33_024
    press(KEY.Key_Z, control=True)
    assert document.choice.context == 32_768
    walk_to("Machine")
    qtbot.wait(20)
    QTest.keyClicks(focus(), "rtx 4090")
    press(KEY.Key_Return)
    assert "RTX 4090" in document.machine.name
    press(KEY.Key_Z, control=True)
    assert document.machine == CARD


def test_undo_takes_back_letters_while_somebody_types(qtbot: QtBot, window: MainWindow) -> None:
    open_specimen(qtbot, window, "Llama 3.1 8B Instruct")
    window.document.choose(context=32_768)
    machine = window.page.plan.machine.box
    machine.setFocus()
    QTest.keyClick(machine, KEY.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(focus(), "rtx")
    press(KEY.Key_Z, control=True)
    assert machine.currentText() != "rtx"
    assert window.document.choice.context == 32_768


def test_the_tab_key_goes_as_one_reads(qtbot: QtBot, window: MainWindow) -> None:
    open_specimen(qtbot, window, "Qwen3.6 35B A3B")
    window.document.choose(context=262_144)  # does not fit: there are buttons
    qtbot.waitUntil(lambda: bool(window.page.plan.advice.buttons))
    qtbot.wait(50)
    way = [focus()]
    while True:
        press(KEY.Key_Tab)
        if focus() is way[0]:
            break
        way.append(focus())
        assert len(way) < 300
    assert len(way) > 60
    page = window.page
    assert any(button in way for button in page.plan.advice.buttons)
    for panel in (page.overview, page.plan_area):
        inside = [widget for widget in way if panel.isAncestorOf(widget)]
        first, last = way.index(inside[0]), way.index(inside[-1])
        assert way[first : last + 1] == inside  # one panel after the other
        contents = panel.widget()
        assert contents is not None
        tops = [widget.mapTo(contents, QPoint(0, widget.height() // 2)).y() for widget in inside]
        line = window.fontMetrics().height()
        for above, below in pairwise(tops):
            assert below >= above - line // 2
    back = way[-1]
    press(KEY.Key_Backtab)
    assert focus() is back


@pytest.mark.parametrize("how", ["disabled", "hidden"])
def test_where_a_button_goes_away_under_the_keyboard_its_neighbour_takes_it_in_silence(
    qtbot: QtBot, window: MainWindow, how: str
) -> None:
    open_specimen(qtbot, window, "Llama 3.1 8B Instruct")
    button = window.page.plan.machine.measure
    button.setFocus()
    if how == "disabled":
        button.setEnabled(False)
    else:
        button.hide()
    assert focus() is window.page.plan.memory.headline.total
    qtbot.wait(50)
    assert not QToolTip.isVisible()


def test_what_the_tab_key_comes_to_is_scrolled_into_sight(qtbot: QtBot, window: MainWindow) -> None:
    open_specimen(qtbot, window, "Qwen3.6 35B A3B")
    for _ in range(60):
        press(KEY.Key_Tab)
        if window.page.overview.isAncestorOf(focus()):
            assert not focus().visibleRegion().isEmpty()


@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
def test_where_the_keyboard_is_can_be_seen_everywhere(
    qtbot: QtBot, window: MainWindow, mode: ThemeMode
) -> None:
    """WCAG 2.2, 1.4.11: what marks it differs from what was there before by 3 to 1. Qt's own style
    comes to 1.3 on a dark button."""
    preferences.choose_theme(window, mode)
    unseen = list(unmarked(30))
    every_page.open_specimen(window, "Qwen3.6-35B")
    for place, root in chain(every_page.pages(window), every_page.dialogs(window)):
        root.activateWindow()
        QTest.keyClick(QApplication.focusWidget() or root, KEY.Key_Tab)
        unseen += [f"{place}: {each}" for each in unmarked(100)]
    assert not unseen, "\n".join(unseen)


def lightness(image: QImage) -> NDArray[np.float64]:
    """The relative luminance of each pixel as WCAG defines it; height x width."""
    told = image.convertToFormat(QImage.Format.Format_RGB32)
    bits = np.frombuffer(told.constBits(), np.uint8).reshape(told.height(), -1, 4)
    blue, green, red = (bits[:, : told.width(), n] / 255 for n in range(3))
    parts = (
        share * np.where(part <= 0.03928, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        for share, part in ((0.2126, red), (0.7152, green), (0.0722, blue))
    )
    return np.asarray(sum(parts), np.float64)


def on_the_screen(widget: QWidget) -> QImage:
    """What stands there, with the ground on which the widget lies."""
    window = widget.window()
    return window.grab(QRect(widget.mapTo(window, QPoint()), widget.size())).toImage()


def marked_pixels(marked: QImage, plain: QImage) -> int:
    """How many pixels differ by 3 to 1 at least."""
    one, other = lightness(marked) + 0.05, lightness(plain) + 0.05
    return int((np.maximum(one, other) >= 3 * np.minimum(one, other)).sum())


def unmarked(steps: int) -> Iterator[str]:
    """Walk so many steps and name what is not marked plainly where the keyboard is."""
    start = focus()
    for _ in range(steps):
        press(KEY.Key_Tab)
        here = focus()
        if here is start:
            return
        QApplication.processEvents()
        marked = on_the_screen(here)
        here.clearFocus()
        plain = on_the_screen(here)
        here.setFocus(Qt.FocusReason.TabFocusReason)
        if marked.size() == plain.size() and marked_pixels(marked, plain) < _LEAST_PIXELS:
            yield f"{type(here).__name__} {here.accessibleName()}"


def test_the_splitter_the_tabs_and_the_switches_work_with_keys(
    qtbot: QtBot, window: MainWindow
) -> None:
    open_specimen(qtbot, window, "Llama 3.1 8B Instruct")
    assert isinstance(focus(), QTabBar)
    press(KEY.Key_Right)
    assert window.page.tabs.currentWidget() is window.page.tensors
    walk_to("Units")
    press(KEY.Key_Space)
    menu = QApplication.activePopupWidget()
    assert menu is not None
    QTest.keyClick(menu, KEY.Key_Down)
    QTest.keyClick(menu, KEY.Key_Down)
    QTest.keyClick(menu, KEY.Key_Return)
    assert window.document.units.value == "GB"
