"""The list of advice in the plan: it comes where it is needed, and what it offers can be taken."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.machine import Machine, combine, custom
from core.model.model import Model
from core.plan.advice import starts
from core.plan.plan import Verdict
from core.units import UnitSystem, format_rate
from gui.document import Document
from gui.panels.plan import PlanPanel
from tests.support.specimen_plans import specimen_plan

GIB = 2**30


@cache
def specimen(word: str) -> Model:
    return specimen_plan(word).model


def card(gib: int, ram: int = 64) -> Machine:
    """A graphics card in a computer."""
    return combine(custom(gib * GIB, 448e9), custom(ram * GIB, 51.2e9, gpu=False))


def document(word: str, machine: Machine, context: int) -> Document:
    made = Document()
    made.set_machine(machine)
    made.set_model(specimen(word))
    made.choose(context=context)
    return made


def panel_of(qtbot: QtBot, made: Document) -> PlanPanel:
    panel = PlanPanel(made)
    qtbot.addWidget(panel)
    panel.show()
    return panel


def test_what_cannot_fit_gets_words_and_no_buttons(qtbot: QtBot) -> None:
    one = custom(GIB // 4, 10e9)
    two = replace(one, devices=(one.devices[0], *one.devices))
    panel = panel_of(qtbot, document("Llama-3.1-8B", two, 8192))
    qtbot.waitUntil(lambda: bool(panel.advice.lead.text()))
    assert panel.advice.buttons == []
    assert "No single setting" in panel.advice.lead.text()
    assert panel.advice.ask.isHidden()


def test_a_button_takes_the_advice_as_one_step_and_the_list_leaves(qtbot: QtBot) -> None:
    made = document("Llama-3.1-8B", card(8), 65_536)
    panel = panel_of(qtbot, made)
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    number = next(i for i, a in enumerate(panel.advice.advice) if "cache_k" in a.changes)
    advice, row = panel.advice.advice[number], panel.advice.rows[number]
    assert "tok/s" in row.text.text()
    assert row.cost.text().startswith("costs: ")
    count = made.undo_stack.count()
    row.use.click()
    assert made.plan is not None
    assert starts(made.plan)
    assert made.plan == advice.plan  # what was promised is what is there
    assert made.undo_stack.count() == count + 1
    made.undo_stack.undo()
    assert made.plan.verdict is Verdict.DOES_NOT_FIT


def test_what_is_advised_stands_at_the_height_of_its_button(qtbot: QtBot) -> None:
    panel = panel_of(qtbot, document("Llama-3.1-8B", card(8), 65_536))
    panel.resize(1200, 800)
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    row = panel.advice.rows[0]

    def middle(widget: QWidget) -> int:
        return widget.mapTo(row, widget.rect().center()).y()

    qtbot.waitUntil(lambda: abs(middle(row.text) - middle(row.use)) <= 1)


def test_closing_the_model_ends_the_search(qtbot: QtBot) -> None:
    made = document("Llama-3.1-8B", card(6), 131_072)
    panel = panel_of(qtbot, made)
    assert panel.advice._timer.isActive()
    made.set_model(None)
    qtbot.waitUntil(lambda: not panel.advice._timer.isActive())
    assert panel.advice.buttons == []


def test_old_advice_cannot_be_taken_after_something_changed(qtbot: QtBot) -> None:
    made = document("Llama-3.1-8B", card(8), 65_536)
    panel = panel_of(qtbot, made)
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    made.choose(slots=2)
    assert not any(button.isEnabled() for button in panel.advice.buttons)
    qtbot.waitUntil(lambda: panel.advice.buttons[0].isEnabled())


def test_at_most_three_are_shown_until_one_asks_for_more(qtbot: QtBot) -> None:
    made = document("Qwen3.6-27B", card(24), 120_000)
    panel = panel_of(qtbot, made)
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    assert "tight" in panel.advice.lead.text()
    total = len(panel.advice.advice)
    assert total > 3
    assert len(panel.advice.buttons) == 3
    assert panel.advice.more.text() == f"{total - 3} more ▾"
    panel.advice.more.click()
    assert len(panel.advice.buttons) == total
    panel.advice.more.click()
    assert len(panel.advice.buttons) == 3


def test_how_it_could_be_faster_is_told_when_somebody_asks(qtbot: QtBot) -> None:
    made = document("Llama-3.1-8B", card(16), 8192)
    made.choose(gpu_layers=10)
    panel = panel_of(qtbot, made)
    qtbot.wait(200)
    assert panel.advice.buttons == []
    panel.advice.ask.click()
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    assert panel.advice.rows[0].text.text().startswith("All layers on the GPU: expected")
    panel.advice.buttons[0].click()
    assert made.choice.gpu_layers == "all"
    panel.advice.ask.click()
    assert panel.advice.buttons == []
    assert panel.advice.lead.isHidden()


def test_faster_was_asked_of_one_machine_and_of_the_next_room_comes_first(qtbot: QtBot) -> None:
    made = document("Qwen3.6-27B", card(48), 120_000)
    panel = panel_of(qtbot, made)
    qtbot.waitUntil(panel.advice.ask.isVisible)
    panel.advice.ask.click()
    made.choose(context=119_808)
    assert panel.advice.ask.isChecked()  # it is the same machine still
    made.set_machine(card(24))
    assert made.plan is not None and made.plan.verdict is Verdict.TIGHT
    assert not panel.advice.ask.isChecked()
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    assert "tight" in panel.advice.lead.text()


def test_it_speaks_in_the_chosen_units(qtbot: QtBot) -> None:
    made = document("Qwen3.6-27B", card(24), 120_000)
    panel = panel_of(qtbot, made)
    qtbot.waitUntil(lambda: bool(panel.advice.buttons))
    assert "GiB free" in panel.advice.rows[0].text.text()
    made.set_units(UnitSystem.GB)
    assert "GB free" in panel.advice.rows[0].text.text()


@pytest.mark.parametrize("context", [512, 16_384, 65_536])
def test_the_ceiling_of_an_empty_cache_is_the_start_of_the_curve_whatever_is_reserved(
    qtbot: QtBot, context: int
) -> None:
    for word, machine in (("Llama-3.1-8B", card(24)), ("Qwen3-30B-A3B", card(8))):
        made = document(word, machine, context)
        panel = PlanPanel(made)
        qtbot.addWidget(panel)
        made.choose(gpu_layers=20)
        assert made.plan is not None
        start = made.plan.speed.curve[0]
        assert start.depth == 0
        assert start.tok_s is not None
        shown = format_rate(start.tok_s).removesuffix(" tok/s")
        assert panel.speed.at_start.shown == shown
        assert panel.speed.at_depth.shown == format_rate(made.plan.speed.ceiling.value or 0.0)
