"""One figure, one value: what the plan, the comparison, the grid and the report say of the same
model, machine and choice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from core.compare import compare_machines, grid, sweep
from core.compare.grid import Recipe
from core.compare.tables import machine_columns, room_words
from core.gguf import open_file
from core.machine import catalogue, machine_from
from core.machine.machine import Machine, OwnRun
from core.model import fingerprint, model_from
from core.model.model import Model
from core.plan import decides, reason, resolve, room
from core.plan.choice import Choice, FlashAttention
from core.plan.plan import Verdict
from core.plan.verdict import WORDS
from core.provenance import Number, Rank, Source, Unit
from core.report import html, text
from core.units import UnitSystem, format_bytes
from gui import theme
from gui.document import Document
from gui.panels.plan.largest import LargestRow
from gui.panels.plan.memory import MemorySection
from gui.panels.plan.panel import PlanPanel
from resources import specimens

GIB = 2**30
CASES = [
    ("Qwen3.6-35B", "nvidia-geforce-rtx-3090 + ram:64GiB@51.2", Choice()),
    ("Qwen3.6-35B", "nvidia-geforce-rtx-3090 + ram:64GiB@51.2", Choice(cache_k="q8_0", slots=3)),
    ("gpt-oss-20b", "gpu:14GiB@448 + ram:32GiB@51.2", Choice(context=65_536)),
    ("gpt-oss-20b", "ram:16GiB@51.2", Choice()),
    ("Gemma-3-27B", "2x gpu:12GiB@448 + ram:32GiB@51.2", Choice(context=8192)),
    ("Llama-3.1-8B", "unified:16GiB@100:metal", Choice(context=32_768)),
]


def specimen(word: str) -> Model:
    return model_from(open_file(next(path for path in specimens() if word in path.stem)))


def document_of(model: Model, machine: Machine, choice: Choice) -> Document:
    document = Document()
    document.set_machine(machine)
    document.set_model(model)
    document.choose(**{f: getattr(choice, f) for f in ("context", "cache_k", "cache_v", "slots")})
    return document


@pytest.mark.parametrize(("word", "spec", "choice"), CASES)
def test_free_memory_is_the_same_on_the_plan_in_a_comparison_and_in_the_report(
    qtbot: QtBot, word: str, spec: str, choice: Choice
) -> None:
    model, machine = specimen(word), machine_from(spec)
    (row,) = compare_machines(model, [(spec, machine)], choice)
    plan = row.figures.plan
    section = MemorySection()
    qtbot.addWidget(section)
    section.show_plan(plan, UnitSystem.GIB)
    if plan.verdict is Verdict.DOES_NOT_FIT:
        assert room_words(row.figures.room, UnitSystem.GIB).startswith("lacks ")
        return
    free = format_bytes(row.figures.room.value or 0)
    assert reason(plan).endswith(f"{free} free on {decides(plan.memory.devices).device.name}")
    shown = section.about.shown
    assert _close(shown, row.figures.room.value or 0), (shown, free)


def _close(words: str, size: int) -> bool:
    """Whether the words hold the size, to the digits that stand there."""
    number, unit, _ = words.rpartition(", ")[2].removeprefix("only ").split()
    step = GIB if unit == "GiB" else 2**20
    return abs(float(number.replace(",", "")) * step - size) <= 0.01 * step


def test_a_host_that_others_fill_is_not_what_a_plan_on_the_card_is_judged_by(
    qtbot: QtBot,
) -> None:
    machine = machine_from("gpu:24GiB@936 + ram:16GiB@51.2")
    card, ram = machine.devices
    busy = Number(13 * GIB, Unit.BYTES, Source(Rank.REPORTED, "the system"))
    machine = replace(machine, devices=(card, replace(ram, used=busy)))
    plan = resolve(specimen("Llama-3.1-8B"), machine, Choice())
    assert plan.verdict is Verdict.FITS
    section = MemorySection()
    qtbot.addWidget(section)
    section.show_plan(plan, UnitSystem.GIB)
    assert card.name in section.about.shown
    assert room(plan.memory.devices) == plan.memory.devices[0].free


@pytest.mark.parametrize(("word", "spec", "choice"), CASES)
def test_the_largest_context_is_the_same_on_the_plan_in_a_comparison_and_in_the_report(
    qtbot: QtBot, word: str, spec: str, choice: Choice
) -> None:
    model, machine = specimen(word), machine_from(spec)
    choice = replace(choice, cache_k="f16")
    (row,) = compare_machines(model, [(spec, machine)], choice)
    (column,) = (c for c in machine_columns() if c.name == "largest_context")
    document = document_of(model, machine, choice)
    buttons = LargestRow(document)
    qtbot.addWidget(buttons)
    assert document.plan is not None
    buttons.show_plan(document.plan)
    qtbot.waitUntil(lambda: not buttons._timer.isActive())
    offered = [b.text().removeprefix("f16 ") for b in buttons.buttons if "f16 " in b.text()]
    said = column.text(row)
    assert offered == ([] if said == "none" else [said])
    (line,) = (n for n in text(row.figures.plan).splitlines() if "largest context" in n)
    first = line.partition(": f16 ")[2].partition(";")[0]
    if said == "none":
        assert first == "none"
    elif said.endswith(", tight"):
        assert first.startswith(f"none, tight to {said.removesuffix(', tight')}")
    else:
        assert first == said or first.startswith((f"{said}, tight to ", f"{said} (all"))


@pytest.mark.parametrize(("word", "spec", "choice"), CASES)
def test_the_plan_page_shows_the_speeds_of_the_comparison(
    qtbot: QtBot, word: str, spec: str, choice: Choice
) -> None:
    model, machine = specimen(word), machine_from(spec)
    (row,) = compare_machines(model, [(spec, machine)], choice)
    panel = PlanPanel(document_of(model, machine, choice))
    qtbot.addWidget(panel)
    speed = panel.speed
    found = row.figures
    for label, number in (
        (speed.at_start, found.at_empty),
        (speed.at_depth, found.plan.speed.ceiling),
        (speed.bytes, found.plan.speed.bytes_per_token),
        (speed.ttft, found.plan.speed.ttft),
        (speed.prefill, found.plan.speed.prefill),
    ):
        assert label._number is not None
        assert label._number.value == number.value
    if found.plan.speed.expected.known:
        assert speed.low._number == found.plan.speed.expected.low
        assert speed.high._number == found.plan.speed.expected.high
        depth = found.plan.settings.depth
        assert speed.expect_where.shown == (f"at {depth:,}" if depth else "")


def test_what_the_user_measured_corrects_the_grid_as_it_corrects_the_plan() -> None:
    model = specimen("Llama-3.1-8B")
    machine = machine_from("nvidia-geforce-rtx-3090")
    before = resolve(model, machine, Choice())
    expected = before.speed.expected.mid.value
    assert expected is not None
    run = OwnRun(fingerprint(model), "", "cuda", 0, expected / 2, expected)
    corrected = replace(machine, runs=(run,))
    plan = resolve(model, corrected, Choice(context=4096))
    made = grid(model, corrected, Choice(), [Recipe(None, "as it is", 0, None)], [4096])
    assert made.cells[0][0].expected == plan.speed.expected.mid
    assert (
        made.cells[0][0].expected.value
        != resolve(model, machine, Choice(context=4096)).speed.expected.mid.value
    )


def test_what_shall_stay_free_on_a_machine_counts_in_the_picture_of_the_catalogue() -> None:
    model, id = specimen("Llama-3.1-8B"), "nvidia-geforce-rtx-3090"
    rows = [row for row in catalogue.all() if row.id == id]
    (before,) = sweep(model, Choice(), rows)
    (after,) = sweep(model, Choice(), rows, {id: 23 * GIB})
    assert (before.verdict, after.verdict) == (Verdict.FITS, Verdict.TIGHT)


def test_settings_that_the_engine_refuses_are_called_so_everywhere(qtbot: QtBot) -> None:
    """A quantized V cache without flash attention: memory would fit, the engine would not start."""
    model, spec = specimen("Llama-3.1-8B"), "nvidia-geforce-rtx-3090"
    choice = Choice(cache_v="q8_0", flash_attention=FlashAttention.OFF)
    (row,) = compare_machines(model, [(spec, machine_from(spec))], choice)
    plan = row.figures.plan
    assert plan.verdict is Verdict.FITS
    columns = {c.name: c for c in machine_columns()}
    assert columns["verdict"].text(row) == "refused"
    assert columns["ceiling_tok_s"].text(row).startswith("(")
    made = grid(model, plan.machine, choice, [Recipe(None, "as it is", 0, None)], [16_384])
    (point,) = sweep(model, choice, [r for r in catalogue.all() if r.id == spec])
    assert made.cells[0][0].refused == point.refused == row.figures.refused
    assert f"refused: {point.refused}" in text(plan)
    assert "refused" in html(plan)
    document = Document()
    document.set_machine(plan.machine)
    document.set_model(model)
    panel = PlanPanel(document)
    qtbot.addWidget(panel)
    document.choose(cache_v="q8_0", flash_attention=FlashAttention.OFF)
    qtbot.waitUntil(lambda: bool(panel.advice.advice))
    assert panel.advice.lead.text() == "It would start with"
    assert "  it would start with" in text(plan).splitlines()


@pytest.mark.parametrize("verdict", Verdict)
def test_a_verdict_is_said_in_the_same_words_on_the_plan_and_in_a_report(verdict: Verdict) -> None:
    assert theme.colors().verdict(verdict).word == WORDS[verdict]
