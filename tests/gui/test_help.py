"""Help: words that explain themselves, keys, first steps, parts and licences, the log."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QContextMenuEvent, QCursor, QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from core.explain.glossary import term_named
from core.plan.plan import PartKind
from gui import crash, settings
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.helping import terms_about
from gui.main_window.kept_settings import KeptSettings
from gui.main_window.window_problems import EARLIER_CRASH
from gui.panels.compare import ComparePage
from gui.panels.help.about import PARTS, About
from gui.panels.help.glossary import Glossary
from gui.panels.help.keys import OF_WIDGETS, Keys
from gui.panels.help.tips import FirstSteps
from gui.panels.passes import PassesDialog
from gui.theme import Theme
from gui.widgets.text import Text
from tests.support import every_page
from tests.support.scenes import machine
from tests.support.shown_window import shown_window

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, machine(), (1280, 800), active=True) as made:
        yield made


@pytest.fixture
def opened(window: MainWindow) -> MainWindow:
    every_page.open_specimen(window, "Qwen3.6-35B")
    return window


def glossary(window: MainWindow) -> Glossary:
    (found,) = window.findChildren(Glossary)
    return found


def name_shown(window: MainWindow) -> str:
    shown = glossary(window).shown
    assert shown is not None
    return shown.name


def test_shift_f1_explains_what_the_keyboard_is_on(opened: MainWindow) -> None:
    what_if = opened.page.plan.what_if
    for widget, name in (
        (what_if.context.slider, "context"),
        (what_if.flash, "flash attention"),
        (what_if.cache_k, "KV cache"),
        (what_if.experts.slider, "experts in RAM"),
        (opened.page.plan.speed.at_start, "ceiling"),
    ):
        opened.activateWindow()
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)
        assert name_shown(opened) == name


def test_without_a_word_the_whole_glossary_is_offered(qtbot: QtBot, window: MainWindow) -> None:
    window.commands.theme.button.setFocus()
    window.commands.what_is_this.trigger()
    dialog = glossary(window)
    qtbot.waitUntil(dialog.filter.hasFocus)
    assert dialog.list.count() > 50
    assert dialog.shown is None
    assert dialog.text.toPlainText() == ""


def test_shift_f1_explains_what_the_pointer_is_on_where_the_keyboard_is_on_no_word(
    opened: MainWindow,
) -> None:
    opened.commands.theme.button.setFocus()
    entry = opened.page.plan.memory.devices[0].entries[PartKind.WEIGHTS]
    (weights,) = entry.findChildren(Text)
    before = QCursor.pos()
    QCursor.setPos(weights.mapToGlobal(weights.rect().center()))
    try:
        opened.commands.what_is_this.trigger()
    finally:
        QCursor.setPos(before)
    assert name_shown(opened) == "weights"


def test_a_right_click_on_a_word_offers_what_it_means(qtbot: QtBot, opened: MainWindow) -> None:
    label = opened.page.plan.what_if.context.label
    lines: list[str] = []

    def look() -> None:
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            lines.extend(action.text() for action in menu.actions())
            menu.actions()[0].trigger()
            menu.close()

    at = label.rect().center()
    QTimer.singleShot(100, look)
    QApplication.sendEvent(
        label, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, label.mapToGlobal(at))
    )
    qtbot.waitUntil(lambda: bool(lines))
    assert lines == ["What is “context”?"]
    assert name_shown(opened) == "context"


def asked_with_the_mouse(qtbot: QtBot, on: QWidget, at: QPoint) -> list[str]:
    """The lines of the menu that a right click there opens."""
    lines: list[str] = []

    def look() -> None:
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            lines.extend(action.text() for action in menu.actions())
            menu.close()
        else:
            lines.append("no menu")

    QTimer.singleShot(100, look)
    mouse = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(on, QContextMenuEvent(mouse, at, on.mapToGlobal(at)))
    qtbot.waitUntil(lambda: bool(lines))
    return lines


def test_a_right_click_explains_the_heads_of_tables(qtbot: QtBot, opened: MainWindow) -> None:
    opened.commands.compare.trigger()
    every_page.settle(opened)
    page = opened.page_bar.page(1)
    assert isinstance(page, ComparePage)
    table = page.machines.table
    header = table.horizontalHeader()
    titles = [
        str(header.model().headerData(n, Qt.Orientation.Horizontal)) for n in range(header.count())
    ]
    number = next(n for n, title in enumerate(titles) if title.startswith("Ceiling"))
    at = QPoint(header.sectionViewportPosition(number) + 4, header.height() // 2)
    assert asked_with_the_mouse(qtbot, header.viewport(), at) == ["What is “ceiling”?"]
    on_a_row = asked_with_the_mouse(qtbot, table.viewport(), QPoint(5, 5))
    assert any("Markdown" in line for line in on_a_row)


def test_a_right_click_explains_words_in_dialogs(qtbot: QtBot, opened: MainWindow) -> None:
    opened.commands.passes.trigger()
    dialog = opened.findChild(PassesDialog)
    assert dialog is not None
    dialog.activateWindow()
    dialog.speculation.acceptance.slider.setFocus()
    every_page.settle(opened)
    label = dialog.speculation.acceptance.label
    lines = asked_with_the_mouse(qtbot, label, label.rect().center())
    assert lines == ["What is “speculation”?"]
    dialog.close()


def test_most_of_what_stands_on_the_plan_has_an_explanation(opened: MainWindow) -> None:
    plan = opened.page.plan
    for widget, name in (
        (plan.memory.devices[0].entries[PartKind.CACHE].fact, "KV cache"),
        (plan.speed.plot, "ceiling"),
        (plan.speed.token, "bytes of one token"),
        (plan.what_if.quantization.label, "quantization"),
        (plan.what_if.slots, "slots"),
        (plan.what_if.layers.label, "GPU layers"),
    ):
        assert name in [term.name for term in terms_about(widget)], widget


def test_the_list_is_searched_and_links_lead_on(qtbot: QtBot, window: MainWindow) -> None:
    window.commands.glossary.trigger()
    dialog = glossary(window)
    QTest.keyClicks(dialog.filter, "moe")
    assert name_shown(window) == "mixture of experts"
    assert "few" in dialog.text.toPlainText()
    dialog._follow(QUrl("term:experts in RAM"))
    assert name_shown(window) == "experts in RAM"
    assert dialog.filter.text() == ""
    QTest.keyClicks(dialog.filter, "zzzz")
    assert "Nothing here" in dialog.text.toPlainText()
    QTest.keyClick(dialog.filter, Qt.Key.Key_Escape)
    assert dialog.list.count() > 50
    window.commands.glossary.trigger()
    assert len(window.findChildren(Glossary)) == 1


def test_every_key_is_listed_with_every_page_and_none_twice(window: MainWindow) -> None:
    groups = window.commands.key_groups()
    pairs = [pair for _, group in groups for pair in group]
    assert sorted(pairs) == sorted(window.commands.keys())
    words = " ".join(what for _, what in pairs)
    for number in range(window.page_bar.count()):
        assert window.page_bar.tabText(number) in words
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys))
    window.commands.shortcuts.trigger()
    (dialog,) = window.findChildren(Keys)
    text = dialog.text.toPlainText()
    for key, what in [*pairs, *(pair for _, group in OF_WIDGETS for pair in group)]:
        assert key in text and what in text
    assert dialog.height() <= window.screen().availableSize().height()
    dialog.close()


def test_the_parts_are_those_that_the_program_needs_with_their_own_licences(
    window: MainWindow,
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {name.partition(">")[0] for name in project["dependencies"]}
    assert {name for name, _, _ in PARTS} == needed
    for name, _, licence in PARTS:
        told = metadata.metadata(name)
        said = " ".join(
            [
                told["License-Expression"] or "",
                told["License"] or "",
                *(told.get_all("Classifier") or []),
            ]
        )
        assert licence.partition(" ")[0] in said, name
    window.commands.about.trigger()
    (dialog,) = window.findChildren(About)
    text = dialog.text.toPlainText()
    for name, _, licence in PARTS:
        assert name in text and licence in text
        assert metadata.version(name) in text
    dialog.close()


def test_a_bundle_says_where_all_licences_lie(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "licences").mkdir()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "weighbridge"))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    window.commands.about.trigger()
    (dialog,) = window.findChildren(About)
    assert str(tmp_path / "licences") in dialog.text.toPlainText()
    dialog.close()


def test_first_steps_are_shown_to_who_is_new_and_dismissed_for_good(
    window: MainWindow, theme: Theme, qtbot: QtBot
) -> None:
    assert not window.welcome.tips.isVisible()
    window.offer_first_steps()
    assert window.welcome.tips.isVisible()
    window.welcome.tips.close_button.click()
    assert not window.welcome.tips.isVisible()
    assert settings.load(window.kept.path).tips is False
    again = MainWindow(Document(), theme, KeptSettings(window.kept.path))
    qtbot.addWidget(again)
    again.offer_first_steps()
    assert again.welcome.tips.isHidden()
    again.commands.first_steps.trigger()
    (dialog,) = again.findChildren(FirstSteps)
    assert dialog.isVisible()
    dialog.close()
    again.close()


def test_the_log_is_opened_where_there_is_something_in_it(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def opens(url: QUrl) -> bool:
        shown.append(url.toLocalFile())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", opens)
    window.commands.open_log.trigger()
    assert "nothing has gone wrong" in window.message.text()
    path = crash.default_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("it fell over")
    window.commands.open_log.trigger()
    assert shown == [str(path)]
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: False)
    window.commands.open_log.trigger()
    assert str(path) in window.message.text()


def test_after_a_crash_the_next_start_says_so_and_offers_the_log(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = crash.default_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("Fatal Python error")
    shown: list[str] = []

    def opens(url: QUrl) -> bool:
        shown.append(url.toLocalFile())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", opens)
    window.problems.show_earlier_crash()
    (banner,) = window.problems.stack.banners
    assert banner.problem == EARLIER_CRASH
    assert banner.action.text() == "Open log"
    banner.action.click()
    assert shown == [str(path)]
    every_page.open_specimen(window, "Llama-3.1-8B")
    assert len(window.problems.stack.banners) == 1  # opening a file does not hide it
    window.problems.stack.banners[0].dismiss.click()
    every_page.open_specimen(window, "Qwen3.6-27B")
    assert not window.problems.stack.banners


def test_terms_are_found_in_what_a_widget_lies_in(qtbot: QtBot) -> None:
    outer = QWidget()
    qtbot.addWidget(outer)
    middle = QWidget(outer)
    middle.setAccessibleName("KV cache of the model")
    inner = QWidget(middle)
    assert terms_about(inner) == [term_named("KV cache")]
    assert terms_about(outer) == []
