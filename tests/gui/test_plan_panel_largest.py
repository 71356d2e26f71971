"""The largest context that fits, by cache type: buttons that do what they say."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from core.gguf import open_file
from core.machine import Machine, combine, custom
from core.model import model_from
from core.model.model import Model
from core.plan import largest_contexts
from core.plan.choice import FlashAttention
from core.plan.plan import Verdict
from gui.document import Document
from gui.panels.plan.largest import LargestRow

GIB = 2**30


@pytest.fixture(scope="module")
def llama() -> Model:
    path = files("resources") / "specimens" / "Llama-3.1-8B-Instruct-Q4_K_M.gguf"
    return model_from(open_file(Path(str(path))))


def machine(gib: int) -> Machine:
    return combine(custom(gib * GIB, 448e9), custom(64 * GIB, 51.2e9, gpu=False))


def row_of(qtbot: QtBot, document: Document) -> LargestRow:
    """The row as a panel keeps it, when its search has ended."""
    row = LargestRow(document)
    qtbot.addWidget(row)

    def show() -> None:
        if document.plan is not None:
            row.show_plan(document.plan)

    document.plan_changed.connect(show)
    show()
    settle(qtbot, row)
    return row


def settle(qtbot: QtBot, row: LargestRow) -> None:
    qtbot.waitUntil(lambda: not row._timer.isActive())


def words(row: LargestRow) -> list[str]:
    return [button.text() for button in row.buttons]


def verdict(document: Document) -> Verdict:
    assert document.plan is not None
    return document.plan.verdict


def test_each_cache_type_has_a_button_and_a_press_chooses_a_plan_that_fits(
    qtbot: QtBot, llama: Model
) -> None:
    """U19: people ask for the largest context that fits."""
    document = Document()
    document.set_machine(machine(10))
    document.set_model(llama)
    row = row_of(qtbot, document)
    found = largest_contexts(llama, document.machine, document.choice)
    assert words(row) == [f"{each.types} {each.comfortable:,}" for each in found]
    assert not row.isHidden()
    for button, each in zip(row.buttons, found, strict=True):
        assert f"{each.most:,}" in button.toolTip()
        button.click()
        assert document.plan is not None
        settings = document.plan.settings
        assert settings.requested_context == each.comfortable
        assert (settings.cache_k, settings.cache_v) == (each.cache_k, each.cache_v)
        assert verdict(document) is Verdict.FITS
    # Neither the context nor the types of the choice make another search.
    assert all(button.isEnabled() for button in row.buttons)


def test_where_it_does_not_fit_only_other_cache_types_are_offered(
    qtbot: QtBot, llama: Model
) -> None:
    document = Document()
    document.set_machine(machine(10))
    document.set_model(llama)
    row = row_of(qtbot, document)
    document.choose(context=131_072)
    assert verdict(document) is Verdict.DOES_NOT_FIT
    shown = [button.text().split()[0] for button in row.buttons if not button.isHidden()]
    assert shown == ["q8_0", "q4_0"]
    row.buttons[1].click()
    assert verdict(document) is Verdict.FITS
    assert not any(button.isHidden() for button in row.buttons)


def test_another_machine_has_other_contexts_and_old_buttons_cannot_be_pressed(
    qtbot: QtBot, llama: Model
) -> None:
    document = Document()
    document.set_machine(machine(10))
    document.set_model(llama)
    row = row_of(qtbot, document)
    before = words(row)
    document.set_machine(machine(8))
    assert row.buttons and not any(button.isEnabled() for button in row.buttons)
    settle(qtbot, row)
    after = words(row)
    assert len(after) == len(before)
    assert after != before


def test_types_that_the_engine_refuses_and_machines_on_which_nothing_fits_have_no_button(
    qtbot: QtBot, llama: Model
) -> None:
    document = Document()
    document.set_machine(machine(24))
    document.set_model(llama)
    row = row_of(qtbot, document)
    assert len(row.buttons) == 3
    document.choose(flash_attention=FlashAttention.OFF)
    settle(qtbot, row)
    assert [word.split()[0] for word in words(row)] == ["f16"]
    document.set_machine(machine(3))
    settle(qtbot, row)
    assert row.buttons == []
    assert row.isHidden()


def test_a_context_that_only_fits_tightly_says_so(qtbot: QtBot, llama: Model) -> None:
    document = Document()
    document.set_model(llama)
    document.set_machine(machine(24))
    assert document.plan is not None
    total = document.what_if(context=256).memory.devices[0].total.value or 0
    host = custom(64 * GIB, 51.2e9, gpu=False)
    document.set_machine(combine(custom(total + GIB // 2, 448e9), host))
    row = row_of(qtbot, document)
    assert words(row)[0].startswith("f16 ")
    assert "tightly" in row.buttons[0].toolTip()
    row.buttons[0].click()
    assert verdict(document) is Verdict.TIGHT


def test_a_model_that_is_closed_ends_its_search(qtbot: QtBot, llama: Model) -> None:
    document = Document()
    document.set_machine(machine(10))
    document.set_model(llama)
    assert document.plan is not None
    row = LargestRow(document)
    qtbot.addWidget(row)
    row.show_plan(document.plan)
    document.set_model(None)
    settle(qtbot, row)
    assert row.buttons == []
    document.set_model(llama)
    row.show_plan(document.plan)
    settle(qtbot, row)
    assert len(row.buttons) == 3


def test_where_it_does_not_fit_the_chosen_type_is_not_to_be_seen(
    qtbot: QtBot, llama: Model
) -> None:
    document = Document()
    document.set_machine(machine(10))
    document.set_model(llama)
    document.choose(context=131_072)
    assert verdict(document) is Verdict.DOES_NOT_FIT
    row = row_of(qtbot, document)
    row.show()
    seen = [button.text() for button in row.buttons if button.isVisible()]
    assert seen
    assert not any(text.startswith("f16 ") for text in seen)
    assert row.lead.isVisible()
