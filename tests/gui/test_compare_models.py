"""The page "Compare": models on one machine, and recipe by context."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import machine_from
from core.model import model_from
from core.model.model import Model
from core.plan.plan import Verdict
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.document import Document
from gui.panels.compare import ComparePage
from gui.panels.compare.grid_view import GridView
from gui.panels.compare.models_view import ModelsView
from gui.settings import StoredComparison
from gui.workers import opening
from gui.workers.runner import Function, Handle

CARD = "nvidia-geforce-rtx-3090 + ram:64GiB@51.2"


def path_of(word: str) -> Path:
    return next(path for path in resources.specimens() if word in path.stem)


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_model(model_from(open_file(path_of("Llama-3.1-8B"))))
    made.set_machine(machine_from(CARD))
    return made


@pytest.fixture
def kept() -> list[StoredComparison]:
    return []


@pytest.fixture
def page(qtbot: QtBot, document: Document, kept: list[StoredComparison]) -> Iterator[ComparePage]:
    made = ComparePage(document, StoredComparison(machines=()))
    made.stored_changed.connect(kept.append)
    qtbot.addWidget(made)
    made.resize(1280, 700)
    made.show()
    yield made
    made.models.reader.stop()


@pytest.fixture
def models(page: ComparePage) -> ModelsView:
    page.tabs.setCurrentWidget(page.models)
    return page.models


@pytest.fixture
def grid(qtbot: QtBot, page: ComparePage) -> GridView:
    page.tabs.setCurrentWidget(page.grid)
    qtbot.waitUntil(lambda: not page.grid.working)
    return page.grid


def texts(view: ModelsView, column: str) -> list[str]:
    number = view.sheet.column_named(column)
    return [view.sheet.index(row, number).data() for row in range(view.sheet.rowCount())]


# Models.


def test_the_open_model_comes_first_and_files_follow(
    qtbot: QtBot, models: ModelsView, kept: list[StoredComparison]
) -> None:
    assert texts(models, "model") == ["Llama 3.1 8B Instruct"]
    paths = [path_of("Gemma-3-27B"), path_of("Qwen3.6-35B")]
    models.add_files(paths)
    qtbot.waitUntil(lambda: len(models.rows) == 3)
    assert texts(models, "model") == [
        "Llama 3.1 8B Instruct",
        "Gemma 3 27B it",
        "Qwen3.6 35B A3B",
    ]
    assert texts(models, "mechanism")[1].startswith("window: 52 of 62 layers keep 1,024 tokens")
    # 100,096 cells of 131,072 B.
    assert texts(models, "cache_bytes_at_100000")[0] == "12.2 GiB"
    assert kept[-1].models == tuple(map(str, paths))
    assert len(models.curves.lines) == 3


def test_files_of_the_last_time_are_read_when_somebody_looks(
    qtbot: QtBot, document: Document
) -> None:
    stored = StoredComparison(machines=(), models=(str(path_of("gpt-oss-20b")),))
    page = ComparePage(document, stored)
    qtbot.addWidget(page)
    page.show()
    assert not page.models.reader.running
    page.tabs.setCurrentWidget(page.models)
    qtbot.waitUntil(lambda: texts(page.models, "model")[-1] == "gpt-oss 20b")


def test_another_quantization_of_the_open_model_is_a_row_and_can_be_chosen(
    qtbot: QtBot, models: ModelsView, document: Document
) -> None:
    menu = QMenu()
    models._fill_recipes(menu)
    next(a for a in menu.actions() if a.text() == "IQ4_XS").trigger()
    menu.deleteLater()
    assert texts(models, "quantization") == ["Q4_K_M", "Q4_K_M → IQ4_XS"]
    models.table.selectRow(1)
    assert models.use_button.text() == "&Use this quantization"
    models.use_button.click()
    assert document.choice.requantize == "IQ4_XS"
    # The plan's own comes first, and the file as it is stays in sight.
    assert texts(models, "quantization") == ["Q4_K_M → IQ4_XS", "Q4_K_M"]


def test_another_model_can_be_opened_from_its_row(
    qtbot: QtBot, page: ComparePage, models: ModelsView
) -> None:
    asked: list[Path] = []
    page.open_asked.connect(asked.append)
    models.add_files([path_of("Gemma-3-27B")])
    qtbot.waitUntil(lambda: len(models.rows) == 2)
    models.table.selectRow(1)
    assert models.use_button.text() == "&Open this model"
    QTest.keyClick(models.table, Qt.Key.Key_Return)
    assert asked == [path_of("Gemma-3-27B")]


def test_removing_a_row_leaves_the_open_model(
    qtbot: QtBot, models: ModelsView, kept: list[StoredComparison]
) -> None:
    models.add_files([path_of("Gemma-3-27B")])
    models.add_recipe("Q8_0")
    qtbot.waitUntil(lambda: len(models.rows) == 3)
    models.table.selectAll()
    models.remove()
    assert texts(models, "model") == ["Llama 3.1 8B Instruct"]
    assert kept[-1].models == ()


def test_a_file_that_is_no_model_is_told_and_left_out(
    qtbot: QtBot, page: ComparePage, models: ModelsView, tmp_path: Path
) -> None:
    path = tmp_path / "page.gguf"
    path.write_text("<!DOCTYPE html>")
    said: list[str] = []
    page.said.connect(said.append)
    models.add_files([path])
    qtbot.waitUntil(lambda: bool(said))
    assert said[0].startswith("page.gguf is not compared: ")
    assert texts(models, "model") == ["Llama 3.1 8B Instruct"]


def test_models_are_copied(models: ModelsView) -> None:
    models.copy(TextFormat.MARKDOWN)
    text = QGuiApplication.clipboard().text()
    assert "| Llama 3.1 8B Instruct | Q4_K_M | fits |" in text


# Recipe by context.


def test_the_grid_has_a_cell_for_every_recipe_and_context(grid: GridView) -> None:
    assert grid.model.contexts == (4096, 8192, 16_384, 32_768, 65_536, 131_072)
    words = grid.model.headerData(0, Qt.Orientation.Vertical)
    assert words.startswith("as it is: Q4_K_M\n4.89 bits, ")
    cell = grid.model.cell(0, 0)
    assert cell is not None and cell.verdict is Verdict.FITS
    index = grid.model.index(0, 2)
    assert index.data().startswith("fits\n")
    spoken = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken.startswith("as it is: Q4_K_M, 16,384 tokens: fits")


def test_a_click_or_enter_on_a_cell_sets_the_choice(
    qtbot: QtBot, grid: GridView, document: Document
) -> None:
    assert grid.cells.marked == (0, 2)  # 16,384 tokens, as it is
    rect = grid.cells.visualRect(grid.model.index(1, 3))
    QTest.mouseClick(grid.cells.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    ftype = grid.model.recipes[1].ftype
    assert (document.choice.requantize, document.choice.context) == (ftype, 32_768)
    assert grid.cells.marked == (1, 3)
    QTest.keyClick(grid.cells, Qt.Key.Key_Up)
    QTest.keyClick(grid.cells, Qt.Key.Key_Space)
    assert (document.choice.requantize, document.choice.context) == (None, 32_768)
    document.undo_stack.undo()
    assert document.choice.requantize == ftype


def test_what_does_not_fit_says_by_how_much(
    qtbot: QtBot, grid: GridView, document: Document
) -> None:
    document.set_machine(machine_from("nvidia-geforce-rtx-3060-12-gb"))
    qtbot.waitUntil(lambda: not grid.working)
    last = grid.model.index(0, grid.model.columnCount() - 1).data()
    assert last.startswith("lacks ")
    assert last.endswith("tok/s)")


def test_the_grid_follows_units_and_cache_types(
    qtbot: QtBot, grid: GridView, document: Document
) -> None:
    before = grid.model.cell(0, 5)
    document.choose(cache_k="q8_0", cache_v="q8_0")
    qtbot.waitUntil(lambda: not grid.working)
    after = grid.model.cell(0, 5)
    assert before is not None and after is not None
    assert (after.room.value or 0) > (before.room.value or 0)
    document.set_units(UnitSystem.GB)
    assert " GB" in grid.model.headerData(0, Qt.Orientation.Vertical)


def test_choosing_a_cell_works_nothing_out_again(grid: GridView, document: Document) -> None:
    cell = grid.model.cell(3, 1)
    document.choose(requantize="Q8_0", context=8192)
    assert not grid.working
    assert grid.model.cell(3, 1) is cell


def test_the_grid_is_copied(grid: GridView) -> None:
    grid.copy(TextFormat.CSV)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("quantization,context,weights_bytes,verdict,room_bytes")
    assert len(lines) == 1 + len(grid.model.recipes) * len(grid.model.contexts)


def test_a_file_that_cannot_be_read_is_told_once_and_the_next_one_is_read(
    models: ModelsView,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    kept: list[StoredComparison],
) -> None:
    opened: list[str] = []
    real = opening.opening

    def failing(path: Path) -> Function:
        opened.append(path.name)
        if path.name != "broken.gguf":
            return real(path)

        def fail(handle: Handle) -> Model:
            raise RuntimeError("a fault of our own")

        return fail

    monkeypatch.setattr(opening, "opening", failing)
    monkeypatch.setattr(sys, "excepthook", lambda *error: None)
    said: list[str] = []
    models.said.connect(said.append)
    models.add_files([Path("/nowhere/broken.gguf"), path_of("Gemma-3-27B")])
    qtbot.waitUntil(lambda: len(models.rows) == 2)
    assert opened == ["broken.gguf", path_of("Gemma-3-27B").name]
    assert said == ["broken.gguf could not be read."]
    assert kept[-1].models == (str(path_of("Gemma-3-27B")),)


def test_a_file_that_is_being_read_when_the_window_closes_is_kept_for_the_next_time(
    page: ComparePage, models: ModelsView, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def waiting(path: Path) -> Function:
        started.append(path)
        return lambda handle: handle._cancelled.wait(10)

    monkeypatch.setattr(opening, "opening", waiting)
    models.add_files([path_of("Gemma-3-27B")])
    assert models.reader.running
    page.hide()
    assert models.reader.stop()
    assert len(started) == 1
    models._keep()
    assert page.models._chosen.stored.models == (str(path_of("Gemma-3-27B")),)
