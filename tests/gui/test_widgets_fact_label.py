"""A figure on the screen: explained on hover, on focus, to a screen reader; a click copies it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAccessible, QColor, QGuiApplication, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.provenance import Input, Number, Rank, Source, Unit
from core.units import UnitSystem
from gui.theme import LIGHT
from gui.widgets.fact_label import FactLabel, explanation_html

CACHE = Number(
    335_544_320,
    Unit.BYTES,
    Source(Rank.DERIVED, "file header", "2026-01-02"),
    formula="context × bytes per token",
    inputs=(Input("context", 16_384, Unit.TOKENS), Input("bytes per token", 20_480, Unit.BYTES)),
)
UNKNOWN: Number[int] = Number(None, Unit.BYTES, Source(Rank.REPORTED, "NVML"), note="no driver")


@pytest.fixture
def label(qtbot: QtBot) -> FactLabel:
    made = FactLabel("KV cache")
    qtbot.addWidget(made)
    made.set_number(CACHE)
    made.show()
    return made


def hover(widget: QWidget) -> str:
    at = QPoint(1, 1)
    event = QHelpEvent(QEvent.Type.ToolTip, at, widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)
    return QToolTip.text()


def test_the_value_is_shown_in_the_units_asked_for(label: FactLabel) -> None:
    assert label.shown == "320 MiB"
    label.set_number(CACHE, UnitSystem.GB)
    assert label.shown == "336 MB"


def test_hovering_shows_value_formula_inputs_source_date_and_rank(label: FactLabel) -> None:
    text = hover(label)
    assert QToolTip.isVisible()
    for words in (
        "KV cache",
        "335,544,320 B",
        "context × bytes per token",
        "16,384 tokens",
        "file header",
        "2026-01-02",
        "Derived",
    ):
        assert words in text, words


def test_walking_to_it_by_keyboard_shows_the_explanation_and_leaving_hides_it(
    qtbot: QtBot,
) -> None:
    page = QWidget()
    first, second = FactLabel("first"), FactLabel("second")
    column = QVBoxLayout(page)
    column.addWidget(first)
    column.addWidget(second)
    qtbot.addWidget(page)
    first.set_number(UNKNOWN)
    second.set_number(CACHE)
    page.show()
    page.activateWindow()
    first.setFocus(Qt.FocusReason.OtherFocusReason)
    qtbot.waitUntil(first.hasFocus)
    assert "no driver" not in QToolTip.text()
    QTest.keyClick(first, Qt.Key.Key_Tab)
    assert second.hasFocus()
    qtbot.waitUntil(QToolTip.isVisible)
    assert "context × bytes per token" in QToolTip.text()
    qtbot.wait(100)
    assert QToolTip.isVisible()
    second.clearFocus()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_a_screen_reader_hears_name_value_and_explanation(label: FactLabel) -> None:
    spoken = QAccessible.queryAccessibleInterface(label)
    assert spoken.role() is QAccessible.Role.Button
    assert spoken.text(QAccessible.Text.Name) == "KV cache: 320 MiB"
    description = spoken.text(QAccessible.Text.Description)
    assert "context × bytes per token" in description
    assert "335,544,320 B" in description


def test_who_reads_the_screen_hears_how_the_next_figure_was_come_by(label: FactLabel) -> None:
    spoken = QAccessible.queryAccessibleInterface(label)
    assert "335,544,320 B" in spoken.text(QAccessible.Text.Description)
    label.set_number(UNKNOWN)
    assert "no driver" in spoken.text(QAccessible.Text.Description)


def test_a_figure_that_nobody_asks_about_is_not_put_into_words(
    label: FactLabel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def explained(*of: object) -> str:
        asked.append(of)
        return "how"

    monkeypatch.setattr("gui.widgets.fact_label.explain", explained)
    label.set_number(UNKNOWN)
    assert not asked
    assert label.accessibleDescription() == "how"


@pytest.mark.parametrize("how", ["click", "enter", "return", "space"])
def test_a_click_or_a_key_copies_what_is_shown_and_says_so(label: FactLabel, how: str) -> None:
    QGuiApplication.clipboard().setText("before")
    if how == "click":
        QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    else:
        key = {
            "enter": Qt.Key.Key_Enter,
            "return": Qt.Key.Key_Return,
            "space": Qt.Key.Key_Space,
        }[how]
        QTest.keyClick(label, key)
    assert QGuiApplication.clipboard().text() == "320 MiB"
    assert QToolTip.isVisible()
    assert "copied 320 MiB" in QToolTip.text()


def test_an_unknown_value_says_so_and_why(label: FactLabel) -> None:
    label.set_number(UNKNOWN)
    assert label.shown == "unknown"
    assert "no driver" in hover(label)
    ink = {
        label.grab().toImage().pixelColor(x, y).name()
        for x in range(label.width())
        for y in range(label.height())
    }
    assert LIGHT.text not in ink  # muted, not black


def test_the_focus_is_visible(qtbot: QtBot, label: FactLabel) -> None:
    label.activateWindow()
    label.setFocus(Qt.FocusReason.OtherFocusReason)
    qtbot.waitUntil(label.hasFocus)
    image = label.grab().toImage()
    assert image.pixelColor(label.width() // 2, label.height() - 1) == QColor(LIGHT.accent)


class Counting(FactLabel):
    """Counts how often it asks to be laid out again."""

    asked = 0

    def updateGeometry(self) -> None:
        self.asked += 1
        super().updateGeometry()


def test_showing_the_same_figure_again_lays_nothing_out(qtbot: QtBot) -> None:
    label = Counting("KV cache")
    qtbot.addWidget(label)
    label.set_number(CACHE)
    before = label.asked
    label.set_number(CACHE)
    label.set_number(CACHE, text="999 MiB")  # as wide as before
    assert label.asked == before
    label.set_number(CACHE, text="1,000,000 MiB")
    assert label.asked == before + 1


def test_there_is_always_room_for_the_widest_text(qtbot: QtBot) -> None:
    label = FactLabel("Size", widest="1,023 MiB")
    qtbot.addWidget(label)
    wide = label.sizeHint()
    for size in (0, 5 * 2**30, 1023 * 2**20):
        label.set_number(Number(size, Unit.BYTES, CACHE.source))
        assert label.sizeHint() == wide


def test_another_name_is_told_with_the_figure(label: FactLabel) -> None:
    label.set_number(CACHE, name="cache of the draft")
    assert label.accessibleName() == "cache of the draft: 320 MiB"
    assert "cache of the draft" in hover(label)


def test_names_from_a_file_are_not_taken_for_markup() -> None:
    html = explanation_html("<b>evil</b>", "1 <2 KiB\n<img src=x>")
    assert "<b>evil" not in html
    assert "<img" not in html
    assert "&lt;img src=x&gt;" in html


def test_a_figure_is_never_cut(label: FactLabel) -> None:
    width = label.fontMetrics().horizontalAdvance("320 MiB")
    assert label.minimumSizeHint().width() >= width
