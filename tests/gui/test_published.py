"""The page "Explain", how fast others were: filters, keyboard, one's own runs, and the list."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.machine.machine import Backend, OwnRun
from core.model import model_from
from core.plan.choice import Engine
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.document import Document
from gui.panels.explain.page import ExplainPage
from gui.panels.explain.published_view import PublishedView
from tests.support.specimen_plans import RAM, on_a_3090

OWN = OwnRun(
    *("f", "c", "cuda", 4096, 100.0, 90.0, "Llama 3.1 8B", "Q4_K_M"),
    bytes=5 * 10**9,
    ceiling=160.0,
    date="2026-11-30",
)


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(replace(on_a_3090(), id="this", runs=(OWN,)))
    return made


@pytest.fixture
def page(qtbot: QtBot, document: Document) -> ExplainPage:
    page = ExplainPage(document)
    qtbot.addWidget(page)
    page.resize(1000, 700)
    page.show()
    (path,) = (p for p in resources.specimens() if p.name.startswith("Llama-3.1-8B"))
    document.set_model(model_from(open_file(path)))
    page.tabs.setCurrentIndex(3)
    qtbot.waitUntil(page.published.isVisible)
    return page


@pytest.fixture
def view(page: ExplainPage) -> PublishedView:
    return page.published


def only(view: PublishedView, wanted: Backend) -> None:
    """Hide all other backends with the keys of the legend."""
    for backend, button in view.filters.marks.items():
        if backend is not wanted:
            button.setFocus()
            QTest.keyClick(button, Qt.Key.Key_Space)


def test_it_opens_with_all_runs_and_what_they_say_of_the_plan(view: PublishedView) -> None:
    assert len(view.plot.dots) == 813 + 1
    assert view.says.shown.startswith("CUDA, dense: median ")
    assert "; this plan is expected to reach " in view.says.shown
    assert view.says_shown.shown.startswith("Shown: 777 runs on ")
    line, here = view.plot.expected
    assert here is not None
    assert len(line) == 65
    assert 0 < here.low < here.mid < here.high < 100
    assert view.plot.accessibleDescription() == f"{view.says.shown} {view.says_shown.shown}"


def test_the_legend_hides_backends_by_key_and_by_click(view: PublishedView) -> None:
    only(view, Backend.SYCL)
    assert view.says_shown.shown == (
        "Shown: 9 runs on 4 machines, median 37 %, the middle half from 21 % to 45 %."
    )
    assert {dot.group for dot in view.plot.dots} == {-1, 4}
    sycl = view.filters.marks[Backend.SYCL]
    assert (sycl.text(), sycl.accessibleName()) == ("SYCL 9", "SYCL, 9 runs")
    QTest.mouseClick(view.filters.own, Qt.MouseButton.LeftButton)
    assert {dot.group for dot in view.plot.dots} == {4}
    QTest.mouseClick(sycl, Qt.MouseButton.LeftButton)
    assert view.plot.dots == ()
    assert view.plot.expected[1] is not None  # the plan's own bar stays
    assert view.says_shown.shown == "No run that can be compared is shown."


def test_boxes_choose_kind_memory_program_and_part(view: PublishedView) -> None:
    f = view.filters
    f.kind.setCurrentIndex(2)
    assert len(view.plot.dots) == 168 + 1
    f.kind.setCurrentIndex(0)
    f.program.setCurrentText("llamafile")
    assert len(view.plot.dots) == 195 + 1
    f.program.setCurrentIndex(0)
    f.memory.setCurrentText("RAM, on the processor")
    assert {dot.group for dot in view.plot.dots} == {-1, 5}
    assert f.marks[Backend.CUDA].text() == "CUDA 0"
    f.memory.setCurrentIndex(0)
    assert f.part.text() == "Only GeForce RTX 3090"
    f.part.click()
    cards = {e.machine for e in view.shown if e.run is not None}
    assert cards
    assert all("3090" in card for card in cards)


def test_a_machine_that_nobody_published_cannot_be_chosen_alone(
    document: Document, view: PublishedView
) -> None:
    view.filters.part.click()
    document.set_machine(RAM)
    assert not view.filters.part.isEnabled()
    assert not view.filters.part.isChecked()
    assert len(view.plot.dots) == 813 + 1


def test_runs_with_a_remark_are_hollow_and_can_be_left_out(view: PublishedView) -> None:
    assert sum(dot.hollow for dot in view.plot.dots) == 36
    view.filters.compared.click()
    assert sum(dot.hollow for dot in view.plot.dots) == 0
    assert len(view.plot.dots) == 777 + 1


def test_arrow_keys_tell_of_a_run_and_enter_copies_where_it_is_from(view: PublishedView) -> None:
    only(view, Backend.SYCL)
    plot = view.plot
    plot.setFocus()
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert plot.current is plot.dots[0]
    told = plot.current.told
    assert told.startswith("Arc B580, SYCL, IPEX-LLM\nqwen2.5-1.5b Q4_K_M (dense)")
    assert view.one.shown == told.replace("\n", "; ")
    assert plot.accessibleDescription() == told.replace("\n", ", ")
    QTest.keyClick(plot, Qt.Key.Key_Return)
    assert QGuiApplication.clipboard().text() == "https://github.com/intel/ipex-llm/issues/12991"
    assert view.one.shown == f"Address copied: {QGuiApplication.clipboard().text()}"
    QTest.keyClick(plot, Qt.Key.Key_End)
    assert plot.current is plot.dots[-1]
    QTest.keyClick(plot, Qt.Key.Key_PageUp)
    assert plot.current is plot.dots[0]


def test_a_run_without_an_address_gives_its_source(view: PublishedView) -> None:
    only(view, Backend.SYCL)
    dot = next(d for d in view.plot.dots if d.told.startswith("Arc Pro B70"))
    view.plot.taken.emit(dot.id)
    assert QGuiApplication.clipboard().text() == "Arc Pro B70 cross-card tables (2026-04)"
    assert view.one.shown.startswith("Source, which names no address, copied: ")


def test_pointing_at_a_mark_tells_of_it(view: PublishedView) -> None:
    only(view, Backend.SYCL)
    plot = view.plot
    frame = plot._frame_now()
    assert frame is not None
    dot = next(d for d in plot.dots if d.group < 0)
    where = frame.place(dot.across, dot.up)
    QTest.mouseMove(plot, where.toPoint())
    assert plot.told_at(QPointF(where)).startswith("Your own run, CUDA\n")
    assert "near it" not in plot.told_at(frame.place(plot.dots[0].across, plot.dots[0].up))


def test_own_runs_appear_at_their_share_and_are_no_published_source(view: PublishedView) -> None:
    (dot,) = (d for d in view.plot.dots if d.group < 0)
    assert dot.up == 62.5
    assert dot.across == pytest.approx(5e9 / 2**30)
    assert view.filters.own.text() == "your own 1"
    view.plot.taken.emit(dot.id)
    assert view.one.shown == "That is a run of your own: it is on the page History."


def test_without_own_runs_there_is_no_mark_for_them(
    document: Document, view: PublishedView
) -> None:
    document.set_this_computer(replace(on_a_3090(), id="this"))
    assert not view.filters.own.isVisible()
    assert len(view.plot.dots) == 813


def test_the_axis_follows_the_unit_of_sizes(document: Document, view: PublishedView) -> None:
    axes = view.plot.axes()
    assert axes is not None
    assert axes[0].title == "GiB read for one token"
    document.set_units(UnitSystem.GB)
    axes = view.plot.axes()
    assert axes is not None
    assert (axes[0].title, axes[0].logarithmic) == ("GB read for one token", True)
    assert (axes[1].low, axes[1].high) == (0, 100)
    (dot,) = (d for d in view.plot.dots if d.group < 0)
    assert dot.across == 5.0


def test_a_slider_moves_the_plan_and_leaves_the_runs(
    document: Document, view: PublishedView
) -> None:
    dots, (_, before) = view.plot.dots, view.plot.expected
    document.choose(depth=8192)
    _, after = view.plot.expected
    assert view.plot.dots is dots
    assert before is not None
    assert after is not None
    assert after.across != before.across


def test_a_plan_of_which_nothing_is_known_says_why(document: Document, view: PublishedView) -> None:
    document.choose(engine=Engine.VLLM)
    assert "what this plan reaches cannot be told. No data: none of the published" in (
        view.says.shown
    )
    assert view.plot.expected == ((), None)
    assert len(view.plot.dots) == 814


def test_the_list_has_the_same_runs_sorted_searched_and_copied(view: PublishedView) -> None:
    only(view, Backend.SYCL)
    view.filters.own.click()
    QTest.mouseClick(view.list, Qt.MouseButton.LeftButton)
    assert view.table.isVisible()
    assert not view.plot.isVisible()
    assert len(view.sheet.rows) == 9
    view.table.horizontalHeader().sectionClicked.emit(0)
    first = view.sheet.index(0, 0).data()
    assert first == "67 %"
    view.search.setText("lunar llama2")
    assert len(view.sheet.rows) == 2
    view.table.copy(TextFormat.CSV, everything=True)
    rows = list(csv.DictReader(io.StringIO(QGuiApplication.clipboard().text())))
    assert [row["decode_tok_s"] for row in rows] == ["24.35", "13.51"]
    assert {row["source"] for row in rows} == {
        "lhl Lunar Lake notes",
        "lhl Lunar Lake notes (SYCL FP16)",
    }
    assert float(rows[1]["share_of_peak"]) == pytest.approx(13.51 * 3.78175 / 136.5)
    view.table.copy(TextFormat.MARKDOWN, everything=True)
    assert QGuiApplication.clipboard().text().startswith("| Share | tok/s | Read a token |")
    view.table.selectRow(0)
    assert view.one.shown.startswith("Core Ultra 200V / Arc 140V (Lunar Lake), SYCL, IPEX-LLM")
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert "copied: lhl Lunar Lake notes" in view.one.shown
    QTest.mouseClick(view.list, Qt.MouseButton.LeftButton)
    assert view.plot.isVisible()


def test_the_order_of_the_list_survives_a_filter(view: PublishedView) -> None:
    view.list.click()
    view.table.horizontalHeader().sectionClicked.emit(1)
    assert view.sheet.sorted_by == 1
    view.filters.marks[Backend.CUDA].click()
    assert view.sheet.sorted_by == 1
    rates = [view.sheet.columns[1].exact(row) for row in view.sheet.rows]
    assert rates == sorted(rates, reverse=True)
