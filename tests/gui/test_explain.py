"""The page "Explain": it plays, it reads weights of the open file, and it says what it cannot."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import custom
from core.model import model_from
from gui.document import Document
from gui.panels.explain.page import ExplainPage


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(custom(64 * 2**30, 100e9, gpu=False))
    return made


@pytest.fixture
def page(qtbot: QtBot, document: Document) -> ExplainPage:
    made = ExplainPage(document)
    qtbot.addWidget(made)
    made.resize(900, 600)
    made.show()
    return made


def open_specimen(document: Document, name: str) -> None:
    (path,) = (p for p in resources.specimens() if p.name.startswith(name))
    document.set_model(model_from(open_file(path)))


def weights(path: Path) -> Path:
    """A small llama with one row of whole numbers from -8 to 7."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("output_norm.weight", np.ones(64, np.float32))
    rows = np.resize(np.arange(-8, 8, dtype=np.float32), (3, 512))
    writer.add_tensor("blk.0.attn_q.weight", rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_the_slider_says_what_the_next_token_reads(document: Document, page: ExplainPage) -> None:
    open_specimen(document, "Llama-3.1-8B")
    page.cache.step.box.setValue(8191)
    said = page.cache.saved.shown
    assert "all 8,192 tokens would be worked out again" in said
    assert page.cache.picture.accessibleDescription() == "full attention, 32 layers: 1.00 GiB"


def test_it_plays_to_the_end_and_stops(qtbot: QtBot, document: Document, page: ExplainPage) -> None:
    open_specimen(document, "Gemma-3-27B")
    cache = page.cache
    cache._timer.setInterval(0)
    QTest.mouseClick(cache.play, Qt.MouseButton.LeftButton)
    assert (cache.playing, cache.play.text()) == (True, "Stop")
    qtbot.waitUntil(lambda: not cache.playing)
    assert (cache.step.value, cache.play.text()) == (16384, "Play")


def test_nothing_moves_where_nobody_looks(document: Document, page: ExplainPage) -> None:
    open_specimen(document, "Gemma-3-27B")
    QTest.mouseClick(page.cache.play, Qt.MouseButton.LeftButton)
    page.tabs.setCurrentIndex(1)
    assert not page.cache.playing


def test_an_architecture_that_nobody_knows_gets_a_sentence(
    document: Document, page: ExplainPage, tmp_path: Path
) -> None:
    writer = gguf.GGUFWriter(tmp_path / "new.gguf", "brandnew9")
    writer.add_block_count(2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    document.set_model(model_from(open_file(tmp_path / "new.gguf")))
    assert page.cache.unknown.isVisible()
    assert not page.cache.picture.isVisible()


def test_real_weights_and_what_other_formats_make_of_them(
    qtbot: QtBot, document: Document, page: ExplainPage, tmp_path: Path
) -> None:
    document.set_model(model_from(open_file(weights(tmp_path / "w.gguf"))))
    page.tabs.setCurrentIndex(1)
    view = page.blocks
    qtbot.waitUntil(lambda: view.beside.count() > 1)
    assert view.tensor.currentText() == "blk.0.attn_q.weight  F32"
    view.beside.setCurrentText("Q4_0")
    view.beside.activated.emit(view.beside.currentIndex())
    assert "as Q4_0, 4.5 bits, off by 0.0 %" in view.says.shown
    view.row.setValue(2)
    qtbot.waitUntil(lambda: not view._runner.running)
    assert view.beside.currentText() == "Q4_0"


def test_a_specimen_without_weights_says_so(
    qtbot: QtBot, document: Document, page: ExplainPage
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    page.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: "header alone" in page.blocks.says.shown)
    assert not page.blocks.picture.isVisible()
