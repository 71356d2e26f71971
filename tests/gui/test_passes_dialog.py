"""Speculation and several users, in the window: figures follow the sliders and the plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from core.machine import custom
from core.plan.batching import Batches
from core.plan.speculation import Drafter, Speculator
from core.units import format_rate
from gui.document import Document
from gui.main_window import MainWindow
from gui.panels.passes import PassesDialog
from gui.theme import Theme, ThemeMode
from tests.support.cut import cut
from tests.support.shown_window import shown_window
from tests.support.specimen_plans import on_a_3090, specimen_plan


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_machine(on_a_3090())
    made.set_model(specimen_plan("Qwen3.6-27B").model)
    return made


@pytest.fixture
def dialog(qtbot: QtBot, document: Document) -> PassesDialog:
    made = PassesDialog(document)
    qtbot.addWidget(made)
    made.open_front()
    return made


def set_field(dialog: PassesDialog, name: str, value: int) -> None:
    getattr(dialog.speculation, name).box.setValue(value)


def test_the_file_s_own_blocks_are_taken_first_and_the_figures_are_those_of_the_plan(
    dialog: PassesDialog, document: Document
) -> None:
    side = dialog.speculation
    assert "own draft blocks" in side.drafter.currentText()
    set_field(dialog, "acceptance", 80)
    set_field(dialog, "drafted", 4)
    assert document.plan is not None
    found = Speculator(document.plan, Drafter.HEAD).speculate(0.8, 4)
    assert side.rate.shown == format_rate(found.rate.value or 0)
    assert f"{found.round.times:.2f} times" in side.times.text()
    assert f"pays above an acceptance of {found.pays_above:.0%}".replace("%", " %") in (
        side.verdict.text()
    )
    assert side.plot.accessibleDescription() == side.verdict.text()


def test_a_draft_of_another_size_is_asked_for_its_bytes(dialog: PassesDialog) -> None:
    side = dialog.speculation
    assert side.draft_size.isHidden()
    side.drafter.setCurrentIndex(side.drafter.count() - 1)
    side.drafter.activated.emit(side.drafter.currentIndex())
    assert side.draft_size.isVisible()
    set_field(dialog, "draft_size", 20_000)
    assert "never pays" in side.verdict.text()
    assert "best not to draft" in side.verdict.text()
    set_field(dialog, "draft_size", 100)
    assert "pays above" in side.verdict.text()


def test_an_attached_draft_model_is_offered(dialog: PassesDialog, document: Document) -> None:
    document.choose(draft=specimen_plan("Llama-3.2-1B").model)
    assert dialog.speculation.drafter.itemText(0) == "the attached draft model"


def test_users_share_the_weights_and_can_be_planned_for_in_one_step(
    dialog: PassesDialog, document: Document
) -> None:
    dialog.sides.setCurrentWidget(dialog.users)
    side = dialog.users
    side.users.box.setValue(2)
    assert document.plan is not None
    point = Batches(document.plan).at(2)
    assert side.total.shown == format_rate(point.total)
    assert side.each.shown == f"{format_rate(point.each)} for each"
    assert "2 caches of 16,384 tokens: fits" in side.memory.text()
    count = document.undo_stack.count()
    side.use.click()
    assert (document.choice.slots, document.choice.context) == (2, 32_768)
    assert document.undo_stack.count() == count + 1
    side.users.box.setValue(64)
    assert "does not fit" in side.memory.text()


def test_the_context_of_each_user_is_the_one_that_is_then_planned(
    dialog: PassesDialog, document: Document
) -> None:
    document.choose(context=1000, slots=1)  # which the engine pads to 1,024
    dialog.users.users.box.setValue(4)
    assert "4 caches of 1,000 tokens" in dialog.users.memory.text()
    dialog.users.use.click()
    assert document.choice.context == 4 * 1000


def test_where_nothing_is_known_there_is_a_sentence_and_no_figure(
    dialog: PassesDialog, document: Document
) -> None:
    document.set_machine(custom(24 * 2**30))
    assert dialog.speculation.rate.shown == ""
    assert dialog.speculation.note.text()
    assert dialog.users.total.shown == ""
    assert dialog.users.words.text()


@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
@pytest.mark.parametrize("size", [(520, 420), (900, 700)])
def test_it_is_drawn_at_any_size_in_both_themes(
    dialog: PassesDialog, theme: Theme, mode: ThemeMode, size: tuple[int, int]
) -> None:
    theme.set_mode(mode)
    dialog.resize(*size)
    for number, plot in enumerate((dialog.speculation.plot, dialog.users.plot)):
        dialog.sides.setCurrentIndex(number)
        image = dialog.grab().toImage()
        colors = {
            image.pixel(x, y)
            for x in range(0, image.width(), 7)
            for y in range(0, image.height(), 7)
        }
        assert len(colors) > 3
        assert cut(dialog) == []
        assert plot.height() >= plot.minimumHeight()


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, on_a_3090()) as made:
        yield made


def test_the_menu_opens_one_dialog_that_closes_with_the_model(window: MainWindow) -> None:
    assert not window.commands.passes.isEnabled()
    window.document.set_model(specimen_plan("Llama-3.2-1B").model)
    window.commands.passes.trigger()
    window.commands.passes.trigger()
    (made,) = window.findChildren(PassesDialog)
    assert made.isVisible()
    window.opening.close_model()
    assert not made.isVisible()
