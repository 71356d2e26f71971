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
from gui.panels.explain import cache_growth
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


def test_what_a_simple_formula_would_say_is_explained(
    document: Document, page: ExplainPage
) -> None:
    """U25: people bring figures from calculators and ask who is right."""
    open_specimen(document, "Qwen3.6-35B")
    assert (
        "would say 1.25 GiB for the whole context. The plan reserves 320 MiB"
        in page.cache.simple.shown
    )
    assert "because 30 layers keep a state of fixed size" in page.cache.simple.shown
    document.choose(context=131_072)
    assert (
        "would say 10.0 GiB for the whole context. The plan reserves 2.50 GiB"
        in page.cache.simple.shown
    )


def test_it_plays_to_the_end_and_stops(
    qtbot: QtBot, document: Document, page: ExplainPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_specimen(document, "Gemma-3-27B")
    cache = page.cache
    monkeypatch.setattr(cache_growth, "_STEP_MS", 1)
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


def vocabulary(path: Path) -> Path:
    """A file whose vocabulary knows the letters and the one word "weigh"."""
    word = "weigh"
    merges = ["w e", "we i", "wei g", "weig h"]
    letters = [chr(n) for n in range(33, 127)] + ["Ġ"]
    tokens = [*letters, "we", "wei", "weig", word]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * len(tokens))
    writer.add_token_merges(merges)
    writer.add_tensor("output_norm.weight", np.ones(64, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_typed_text_is_cut_by_the_files_own_vocabulary(
    qtbot: QtBot, document: Document, page: ExplainPage, tmp_path: Path
) -> None:
    document.set_model(model_from(open_file(vocabulary(tmp_path / "v.gguf"))))
    page.tabs.setCurrentIndex(2)
    view = page.tokens
    view.text.setPlainText("weigh we")
    qtbot.waitUntil(lambda: "8 characters" in view.says.shown)
    # "weigh", the space before a word, and "we".
    assert view.says.shown.startswith("3 tokens for 8 characters, 2.7 characters each.")
    view._tell(0)
    assert view.one.shown.startswith("Token 1: number 98 of the vocabulary, bytes 77 65 69 67 68")


def test_a_file_without_a_vocabulary_says_that_it_has_none(
    qtbot: QtBot, document: Document, page: ExplainPage
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    page.tabs.setCurrentIndex(2)
    qtbot.waitUntil(lambda: "cannot be shown" in page.tokens.says.shown)
    assert not page.tokens.pieces.isVisible()


def test_the_legend_has_only_what_is_drawn_and_says_how_often_the_plan_keeps_it(
    document: Document, page: ExplainPage
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    assert "Outlined" not in page.cache.legend.text()
    assert "Drawn for one" not in page.cache.legend.text()  # full attention shares one cache
    open_specimen(document, "Qwen3.6-35B")
    assert "the plan has 4 slots and keeps states for each" in page.cache.legend.text()
    document.choose(slots=1)
    assert "Drawn for one" not in page.cache.legend.text()
    open_specimen(document, "Gemma-3-27B")
    assert "Outlined" in page.cache.legend.text()


def test_without_weights_the_controls_stay_at_the_top(
    qtbot: QtBot, document: Document, page: ExplainPage
) -> None:
    open_specimen(document, "Llama-3.1-8B")
    page.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: "as specimens do" in page.blocks.says.shown)
    assert page.blocks.says.geometry().bottom() < page.blocks.height() // 2
    assert not page.blocks.beside.isEnabled()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_said_and_drawn_around(
    qtbot: QtBot, document: Document, page: ExplainPage, tmp_path: Path, odd: float
) -> None:
    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "llama")
    rows = np.linspace(-1, 1, 512, dtype=np.float32).reshape(1, 512)
    rows[0, 5:9] = odd
    writer.add_tensor("blk.0.attn_q.weight", rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    document.set_model(model_from(open_file(tmp_path / "odd.gguf")))
    page.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: "4 of them are infinite or no numbers" in page.blocks.says.shown)
    assert page.blocks.beside.count() == 1
    page.grab()
