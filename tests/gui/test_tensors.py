"""The tensors panel: filter, copy, status, what-if, by mouse and by keyboard."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from core.model.model import Role
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.panels.tensors import TensorsPanel
from gui.tables.tensors import TensorColumn
from tests.support.models import Spec, document_of, model_of, weights_of

# 4096 × 1000 / 256 × 144 = 2,304,000 B; 4096² / 256 × 210 = 13,762,560 B and × 144 = 9,437,184 B;
# 4096 × 4 = 16,384 B.
SPECS = (
    Spec("token_embd.weight", (4096, 1000), "Q4_K", Role.EMBEDDING),
    Spec("blk.10.attn_q.weight", (4096, 4096), "Q6_K", Role.ATTENTION, 10),
    Spec("blk.2.attn_q.weight", (4096, 4096), "Q4_K", Role.ATTENTION, 2),
    Spec("blk.2.attn_norm.weight", (4096,), "F32", Role.NORMS, 2),
)


@pytest.fixture
def panel(qtbot: QtBot) -> TensorsPanel:
    tried = weights_of([*(s._replace(type="Q8_0") for s in SPECS[:3]), SPECS[3]], "Q8_0")
    made = TensorsPanel(document_of(model_of(SPECS), {"Q8_0": tried}))
    qtbot.addWidget(made)
    made.resize(420, 600)
    made.show()
    return made


def copied() -> str:
    return QGuiApplication.clipboard().text()


def header_click(qtbot: QtBot, panel: TensorsPanel, column: int) -> None:
    header = panel.view.horizontalHeader()
    x = header.sectionViewportPosition(column) + header.sectionSize(column) // 2
    QTest.mouseClick(
        header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, header.height() // 2)
    )


def top(panel: TensorsPanel) -> str:
    return str(panel.table.index(0, TensorColumn.NAME).data())


def test_the_status_counts_tensors_and_bytes(panel: TensorsPanel) -> None:
    panel._document.set_units(UnitSystem.GB)
    assert panel.status.text() == "4 tensors, 25.5 MB"  # 25,520,128 B
    panel.filter.setText("attn_q")
    assert panel.status.text() == "4 tensors, 25.5 MB; 2 shown, 23.2 MB"
    panel.view.selectAll()
    assert panel.status.text().endswith("; 2 selected, 23.2 MB")


def test_a_click_on_a_number_column_shows_the_largest_first_then_the_smallest_then_file_order(
    panel: TensorsPanel, qtbot: QtBot
) -> None:
    header_click(qtbot, panel, TensorColumn.BYTES)
    assert top(panel) == "blk.10.attn_q.weight"
    assert panel.view.horizontalHeader().sortIndicatorSection() == TensorColumn.BYTES
    header_click(qtbot, panel, TensorColumn.BYTES)
    assert top(panel) == "blk.2.attn_norm.weight"
    header_click(qtbot, panel, TensorColumn.BYTES)
    assert top(panel) == "token_embd.weight"
    assert panel.view.horizontalHeader().sortIndicatorSection() == -1


def test_a_click_on_a_word_column_shows_a_first(panel: TensorsPanel, qtbot: QtBot) -> None:
    header_click(qtbot, panel, TensorColumn.NAME)
    assert top(panel) == "blk.2.attn_norm.weight"


def test_the_selection_and_the_cursor_survive_sorting_and_filtering(
    panel: TensorsPanel, qtbot: QtBot
) -> None:
    panel.view.selectRow(2)
    header_click(qtbot, panel, TensorColumn.BYTES)
    assert panel.view.selected_rows() == [2]
    assert panel.view.current_row() == 2
    panel.filter.setText("blk.2")
    assert panel.view.selected_rows() == [2]
    assert not panel.card.isHidden()
    panel.filter.setText("token")
    assert panel.view.selected_rows() == []
    assert panel.view.current_row() == -1
    assert panel.card.isHidden()


def test_another_model_is_not_shown_with_the_old_selection(panel: TensorsPanel) -> None:
    panel.view.selectRow(1)
    panel._document.set_model(model_of(SPECS[:2]))
    assert panel.view.selected_rows() == []
    assert panel.card.isHidden()
    assert panel.status.text().startswith("2 tensors")


def test_ctrl_c_copies_the_selected_rows_as_markdown(panel: TensorsPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(1)
    QTest.keyClick(panel.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = copied().splitlines()
    assert lines[0].startswith("| Bytes | Type | Name | Bits | Shape | Layer | Role | Offset |")
    assert len(lines) == 3
    assert "| blk.10.attn_q.weight |" in lines[2]
    assert panel.status.text() == "1 tensor copied as Markdown"


def test_all_that_is_shown_can_be_copied_as_json(panel: TensorsPanel) -> None:
    panel.filter.setText("blk")
    panel.view.selectRow(0)
    panel.view.copy(TextFormat.JSON, everything=True)
    rows = json.loads(copied())
    assert [row["bytes"] for row in rows] == [13_762_560, 9_437_184, 16_384]
    assert "what_if_bytes" not in rows[0]
    assert panel.status.text() == "3 tensors copied as JSON"


def test_the_menu_offers_every_form_for_the_selection_and_for_all(panel: TensorsPanel) -> None:
    menu = QMenu(panel)
    panel.view.add_copy_actions(menu)
    words = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    for form in ("Markdown", "CSV", "JSON"):
        assert words[f"Copy selected as {form}"] is False
        assert words[f"Copy all shown as {form}"] is True


def test_the_menu_key_opens_a_menu_that_sorts_and_copies(panel: TensorsPanel, qtbot: QtBot) -> None:
    panel.view.selectRow(3)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), QPoint(1, 1))
    QApplication.sendEvent(panel.view.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    (sort,) = [action.menu() for action in menu.actions() if action.text() == "Sort by"]
    assert isinstance(sort, QMenu)
    (by_bytes,) = [action for action in sort.actions() if action.text() == "Bytes"]
    by_bytes.trigger()
    menu.close()
    assert top(panel) == "blk.10.attn_q.weight"


def test_letters_typed_into_the_table_go_to_the_filter(panel: TensorsPanel, qtbot: QtBot) -> None:
    panel.view.setFocus()
    QTest.keyClicks(panel.view, "n")
    QTest.keyClicks(panel.filter, "orm")
    assert panel.filter.text() == "norm"
    assert top(panel) == "blk.2.attn_norm.weight"


def test_down_goes_from_the_filter_to_the_first_row_and_escape_shows_all_again(
    panel: TensorsPanel, qtbot: QtBot
) -> None:
    panel.activateWindow()
    panel.focus_filter()
    QTest.keyClicks(panel.filter, "attn_q")
    QTest.keyClick(panel.filter, Qt.Key.Key_Escape)
    assert panel.filter.text() == ""
    assert len(panel.table.rows) == 4
    QTest.keyClick(panel.filter, Qt.Key.Key_Down)
    assert panel.view.current_row() == 0
    assert panel.view.hasFocus()


def test_tab_leaves_the_table(panel: TensorsPanel) -> None:
    assert not panel.view.tabKeyNavigation()


def test_a_filter_that_matches_nothing_says_so_in_place_of_rows(panel: TensorsPanel) -> None:
    panel.filter.setText("blub")
    assert "blub" in panel.view.accessibleDescription()
    panel.filter.setText("")
    assert panel.view.accessibleDescription() == ""


def test_the_chosen_tensor_is_shown_in_full_with_its_formula(panel: TensorsPanel) -> None:
    panel.view.selectRow(1)
    assert panel.card._name.accessibleName() == "blk.10.attn_q.weight"
    assert "layer 10 · attention · 4096 × 4096 · Q6_K" in panel.card._words.text()
    explained = panel.card._bytes.explanation()
    assert "13,762,560 B" in explained
    assert "block bytes: 210 B" in explained


def test_a_tried_quantization_shows_beside_each_tensor_what_it_would_be(
    panel: TensorsPanel,
) -> None:
    document = panel._document
    assert panel.view.isColumnHidden(TensorColumn.BYTES_THEN)
    document.choose(requantize="Q8_0")
    assert not panel.view.isColumnHidden(TensorColumn.BYTES_THEN)
    assert panel.table.index(1, TensorColumn.TYPE_THEN).data() == "Q8_0"
    document.set_units(UnitSystem.GB)
    # 4096 × 1000 / 32 × 34 + 2 × 4096² / 32 × 34 + 16,384 = 40,020,... B
    total = 4_352_000 + 2 * 17_825_792 + 16_384
    assert total == 40_019_968
    assert panel.status.text() == "4 tensors, 25.5 MB; as Q8_0 40.0 MB"
    panel.view.copy(TextFormat.JSON, everything=True)
    assert json.loads(copied())[1]["what_if_bytes"] == 17_825_792
    document.choose(requantize=None)
    assert panel.view.isColumnHidden(TensorColumn.BYTES_THEN)


def test_a_hidden_panel_catches_up_when_it_is_shown(panel: TensorsPanel) -> None:
    panel.hide()
    panel._document.choose(requantize="Q8_0")
    panel.show()
    assert not panel.view.isColumnHidden(TensorColumn.BYTES_THEN)


@pytest.mark.parametrize("width", [300, 420, 1200])
def test_numbers_type_and_name_stand_beside_the_scroll_bar_and_not_under_it(
    panel: TensorsPanel, qtbot: QtBot, width: int
) -> None:
    panel._document.set_model(model_of(SPECS * 50))
    panel.resize(width, 600)
    qtbot.waitUntil(lambda: panel.view.verticalScrollBar().isVisible())
    header = panel.view.horizontalHeader()
    for column in (TensorColumn.BYTES, TensorColumn.TYPE, TensorColumn.NAME):
        right = header.sectionViewportPosition(column) + header.sectionSize(column)
        assert 0 < right <= panel.view.viewport().width()


@pytest.mark.parametrize(("width", "beside"), [(300, 3), (420, 5), (1200, 5)])
def test_what_a_tensor_would_be_stands_beside_its_name_where_there_is_room(
    qtbot: QtBot, width: int, beside: int
) -> None:
    specs = SPECS[:3] * 50
    tried = weights_of([spec._replace(type="Q8_0") for spec in specs], "Q8_0")
    panel = TensorsPanel(document_of(model_of(specs), {"Q8_0": tried}))
    qtbot.addWidget(panel)
    panel.resize(width, 600)
    panel.show()
    panel._document.choose(requantize="Q8_0")
    qtbot.waitUntil(lambda: panel.view.verticalScrollBar().isVisible())
    header = panel.view.horizontalHeader()
    order = (
        TensorColumn.BYTES,
        TensorColumn.TYPE,
        TensorColumn.NAME,
        TensorColumn.BYTES_THEN,
        TensorColumn.TYPE_THEN,
    )
    for column in order[:beside]:
        right = header.sectionViewportPosition(column) + header.sectionSize(column)
        assert 0 < right <= panel.view.viewport().width()


def test_a_wide_panel_shows_every_column_without_scrolling(
    panel: TensorsPanel, qtbot: QtBot
) -> None:
    panel.resize(1200, 600)
    qtbot.waitUntil(lambda: not panel.view.horizontalScrollBar().isVisible())
    assert panel.view.horizontalScrollBar().maximum() == 0


def test_a_family_with_a_missing_part_is_a_lower_bound(qtbot: QtBot) -> None:
    document = document_of(model_of(SPECS, missing=("m-00002-of-00002.gguf",)))
    document.set_units(UnitSystem.GB)
    panel = TensorsPanel(document)
    qtbot.addWidget(panel)
    assert panel.status.text() == "4 tensors, ≥ 25.5 MB"


def test_without_a_model_and_without_tensors_the_panel_says_what_to_do(qtbot: QtBot) -> None:
    panel = TensorsPanel(document_of(None))
    qtbot.addWidget(panel)
    assert "Open a GGUF file" in panel.view.accessibleDescription()
    assert not panel.filter.isEnabled()
    panel._document.set_model(model_of())
    assert panel.view.accessibleDescription() == "This file holds no tensors."
    assert panel.status.text() == "0 tensors, 0 B"


def test_a_name_of_a_million_letters_does_not_stop_the_panel(qtbot: QtBot) -> None:
    panel = TensorsPanel(document_of(model_of([Spec("x" * 1_000_000, (32,), "F32")])))
    qtbot.addWidget(panel)
    panel.view.selectRow(0)
    assert len(panel.table.index(0, TensorColumn.NAME).data()) == 201
    assert len(panel.card._name.text()) == 500


def test_every_control_has_a_name_for_screen_readers(panel: TensorsPanel) -> None:
    assert panel.view.accessibleName() == "Tensors"
    assert panel.filter.accessibleName()
    assert panel.copy_button.text()
