"""The table model: its own order, its own filter, and what is copied out of it."""

from __future__ import annotations

import csv
import io
import json

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QTextDocument

from core.model.model import Role
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.tables.sheet import Column, Sheet, longest
from gui.tables.tensors import TensorColumn, TensorTable, stored_bytes, type_help
from tests.support.models import Spec, model_of, tensors_of, weights_of

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder

SPECS = (
    Spec("token_embd.weight", (4096, 1000), "Q4_K", Role.EMBEDDING),
    Spec("blk.10.attn_q.weight", (4096, 4096), "Q6_K", Role.ATTENTION, 10),
    Spec("blk.2.attn_q.weight", (4096, 4096), "Q4_K", Role.ATTENTION, 2),
    Spec("blk.2.ffn_up_exps.weight", (2048, 512, 8), "IQ4_XS", Role.EXPERTS, 2),
    Spec("blk.2.attn_norm.weight", (4096,), "F32", Role.NORMS, 2),
)


@pytest.fixture
def table(qapp: object) -> TensorTable:
    made = TensorTable()
    made.set_model(model_of(SPECS))
    return made


def texts(sheet: Sheet, column: int) -> list[str]:
    """What a column shows, from the top."""
    return [sheet.index(row, column).data() for row in range(sheet.rowCount())]


def names(table: TensorTable) -> list[str]:
    return texts(table, TensorColumn.NAME)


def test_rows_stand_in_file_order_until_they_are_sorted(table: TensorTable) -> None:
    assert names(table) == [spec.name for spec in SPECS]


def test_names_sort_with_layer_2_before_layer_10(table: TensorTable) -> None:
    table.sort(TensorColumn.NAME, ASCENDING)
    assert names(table) == [
        "blk.2.attn_norm.weight",
        "blk.2.attn_q.weight",
        "blk.2.ffn_up_exps.weight",
        "blk.10.attn_q.weight",
        "token_embd.weight",
    ]


def test_sizes_sort_by_bytes_and_not_by_their_text(table: TensorTable) -> None:
    table.sort(TensorColumn.BYTES, ASCENDING)
    # 4096 × 4; 4096 × 1000 / 256 × 144; 2048 × 512 × 8 / 256 × 136; 4096² / 256 × 144 and × 210
    sizes = [table.tensor(row).bytes for row in table.rows]
    assert sizes == [16_384, 2_304_000, 4_456_448, 9_437_184, 13_762_560]
    assert texts(table, TensorColumn.BYTES)[0] == "16.0 KiB"
    assert texts(table, TensorColumn.BYTES)[-1] == "13.1 MiB"


@pytest.mark.parametrize("column", [c for c in TensorColumn if c is not TensorColumn.SHARD])
def test_every_column_sorts_both_ways_and_back_to_file_order(
    table: TensorTable, column: TensorColumn
) -> None:
    table.sort(column, ASCENDING)
    upwards = list(table.rows)
    table.sort(column, DESCENDING)
    keys = table.columns[column].keys()
    assert [keys[row] for row in upwards] == sorted(keys)
    assert [keys[row] for row in table.rows] == sorted(keys, reverse=True)
    table.sort(-1)
    assert list(table.rows) == [0, 1, 2, 3, 4]


def test_rows_that_compare_equal_keep_the_order_of_the_file(table: TensorTable) -> None:
    table.sort(TensorColumn.TYPE, ASCENDING)
    assert [row for row in table.rows if table.tensor(row).type_name == "Q4_K"] == [0, 2]


def test_every_word_of_the_filter_must_occur_in_name_type_or_role(table: TensorTable) -> None:
    table.set_filter("BLK.2 attn")
    assert names(table) == ["blk.2.attn_q.weight", "blk.2.attn_norm.weight"]
    table.set_filter("attn q6_k")
    assert names(table) == ["blk.10.attn_q.weight"]
    table.set_filter("experts")
    assert names(table) == ["blk.2.ffn_up_exps.weight"]
    table.set_filter("nothing like that")
    assert names(table) == []
    table.set_filter("  ")
    assert len(names(table)) == 5


def test_the_filter_stays_when_rows_are_sorted_and_the_order_when_they_are_filtered(
    table: TensorTable,
) -> None:
    table.set_filter("attn_q")
    table.sort(TensorColumn.BYTES, DESCENDING)
    assert names(table) == ["blk.10.attn_q.weight", "blk.2.attn_q.weight"]
    table.set_filter("")
    assert table.tensor(table.rows[0]).name == "blk.10.attn_q.weight"


def test_another_model_returns_to_file_order_and_keeps_the_filter(table: TensorTable) -> None:
    table.set_filter("norm")
    table.sort(TensorColumn.BYTES, DESCENDING)
    table.set_model(model_of(SPECS[::-1]))
    assert names(table) == ["blk.2.attn_norm.weight"]
    assert table.sorted_by == -1


def test_sorting_and_filtering_ask_no_cell_for_its_text(qapp: object) -> None:
    """U23: a table of 60,000 rows is sorted while one looks."""
    # A proxy model asks millions of times; that is what makes 100,000 rows take 17 s.
    asked = 0

    def text(row: int) -> str:
        nonlocal asked
        asked += 1
        return str(row)

    sheet = Sheet()
    count = 100_000
    column = Column("n", "N", text, text, lambda: range(count), number=True)
    sheet.set_source([column], count, lambda: [str(row) for row in range(count)])
    sheet.sort(0, DESCENDING)
    sheet.set_filter("99 7")
    assert asked == 0
    assert sheet.rows[0] == 99_997


def test_sizes_are_shown_in_the_unit_system_that_was_chosen(table: TensorTable) -> None:
    table.set_units(UnitSystem.GB)
    assert texts(table, TensorColumn.BYTES)[1] == "13.8 MB"  # 13,762,560 B
    assert not any("i" in text for text in texts(table, TensorColumn.BYTES))


def test_a_name_cannot_reverse_or_break_its_row(qapp: object) -> None:
    table = TensorTable()
    odd = b"blk.0.\x80\xe2\x80\xae\n".decode("utf-8", "surrogateescape")
    table.set_model(model_of([Spec(odd, (32,), "F32")]))
    assert names(table) == ["blk.0.\\x80\\u202e\\n"]


@pytest.mark.parametrize("name", ["<img src='/a.png'>", "<h1>", "a &lt;b&gt;", "x\n<b>y"])
def test_a_name_is_never_markup_in_the_tip_of_any_cell(qapp: object, name: str) -> None:
    table = TensorTable()
    table.set_model(model_of([Spec(name, (32,), "F32")]))
    shown = QTextDocument()
    for column in range(table.columnCount()):
        tip = table.index(0, column).data(Qt.ItemDataRole.ToolTipRole)
        if not tip.startswith("<span>"):
            assert "<" not in tip
            assert "&" not in tip
        shown.setHtml(tip)
        if column == TensorColumn.NAME:
            assert shown.toPlainText() == table.index(0, column).data()


def test_an_unknown_type_is_shown_with_the_size_that_the_offsets_give(qapp: object) -> None:
    table = TensorTable()
    table.set_model(model_of([Spec("a", (2048, 2048), 217, unknown_bytes=1_114_112)]))
    assert texts(table, TensorColumn.TYPE) == ["unknown 217"]
    assert texts(table, TensorColumn.BITS) == ["2.12"]  # 8 × 1,114,112 / 2048²
    explained = table.index(0, TensorColumn.BYTES).data(Qt.ItemDataRole.ToolTipRole)
    assert "distance to the next tensor" in explained
    assert "1,114,112 B" in explained


def test_a_type_number_that_a_fork_uses_otherwise_is_told_as_the_file_has_it(qapp: object) -> None:
    # An early PrismML release used 40 for 32 weights in 6 bytes; today it is NVFP4's.
    (tensor,) = tensors_of([Spec("a", (4096, 8), 40, unknown_bytes=4096 * 8 // 32 * 6)])
    tensor = tensor._replace(type_name="Q1_0_G32")
    assert type_help(tensor).startswith("Q1_0_G32, number 40: 32 weights in 6 B.")
    assert "NVFP4" not in type_help(tensor).partition(". ")[0]
    number = stored_bytes(tensor)
    assert number.formula == "rows × row length / block size × block bytes"
    assert {i.name: i.value for i in number.inputs}["block bytes"] == 6


def test_a_type_that_has_a_name_and_no_layout_says_who_reads_it(qapp: object) -> None:
    (tensor,) = tensors_of([Spec("a", (4096, 8), 36, unknown_bytes=8192)])
    words = type_help(tensor._replace(type_name="I2_S"))
    assert words.startswith("I2_S: how type number 36 is laid out is not known")
    assert "bitnet.cpp" in words


def test_the_size_of_a_type_with_bytes_per_row_says_so(qapp: object) -> None:
    # ik_llama.cpp's IQ4_KS, number 144: a row of 4096 takes 16 blocks of 136 B and 4 B more.
    (tensor,) = tensors_of([Spec("a", (4096, 8), 144, unknown_bytes=8 * 2180)])
    number = stored_bytes(tensor._replace(type_name="IQ4_KS"))
    assert number.value == 17_440
    assert "bytes per row" in number.formula
    assert {i.name: i.value for i in number.inputs}["rows"] == 8


def test_a_size_that_the_type_does_not_explain_is_not_explained_by_the_type(
    qapp: object,
) -> None:
    (tensor,) = tensors_of([Spec("a", (4096, 8), 144, unknown_bytes=9 * 2180)])
    assert "distance" in stored_bytes(tensor._replace(type_name="IQ4_KS")).formula


def test_a_tensor_without_weights_is_no_error(qapp: object) -> None:
    table = TensorTable()
    table.set_model(model_of([Spec("empty", (4, 0), "F32"), Spec("scalar", (), "F32")]))
    for row in range(2):
        for column in TensorColumn:
            for role in (
                Qt.ItemDataRole.DisplayRole,
                Qt.ItemDataRole.ToolTipRole,
                Qt.ItemDataRole.AccessibleTextRole,
            ):
                table.index(row, column).data(role)
    assert texts(table, TensorColumn.BITS) == ["", "32.00"]


def test_a_screen_reader_hears_the_column_with_each_value(table: TensorTable) -> None:
    role = Qt.ItemDataRole.AccessibleTextRole
    assert table.index(1, TensorColumn.BYTES).data(role) == "Bytes: 13.1 MiB"
    assert table.index(0, TensorColumn.LAYER).data(role) == "Layer: none"


def test_the_model_has_no_rows_below_a_row(table: TensorTable) -> None:
    assert table.rowCount(table.index(0, 0)) == 0
    assert table.rowCount(QModelIndex()) == 5


def test_columns_of_another_quantization_appear_only_while_one_is_tried(
    table: TensorTable,
) -> None:
    columns = {TensorColumn.BYTES_THEN, TensorColumn.TYPE_THEN}
    assert columns <= table.hidden_columns()
    tried = weights_of([spec._replace(type="Q8_0") for spec in SPECS], "Q8_0")
    table.set_what_if(tried)
    assert not columns & table.hidden_columns()
    assert texts(table, TensorColumn.TYPE_THEN) == ["Q8_0"] * 5
    assert texts(table, TensorColumn.BYTES_THEN)[1] == "17.0 MiB"  # 4096² / 32 × 34
    table.set_what_if(None)
    assert columns <= table.hidden_columns()


def test_rows_sorted_by_what_they_would_be_follow_the_recipe(table: TensorTable) -> None:
    first = weights_of([spec._replace(type="Q8_0") for spec in SPECS], "Q8_0")
    types = ["F32", "Q4_0", "Q4_0", "Q4_0", "Q4_0"]
    other = weights_of(
        [spec._replace(type=type) for spec, type in zip(SPECS, types, strict=True)], "Q4_0"
    )
    table.set_what_if(first)
    table.sort(TensorColumn.BYTES_THEN, DESCENDING)
    assert table.rows[0] == 1
    table.set_what_if(other)
    assert table.rows[0] == 0  # 4096 × 1000 × 4 B is more than 4096² / 32 × 18 B
    table.set_what_if(None)
    assert len(table.rows) == 5


def test_the_shard_has_a_column_where_there_are_several(qapp: object) -> None:
    table = TensorTable()
    table.set_model(model_of([Spec("a", (32,), "F32", shard=1)], shards=2))
    assert TensorColumn.SHARD not in table.hidden_columns()
    assert texts(table, TensorColumn.SHARD) == ["2"]


def test_an_offset_is_explained_as_a_byte_of_the_file(table: TensorTable) -> None:
    # The first tensor takes 2,304,000 B, which is a multiple of 32.
    assert texts(table, TensorColumn.OFFSET)[1] == "2,304,000"
    tip = table.index(1, TensorColumn.OFFSET).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "byte 2,308,096 of model.gguf"


COPIED = (TensorColumn.NAME, TensorColumn.SHAPE, TensorColumn.BYTES, TensorColumn.LAYER)


def test_json_holds_exact_values(table: TensorTable) -> None:
    rows = json.loads(table.copied([1, 0], COPIED, TextFormat.JSON))
    assert rows == [
        {
            "name": "blk.10.attn_q.weight",
            "shape": [4096, 4096],
            "bytes": 13_762_560,
            "layer": 10,
        },
        {"name": "token_embd.weight", "shape": [4096, 1000], "bytes": 2_304_000, "layer": None},
    ]


def test_csv_holds_exact_values(table: TensorTable) -> None:
    text = table.copied([1, 0], COPIED, TextFormat.CSV)
    assert list(csv.reader(io.StringIO(text))) == [
        ["name", "shape", "bytes", "layer"],
        ["blk.10.attn_q.weight", "4096x4096", "13762560", "10"],
        ["token_embd.weight", "4096x1000", "2304000", ""],
    ]


def test_markdown_is_the_table_on_the_screen(table: TensorTable) -> None:
    assert table.copied([1], COPIED, TextFormat.MARKDOWN) == (
        "| Name | Shape | Bytes | Layer |\n"
        "| --- | --- | ---: | ---: |\n"
        "| blk.10.attn_q.weight | 4096 × 4096 | 13.1 MiB | 10 |\n"
    )


def test_a_name_that_is_no_utf8_can_be_copied_in_every_form(qapp: object) -> None:
    table = TensorTable()
    odd = b"a|b\x80".decode("utf-8", "surrogateescape")
    table.set_model(model_of([Spec(odd, (32,), "F32")]))
    columns = [TensorColumn.NAME]
    for form in TextFormat:
        table.copied([0], columns, form).encode()  # what a clipboard does
    assert json.loads(table.copied([0], columns, TextFormat.JSON)) == [{"name": odd}]
    assert "a\\|b" in table.copied([0], columns, TextFormat.MARKDOWN)


def test_the_longest_texts_are_the_same_at_every_start() -> None:
    # Sets have another order at every start; of equal lengths only a font tells the wider.
    assert longest(["norms", "embedding", "attention", "embedding"]) == ("attention", "embedding")
    assert longest([]) == ()
