"""Field reports about using such programs, as cases of the window: what is shown and what works."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.machine import Machine, combine, custom, own
from core.machine.detect import detect
from core.model import model_from
from core.model.model import Model
from core.plan.plan import Verdict
from core.problems import Problem, Severity
from core.tabular import TextFormat
from gui.document import Document
from gui.main_window import taking_away
from gui.panels.command.copy_side import CopySide
from gui.panels.command.paste_side import PasteSide
from gui.panels.measure.own_server import OwnServerSection
from gui.panels.overview import OverviewPanel
from gui.panels.plan import PlanPanel
from gui.theme import Theme
from gui.theme import colors as theme_colors
from gui.widgets.fact_label import FactLabel
from tests.support.memory import file_of
from tests.support.shown_window import shown_window
from tests.support.specimen_plans import specimen_plan

GIB = 2**30
_listening: list[list[str]] = []


def _opened(event: str, arguments: tuple[object, ...]) -> None:
    for heard in _listening:
        if event in ("open", "os.scandir", "os.listdir"):
            heard.append(str(arguments[0]))


sys.addaudithook(_opened)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """Every file and folder that Python opens meanwhile."""
    _listening.append([])
    yield _listening[-1]
    _listening.pop()


def card(gib: int, ram: int) -> Machine:
    return combine(custom(gib * GIB, 448e9), custom(ram * GIB, 51.2e9, gpu=False))


def shown_panel(qtbot: QtBot, model: Model, machine: Machine, **choice: object) -> PlanPanel:
    document = Document()
    document.set_machine(machine)
    document.set_model(model)
    document.choose(**choice)
    panel = PlanPanel(document)
    qtbot.addWidget(panel)
    panel.resize(800, 800)
    panel.show()
    return panel


def test_u20_unknown_is_grey_says_what_is_missing_and_advises_nothing(qtbot: QtBot) -> None:
    """U20: "memory estimate unavailable" stood beside "not enough resources"."""
    keys = {"general.architecture": "never-heard-of", "never-heard-of.block_count": 4}
    panel = shown_panel(qtbot, model_from(file_of(keys)), card(8, 32))
    verdict = panel.memory.verdict
    assert verdict.text() == theme_colors().verdict(Verdict.UNKNOWN).word
    assert theme_colors().verdict(Verdict.UNKNOWN).color == theme_colors().muted
    assert panel.memory.reason.isVisible() and panel.memory.reason.shown
    qtbot.wait(300)
    assert panel.advice.buttons == []
    assert "not fit" not in panel.memory.reason.shown


def test_u20_processor_and_split_are_offered_side_by_side_with_their_speeds(qtbot: QtBot) -> None:
    """U20: a card of 8 GB was the end of it, although 32 GB of RAM would have done."""
    model = specimen_plan("Qwen3.6-27B").model
    panel = shown_panel(qtbot, model, card(8, 32), context=8192)
    qtbot.waitUntil(
        lambda: {"gpu_layers", "backend"} <= {f for a in panel.advice.advice for f in a.changes}
    )
    if panel.advice.more.isVisible():
        panel.advice.more.click()
    for field in ("gpu_layers", "backend"):
        number = next(i for i, a in enumerate(panel.advice.advice) if field in a.changes)
        assert "tok/s" in panel.advice.rows[number].text.text()
        assert panel.advice.rows[number].use.isEnabled()


def test_u21_every_part_of_every_device_follows_without_a_look_at_the_disk(
    qtbot: QtBot, opened: list[str]
) -> None:
    """U21: people load for a minute to learn what a plan says at once."""
    model = specimen_plan("Qwen3.6-35B").model
    panel = shown_panel(qtbot, model, card(24, 64))
    document = panel._document
    qtbot.waitUntil(lambda: panel.largest.isVisible())
    qtbot.wait(300)
    before = None
    for change in (
        {"gpu_layers": 20},
        {"context": 65_536},
        {"ubatch": 2048},
        {"cpu_moe": 12},
        {"cache_k": "q8_0", "cache_v": "q8_0"},
    ):
        opened.clear()
        document.choose(**change)
        QApplication.processEvents()
        assert opened == [], f"{change} opened {opened}"
        plan = document.plan
        assert plan is not None and plan != before
        before = plan
        for block, device in zip(panel.memory.devices, plan.memory.devices, strict=True):
            told = {kind for kind, entry in block.entries.items() if entry.isVisible()}
            if block.bar.isVisible():
                assert told == {part.kind for part in device.parts if part.bytes.value}
            assert device.device.name in block.accessibleName()
    copy, paste = CopySide(document), PasteSide(document)
    for side in (copy, paste):
        qtbot.addWidget(side)
    copy.show_plan()
    wanted = before
    document.choose(context=4096, gpu_layers="all", ubatch=None, cpu_moe=0, cache_k="f16")
    assert document.plan != wanted
    paste.text.setPlainText(copy.text.toPlainText())
    paste.apply.click()
    assert document.plan is not None and wanted is not None
    assert document.plan.memory == wanted.memory
    told = json.loads(taking_away.report_as(TextFormat.JSON, document.plan, document.units))
    assert len(told["memory"]["devices"]) == 2


def test_u22_the_page_says_which_key_decided_and_what_is_only_assumed(
    qtbot: QtBot, theme: Theme
) -> None:
    """U22: lists of names rot in silence; here the rule stands beside the figure."""
    keys: dict[str, object] = {
        "block_count": 8,
        "context_length": 4096,
        "embedding_length": 512,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.sliding_window": 512,
    }
    told: dict[str, str] = {}
    for name, more in (
        ("foo9", {"attention.sliding_window_pattern": [True, True, True, False] * 2}),
        ("gemma3", {}),
    ):
        head: dict[str, object] = {"general.architecture": name}
        head |= {f"{name}.{key}": value for key, value in {**keys, **more}.items()}
        document = Document()
        panel = OverviewPanel(document)
        qtbot.addWidget(panel)
        document.set_model(model_from(file_of(head)))
        panel.show()
        labels = panel.findChildren(FactLabel)
        told[name] = " ".join(
            f"{label.accessibleDescription()} {label.toolTip()}" for label in labels
        )
    assert "sliding window: attention.sliding_window_pattern" in told["foo9"]
    assert "assumed: the keys do not say" in told["gemma3"]
    assert "assumed: the keys do not say" not in told["foo9"]


def test_u23_a_log_of_100_000_lines_is_shown_in_part_and_saved_whole(
    qtbot: QtBot, tmp_path: Path
) -> None:
    """U23: panes of long logs froze a whole desktop."""
    section = OwnServerSection("")
    qtbot.addWidget(section)
    section.show()
    for number in range(0, 100_000, 500):
        text = "".join(f"line {n}\n" for n in range(number, number + 500))
        section.server._heard(text)
    section._write_log()
    section._show()
    assert section.log.document().blockCount() <= 5_001
    assert "line 99999" in section.log.toPlainText()
    section.save_log_to(tmp_path / "server.log")
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert (len(lines), lines[0], lines[-1]) == (100_000, "line 0", "line 99999")
    section.save_log_to(tmp_path / "no such folder" / "server.log")
    assert any("could not be written" in line.text.shown for line in section.notes.lines)
    section.end()


def test_u24_a_graphics_device_that_gave_no_memory_is_told_where_one_plans(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U24: "everything looks healthy" on a machine whose GPU was not seen. Whoever opens a file by
    a double-click never sees the welcome page."""
    words = "A graphics device (10de:2e12) is there, but its driver told nothing."
    problem = Problem("no-driver", words, Severity.WARNING, advice="Install its driver.")
    machine = replace(custom(64 * GIB, 51.2e9, gpu=False), id="this", problems=(problem,))
    with shown_window(qtbot, theme, tmp_path, machine, (1280, 800)) as window:
        window.document.set_model(specimen_plan("Llama-3.1-8B").model)
        told = window.page.plan.machine.told
        assert told.isVisible() and words in told.text() and problem.advice in told.text()
        window.document.set_machine(custom(24 * GIB, 936e9))
        assert not told.isVisible()


def test_u24_the_report_of_a_computer_is_replayed_as_that_computer(tmp_path: Path) -> None:
    """U24: triage needs what the tool saw, without the names of who ran it."""
    here = detect()
    path = tmp_path / "report.json"
    path.write_text(own.report(here), "utf-8")
    (found,) = own.opened(path)
    assert found.devices == here.devices
