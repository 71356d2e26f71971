"""A model behind a link can be weighed; nothing that runs a program is offered for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from core.machine import custom
from core.machine.machine import Machine
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.commands import Shell, command
from core.plan.plan import Plan
from core.remote.opening import open_link
from core.units import UnitSystem
from gui.panels.check.engine_bar import EngineBar
from gui.panels.measure.own_server import OwnServerSection
from tests.support.gguf_files import TensorSpec, header_bytes, u32
from tests.support.link_server import LinkServer

HEADER = header_bytes(
    {"general.architecture": "llama", "llama.block_count": u32(1)},
    [TensorSpec("token_embd.weight", "F16", (64, 512))],
)


@pytest.fixture
def plan() -> Plan:
    with LinkServer() as server:
        server.files["/model.gguf"] = HEADER + bytes(64 * 512 * 2)
        file = open_link(f"{server.url}/model.gguf", environ={})
    assert not file.local
    machine: Machine = custom(64 * 2**30, 100e9, gpu=False)
    return resolve(model_from(file), machine, Choice(context=512))


def test_a_command_says_what_to_download_first(plan: Plan) -> None:
    made = command(plan, Shell.BASH)
    assert made.notes[0].startswith("The model is not on this computer: download http://127.0.0.1:")
    assert made.notes[0].endswith("/model.gguf first.")


def test_the_check_says_why_there_is_no_command(qtbot: QtBot, plan: Plan, tmp_path: Path) -> None:
    bar = EngineBar(str(tmp_path))
    qtbot.addWidget(bar)
    bar.show_plan(plan)
    assert bar.command is None
    assert "not on this computer" in bar.line.text()
    assert not bar.copy.isEnabled()


def test_no_server_is_started_with_it(qtbot: QtBot, plan: Plan, tmp_path: Path) -> None:
    panel = OwnServerSection(str(tmp_path))
    qtbot.addWidget(panel)
    panel._program = "/usr/bin/true"
    panel.show_plan(plan, UnitSystem.GIB)
    assert not panel.start.isEnabled()
