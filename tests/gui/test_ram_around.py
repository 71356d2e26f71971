"""A card of the catalogue alone: the plan leads to where the RAM around it is said."""

from __future__ import annotations

from typing import Any

import pytest
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import Machine, catalogue, combine, custom, with_ram
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice
from gui.document import Document
from gui.panels.plan.combination import CombinationDialog
from gui.panels.plan.panel import PlanPanel
from gui.panels.plan.ram_around import needs_ram

GIB = 2**30
CARD = "nvidia-geforce-rtx-4090"


@pytest.fixture(scope="module")
def model() -> Model:
    (path,) = (p for p in resources.specimens() if "Qwen3-30B" in p.stem)
    return model_from(open_file(path))


@pytest.mark.parametrize(
    ("machine", "choice", "wanted"),
    [
        ("card", {}, False),
        ("card", {"context": 262_144}, True),  # what makes it fit may be RAM
        ("card", {"cpu_moe": 10}, True),
        ("card", {"gpu_layers": 20}, True),
        ("RAM of no rate", {"cpu_moe": 10}, True),
        ("card and RAM", {"context": 262_144}, False),
        ("card and RAM", {"cpu_moe": 10}, False),
        ("RAM", {"context": 262_144}, False),
        ("unified", {"context": 262_144}, False),
    ],
)
def test_it_is_asked_for_where_a_plan_needs_it(
    model: Model, machine: str, choice: dict[str, Any], wanted: bool
) -> None:
    card = catalogue.machine(CARD)
    machines: dict[str, Machine] = {
        "card": card,
        "card and RAM": combine(card, custom(64 * GIB, 51.2e9, gpu=False)),
        "RAM of no rate": with_ram(card, 64 * GIB),
        "RAM": custom(16 * GIB, 51.2e9, gpu=False),
        "unified": catalogue.machine("apple-m4-max-40-core-gpu"),
    }
    assert needs_ram(resolve(model, machines[machine], Choice(**choice))) is wanted


def test_the_button_opens_the_dialog_with_that_card(qtbot: QtBot, model: Model) -> None:
    document = Document()
    document.set_machine(catalogue.machine(CARD))
    document.set_model(model)
    panel = PlanPanel(document)
    qtbot.addWidget(panel)
    panel.show()
    assert not panel.ram_around.isVisible()
    document.choose(cpu_moe=20)
    assert panel.ram_around.isVisible()
    assert not panel.speed.remedy.isVisible()  # one way to say it is enough
    panel.ram_around.button.click()
    (dialog,) = panel.findChildren(CombinationDialog)
    assert "RTX 4090" in dialog.cards[0].name.text()
    assert dialog.ram.text() == ""
    dialog.ram.setText("64 GiB")
    dialog.ram_bandwidth.setText("51.2 GB/s")
    dialog.buttons.accepted.emit()
    assert not panel.ram_around.isVisible()
    plan = document.plan
    assert plan is not None and plan.speed.ceiling.known
