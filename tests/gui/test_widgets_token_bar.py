"""The bytes of one token as a bar."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from core.model.model import Role
from core.plan.plan import PartKind
from core.units import UnitSystem
from gui.widgets.elided_text import plain_tip
from gui.widgets.token_bar import Segment, TokenBar, sentence

SEGMENTS = (
    Segment("experts", 600_000_000, Role.EXPERTS),
    Segment("attention", 300_000_000, Role.ATTENTION),
    Segment("cache: full attention", 100_000_000, PartKind.CACHE),
)


@pytest.fixture
def bar(qtbot: QtBot) -> TokenBar:
    made = TokenBar()
    qtbot.addWidget(made)
    made.resize(500, 20)
    made.set_segments(SEGMENTS, 2_000_000_000, UnitSystem.GB)
    made.show()
    return made


def test_segments_are_to_scale_and_leave_room_for_the_whole(bar: TokenBar) -> None:
    assert [(left, right) for _, left, right in bar.edges()] == [(0, 150), (150, 225), (225, 250)]


def test_the_bar_grows_with_the_bytes_of_a_deeper_token(bar: TokenBar) -> None:
    deeper = (*SEGMENTS[:2], SEGMENTS[2]._replace(bytes=1_100_000_000))
    bar.set_segments(deeper, 2_000_000_000, UnitSystem.GB)
    assert bar.edges()[-1][2] == 500


def test_what_is_more_than_the_whole_fills_the_bar_and_no_more(bar: TokenBar) -> None:
    bar.set_segments(SEGMENTS, 10, UnitSystem.GB)
    assert bar.edges()[-1][2] == 500


def test_the_bar_in_words_names_the_largest_part_first(bar: TokenBar) -> None:
    assert bar.accessibleDescription() == (
        "One token reads 1.00 GB: experts 600 MB, attention 300 MB, cache: full attention 100 MB."
    )
    assert sentence((), UnitSystem.GB) == "What one token reads is not known."


def test_every_part_and_the_rest_of_the_width_explain_themselves_to_pointer_and_keyboard(
    bar: TokenBar, qtbot: QtBot
) -> None:
    expected = [
        "experts: 600 MB (600,000,000 B), 60 % of what one token reads",
        "attention: 300 MB (300,000,000 B), 30 % of what one token reads",
        "cache: full attention: 100 MB (100,000,000 B), 10 % of what one token reads",
        "1.00 GB more are read for a token at the right end of the curve, where the cache is "
        "fullest",
    ]
    for x, words in zip((0, 160, 230, 400), expected, strict=True):
        place = QPoint(x, 5)
        QApplication.sendEvent(bar, QHelpEvent(QEvent.Type.ToolTip, place, bar.mapToGlobal(place)))
        assert QToolTip.text() == plain_tip(words)
    bar.activateWindow()
    bar.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(bar.hasFocus)
    seen = [bar.spoken_value()]
    for _ in range(4):  # once more than there are parts: the last stays
        QTest.keyClick(bar, Qt.Key.Key_Right)
        seen.append(bar.spoken_value())
        assert QToolTip.text() == plain_tip(seen[-1])
    assert seen == [*expected, expected[-1]]
    QTest.keyClick(bar, Qt.Key.Key_Home)
    assert bar.spoken_value() == expected[0]
