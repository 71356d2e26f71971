"""What is chosen without a control of its own is not out of sight."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import catalogue, custom
from core.model import model_from
from core.plan.choice import Choice
from gui.document import Document
from gui.panels.plan.what_if import WhatIfSection


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(custom(64 * 2**30, 100e9, gpu=False))
    made.set_machine(catalogue.machine("nvidia-geforce-rtx-3060-12-gb"))
    made.set_model(
        model_from(open_file(next(p for p in resources.specimens() if "Llama-3.1" in p.stem)))
    )
    return made


@pytest.fixture
def section(qtbot: QtBot, document: Document) -> WhatIfSection:
    made = WhatIfSection(document)
    qtbot.addWidget(made)

    def follow() -> None:
        assert document.plan is not None
        made.show_plan(document.plan)

    document.plan_changed.connect(follow)
    follow()
    made.show()
    return made


def test_there_is_no_such_row_where_every_choice_has_a_control(
    document: Document, section: WhatIfSection
) -> None:
    document.choose(context=8192, cache_k="q8_0", slots=1)
    assert not section.also.isVisible() and not section.also.label.isVisible()


def test_options_of_a_pasted_command_are_said_and_a_button_gives_them_back_as_one_step(
    document: Document, section: WhatIfSection
) -> None:
    document.choose(context=8192, ubatch=1024, batch=4096, unified_cache=False, swa_full=True)
    assert section.also.isVisible() and section.also.label.isVisible()
    assert section.also.words.text() == (
        "ubatch 1,024, batch 4,096, a cache for each slot, whole context in windowed layers"
    )
    section.also.clear.click()
    assert document.choice == Choice(context=8192)
    assert not section.also.isVisible()
    document.undo_stack.undo()
    assert document.choice.ubatch == 1024
    assert section.also.isVisible()
