"""The bytes of one token as a bar."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from core.model.model import Role
from core.plan.plan import PartKind
from core.units import UnitSystem
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
