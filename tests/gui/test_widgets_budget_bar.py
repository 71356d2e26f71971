"""The bar of one device: to scale, with its overflow, in words and to a screen reader."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QAccessible, QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from core.language import NAMES, speak, tr
from core.plan.choice import Choice
from core.plan.plan import DevicePlan, PartKind, Verdict
from core.units import UnitSystem
from gui import theme as theme_module
from gui.theme import DARK, LIGHT, Theme, ThemeMode
from gui.widgets.budget_bar import BudgetBar, rest, sentence
from tests.support import plans

GIB = 2**30


def device_plan(
    context: int = 16_384, *, known: bool = True, memory: int | None = 24 * GIB
) -> DevicePlan:
    model = plans.model(weights=20 * GIB, known=known)
    machine = plans.machine(plans.device("RTX 3090", memory=memory, used=GIB))
    return plans.resolve(model, machine, Choice(context=context)).memory.devices[0]


@pytest.fixture
def bar(qtbot: QtBot) -> BudgetBar:
    made = BudgetBar()
    qtbot.addWidget(made)
    made.resize(960, made.sizeHint().height())
    made.set_plan(device_plan(), UnitSystem.GIB)
    made.show()
    return made


def hover(bar: BudgetBar, x: int) -> str:
    at = QPoint(x, bar.height() // 2)
    event = QHelpEvent(QEvent.Type.ToolTip, at, bar.mapToGlobal(at))
    QApplication.sendEvent(bar, event)
    return QToolTip.text()


def test_parts_are_drawn_to_scale(bar: BudgetBar) -> None:
    edges = {part.kind: (left, right) for part, left, right in bar.segments()}
    assert edges[PartKind.OTHERS] == (0, 40)  # 1 of 24 GiB on 960 pixels
    assert edges[PartKind.WEIGHTS] == (40, 840)


def test_neighbouring_parts_touch_and_end_where_the_total_ends(bar: BudgetBar) -> None:
    edges = [(left, right) for _, left, right in bar.segments()]
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    total = device_plan().total.value
    assert total is not None
    assert edges[-1][1] == round(960 * total / (24 * GIB))


def test_what_fits_has_no_capacity_mark(bar: BudgetBar) -> None:
    assert bar.capacity_edge() is None


def test_what_does_not_fit_is_hatched_beyond_the_capacity_mark(bar: BudgetBar) -> None:
    over = device_plan(context=524_288)
    total = over.total.value
    assert total is not None
    assert over.verdict is Verdict.DOES_NOT_FIT
    bar.set_plan(over, UnitSystem.GIB)
    edge = bar.capacity_edge()
    assert edge == round(960 * 24 * GIB / total)
    image = bar.grab().toImage()
    row = bar.height() // 2
    beyond = {image.pixelColor(x, row).name() for x in range(edge + 3, bar.width() - 1)}
    within = {image.pixelColor(x, row).name() for x in range(1, edge - 1)}
    assert LIGHT.bad in beyond
    assert LIGHT.bad not in within
    assert beyond != {LIGHT.bad}  # a hatch, not a plain colour
    assert image.pixelColor(edge, 0) == QColor(LIGHT.text)  # the mark stands out of the bar


def test_overflow_is_put_in_words_in_either_unit() -> None:
    over = replace(device_plan(), free=plans.bytes_number(-1_181_116_006))
    assert rest(over, UnitSystem.GIB) == "1.10 GiB too much"
    assert rest(over, UnitSystem.GB) == "1.18 GB too much"


def test_a_screen_reader_hears_a_progress_bar_with_a_sentence(bar: BudgetBar) -> None:
    spoken = QAccessible.queryAccessibleInterface(bar)
    assert spoken.role() is QAccessible.Role.ProgressBar
    assert spoken.text(QAccessible.Text.Name) == "Memory of RTX 3090"
    assert spoken.valueInterface().currentValue() == 91  # 21.8 of 24 GiB
    words = spoken.text(QAccessible.Text.Description)
    for part in ("RTX 3090: 21.9 GiB of 24.0 GiB", "weights 20.0 GiB", "KV cache 320 MiB", "free"):
        assert part in words, part


def test_an_overfull_bar_is_not_above_a_hundred(bar: BudgetBar) -> None:
    bar.set_plan(device_plan(context=524_288), UnitSystem.GIB)
    assert bar.value() == 100


def test_an_unknown_part_is_said_and_drawn_open_and_never_red(bar: BudgetBar) -> None:
    unknown = device_plan(known=False)
    bar.set_plan(unknown, UnitSystem.GIB)
    assert "KV cache unknown" in sentence(unknown, UnitSystem.GIB)
    assert "what is left is not known" in sentence(unknown, UnitSystem.GIB)
    image = bar.grab().toImage()
    ink = {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }
    assert LIGHT.bad not in ink
    assert LIGHT.muted in ink


def test_a_device_of_unknown_size_is_drawn_by_what_lies_on_it(bar: BudgetBar) -> None:
    bar.set_plan(device_plan(memory=None), UnitSystem.GIB)
    assert bar.capacity_edge() is None
    assert bar.segments()[-1][2] == pytest.approx(960, abs=1)


def test_hovering_explains_the_part_under_the_pointer(bar: BudgetBar) -> None:
    assert "system and others" in hover(bar, 20)
    weights = hover(bar, 400)
    assert "weights" in weights
    assert "21,474,836,480 B" in weights
    assert "sum of all tensors" in weights
    assert "free" in hover(bar, 950)


def test_hovering_the_overflow_says_how_much_is_too_much(bar: BudgetBar) -> None:
    bar.set_plan(device_plan(context=524_288), UnitSystem.GIB)
    assert "too much" in hover(bar, 955)


def test_every_part_is_drawn_in_its_colour_in_both_themes(
    bar: BudgetBar, theme: Theme, qapp: QApplication
) -> None:
    for mode, colors in ((ThemeMode.LIGHT, LIGHT), (ThemeMode.DARK, DARK)):
        theme.set_mode(mode)
        qapp.processEvents()
        assert theme_module.colors() == colors
        image = bar.grab().toImage()
        for part, left, right in bar.segments():
            if right - left > 4:
                ink = {image.pixelColor(x, bar.height() // 2).name() for x in range(left, right)}
                assert colors.parts[part.kind].color in ink, part.kind


@pytest.mark.parametrize("code", NAMES)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("capacity", [True, False])
def test_the_sentence_is_whole_whatever_is_known(known: bool, capacity: bool, code: str) -> None:
    plan = device_plan(known=known, memory=24 * GIB if capacity else None)
    speak(code)
    words = sentence(plan, UnitSystem.GIB)
    unknown = tr("unknown")
    speak()
    # No small letter begins after a full stop, and no "unknown" stands where a figure would.
    assert not re.search(r"\. [^\W\d]", words)
    assert f"{unknown} of" not in words and f"de {unknown}" not in words
