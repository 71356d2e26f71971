"""Check with llama.cpp: both sides in a table, the command in sight, a way to make them alike."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from core.check.values import Agreement
from core.gguf import open_file
from core.machine import Machine, custom
from core.model import model_from
from core.units import UnitSystem
from gui.document import Document
from gui.panels.check import CheckDialog, history
from gui.panels.check.engine_bar import shown_command
from tests.support.engine_logs import recorded
from tests.support.heads import heads
from tests.support.stand_in import ILLEGAL, WAITS, stand_in

LOG = recorded()["gemma3, 4 shared slots"]
HERE = replace(custom(64 * 2**30, 50e9, gpu=False), id="this", name="This computer")
ELSEWHERE: Machine = custom(24 * 2**30, 936e9, name="A card")


@pytest.fixture
def document(tmp_path: Path) -> Document:
    """Gemma 3 on this computer, with the options of the recorded log."""
    made = Document()
    made.set_this_computer(HERE)
    path = heads()["gemma3-dense"].write(tmp_path / "gemma3-dense.gguf")
    made.set_model(model_from(open_file(path)))
    made.choose(context=8192)
    return made


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a llama-server that plays a log into the one folder that is searched."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(folder))

    def make(log: str = LOG, then: str = WAITS) -> Path:
        return stand_in(folder, "llama-server", log, then)

    return make


@pytest.fixture
def make_dialog(
    qtbot: QtBot, document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., CheckDialog]]:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    made: list[CheckDialog] = []

    def make(folder: str = "") -> CheckDialog:
        dialog = CheckDialog(document, tmp_path / "state" / "checks.jsonl", folder)
        made.append(dialog)
        qtbot.addWidget(dialog)
        dialog.show()
        qtbot.waitUntil(lambda: not dialog.bar.finder.running)
        return dialog

    yield make
    for dialog in made:
        dialog.close()
        for runner in (dialog.bar.finder, dialog.runner, dialog.reader):
            assert runner.stop()


def cells(dialog: CheckDialog, column: str) -> dict[str, str]:
    """A column's texts by part."""
    (number,) = [n for n, c in enumerate(dialog.rows.columns) if c.name == column]
    texts = dialog.rows.columns[number].text
    return {dialog.rows.columns[0].text(n): texts(n) for n in range(dialog.rows.total)}


def history_lines(tmp_path: Path) -> list[str]:
    return (tmp_path / "state" / "checks.jsonl").read_text().splitlines()


def test_without_llama_cpp_it_says_so_and_still_takes_logs(
    make_dialog: Callable[..., CheckDialog],
) -> None:
    dialog = make_dialog()
    assert "No llama.cpp was found" in dialog.bar.program.text()
    assert not dialog.start.isEnabled()
    assert dialog.bar.line.text() == ""
    dialog.take_text(LOG, "a log")
    assert cells(dialog, "difference_bytes") == dict.fromkeys(
        ("weights", "cache", "compute", "output"), "equal"
    )


def test_a_dry_run_shows_plan_engine_and_difference(
    qtbot: QtBot,
    make_dialog: Callable[..., CheckDialog],
    program: Callable[..., Path],
    tmp_path: Path,
) -> None:
    path = program()
    dialog = make_dialog()
    shown = dialog.bar.line.text()
    assert shown.startswith(shlex.quote(str(path)))
    with qtbot.waitSignal(dialog.runner.finished):
        QTest.mouseClick(dialog.start, Qt.MouseButton.LeftButton)
        assert not dialog.start.isEnabled()
        assert dialog.cancel.isVisible()
    assert not dialog.cancel.isVisible()
    assert dialog.start.isEnabled()
    # What was run is what was shown.
    given = (path.parent / "llama-server.arguments").read_text().strip()
    assert shown == shown_command([str(path), *eval(given)])
    assert cells(dialog, "difference_bytes") == dict.fromkeys(
        ("weights", "cache", "compute", "output"), "equal"
    )

    assert cells(dialog, "estimate_bytes")["compute"] == "12.28"
    assert cells(dialog, "engine_bytes")["compute"] == "12.28"
    assert dialog.summary.text() == "All 4 sizes that can be compared agree."
    (line,) = history_lines(tmp_path)
    record = json.loads(line)
    assert record["source"] == "llama-server"
    assert record["file"] == "gemma3-dense.gguf"
    assert record["options"]["context"] == 8192
    assert {row["agreement"] for row in record["rows"]} == {"equal"}


def test_the_command_can_be_copied(
    make_dialog: Callable[..., CheckDialog], program: Callable[..., Path]
) -> None:
    program()
    dialog = make_dialog()
    QTest.mouseClick(dialog.bar.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == dialog.bar.line.text() != ""


def test_the_command_follows_the_controls(
    make_dialog: Callable[..., CheckDialog], program: Callable[..., Path], document: Document
) -> None:
    program()
    dialog = make_dialog()
    document.choose(cache_k="q8_0", context=4096)
    assert "-c 4096" in dialog.bar.line.text()
    assert "-ctk q8_0" in dialog.bar.line.text()


def test_a_crash_is_a_sentence_and_no_row(
    qtbot: QtBot,
    make_dialog: Callable[..., CheckDialog],
    program: Callable[..., Path],
    tmp_path: Path,
) -> None:
    program("build: 9000 (abc)\n", ILLEGAL)
    dialog = make_dialog()
    with qtbot.waitSignal(dialog.runner.finished):
        dialog.run()
    (banner,) = dialog.problems.stack.banners
    assert "SIGILL" in banner.problem.message
    assert dialog.rows.total == 0
    assert not (tmp_path / "state" / "checks.jsonl").exists()
    QTest.mouseClick(dialog.said, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "build: 9000 (abc)\n"


def test_a_run_can_be_stopped_and_closing_stops_it_too(
    qtbot: QtBot, make_dialog: Callable[..., CheckDialog], program: Callable[..., Path]
) -> None:
    program("srv init: initializing ...\n")
    dialog = make_dialog()
    dialog.run()
    QTest.mouseClick(dialog.cancel, Qt.MouseButton.LeftButton)
    assert not dialog.runner.running
    assert dialog.start.isEnabled()
    dialog.run()
    dialog.reject()
    assert not dialog.runner.running
    # That no process is left is asserted for every test.


def test_other_options_are_listed_and_one_click_sets_the_controls(
    make_dialog: Callable[..., CheckDialog], document: Document, tmp_path: Path
) -> None:
    document.choose(context=16_384, cache_k="q8_0")
    dialog = make_dialog()
    dialog.take_text(LOG, "a log")
    assert dialog.differences.text().splitlines() == [
        "• context: 8,192 in the log, 16,384 in the plan",
        "• K cache type: f16 in the log, q8_0 in the plan",
    ]
    assert cells(dialog, "difference_bytes")["cache"] == "–"
    assert "8,192 in the log" in cells(dialog, "reason")["cache"]
    before = document.choice
    QTest.mouseClick(dialog.apply, Qt.MouseButton.LeftButton)
    assert document.choice.context == 8192
    assert document.choice.cache_k == "f16"
    assert set(cells(dialog, "difference_bytes").values()) == {"equal"}
    assert not dialog.apply.isVisible()
    assert not dialog.differences.isVisible()
    # One step, which can be undone; both comparisons were kept.
    document.undo_stack.undo()
    assert document.choice == before
    assert len(history_lines(tmp_path)) == 2


def test_a_difference_is_shown_in_the_window_s_units(
    make_dialog: Callable[..., CheckDialog], document: Document
) -> None:
    dialog = make_dialog()
    dialog.take_text(
        LOG.replace("compute buffer size =    12.28", "compute buffer size =    10.28"), "x"
    )
    assert cells(dialog, "difference_bytes")["compute"] == "+2.00 (19 %)"
    document.set_units(UnitSystem.GB)
    assert [c.title for c in dialog.rows.columns][2:4] == ["Plan, MB", "Engine, MB"]
    # 2.00 MiB as rounded are 2.092 to 2.102 MB.
    assert cells(dialog, "difference_bytes")["compute"] in ("+2.09 (19 %)", "+2.10 (19 %)")


def test_a_log_that_is_dropped_is_read(
    qtbot: QtBot, make_dialog: Callable[..., CheckDialog], tmp_path: Path
) -> None:
    dialog = make_dialog()
    path = tmp_path / "server.log"
    path.write_text(LOG)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    with qtbot.waitSignal(dialog.reader.finished):
        drop(dialog, data)
    assert dialog.status.text() == "From server.log."
    assert dialog.rows.total == 4
    text = QMimeData()
    text.setText(LOG)
    drop(dialog, text)
    assert dialog.status.text() == "From dropped text."


def drop(dialog: CheckDialog, data: QMimeData) -> None:
    dialog.dropEvent(
        QDropEvent(
            QPoint(5, 5).toPointF(),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


def test_a_model_that_is_dropped_is_said_to_be_one(
    qtbot: QtBot, make_dialog: Callable[..., CheckDialog], document: Document
) -> None:
    dialog = make_dialog()
    assert document.model is not None
    with qtbot.waitSignal(dialog.reader.finished):
        dialog.open_log(document.model.file.header.path)
    (banner,) = dialog.problems.stack.banners
    assert "not a log" in banner.problem.message


def test_ctrl_v_reads_the_clipboard(make_dialog: Callable[..., CheckDialog]) -> None:
    dialog = make_dialog()
    QGuiApplication.clipboard().setText("")
    QTest.keyClick(dialog, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert len(dialog.problems.stack.banners) == 1
    QGuiApplication.clipboard().setText(LOG)
    QTest.keyClick(dialog, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert not dialog.problems.stack.banners
    assert dialog.rows.total == 4


def test_a_text_without_sizes_says_how_to_get_them(
    make_dialog: Callable[..., CheckDialog], tmp_path: Path
) -> None:
    dialog = make_dialog()
    dialog.take_text("main: server is listening\n", "x")
    assert "-v" in dialog.summary.text()
    assert dialog.rows.total == 0
    assert not (tmp_path / "state" / "checks.jsonl").exists()


def test_a_plan_for_another_computer_is_not_run_here(
    make_dialog: Callable[..., CheckDialog], program: Callable[..., Path], document: Document
) -> None:
    program()
    document.set_machine(ELSEWHERE)
    dialog = make_dialog()
    assert not dialog.start.isEnabled()
    assert "the plan is for A card" in dialog.elsewhere.text()
    QTest.mouseClick(dialog.here, Qt.MouseButton.LeftButton)
    assert document.machine.id == "this"
    assert dialog.start.isEnabled()
    assert not dialog.here.isVisible()


def test_the_chosen_folder_is_searched_and_told(
    qtbot: QtBot, make_dialog: Callable[..., CheckDialog], tmp_path: Path
) -> None:
    dialog = make_dialog()
    path = stand_in(tmp_path / "own folder", "llama-server", LOG)
    chosen: list[str] = []
    dialog.folder_chosen.connect(chosen.append)
    with qtbot.waitSignal(dialog.bar.finder.finished):
        dialog.bar.set_folder(str(path.parent))
    assert chosen == [str(path.parent)]
    assert dialog.start.isEnabled()
    assert f"'{path}'" in dialog.bar.line.text()


def test_another_model_takes_the_comparison_away(
    make_dialog: Callable[..., CheckDialog], document: Document
) -> None:
    dialog = make_dialog()
    dialog.take_text(LOG, "a log")
    document.set_model(None)
    assert dialog.rows.total == 0
    assert not dialog.summary.isVisible()
    assert not dialog.start.isEnabled()


def test_earlier_checks_are_shown_again(
    make_dialog: Callable[..., CheckDialog], tmp_path: Path
) -> None:
    make_dialog().take_text(LOG, "first.log")
    dialog = make_dialog()
    assert dialog.earlier.total == 1
    texts = [column.text(0) for column in dialog.earlier.columns]
    assert texts[1:4] == [
        "gemma3-dense.gguf",
        "8,192 tokens, 4 slots, K f16 V f16",
        "All 4 sizes that can be compared agree.",
    ]


# The file of earlier checks.


def kept(dialog: CheckDialog, document: Document) -> history.Record:
    dialog.take_text(LOG, "a log")
    assert dialog.check is not None and document.plan is not None
    assert {row.agreement for row in dialog.check.rows} == {Agreement.EQUAL}
    return history.record_of(dialog.check, document.plan, "a log", "2026-11-30T12:00:00+00:00")


def test_a_record_comes_back_as_it_was_written(
    make_dialog: Callable[..., CheckDialog], document: Document, tmp_path: Path
) -> None:
    record = kept(make_dialog(), document)
    path = tmp_path / "new" / "checks.jsonl"
    history.append(path, record)
    history.append(path, replace(record, source="second – ünïcode"))
    newest, oldest = history.read(path)
    assert newest.source == "second – ünïcode"
    assert json.loads(json.dumps(oldest.rows)) == json.loads(json.dumps(record.rows))
    assert oldest.options == record.options
    assert replace(oldest, rows=(), options={}) == replace(record, rows=(), options={})


def test_a_damaged_line_costs_only_itself(
    make_dialog: Callable[..., CheckDialog], document: Document, tmp_path: Path
) -> None:
    record = kept(make_dialog(), document)
    path = tmp_path / "checks.jsonl"
    history.append(path, record)
    with path.open("ab") as file:
        file.write(
            b'\xff\xfe\n[1, 2]\n{"version": 99}\n{"version": 1, "date": 3}\n{"version": 1, "d'
        )
    # Somebody was stopped in the middle of a line: the next one still stands alone.
    history.append(path, replace(record, source="after"))
    assert [r.source for r in history.read(path)] == ["after", "a log"]


def test_a_file_that_grew_too_long_keeps_the_latest(
    make_dialog: Callable[..., CheckDialog],
    document: Document,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = kept(make_dialog(), document)
    monkeypatch.setattr(history, "_SIZE_LIMIT", 20_000)
    monkeypatch.setattr(history, "KEPT", 5)
    path = tmp_path / "checks.jsonl"
    for number in range(40):
        history.append(path, replace(record, source=f"check {number}"))
    assert path.stat().st_size < 30_000
    found = history.read(path)
    assert [r.source for r in found] == [f"check {n}" for n in (39, 38, 37, 36, 35)]
    assert [p.name for p in tmp_path.glob("checks*")] == ["checks.jsonl"]


def test_a_folder_that_cannot_be_written_costs_no_comparison(
    make_dialog: Callable[..., CheckDialog], tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    dialog = make_dialog()
    dialog.take_text(LOG, "a log")
    assert dialog.rows.total == 4
    assert dialog.earlier.total == 0
