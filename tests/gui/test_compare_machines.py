"""The page "Compare": machines in a table, curves, and the catalogue as a scatter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMenu
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine import catalogue, custom, machine_from, own
from core.model import model_from
from core.model.model import Model
from core.plan.plan import Verdict
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.document import Document
from gui.panels.compare import ComparePage
from gui.panels.compare.chosen import FIRST
from gui.settings import StoredComparison
from gui.theme import Theme, ThemeMode
from gui.widgets.pictures import save_picture

GIB = 2**30
HERE = replace(custom(32 * GIB, 51.2e9, gpu=False), id="this", name="This computer")
CARD = "nvidia-geforce-rtx-3090"
PAIR = f"2x {CARD} + ram:64GiB@51.2"


def specimen(word: str) -> Model:
    return model_from(open_file(next(p for p in resources.specimens() if word in p.stem)))


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(HERE)
    made.set_model(specimen("Qwen3.6-35B"))
    return made


@pytest.fixture
def kept() -> list[StoredComparison]:
    """What the settings were told to keep, the latest last."""
    return []


@pytest.fixture
def page(qtbot: QtBot, document: Document, kept: list[StoredComparison]) -> Iterator[ComparePage]:
    made = ComparePage(document, StoredComparison(machines=("this", CARD), ram="off"))
    made.stored_changed.connect(kept.append)
    qtbot.addWidget(made)
    made.resize(1280, 700)
    made.show()
    qtbot.waitUntil(lambda: len(made.machines.rows) == 2)
    yield made


def texts(page: ComparePage, column: str) -> list[str]:
    """What a column shows, from top to bottom."""
    sheet = page.machines.sheet
    number = sheet.column_named(column)
    return [sheet.index(row, number).data() for row in range(sheet.rowCount())]


def test_nobody_has_chosen_yet_shows_this_computer_and_what_many_ask_about(
    qtbot: QtBot, document: Document
) -> None:
    page = ComparePage(document, StoredComparison())
    qtbot.addWidget(page)
    page.show()
    assert [row.key for row in page.machines.rows] == list(FIRST)
    assert texts(page, "machine")[0] == "This computer"


def test_where_nobody_has_chosen_the_machine_of_the_plan_stands_after_this_computer(
    qtbot: QtBot, document: Document
) -> None:
    document.set_machine(catalogue.machine("nvidia-geforce-rtx-4090"))
    page = ComparePage(document, StoredComparison())
    qtbot.addWidget(page)
    page.resize(1280, 700)
    page.show()

    def keys() -> list[str]:
        return [row.key for row in page.machines.rows]

    qtbot.waitUntil(lambda: keys() == ["this", "nvidia-geforce-rtx-4090", *FIRST[1:]])
    document.set_machine(catalogue.machine(FIRST[2]))  # one that is there anyway moves nothing
    document.set_machine(catalogue.machine("apple-m4-max-40-core-gpu"))
    assert page.chosen.texts == ("this", "nvidia-geforce-rtx-4090", *FIRST[1:])
    document.set_machine(catalogue.machine("nvidia-geforce-rtx-4080"))
    assert page.chosen.texts[:3] == ("this", "nvidia-geforce-rtx-4080", "nvidia-geforce-rtx-4090")
    page.chosen.remove(["nvidia-geforce-rtx-4080"])  # that is a choice: nothing is added any more
    document.set_machine(catalogue.machine("nvidia-geforce-rtx-4070"))
    assert page.chosen.texts == ("this", "nvidia-geforce-rtx-4090", *FIRST[1:])


def test_the_table_says_what_the_plan_of_each_machine_says(
    page: ComparePage, document: Document
) -> None:
    assert texts(page, "machine") == ["This computer", "GeForce RTX 3090"]
    assert document.plan is not None
    assert page.machines.rows[0].figures.plan == document.plan
    assert texts(page, "verdict") == ["fits", "fits"]
    assert texts(page, "watts") == ["unknown", "350 W"]


def test_it_follows_the_choice_and_the_units(page: ComparePage, document: Document) -> None:
    document.choose(context=262_144)
    assert texts(page, "verdict") == ["fits", "does not fit"]
    assert texts(page, "room_bytes")[1].startswith("lacks 1.32 GiB")
    document.set_units(UnitSystem.GB)
    assert texts(page, "room_bytes")[1].startswith("lacks 1.4")
    assert texts(page, "ceiling_tok_s")[1].startswith("(")


def test_words_search_the_catalogue_and_enter_adds_the_best_match(
    qtbot: QtBot, page: ComparePage, kept: list[StoredComparison]
) -> None:
    search = page.machines.add.search
    QTest.keyClicks(search, "rtx 4090 24")
    QTest.keyClick(search, Qt.Key.Key_Return)
    assert texts(page, "machine")[-1] == "GeForce RTX 4090"
    assert kept[-1].machines == ("this", CARD, "nvidia-geforce-rtx-4090")
    qtbot.waitUntil(lambda: search.text() == "")


def test_words_that_find_nothing_are_answered(qtbot: QtBot, page: ComparePage) -> None:
    said: list[str] = []
    page.said.connect(said.append)
    QTest.keyClicks(page.machines.add.search, "abacus")
    QTest.keyClick(page.machines.add.search, Qt.Key.Key_Return)
    assert said == ["The catalogue has nothing like it; try fewer words."]


@pytest.mark.parametrize("typed", [PAIR, "gpu:24GiB@936:cuda", "unified:128GiB@256:metal"])
def test_parts_are_a_machine_as_on_the_command_line(
    page: ComparePage, kept: list[StoredComparison], typed: str
) -> None:
    search = page.machines.add.search
    QTest.keyClicks(search, typed)
    QTest.keyClick(search, Qt.Key.Key_Return)
    assert kept[-1].machines == ("this", CARD, typed)
    assert search.text() == ""


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("2x abacus + ram:64GiB@51.2", "abacus"),
        ("gpu:much@936", "much"),
        ("gpu:24GiB@936:abacus", "There is no backend 'abacus'"),
    ],
)
def test_parts_that_make_no_machine_are_answered_and_stay_to_be_mended(
    page: ComparePage, kept: list[StoredComparison], typed: str, sentence: str
) -> None:
    said: list[str] = []
    page.said.connect(said.append)
    QTest.keyClicks(page.machines.add.search, typed)
    QTest.keyClick(page.machines.add.search, Qt.Key.Key_Return)
    assert len(said) == 1 and sentence in said[0] and said[0].endswith(".")
    assert kept == [] and page.machines.add.search.text() == typed


def test_a_machine_is_added_once(page: ComparePage, kept: list[StoredComparison]) -> None:
    page.chosen.add([CARD])
    assert kept == []


def test_more_than_can_be_compared_is_told_and_nothing_is_lost(page: ComparePage) -> None:
    said: list[str] = []
    page.said.connect(said.append)
    page.chosen.add([row.id for row in catalogue.all()])
    assert said == ["40 machines are compared at most; remove some first."]
    assert page.chosen.texts == ("this", CARD)


def test_a_price_alone_makes_no_plan_anew(page: ComparePage) -> None:
    before = page.machines.rows[1].figures
    page.chosen.set_price(CARD, 700.0)
    assert page.machines.rows[1].figures is before
    assert texts(page, "price") == ["", "700"]
    assert float(texts(page, "tok_s_per_1000")[1]) > 0


def test_the_delete_key_removes_a_machine_and_keeps_its_price(
    page: ComparePage, kept: list[StoredComparison]
) -> None:
    page.machines.table.selectRow(1)
    page.machines.type_price("699.50")
    page.machines.table.setFocus()
    QTest.keyClick(page.machines.table, Qt.Key.Key_Delete)
    assert texts(page, "machine") == ["This computer"]
    assert kept[-1].prices == ((CARD, 699.5),)
    page.chosen.add([CARD])
    assert texts(page, "price") == ["", "699.5"]


def test_the_cursor_goes_to_what_was_added_and_stays_where_something_was_removed(
    page: ComparePage,
) -> None:
    machines = page.machines
    page.chosen.add([PAIR])
    assert machines.name.shown.startswith("2x GeForce RTX 3090")  # a price typed now is its price
    machines.type_price("1400")
    assert page.chosen.prices == {PAIR: 1400.0}
    page.chosen.add(["nvidia-geforce-rtx-4090"])
    machines.table.selectRow(1)
    machines.remove()
    assert [row.key for row in machines.rows] == ["this", PAIR, "nvidia-geforce-rtx-4090"]
    assert machines.table.currentIndex().row() == 1
    assert machines.name.shown.startswith("2x GeForce RTX 3090")


def test_nothing_to_click_moves_when_another_machine_has_a_longer_name(page: ComparePage) -> None:
    machines = page.machines
    page.chosen.add([PAIR])
    places = []
    for row in range(3):
        machines.table.selectRow(row)
        page.grab()
        places.append(
            [
                w.mapTo(page, w.rect().topLeft())
                for w in (machines.price, machines.use_button, machines.remove_button)
            ]
        )
    assert places[0] == places[1] == places[2]


def test_the_last_machine_can_be_removed_and_words_say_what_to_do(page: ComparePage) -> None:
    page.machines.table.selectAll()
    page.machines.remove_button.click()
    assert page.machines.rows == ()
    assert "Add machines above" in page.machines.table.accessibleDescription()
    assert not page.machines.use_button.isEnabled() and not page.machines.price.isEnabled()
    assert page.machines.curves.lines == ()
    page.grab()


def test_enter_and_the_button_plan_for_the_machine(
    qtbot: QtBot, page: ComparePage, document: Document
) -> None:
    table = page.machines.table
    assert not page.machines.use_button.isEnabled()  # the plan is for this computer already
    table.selectRow(1)
    assert page.machines.use_button.isEnabled()
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert document.machine == catalogue.machine(CARD)
    assert page.machines.used.isVisible()
    document.undo_stack.undo()
    assert document.machine == HERE


def test_a_header_sorts_and_the_order_stays_when_figures_change(
    page: ComparePage, document: Document
) -> None:
    page.chosen.add(["nvidia-geforce-rtx-5090"])
    sheet, table = page.machines.sheet, page.machines.table
    column = sheet.column_named("ceiling_empty_tok_s")
    table.horizontalHeader().sectionClicked.emit(column)
    fastest_first = ["GeForce RTX 5090", "GeForce RTX 3090", "This computer"]
    assert texts(page, "machine") == fastest_first
    document.choose(context=65_536)
    assert texts(page, "machine") == fastest_first
    table.horizontalHeader().sectionClicked.emit(column)
    assert texts(page, "machine") == fastest_first[::-1]


@pytest.mark.parametrize(
    ("typed", "shown"), [("699", "699"), ("1,599.5", "1,599.5"), ("", ""), ("0", "")]
)
def test_a_price_is_typed_into_its_cell(
    qtbot: QtBot, page: ComparePage, typed: str, shown: str
) -> None:
    sheet = page.machines.sheet
    index = sheet.index(1, sheet.column_named("price"))
    assert index.flags() & Qt.ItemFlag.ItemIsEditable
    page.machines.table.edit(index)
    editor = page.machines.table.viewport().findChild(QLineEdit)
    assert editor is not None
    editor.setText(typed)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(page, "price") == ["", shown])


def test_a_digit_typed_into_the_table_begins_a_price(qtbot: QtBot, page: ComparePage) -> None:
    table, price = page.machines.table, page.machines.price
    table.selectRow(1)
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_7)
    assert price.hasFocus()
    QTest.keyClicks(price, "00")
    QTest.keyClick(price, Qt.Key.Key_Return)
    assert texts(page, "price") == ["", "700"]


def test_what_is_no_price_gets_a_sentence_and_changes_nothing(page: ComparePage) -> None:
    said: list[str] = []
    page.said.connect(said.append)
    page.machines.table.selectRow(1)
    page.machines.type_price("cheap")
    assert said == ["“cheap” is no price; write it like 1599 or 1,599.00."]
    assert texts(page, "price") == ["", ""]


def test_the_currency_is_the_users_word(page: ComparePage, kept: list[StoredComparison]) -> None:
    page.machines.currency.setText("CHF")
    page.machines.currency.editingFinished.emit()
    assert kept[-1].currency == "CHF"
    titles = [column.title for column in page.machines.sheet.facts]
    assert "Price (CHF)" in titles


def test_the_prompt_of_the_first_token_is_kept(
    page: ComparePage, kept: list[StoredComparison]
) -> None:
    page.machines.prompt.setValue(6500)
    assert kept[-1].prompt == 6500


def test_combinations_figures_and_own_machines_come_back_at_the_next_start(
    qtbot: QtBot, document: Document
) -> None:
    machines = own.added((), machine_from("gpu:48GiB@900"), "Attic")
    own.save(machines)
    stored = StoredComparison(machines=(PAIR, "gpu:24GiB@936:cuda", "own-attic", "own-gone"))
    page = ComparePage(document, stored)
    qtbot.addWidget(page)
    page.show()
    names = texts(page, "machine")
    assert names == [
        "2x GeForce RTX 3090 + 64.0 GiB RAM",
        "GPU, 24.0 GiB, 936 GB/s + 32.0 GiB RAM",
        "Attic + 32.0 GiB RAM",
    ]
    assert texts(page, "memory_bytes")[0] == "2 × 24.0 GiB"


def test_every_cell_explains_itself(page: ComparePage) -> None:
    sheet = page.machines.sheet
    for column in range(sheet.columnCount()):
        for row in range(sheet.rowCount()):
            index = sheet.index(row, column)
            assert index.data(Qt.ItemDataRole.AccessibleTextRole)
    tip = sheet.index(1, sheet.column_named("ceiling_tok_s")).data(Qt.ItemDataRole.ToolTipRole)
    assert "bandwidth / bytes per token" in tip
    assert "atasheet" in tip


@pytest.mark.parametrize("form", list(TextFormat))
def test_the_table_is_copied_as_it_is_sorted(page: ComparePage, form: TextFormat) -> None:
    sheet = page.machines.sheet
    sheet.sort(sheet.column_named("bandwidth_bytes_per_second"), Qt.SortOrder.DescendingOrder)
    page.machines.copy(form)
    text = QGuiApplication.clipboard().text()
    assert text.index("GeForce RTX 3090") < text.index("This computer")
    if form is TextFormat.JSON:
        assert json.loads(text)[0]["watts"] == 350


def test_the_menu_offers_every_kind_of_machine(page: ComparePage, document: Document) -> None:
    document.set_machine(catalogue.machine("nvidia-geforce-rtx-4090"))
    menu = QMenu()
    page.machines.add._fill(menu)
    words = [action.text() for action in menu.actions() if action.text()]
    assert words == [
        "This computer",
        "The plan's machine: GeForce RTX 4090",
        "Typed figures…",
        "Cards and RAM together…",
        "Own machines…",
    ]
    menu.actions()[1].trigger()
    assert texts(page, "machine")[-1] == "GeForce RTX 4090"
    menu.deleteLater()


# The plots.


def test_each_machine_has_a_curve_and_memory_ends_where_it_does(page: ComparePage) -> None:
    here, card = page.machines.curves.lines
    assert (here.name, card.name) == ("This computer", "GeForce RTX 3090")
    assert card.points[0][0] == 0 and card.points[-1][0] == 262_144
    assert card.until == page.machines.rows[1].figures.most
    assert card.ends_early and not here.ends_early
    assert "its memory is enough up to" in page.machines.curves.accessibleDescription()


def test_the_catalogue_is_drawn_and_a_click_adds_a_machine(qtbot: QtBot, page: ComparePage) -> None:
    view = page.machines.catalogue
    qtbot.waitUntil(lambda: len(view.points) == len(catalogue.all()))
    dot = next(dot for dot in view.plot.dots if dot.id == "nvidia-geforce-rtx-5090")
    assert dot.verdict is Verdict.FITS
    assert dot.told.splitlines()[0] == "GeForce RTX 5090 (2025)"
    frame = view.plot._frame_now()
    assert frame is not None
    where = frame.place(dot.across, dot.up)
    found = view.plot.nearest(QPointF(where.toPoint()))
    assert found is not None
    QTest.mouseClick(view.plot, Qt.MouseButton.LeftButton, pos=where.toPoint())
    assert page.chosen.texts[-1] == found.id
    assert next(d for d in view.plot.dots if d.id == found.id).ringed
    # The 5090 D has the same memory and bandwidth: both are named.
    told = view.plot.told_at(where)
    assert "GeForce RTX 5090" in told and "near it: GeForce RTX 5090" in told
    assert view.plot.nearest(QPointF(frame.inside.right() - 1, frame.inside.bottom() - 1)) is None


def test_the_keyboard_walks_over_the_catalogue_and_takes_a_machine(
    qtbot: QtBot, page: ComparePage
) -> None:
    view = page.machines.catalogue
    qtbot.waitUntil(lambda: bool(view.points))
    plot = view.plot
    plot.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Left):
        QTest.keyClick(plot, key)
    assert plot.current is plot.dots[0]
    assert plot.accessibleDescription() == plot.dots[0].told.replace("\n", ", ")
    QTest.keyClick(plot, Qt.Key.Key_Return)
    assert page.chosen.texts[-1] == plot.dots[0].id


def test_filters_leave_what_they_name(qtbot: QtBot, page: ComparePage) -> None:
    view = page.machines.catalogue
    qtbot.waitUntil(lambda: bool(view.points))
    view.filters.vendor.setCurrentText("Apple")
    ids = {dot.id for dot in view.plot.dots}
    assert ids and all(id.startswith("apple-") for id in ids)
    view.filters.only_fitting.setChecked(True)
    assert all(d.verdict in (Verdict.FITS, Verdict.TIGHT) for d in view.plot.dots)
    view.filters.memory.setCurrentText("192 GB or more")
    view.filters.year.setCurrentIndex(1)
    view.filters.kind.setCurrentText("Datacenter")
    assert view.plot.dots == ()
    assert "No machine" in view.plot.accessibleDescription()


@pytest.mark.parametrize("name", ["curves.svg", "curves.png"])
def test_a_picture_is_saved(qtbot: QtBot, page: ComparePage, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert save_picture([page.machines.curves], path) == f"Saved as {name}."
    begin = path.read_bytes()[:200]
    assert b"<svg" in begin or begin.startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_a_sentence(page: ComparePage, tmp_path: Path) -> None:
    for name in ("x.svg", "x.png"):
        said = save_picture([page.machines.curves], tmp_path / "nowhere" / name)
        assert "could not be written" in said


@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
@pytest.mark.parametrize("width", [800, 1280])
def test_the_page_is_painted_in_every_width_and_theme(
    qtbot: QtBot, page: ComparePage, theme: Theme, mode: ThemeMode, width: int
) -> None:
    theme.set_mode(mode)
    page.resize(width, 520)
    for tab in range(page.tabs.count()):
        page.tabs.setCurrentIndex(tab)
        image = page.grab().toImage()
        shades = {image.pixel(x, y) for x in range(0, width, 7) for y in range(0, 520, 7)}
        assert len(shades) > 10


def test_every_control_has_a_name(page: ComparePage) -> None:
    for tab in range(page.tabs.count()):
        page.tabs.setCurrentIndex(tab)
        for edit in page.findChildren(QLineEdit):
            if edit.isVisible() and edit.parent() is not None and not edit.isReadOnly():
                owner = edit.parent()
                assert edit.accessibleName() or getattr(owner, "accessibleName", str)()
    for widget in (page.machines.table, page.machines.curves, page.machines.catalogue.plot):
        assert widget.accessibleName()


def test_nothing_is_worked_out_while_the_page_is_out_of_sight(
    page: ComparePage, document: Document
) -> None:
    before = page.machines.rows
    page.hide()
    document.choose(context=65_536)
    assert page.machines.rows is before
    page.show()
    assert page.machines.rows is not before


def test_a_model_without_a_known_cache_is_unknown_and_not_refused(
    page: ComparePage, document: Document
) -> None:
    from tests.support.memory import file_of

    keys = {"general.architecture": "novel", "novel.block_count": 2}
    document.set_model(model_from(file_of(keys, [("blk.0.ffn_up.weight", (32, 64), "F16")])))
    assert texts(page, "verdict") == ["unknown", "unknown"]
    assert page.machines.curves.lines == ()
    page.grab()
