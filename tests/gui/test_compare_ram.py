"""The computer around a card, on the page "Compare"."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.language import speak
from core.machine import catalogue, custom, machine_from
from core.model import model_from
from core.plan import resolve
from core.units import UnitSystem
from gui.document import Document
from gui.panels.compare import ComparePage
from gui.settings import StoredComparison

GIB = 2**30
CARD = "nvidia-geforce-rtx-3090"
NAMED = f"{CARD} + ram:32GiB@40"
STORED = StoredComparison(machines=(CARD, NAMED))


@pytest.fixture
def document() -> Document:
    made = Document()
    path = next(p for p in resources.specimens() if "Qwen3.6-35B" in p.stem)
    made.set_this_computer(replace(custom(32 * GIB, gpu=False), id="this", name="This computer"))
    made.set_model(model_from(open_file(path)))
    made.choose(cpu_moe=40)
    return made


def shown(qtbot: QtBot, document: Document, stored: StoredComparison) -> ComparePage:
    page = ComparePage(document, stored)
    qtbot.addWidget(page)
    page.resize(1280, 700)
    page.show()
    qtbot.waitUntil(lambda: len(page.machines.rows) == len(stored.machines or ()))
    return page


def type_into(field: QLineEdit, text: str) -> None:
    field.selectAll()
    if text:
        QTest.keyClicks(field, text)
    else:
        QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_a_card_alone_has_a_speed_with_its_experts_in_ram_and_named_ram_stays(
    qtbot: QtBot, document: Document
) -> None:
    page = shown(qtbot, document, STORED)
    alone, named = page.machines.rows
    assert document.model is not None
    wanted = resolve(document.model, machine_from(f"{CARD} + ram:64GiB@51.2"), document.choice)
    assert alone.figures.plan.speed.ceiling.value == wanted.speed.ceiling.value
    assert alone.figures.plan.speed.expected.mid.value == wanted.speed.expected.mid.value
    assert wanted.speed.ceiling.value
    assert named.machine == machine_from(NAMED)
    words = "each with 64.0 GiB RAM at 51.2 GB/s, assumed: two channels of DDR4-3200"
    assert page.machines.ram.note.shown == words
    assert alone.machine.name == "GeForce RTX 3090 + 64.0 GiB RAM"
    names = [line.name for line in page.machines.curves.lines]
    assert names == ["GeForce RTX 3090", "GeForce RTX 3090 + 32.0 GiB RAM"]


def test_this_computers_ram_is_taken_once_it_is_known(qtbot: QtBot, document: Document) -> None:
    page = shown(qtbot, document, STORED)
    here = replace(custom(32 * GIB, 38e9, gpu=False), id="this", name="This computer")
    document.set_this_computer(here)
    words = "each with 32.0 GiB RAM at 38.0 GB/s, as this computer has"
    assert page.machines.ram.note.shown == words
    host = page.machines.rows[0].machine.host
    assert host is not None and host.bandwidth.value == 38e9


def test_off_is_the_card_alone_in_the_table_and_in_the_scatter(
    qtbot: QtBot, document: Document
) -> None:
    page = shown(qtbot, document, STORED)
    view = page.machines.catalogue
    qtbot.waitUntil(lambda: len(view.points) == len(catalogue.all()))

    def ceiling() -> float | None:
        return next(p for p in view.points if p.row.id == CARD).ceiling.value

    first = page.machines.rows[0].figures.plan.speed.ceiling.value
    assert first is not None and ceiling() == first
    page.machines.ram.used.click()
    assert page.chosen.stored.ram == "off"
    assert page.machines.rows[0].machine == catalogue.machine(CARD)
    assert page.machines.rows[0].figures.plan.speed.ceiling.value is None
    assert not page.machines.ram.amount.isEnabled()
    qtbot.waitUntil(lambda: ceiling() is None)
    page.machines.ram.used.click()
    assert page.machines.rows[0].figures.plan.speed.ceiling.value == first


def test_what_was_typed_is_kept_and_comes_back(qtbot: QtBot, document: Document) -> None:
    page = shown(qtbot, document, STORED)
    kept: list[StoredComparison] = []
    page.stored_changed.connect(kept.append)
    row = page.machines.ram
    type_into(row.amount, "128")
    type_into(row.rate, "89.6")
    assert kept[-1].ram == "128GiB@89.6"
    again = shown(qtbot, document, kept[-1])
    words = "each with 128 GiB RAM at 89.6 GB/s, typed by you"
    assert again.machines.ram.note.shown == row.note.shown == words
    host = again.machines.rows[0].machine.host
    assert host is not None and host.bandwidth.value == 89.6e9
    type_into(row.amount, "")
    assert kept[-1].ram == "" and row.amount.text() == "64.0 GiB"


def test_what_is_no_figure_is_said_and_the_last_one_stays(qtbot: QtBot, document: Document) -> None:
    page = shown(qtbot, document, STORED)
    said: list[str] = []
    page.said.connect(said.append)
    type_into(page.machines.ram.rate, "fast")
    assert said == ["'fast' is no bandwidth; write it like 936 GB/s."]
    problem = page.machines.ram.problem
    assert problem.isVisible()  # beside the field, in the words of the dialog
    assert problem.text() == "'fast' is no bandwidth; write it like 936 GB/s"
    assert page.machines.ram.rate.text() == "51.2 GB/s"
    assert page.chosen.stored.ram == ""


@pytest.mark.parametrize("stored", ["64", "x@y", "0@0"])
def test_a_stored_figure_that_is_none_is_the_usual(
    qtbot: QtBot, document: Document, stored: str
) -> None:
    page = shown(qtbot, document, replace(STORED, ram=stored))
    assert page.machines.ram.note.shown.startswith("each with 64.0 GiB")


def test_ram_is_typed_as_it_is_shown_with_the_readers_numbers(
    qtbot: QtBot, document: Document
) -> None:
    speak(numbers="12.345,6")
    page = shown(qtbot, document, STORED)
    row = page.machines.ram
    assert row.rate.text() == "51,2 GB/s"
    row.rate.setModified(True)
    type_into(row.rate, row.rate.text())
    type_into(row.amount, "48,5 GiB")
    assert row.amount.text() == "48,5 GiB"
    assert page.chosen.stored.ram == f"{round(48.5 * GIB)}B@51.2"


def test_ram_is_shown_and_typed_in_the_unit_that_the_reader_chose(
    qtbot: QtBot, document: Document
) -> None:
    page = shown(qtbot, document, STORED)
    row = page.machines.ram
    document.set_units(UnitSystem.GB)
    assert row.amount.text() == "68.7 GB"
    assert row.note.shown.startswith("each with 68.7 GB RAM at 51.2 GB/s")
    # What was not typed is kept to the byte, however it is shown.
    type_into(row.rate, "60")
    assert page.chosen.stored.ram == "64GiB@60"
    type_into(row.amount, "96")
    assert page.chosen.stored.ram == "96000000000B@60"
    document.set_units(UnitSystem.GIB)
    assert row.amount.text() == "89.4 GiB"
