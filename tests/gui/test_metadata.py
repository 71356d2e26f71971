"""The metadata panel, on files that were written by the tests' own writer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot

from core.gguf import display, read_header
from core.model.model import Model
from core.tabular import TextFormat
from gui.panels.metadata import MetadataPanel
from gui.panels.metadata.array_pager import ArrayPager
from gui.panels.metadata.panel import _ValueWindow
from gui.panels.metadata.value_view import LINE_LETTERS, SHOWN_LETTERS
from gui.workers.runner import Runner
from tests.support import gguf_files as files
from tests.support.models import document_of, model_of

TEMPLATE = "{%- if tools %}\n    {{- 'é' }}\n\t{%- endif %}\n"
ODD = b"odd \x80\xe2\x80\xae\x00 name"
# 5,000 strings are too many to be kept in memory; the reader leaves them on disk.
TOKENS: list[bytes | str] = [f"token {i}" for i in range(5000)]
TOKENS[7] = b"\x80\xff"
TOKENS[8] = ""
TOKENS[4321] = "▁the"
KEYS: list[tuple[str | bytes, files.Plain]] = [
    ("general.architecture", "llama"),
    ("general.name", ODD),
    ("llama.block_count", files.u32(4)),
    ("llama.attention.head_count", files.array(files.I32, [64, 0, 64, 64])),
    ("llama.attention.layer_norm_rms_epsilon", files.f32(1e-6)),
    ("general.architecture", "qwen3"),
    ("tokenizer.ggml.tokens", files.array(files.STRING, TOKENS)),
    ("tokenizer.chat_template", TEMPLATE),
    ("general.file_type", files.u32(15)),
]
NAME, HEADS, DUPLICATE, TOKEN_ROW, TEMPLATE_ROW = 1, 3, 5, 6, 7


def opened(path: Path, label: str = "Q4_K_M") -> Model:
    header = read_header(path)
    assert header.version == 3
    return model_of(header=header, label=label)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return files.write(tmp_path / "model.gguf", KEYS)


@pytest.fixture
def panel(qtbot: QtBot, path: Path) -> Iterator[MetadataPanel]:
    made = MetadataPanel(document_of(opened(path)))
    qtbot.addWidget(made)
    made.resize(420, 700)
    made.show()
    qtbot.waitUntil(lambda: not made._previews.running)
    yield made
    for runner in (made._previews, made._exports, *pager_runners(made.value.pager)):
        assert runner.stop()


def pager_runners(pager: ArrayPager) -> tuple[Runner, ...]:
    return pager._pages, pager._search


def settle(qtbot: QtBot, panel: MetadataPanel) -> None:
    """Wait until nothing is read any more."""
    runners = (
        panel._previews,
        panel._exports,
        panel.value._copies,
        *pager_runners(panel.value.pager),
    )
    qtbot.waitUntil(lambda: not any(runner.running for runner in runners))


def cell(panel: MetadataPanel, row: int, column: int) -> str:
    return str(panel.table.index(row, column).data())


def clipboard() -> bytes:
    return bytes(QGuiApplication.clipboard().mimeData().data("text/plain").data())


def test_keys_values_and_types_stand_in_file_order(panel: MetadataPanel) -> None:
    assert [cell(panel, row, 0) for row in (0, 2, 4)] == [
        "general.architecture",
        "llama.block_count",
        "llama.attention.layer_norm_rms_epsilon",
    ]
    assert cell(panel, HEADS, 1) == "4 numbers, 0 to 64: 64, 0, 64, 64"
    assert cell(panel, 4, 1) == "1e-06"
    assert [cell(panel, row, 2) for row in (0, 2, 3, 4)] == ["string", "u32", "[i32]", "f32"]


def test_the_number_of_the_file_type_says_what_it_means(panel: MetadataPanel) -> None:
    assert cell(panel, 8, 1) == "15 (Q4_K_M)"


def test_the_beginning_of_a_long_array_is_shown_once_it_is_read(panel: MetadataPanel) -> None:
    assert cell(panel, TOKEN_ROW, 1).startswith("5,000 strings: token 0, token 1, token 2, ")


def test_a_duplicate_key_is_marked_and_the_rule_is_stated(panel: MetadataPanel) -> None:
    assert cell(panel, 0, 0) == "general.architecture"
    assert cell(panel, DUPLICATE, 0) == "general.architecture (duplicate)"
    tip = panel.table.index(DUPLICATE, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "first value is used" in tip
    assert "1 duplicate" in panel.status.text()
    panel.view.selectRow(DUPLICATE)
    assert "llama.cpp refuses" in panel.value.about.text()


def test_the_search_finds_words_in_keys_and_values(panel: MetadataPanel) -> None:
    panel.filter.setText("HEAD_COUNT")
    assert list(panel.table.rows) == [HEADS]
    panel.filter.setText("tools endif")
    assert list(panel.table.rows) == [TEMPLATE_ROW]
    panel.filter.setText("qwen3")
    assert list(panel.table.rows) == [DUPLICATE]
    panel.filter.setText("64")
    assert list(panel.table.rows) == [HEADS]
    assert panel.status.text() == "9 keys; 1 shown; 1 duplicate"
    panel.filter.setText("no such thing")
    assert "choose a key" in panel.view.accessibleDescription()


def test_a_chat_template_keeps_its_lines_in_a_fixed_font(panel: MetadataPanel) -> None:
    panel.view.selectRow(TEMPLATE_ROW)
    assert panel.value.text.toPlainText() == TEMPLATE
    assert panel.value.text.isVisible()
    assert panel.value.text.fontInfo().fixedPitch()
    assert panel.value.text.isReadOnly()
    assert "4 lines" in panel.value.about.text()


def test_control_and_invalid_bytes_are_escaped_on_the_screen_and_exact_on_copy(
    panel: MetadataPanel,
) -> None:
    panel.view.selectRow(NAME)
    assert panel.value.text.toPlainText() == "odd \\x80\\u202e\\x00 name"
    assert cell(panel, NAME, 1) == "odd \\x80\\u202e\\x00 name"
    panel.value.copy_button.click()
    assert clipboard() == ODD
    assert "copied, 14 bytes" in panel.value.about.text()


def test_a_valid_string_is_copied_as_text(panel: MetadataPanel) -> None:
    panel.view.selectRow(TEMPLATE_ROW)
    panel.value.copy_button.click()
    assert QGuiApplication.clipboard().text() == TEMPLATE


def test_a_number_is_copied_without_decoration(panel: MetadataPanel) -> None:
    panel.view.selectRow(4)
    panel.value.copy_button.click()
    assert QGuiApplication.clipboard().text() == "1e-06"


def test_a_long_array_opens_page_by_page(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    pager = panel.value.pager
    assert pager.isVisible()
    assert pager.sheet.total == 100
    assert pager.status.text() == "0 to 99 of 5,000, counted from 0"
    assert not pager.back.isEnabled()
    QTest.mouseClick(pager.forward, Qt.MouseButton.LeftButton)
    settle(qtbot, panel)
    assert pager.sheet.index(0, 1).data() == "token 100"
    assert pager.sheet.index(0, 0).data() == "100"
    pager.element.setValue(4999)
    settle(qtbot, panel)
    assert pager.sheet.index(99, 1).data() == "token 4999"
    assert pager.view.current_row() == 99
    assert not pager.forward.isEnabled()


def test_a_page_can_hold_up_to_a_thousand_elements(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    pager = panel.value.pager
    pager.element.setValue(2345)
    settle(qtbot, panel)
    pager.page_size.setCurrentIndex(2)
    settle(qtbot, panel)
    assert pager.status.text() == "2,000 to 2,999 of 5,000, counted from 0"
    assert pager.sheet.total == 1000


def test_odd_elements_of_an_array_are_shown(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    pager = panel.value.pager
    assert pager.sheet.index(7, 1).data() == "\\x80\\xff"
    assert pager.sheet.index(8, 1).data() == "(empty)"


def test_the_whole_array_can_be_searched_and_the_search_goes_round(
    panel: MetadataPanel, qtbot: QtBot
) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    pager = panel.value.pager
    pager.search.setText("THE")
    for _ in range(2):  # it is the only one: the second search comes back to it
        QTest.keyClick(pager.search, Qt.Key.Key_Return)
        settle(qtbot, panel)
        assert pager.sheet.index(21, 1).data() == "▁the"
        assert pager.view.current_row() == 21
    pager.search.setText("nowhere")
    pager.find_button.click()
    settle(qtbot, panel)
    assert pager.status.text() == "“nowhere” is in no element."


def test_a_short_array_needs_no_paging(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(HEADS)
    pager = panel.value.pager
    assert [pager.sheet.index(row, 1).data() for row in range(4)] == ["64", "0", "64", "64"]
    assert not pager.forward.isVisible()
    assert not pager.search.isVisible()


def test_an_array_is_copied_whole_as_json(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    panel.value.copy_button.click()
    settle(qtbot, panel)
    copied = json.loads(QGuiApplication.clipboard().text())
    assert len(copied) == 5000
    assert copied[4321] == "▁the"
    assert copied[7].encode("utf-8", "surrogateescape") == b"\x80\xff"


def test_all_keys_are_saved_as_json_with_every_element(
    panel: MetadataPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    target = tmp_path / "out.json"
    panel.save_all(target, TextFormat.JSON)
    settle(qtbot, panel)
    rows = json.loads(target.read_text(encoding="utf-8"))
    assert [row["key"] for row in rows] == [key for key, _ in KEYS]
    assert rows[2] == {"key": "llama.block_count", "type": "u32", "value": 4}
    assert rows[4]["value"] == 1e-06
    assert rows[HEADS]["value"] == [64, 0, 64, 64]
    assert len(rows[TOKEN_ROW]["value"]) == 5000
    assert rows[NAME]["value"].encode("utf-8", "surrogateescape") == ODD
    assert panel.status.text() == "9 keys saved as JSON in out.json"


def test_all_keys_are_saved_as_markdown(panel: MetadataPanel, qtbot: QtBot, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    panel.save_all(target, TextFormat.MARKDOWN)
    settle(qtbot, panel)
    lines = target.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "| Key | Type | Value |"
    assert len(lines) == 2 + len(KEYS)
    assert "5,000 strings: token 0, token 1" in lines[2 + TOKEN_ROW]
    assert "{%- if tools %}<br>" in lines[2 + TEMPLATE_ROW]


def test_a_folder_that_cannot_be_written_is_said(
    panel: MetadataPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    panel.save_all(tmp_path / "missing" / "out.json", TextFormat.JSON)
    settle(qtbot, panel)
    (banner,) = panel.problems.banners
    assert "could not be written" in banner.problem.message
    assert banner.problem.advice


def test_ctrl_c_copies_the_selected_keys(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(2)
    QTest.keyClick(panel.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    settle(qtbot, panel)
    assert QGuiApplication.clipboard().text().splitlines()[2] == "| llama.block_count | u32 | 4 |"
    assert panel.status.text() == "1 key copied as Markdown"


def test_selected_keys_are_copied_as_json_with_whole_arrays(
    panel: MetadataPanel, qtbot: QtBot
) -> None:
    panel.view.selectRow(TOKEN_ROW)
    panel.view.copy(TextFormat.JSON)
    settle(qtbot, panel)
    (row,) = json.loads(QGuiApplication.clipboard().text())
    assert len(row["value"]) == 5000


def test_a_file_that_changed_under_the_panel_is_said_and_not_misread(
    panel: MetadataPanel, qtbot: QtBot, path: Path
) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    path.write_bytes(path.read_bytes()[:-64])
    pager = panel.value.pager
    pager.element.setValue(3000)
    settle(qtbot, panel)
    (banner,) = pager.problems.banners
    assert "changed" in banner.problem.message
    panel.value.copy_button.click()
    settle(qtbot, panel)
    assert "copied" not in panel.value.about.text()
    panel.view.copy(TextFormat.JSON)
    settle(qtbot, panel)
    assert panel.problems.banners


def test_a_file_that_went_away_is_said(qtbot: QtBot, path: Path) -> None:
    model = opened(path)
    path.unlink()
    panel = MetadataPanel(document_of(model))
    qtbot.addWidget(panel)
    settle(qtbot, panel)
    (banner,) = panel.problems.banners
    assert "no file" in banner.problem.message
    # What is in memory is still there to be read.
    panel.view.selectRow(TEMPLATE_ROW)
    assert panel.value.text.toPlainText() == TEMPLATE


def test_enter_opens_the_value_in_a_window_of_its_own(
    panel: MetadataPanel, qtbot: QtBot, path: Path
) -> None:
    panel.view.selectRow(TEMPLATE_ROW)
    QTest.keyClick(panel.view, Qt.Key.Key_Return)
    (window,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, _ValueWindow)]
    assert window.windowTitle() == "tokenizer.chat_template"
    assert window.value.text.toPlainText() == TEMPLATE
    panel._document.set_model(opened(path))
    settle(qtbot, panel)
    assert not [
        w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()
    ]


def test_another_file_clears_what_was_chosen(
    panel: MetadataPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    panel.view.selectRow(TEMPLATE_ROW)
    other = files.write(tmp_path / "other.gguf", {"general.architecture": "bert"})
    panel._document.set_model(opened(other, label=""))
    settle(qtbot, panel)
    assert panel.value.text.toPlainText() == ""
    assert not panel.value.copy_button.isEnabled()
    assert panel.status.text() == "1 key"


def test_a_string_of_a_million_letters_is_cut_on_the_screen_and_whole_on_copy(
    panel: MetadataPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    text = "x" * 1_000_000
    big = files.write(tmp_path / "big.gguf", {"tokenizer.chat_template": text})
    panel._document.set_model(opened(big))
    settle(qtbot, panel)
    panel.view.selectRow(0)
    assert len(panel.value.text.toPlainText().replace("\n", "")) == SHOWN_LETTERS
    assert "the first 200,000 characters are shown" in panel.value.about.text()
    panel.value.copy_button.click()
    assert QGuiApplication.clipboard().text() == text


@pytest.mark.parametrize("unit", ["x", "\x00", "\u0301", "\U0001f469\u200d", "\u05e9", "ab "])
def test_no_line_is_so_long_that_the_window_stands_still(
    panel: MetadataPanel, qtbot: QtBot, tmp_path: Path, unit: str
) -> None:
    text = "short\n" + unit * (500_000 // len(unit.encode()))
    panel._document.set_model(opened(files.write(tmp_path / "big.gguf", {"general.url": text})))
    settle(qtbot, panel)
    began = time.process_time()
    panel.view.selectRow(0)
    QApplication.processEvents()
    assert time.process_time() - began < 5
    lines = panel.value.text.toPlainText().split("\n")
    assert max(map(len, lines)) <= LINE_LETTERS
    assert lines[0] == "short"
    assert "".join(lines[1:]).startswith(display(unit * 5000))
    assert "lines are broken after 2,000 characters" in panel.value.about.text()


def test_empty_arrays_keys_and_strings_are_sensible(
    panel: MetadataPanel, qtbot: QtBot, tmp_path: Path
) -> None:
    empty = files.write(
        tmp_path / "empty.gguf",
        [("", files.u32(1)), ("a", files.array(files.STRING, [])), ("s", "")],
    )
    panel._document.set_model(opened(empty))
    settle(qtbot, panel)
    assert cell(panel, 0, 0) == "(empty)"
    assert cell(panel, 1, 1) == "0 strings"
    panel.view.selectRow(1)
    settle(qtbot, panel)
    assert panel.value.pager.view.accessibleDescription() == "The array is empty."
    panel.view.selectRow(2)
    assert panel.value.text.placeholderText() == "The string is empty."


def test_without_a_model_the_panel_says_what_to_do(qtbot: QtBot) -> None:
    panel = MetadataPanel(document_of(None))
    qtbot.addWidget(panel)
    assert "Open a GGUF file" in panel.view.accessibleDescription()
    assert not panel.filter.isEnabled()


def test_the_metadata_of_a_family_is_that_of_its_first_part(qtbot: QtBot, path: Path) -> None:
    model = opened(path)
    family = replace(model.file, headers=(model.file.header, model.file.header))
    panel = MetadataPanel(document_of(replace(model, file=family)))
    qtbot.addWidget(panel)
    settle(qtbot, panel)
    assert panel.status.text() == "9 keys; 1 duplicate; of model.gguf"


@pytest.mark.parametrize("width", [300, 420])
def test_no_column_is_under_the_scroll_bar(panel: MetadataPanel, qtbot: QtBot, width: int) -> None:
    panel.resize(width, 420)
    qtbot.waitUntil(lambda: panel.view.verticalScrollBar().isVisible())
    assert panel.view.horizontalScrollBar().maximum() == 0
    assert panel.minimumSizeHint().width() <= width


def test_every_control_has_a_name_for_screen_readers(panel: MetadataPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(TOKEN_ROW)
    settle(qtbot, panel)
    pager = panel.value.pager
    for widget in (
        panel.view,
        panel.filter,
        panel.value.copy_button,
        pager.view,
        pager.search,
        pager.back,
        pager.forward,
        pager.element,
        pager.page_size,
    ):
        assert widget.accessibleName(), widget


def test_a_double_click_opens_the_value_in_a_window(panel: MetadataPanel) -> None:
    place = panel.view.visualRect(panel.table.index(TEMPLATE_ROW, 0)).center()
    viewport, left = panel.view.viewport(), Qt.MouseButton.LeftButton
    QTest.mouseClick(viewport, left, pos=place)
    assert panel._windows == []
    QTest.mouseDClick(viewport, left, pos=place)
    (window,) = panel._windows
    assert window.value.text.toPlainText() == TEMPLATE
    window.close()
    assert panel._windows == []
