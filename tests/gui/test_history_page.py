"""The page of earlier runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import TZPATH

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from core.measure.history import Stored, snapshot
from core.measure.run import Run, RunStatus
from gui.document import Document
from gui.panels.history.page import HistoryPage
from gui.tables.stored_runs import local_time
from gui.theme import Theme, ThemeMode
from gui.workers.run_history import RunHistory
from gui.workers.runner import Runner
from tests.support import runs
from tests.support.cut import cut
from tests.support.specimen_plans import specimen_plan

SECONDS = 30_000


def made(number: int, rate: float) -> Run:
    return runs.run(
        {
            0: [rate * (1 + n / 500) for n in range(6)],
            4096: [rate * 0.8 * (1 + n / 500) for n in range(6)],
        },
        id=f"run-{number}",
        started=f"2026-01-0{number}T10:00:00Z",
    )


@pytest.fixture
def history(tmp_path: Path) -> Iterator[RunHistory]:
    kept = RunHistory(tmp_path / "runs.sqlite")
    plan = snapshot(specimen_plan("Llama-3.1-8B"), (0, 4096))
    for number, rate in ((1, 100.0), (2, 110.0), (3, 110.2)):
        kept.begin(made(number, rate), plan)
        kept.finish(made(number, rate))
    kept.rename("run-2", "new driver")
    yield kept
    kept.close()
    kept.deleteLater()


@pytest.fixture
def page(qtbot: QtBot, history: RunHistory) -> Iterator[HistoryPage]:
    shown = HistoryPage(Document(), history)
    qtbot.addWidget(shown)
    shown.resize(1280, 700)
    shown.show()
    qtbot.waitUntil(lambda: bool(shown.table.selected_rows()))
    yield shown
    shown.end()
    for runner in shown.findChildren(Runner):
        runner.stop()


def choose(page: HistoryPage, *positions: int) -> None:
    flags = QItemSelectionModel.SelectionFlag
    page.table.selectionModel().clear()
    for position in positions:
        index = page.sheet.index(position, 0)
        page.table.selectionModel().select(index, flags.Select | flags.Rows)


def compared(qtbot: QtBot, page: HistoryPage, *positions: int) -> None:
    # An event loop of its own: other ways of waiting keep the worker's thread from running.
    with qtbot.waitSignal(page.comparer.ended, timeout=SECONDS):
        choose(page, *positions)


def names(page: HistoryPage) -> list[str]:
    return [page.sheet.listed[row].name for row in page.sheet.rows]


def test_the_latest_run_is_first_and_shown_with_its_picture(
    qtbot: QtBot, page: HistoryPage
) -> None:
    assert names(page) == [
        "Llama 3.1 8B Instruct Q4_K_M", "new driver", "Llama 3.1 8B Instruct Q4_K_M",
    ]  # fmt: skip
    detail = page.stack.detail
    qtbot.waitUntil(lambda: detail.stored is not None)
    assert detail.stored is not None
    assert detail.stored.run.id == "run-3"
    assert detail.view.run == made(3, 110.2)
    assert detail.view.decode.chart is not None
    assert "llama-server b11434-abcdef0" in detail.facts.shown
    assert local_time("2026-01-03T10:00:00Z") in detail.facts.shown


def test_filter_sort_and_the_columns(page: HistoryPage) -> None:
    page.filter.setText("driver")
    assert names(page) == ["new driver"]
    page.filter.setText("llama 2026-01-01")
    assert len(page.sheet.rows) == 1
    page.filter.clear()
    titles = [column.title for column in page.sheet.columns]
    page.sheet.sort(titles.index("tok/s"), Qt.SortOrder.AscendingOrder)
    assert [page.sheet.listed[r].id for r in page.sheet.rows] == ["run-1", "run-2", "run-3"]


def test_names_and_notes_are_kept(qtbot: QtBot, page: HistoryPage, history: RunHistory) -> None:
    qtbot.waitUntil(lambda: page.stack.detail.stored is not None)
    detail = page.stack.detail
    detail.title.setFocus()
    QTest.keyClicks(detail.title, "quiet room")
    QTest.keyClick(detail.title, Qt.Key.Key_Return)
    assert names(page)[0] == "quiet room"
    detail.notes.setPlainText("fan at full speed")
    page.end()  # closing keeps what is not yet written
    stored = history.load("run-3")
    assert stored is not None
    assert (stored.title, stored.notes) == ("quiet room", "fan at full speed")


def test_notes_that_are_being_typed_are_kept_when_another_run_is_chosen(
    qtbot: QtBot, page: HistoryPage, history: RunHistory
) -> None:
    qtbot.waitUntil(lambda: page.stack.detail.stored is not None)
    page.stack.detail.notes.setPlainText("for the third run")
    choose(page, 1)
    qtbot.waitUntil(lambda: page.stack.detail.stored.run.id == "run-2")  # type: ignore[union-attr]
    third, second = history.load("run-3"), history.load("run-2")
    assert third is not None
    assert second is not None
    assert (third.notes, second.notes) == ("for the third run", "")


def test_deleting_can_be_undone(qtbot: QtBot, page: HistoryPage, history: RunHistory) -> None:
    choose(page, 0, 1)
    page.table.setFocus()
    QTest.keyClick(page.table, Qt.Key.Key_Delete)
    assert len(history.all()) == 1
    assert page.said.shown == "2 runs deleted."
    assert page.undo.isVisible()
    QTest.mouseClick(page.undo, Qt.MouseButton.LeftButton)
    assert len(history.all()) == 3
    assert not page.undo.isVisible()


def test_two_runs_are_compared_the_earlier_first(qtbot: QtBot, page: HistoryPage) -> None:
    view = page.stack.comparison
    compared(qtbot, page, 0, 2)
    assert view.heading.shown == "The second writes 10.2 % faster, seen at 2 of 2 depths."
    assert view.first.text().endswith(local_time("2026-01-01T10:00:00Z"))
    assert view.setup.shown == "Nothing that is known."
    compared(qtbot, page, 0, 1)
    assert "No difference" in view.heading.shown
    choose(page, 0, 1, 2)
    qtbot.waitUntil(lambda: "3 runs are chosen" in page.stack.hint.shown)


def test_runs_go_out_and_come_in_again(
    qtbot: QtBot, page: HistoryPage, history: RunHistory, tmp_path: Path
) -> None:
    for name in ("all.json", "all.csv"):
        with qtbot.waitSignal(page.writer.ended, timeout=SECONDS):
            page.export_to(tmp_path / name, everything=True)
        assert page.said.shown == f"3 exported to {name}."
    value = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert len(value["runs"]) == 3
    page.import_from(tmp_path / "all.json")
    qtbot.waitUntil(lambda: page.said.shown == "0 imported, 3 were here already.")
    other = RunHistory(tmp_path / "other.sqlite")
    fresh = HistoryPage(Document(), other)
    qtbot.addWidget(fresh)
    fresh.show()
    fresh.import_from(tmp_path / "all.csv")
    qtbot.waitUntil(lambda: fresh.said.shown == "3 imported.")
    assert [e.run.cells for e in other.all()] == [e.run.cells for e in history.all()]
    fresh.reader.stop()
    other.close()
    other.deleteLater()


def test_a_file_that_is_no_export_is_a_sentence(
    qtbot: QtBot, page: HistoryPage, tmp_path: Path
) -> None:
    path = tmp_path / "photo.json"
    path.write_text("not runs")
    page.import_from(path)
    qtbot.waitUntil(lambda: bool(page.problems.stack.banners))
    assert (
        "no runs that this program has exported" in page.problems.stack.banners[0].problem.message
    )


def test_a_place_that_cannot_be_written_is_a_sentence(
    qtbot: QtBot, page: HistoryPage, tmp_path: Path
) -> None:
    with qtbot.waitSignal(page.writer.ended, timeout=SECONDS):
        page.export_to(tmp_path / "none" / "runs.json", everything=True)
    assert page.said.shown == ""
    assert "could not be written" in page.problems.stack.banners[0].problem.message


def test_without_a_file_the_history_in_memory_is_exported_and_takes_runs_in(
    qtbot: QtBot, page: HistoryPage, tmp_path: Path
) -> None:
    with qtbot.waitSignal(page.writer.ended, timeout=SECONDS):
        page.export_to(tmp_path / "all.json", everything=True)
    (tmp_path / "file").write_text("")
    lost = RunHistory(tmp_path / "file" / "runs.sqlite")
    assert lost.problem is not None
    other = HistoryPage(Document(), lost)
    qtbot.addWidget(other)
    other.show()
    with qtbot.waitSignal(other.reader.ended, timeout=SECONDS):
        other.import_from(tmp_path / "all.json")
    assert other.said.shown == "3 imported."
    with qtbot.waitSignal(other.writer.ended, timeout=SECONDS):
        other.export_to(tmp_path / "again.json", everything=True)
    first, again = ((tmp_path / n).read_bytes() for n in ("all.json", "again.json"))
    assert first == again
    for runner in other.findChildren(Runner):
        runner.stop()
    lost.close()
    lost.deleteLater()


def test_only_a_single_interrupted_run_can_be_resumed(
    qtbot: QtBot, page: HistoryPage, history: RunHistory
) -> None:
    choose(page, 0)
    assert not page.resume.isVisible()
    stopped = replace(made(4, 90.0), status=RunStatus.STOPPED)
    history.begin(stopped, None)
    history.finish(stopped)
    qtbot.waitUntil(lambda: len(page.sheet.rows) == 4)
    choose(page, 0, 1)
    assert not page.resume.isVisible()
    choose(page, 0)
    with qtbot.waitSignal(page.resume_asked) as asked:
        QTest.mouseClick(page.resume, Qt.MouseButton.LeftButton)
    assert asked.args == ["run-4"]


def test_markdown_of_the_chosen_runs(qtbot: QtBot, page: HistoryPage) -> None:
    choose(page, 1)
    with qtbot.waitSignal(page.copier.ended, timeout=SECONDS):
        QTest.mouseClick(page.copy, Qt.MouseButton.LeftButton)
    text = QGuiApplication.clipboard().text()
    assert text.startswith("**new driver**")
    assert "llama-bench -m" in text


def test_a_run_of_another_window_appears(
    qtbot: QtBot, page: HistoryPage, history: RunHistory, tmp_path: Path
) -> None:
    second = RunHistory(tmp_path / "runs.sqlite")
    second.add([Stored(replace(made(9, 90.0), started="2026-01-09T10:00:00Z"), None, "elsewhere")])
    second.close()
    second.deleteLater()
    page.hide()
    page.show()
    qtbot.waitUntil(lambda: names(page)[:1] == ["elsewhere"])


def test_an_empty_history_says_what_to_do(qtbot: QtBot, tmp_path: Path) -> None:
    kept = RunHistory(tmp_path / "empty.sqlite")
    shown = HistoryPage(Document(), kept)
    qtbot.addWidget(shown)
    shown.show()
    assert "Measure one (Ctrl+7)" in shown.table.accessibleDescription()
    assert not shown.delete.isEnabled()
    kept.close()
    kept.deleteLater()


def test_a_damaged_history_is_said_on_the_page(qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite"
    path.write_bytes(b"nonsense" * 2000)
    kept = RunHistory(path)
    shown = HistoryPage(Document(), kept)
    qtbot.addWidget(shown)
    shown.show()
    assert "a new one was begun" in shown.problems.stack.banners[0].problem.message
    kept.close()
    kept.deleteLater()


@pytest.mark.parametrize("size", [(1280, 700), (800, 500), (520, 500)])
@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
def test_nothing_is_cut(
    qtbot: QtBot, page: HistoryPage, theme: Theme, size: tuple[int, int], mode: ThemeMode
) -> None:
    theme.set_mode(mode)
    page.resize(*size)
    qtbot.waitUntil(lambda: page.stack.detail.stored is not None)
    qtbot.waitUntil(lambda: cut(page) == [])
    compared(qtbot, page, 0, 2)
    QTest.qWait(50)
    assert cut(page) == []


def test_everything_has_a_name(page: HistoryPage) -> None:
    detail = page.stack.detail
    for widget in (page.table, page.filter, detail.title, detail.notes, detail.view.table):
        assert widget.accessibleName()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone is the system's alone")
@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", "2025-12-31 10:45"),
        ("Pacific/Auckland", "2025-12-31 23:45"),  # 13 hours ahead in summer
        ("America/St_Johns", "2025-12-31 07:15"),  # three and a half behind in winter
        ("Pacific/Kiritimati", "2026-01-01 00:45"),  # 14 hours ahead: another year already
    ],
)
def test_a_run_is_dated_by_the_clock_on_the_wall(
    monkeypatch: pytest.MonkeyPatch, zone: str, shown: str
) -> None:
    if not any(Path(folder, zone).is_file() for folder in TZPATH):
        pytest.skip("the system knows no zones")
    with monkeypatch.context() as here:
        here.setenv("TZ", zone)
        time.tzset()
        told = local_time("2025-12-31T10:45:00Z")
    time.tzset()
    assert told == shown
