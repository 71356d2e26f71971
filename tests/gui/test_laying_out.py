"""Laying out at once, and once."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.provenance import Number, Rank, Source, Unit
from gui.widgets.laying_out import lay_out_now
from gui.widgets.share_bars import ShareBars, ShareRow


class Resizes(QObject):
    """How often a widget got another size."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.Resize
        return False


def rows(count: int) -> list[ShareRow]:
    number = Number(1, Unit.COUNT, Source(Rank.ASSUMED, "made up"))
    return [ShareRow(f"row {n}", 1 / count, (number,)) for n in range(count)]


def test_what_asks_for_room_has_it_before_anything_is_painted(qtbot: QtBot) -> None:
    outer, inner, label = QWidget(), QWidget(), QLabel("one line")
    for parent, child in ((outer, inner), (inner, label)):
        column = QVBoxLayout(parent)
        column.addWidget(child)
        column.addStretch(1)
    qtbot.addWidget(outer)
    outer.resize(300, 400)
    outer.show()
    qtbot.waitExposed(outer)
    label.setText("one line\nand another")
    lay_out_now()
    assert label.height() >= label.sizeHint().height()
    assert inner.height() >= inner.sizeHint().height()


def test_rows_that_come_and_go_together_are_laid_out_once(qtbot: QtBot) -> None:
    page, bars = QWidget(), ShareBars(("count",), ("1,000",))
    column = QVBoxLayout(page)
    column.addWidget(bars)
    column.addStretch(1)
    qtbot.addWidget(page)
    bars.set_rows(rows(8))
    bars.set_rows(rows(1))
    page.resize(400, 600)
    page.show()
    qtbot.waitExposed(page)
    lay_out_now()
    seen = Resizes()
    bars.installEventFilter(seen)
    for count in (8, 1):
        seen.count = 0
        bars.set_rows(rows(count))
        lay_out_now()
        assert seen.count == 1, count
        assert bars.height() == bars.sizeHint().height()
