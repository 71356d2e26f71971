"""What a screen reader is told, and where the keyboard goes, on every page and in every dialog."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QTextBrowser, QWidget
from pytestqt.qtbot import QtBot

from gui.main_window import MainWindow
from gui.theme import Theme
from gui.widgets.spoken import Role, Spoken
from tests.support import every_page
from tests.support.cut import cut
from tests.support.scenes import machine
from tests.support.shown_window import shown_window

# Qt's own names for "something": a reader can say nothing about it.
NOTHING = (Role.NoRole, Role.Client, Role.Border)
CELLS = (Role.Cell, Role.ColumnHeader, Role.RowHeader, Role.ListItem, Role.TreeItem)


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, machine(), (1280, 800), active=True) as made:
        yield made


def everything(window: MainWindow) -> Iterator[tuple[str, QWidget]]:
    """The welcome page, every page of a model and every dialog, each shown in its turn."""
    every_page.settle(window)
    yield "welcome", window
    every_page.open_specimen(window, "Qwen3.6-35B")
    yield from chain(every_page.pages(window), every_page.dialogs(window))


def interface(widget: QWidget) -> QAccessibleInterface:
    found = QAccessible.queryAccessibleInterface(widget)
    assert found is not None
    return found


def below(root: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    """Everything that a reader comes to, without the cells of tables."""
    yield root
    for number in range(root.childCount()):
        child = root.child(number)
        if child is None or not child.isValid() or child.role() in CELLS:
            continue
        thing = child.object()
        if not isinstance(thing, QWidget) or thing.isVisible():
            yield from below(child)


def test_whatever_takes_the_keyboard_says_its_name_and_what_it_is(window: MainWindow) -> None:
    silent = []
    for place, root in everything(window):
        for found in below(interface(root)):
            thing = found.object()
            if not found.state().focusable:
                continue
            if isinstance(thing, QWidget) and thing.focusProxy() is not None:
                continue  # another takes the keyboard for it
            name = found.text(QAccessible.Text.Name).strip()
            if not name or found.role() in NOTHING:
                kind = type(thing).__name__
                silent.append(f"{place}: {kind} {name!r} is {found.role().name}")
    assert silent == []


def test_whatever_paints_itself_is_told_in_words(window: MainWindow) -> None:
    silent, seen = [], set()
    for place, root in everything(window):
        for widget in root.findChildren(QWidget):
            if not isinstance(widget, Spoken) or not widget.isVisible():
                continue
            told = interface(widget)
            seen.add(type(widget).__name__)
            assert told.role() is widget.spoken_role
            if widget.spoken_role is Role.Whitespace:
                continue
            wanted = [QAccessible.Text.Name]
            if widget.spoken_role is Role.Chart:
                wanted += [QAccessible.Text.Description, QAccessible.Text.Value]
            silent += [
                f"{place}: {type(widget).__name__} {w.name}" for w in wanted if not told.text(w)
            ]
    assert silent == []
    assert {"CeilingPlot", "TokenBar", "SessionPicture", "ChartView", "ScatterPlot"} <= seen
    assert {"CachePicture", "LayerStrip", "RequestPicture", "CurvesPlot", "ChoicePlot"} <= seen


def test_nothing_paints_itself_without_a_word_for_it(window: MainWindow) -> None:
    """Either Qt knows the kind of widget, or it is `Spoken`, or it is a frame around others."""
    unknown = set()
    for _, root in everything(window):
        for widget in root.findChildren(QWidget):
            own = any(
                "paintEvent" in vars(kind)
                for kind in type(widget).__mro__
                if kind.__module__.startswith("gui.")
            )
            if own and widget.isVisible() and interface(widget).role() in NOTHING:
                has_others = any(isinstance(child, QWidget) for child in widget.children())
                if not has_others:
                    unknown.add(type(widget).__name__)
    assert unknown == set()


def test_the_tab_key_comes_to_everything_and_leaves_it_again(window: MainWindow) -> None:
    missed = []
    for place, root in everything(window):
        root.activateWindow()
        way = walk(place, root)
        wanted = {
            widget
            for widget in root.findChildren(QWidget)
            if widget.isVisible()
            and widget.isEnabled()
            and widget.window() is root
            and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            and widget.focusProxy() is None
            and not isinstance(widget.parent(), QAbstractScrollArea)
            and all(p.focusPolicy() is Qt.FocusPolicy.NoFocus for p in containers(widget, root))
        }
        missed += [f"{place}: {named(widget)} never reached" for widget in wanted - set(way)]
    assert missed == []


def containers(widget: QWidget, root: QWidget) -> Iterator[QWidget]:
    """Composite controls around a widget, such as the box around its line edit."""
    above = widget.parentWidget()
    while above is not None and above is not root:
        yield above
        above = above.parentWidget()


def named(widget: QWidget) -> str:
    words = interface(widget).text(QAccessible.Text.Name)
    return f"{type(widget).__name__} {words!r}"


def walk(place: str, root: QWidget) -> list[QWidget]:
    """Where Tab goes from here until it is back; fails where it stays."""
    start = QApplication.focusWidget()
    if start is None:
        QTest.keyClick(root, Qt.Key.Key_Tab)
        start = QApplication.focusWidget()
    assert start is not None
    here, way = start, []
    for _ in range(400):
        if here not in way:
            way.append(here)
        QTest.keyClick(here, Qt.Key.Key_Tab)
        after = QApplication.focusWidget()
        assert after is not None
        if after is start:
            return way
        if after is here and isinstance(here, QTextBrowser):
            continue  # it went on to the next link
        assert after not in way, f"{place}: from {named(here)} Tab goes back to {named(after)}"
        here = after
    raise AssertionError(f"{place}: Tab never comes back to {named(start)}")


@pytest.fixture
def _half_as_large_again(qapp: QApplication) -> Iterator[None]:
    before = QFont(qapp.font())
    larger = QFont(before)
    larger.setPointSizeF(1.5 * before.pointSizeF())
    qapp.setFont(larger)
    yield
    qapp.setFont(before)


def wrong(window: MainWindow, width: int, height: int) -> list[str]:
    """What is cut, and what does not stay inside a screen of this size."""
    window.resize(width, height)
    found = []
    for place, root in everything(window):
        if root is not window:  # opened as large as the screen of the tests allows
            root.resize(min(root.width(), width), min(root.height(), height))
            QTest.qWait(60)
        found += [f"{place}: {each}" for each in cut(root)]
        if root.width() > width or root.height() > height:
            found.append(f"{place} wants {root.width()} x {root.height()}")
    return found


SIZES = pytest.mark.parametrize(("width", "height"), [(1280, 720), (800, 600)])


@SIZES
def test_every_page_and_dialog_has_room_on_a_small_screen(
    window: MainWindow, width: int, height: int
) -> None:
    assert wrong(window, width, height) == []


@SIZES
@pytest.mark.usefixtures("_half_as_large_again")
def test_nothing_is_cut_where_the_systems_font_is_half_as_large_again(
    window: MainWindow, width: int, height: int
) -> None:
    """The page of the history made a window of 800 x 600 grow to 683 lines of pixels."""
    assert wrong(window, width, height) == []
