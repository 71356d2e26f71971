"""Where the desktop is asked for no motion, nothing glides."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleHintReturn, QStyleOption, QWidget
from pytestqt.qtbot import QtBot

from gui.document import Document
from gui.panels.explain.cache_growth import CacheGrowth
from gui.widgets.motion import CALM_MS, moves, pace
from tests.support import plans


class Calm(QProxyStyle):
    """A desktop that is asked for no animations, as Qt's styles say it."""

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returned: QStyleHintReturn | None = None,
    ) -> int:
        if hint is QStyle.StyleHint.SH_Widget_Animation_Duration:
            return 0
        return super().styleHint(hint, option, widget, returned)


@pytest.mark.parametrize("calm", [False, True])
def test_what_plays_steps_once_a_second_where_no_motion_is_wanted(qtbot: QtBot, calm: bool) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    style = Calm("Fusion")
    if calm:
        widget.setStyle(style)
    assert moves(widget) is not calm
    assert pace(widget, 50) == (CALM_MS if calm else 50)
    assert pace(widget, 3 * CALM_MS) == 3 * CALM_MS


def test_a_cache_that_fills_up_takes_as_long_in_fewer_steps(qtbot: QtBot) -> None:
    document = Document(plans.resolve)
    view = CacheGrowth(document)
    qtbot.addWidget(view)
    style = Calm("Fusion")
    view.setStyle(style)
    document.set_model(plans.model())
    document.choose(context=65_536, depth=0)
    view.show()
    view.play.click()
    assert view.playing
    view._advance()
    step = view.step.value
    assert step >= 65_536 // 8
    view._advance()
    assert view.step.value == pytest.approx(2 * step, rel=0.1)
