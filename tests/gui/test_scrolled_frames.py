"""What a view draws around its rows stays where it is while they scroll, on the real screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QTableView
from pytestqt.qtbot import QtBot

from core.units import UnitSystem
from gui.panels.metadata.value_view import _Text
from gui.tables.model_rows import ModelLine, ModelSheet
from gui.tables.view import SheetView
from gui.widgets.line_list import LineList

_COLUMNS = ("name", "where", "label", "verdict", "bytes", "parameters", "context_length")


def _table() -> SheetView:
    sheet = ModelSheet(_COLUMNS)
    sheet.show([ModelLine(f"model {n}", "Q4_K_M") for n in range(200)], UnitSystem.GIB)
    return SheetView(sheet, "model")


def _empty_table() -> SheetView:
    sheet = ModelSheet(_COLUMNS)
    sheet.show([], UnitSystem.GIB)
    table = SheetView(sheet, "model")
    table.set_placeholder("Nothing is here yet, and nothing will come.")
    return table


def _text() -> _Text:
    text = _Text()
    text.setLineWrapMode(_Text.LineWrapMode.NoWrap)
    text.setPlainText("\n".join("word " * 80 for _ in range(200)))
    return text


def _lines() -> LineList:
    lines = LineList("Lines")
    lines.addItems(["word " * 80] * 200)
    return lines


def _on_screen(view: QAbstractScrollArea) -> QImage:
    return view.screen().grabWindow(view.winId()).toImage()


@pytest.mark.parametrize("make", [_table, _empty_table, _text, _lines])
def test_scrolling_leaves_the_same_picture_as_painting_anew(
    make: Callable[[], QAbstractScrollArea], qtbot: QtBot
) -> None:
    view = make()
    qtbot.addWidget(view)
    view.resize(360, 220)
    view.show()
    view.activateWindow()
    view.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(view.hasFocus)
    QApplication.processEvents()
    sideways, down = view.horizontalScrollBar(), view.verticalScrollBar()
    if isinstance(view, QTableView):
        assert sideways.maximum() > 40
    for bar, step in ((sideways, 9), (sideways, 31), (down, 2), (sideways, -17), (down, 1)):
        bar.setValue(bar.value() + step)
        QTest.qWait(20)
        scrolled = _on_screen(view)
        view.viewport().update()
        view.viewport().repaint()
        QApplication.processEvents()
        assert scrolled == _on_screen(view), (bar.orientation(), step)
