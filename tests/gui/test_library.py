"""The dialog "Models on this computer": fills while it searches, follows changes, stays usable."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import resources
from core.language import NAMES, speak, tr
from core.library import Folder
from core.machine import Machine, custom
from core.machine.machine import named_here
from core.plan.plan import Verdict
from core.plan.verdict import SHORT_WORDS
from core.units import UnitSystem
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.panels.library import LibraryDialog
from gui.tables.model_rows import ModelLine, ModelSheet
from gui.tables.view import SheetView
from gui.theme import Theme
from gui.workers import computer
from tests.support.gguf_files import Plain, TensorSpec, header_bytes, u32, write

COMPUTER: Machine = custom(24 * 2**30, 50e9, name="this computer", gpu=False)
KEYS: dict[str, Plain] = {
    "general.architecture": "llama",
    "llama.block_count": u32(1),
    "llama.context_length": u32(4096),
    "llama.embedding_length": u32(64),
    "llama.attention.head_count": u32(2),
}
TENSORS = [TensorSpec("blk.0.attn_q.weight", "F16", (64, 64))]
MakeDialog = Callable[..., LibraryDialog]


def specimen(folder: Path, word: str) -> Path:
    (path,) = (p for p in resources.specimens() if word in p.name)
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(path, folder / path.name))


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(COMPUTER)
    return made


@pytest.fixture
def make_dialog(qtbot: QtBot, theme: Theme, document: Document) -> Iterator[MakeDialog]:
    made: list[LibraryDialog] = []

    def make(*folders: Path, own: tuple[str, ...] = ()) -> LibraryDialog:
        known = [Folder(path, "LM Studio") for path in folders]
        dialog = LibraryDialog(document, own, known=known)
        qtbot.addWidget(dialog)
        made.append(dialog)
        dialog.show()
        return dialog

    yield make
    for dialog in made:
        dialog.close()
        dialog.feed.stop()


def wait(qtbot: QtBot, dialog: LibraryDialog) -> None:
    qtbot.waitUntil(lambda: not dialog.feed.running)


def cells(dialog: LibraryDialog, name: str) -> list[str]:
    column = next(c for c in dialog.sheet.columns if c.name == name)
    return [column.text(row) for row in dialog.sheet.rows]


def test_every_model_is_listed_with_what_decides(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    specimen(tmp_path / "qwen", "Qwen3-4B")
    specimen(tmp_path / "big", "Llama-3.3-70B")
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert cells(dialog, "name") == ["Llama 3.3 70B Instruct", "Qwen3 4B Instruct 2507"]
    assert cells(dialog, "where") == ["LM Studio: big", "LM Studio: qwen"]
    assert cells(dialog, "label") == ["Q4_K_M", "Q4_K_M"]
    assert cells(dialog, "verdict") == ["does not fit", "fits"]
    assert cells(dialog, "context_length") == ["131,072", "262,144"]
    assert cells(dialog, "parameters")[0] == "70.6 B"
    assert all(text.endswith("tok/s") for text in cells(dialog, "ceiling_tok_s"))
    assert dialog.status.shown.startswith("2 models")


def test_whose_memory_the_models_are_held_against_is_said(
    make_dialog: MakeDialog, document: Document
) -> None:
    dialog = make_dialog()
    document.set_this_computer(replace(COMPUTER, name=named_here("AMD EPYC")))
    assert dialog.machine.shown == (
        "Fits and ceiling: on this computer (AMD EPYC), with the default settings"
    )


def test_files_that_cannot_be_read_are_not_counted_as_models(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    specimen(tmp_path, "Qwen3-4B")
    (tmp_path / "page.gguf").write_text("<!DOCTYPE html><html>404</html>")
    (tmp_path / "empty.gguf").touch()
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert cells(dialog, "verdict") == ["not readable", "not readable", "fits"]
    assert dialog.status.shown.startswith("1 model,")
    assert dialog.status.shown.endswith(", 2 not readable")


def test_the_ceiling_is_the_one_that_the_plan_shows(
    qtbot: QtBot, make_dialog: MakeDialog, document: Document, tmp_path: Path
) -> None:
    from core.gguf import open_file
    from core.model import model_from

    path = specimen(tmp_path, "Qwen3-4B")
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    document.set_model(model_from(open_file(path)))
    plan = document.plan
    assert plan is not None and plan.speed.ceiling.value is not None
    assert dialog.sheet.lines[0].ceiling == pytest.approx(plan.speed.ceiling.value)
    assert dialog.sheet.lines[0].verdict is plan.verdict


def test_helpers_are_listed_when_they_are_asked_for(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    """Field report P05: a projector and a matrix are no models."""
    write(tmp_path / "Small.gguf", KEYS, TENSORS)
    clip: dict[str, Plain] = {"general.architecture": "clip", "general.type": "mmproj"}
    write(tmp_path / "mmproj-Small.gguf", clip, TENSORS)
    write(tmp_path / "imatrix.gguf", {"general.type": "imatrix"}, TENSORS)
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert cells(dialog, "name") == ["Small"]
    assert "2 helper files" in dialog.status.shown
    dialog.table.selectRow(0)
    assert "mmproj-Small.gguf" in dialog.detail.text()
    dialog.helpers.click()
    assert cells(dialog, "name") == ["imatrix", "mmproj-Small", "Small"]
    assert cells(dialog, "verdict")[:2] == ["imatrix", "projector"]


def test_rows_sort_filter_and_open_by_keyboard(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    for word in ("Qwen3-4B", "Llama-3.3-70B", "Gemma"):
        specimen(tmp_path, word)
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert dialog.filter.hasFocus()
    dialog.filter.setText("fits qwen")
    assert cells(dialog, "name") == ["Qwen3 4B Instruct 2507"]
    dialog.filter.clear()
    column = next(n for n, c in enumerate(dialog.sheet.columns) if c.name == "bytes")
    dialog.sheet.sort(column, Qt.SortOrder.DescendingOrder)
    QTest.keyClick(dialog.filter, Qt.Key.Key_Down)
    QTest.keyClick(dialog.table, Qt.Key.Key_Home)
    opened: list[Path] = []
    dialog.open_asked.connect(opened.append)
    with qtbot.waitSignal(dialog.open_asked):
        QTest.keyClick(dialog.table, Qt.Key.Key_Return)
    assert [path.parent for path in opened] == [tmp_path]


def test_what_appears_and_goes_is_followed(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    write(tmp_path / "a.gguf", KEYS, TENSORS)
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert cells(dialog, "name") == ["a"]
    write(tmp_path / "b.gguf", KEYS, TENSORS)
    qtbot.waitUntil(lambda: cells(dialog, "name") == ["a", "b"])
    wait(qtbot, dialog)
    (tmp_path / "a.gguf").unlink()
    qtbot.waitUntil(lambda: cells(dialog, "name") == ["b"])


def test_folders_are_added_removed_and_kept(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    write(tmp_path / "a.gguf", KEYS, TENSORS)
    dialog = make_dialog()
    wait(qtbot, dialog)
    assert cells(dialog, "name") == []
    kept: list[tuple[str, ...]] = []
    dialog.folders_changed.connect(kept.append)
    dialog.add_folder(tmp_path)
    wait(qtbot, dialog)
    assert cells(dialog, "name") == ["a"]
    dialog.remove_folder(str(tmp_path))
    wait(qtbot, dialog)
    assert cells(dialog, "name") == []
    assert kept == [(str(tmp_path),), ()]


def test_a_folder_of_the_user_that_is_gone_is_told(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    dialog = make_dialog(own=(str(tmp_path / "gone"),))
    wait(qtbot, dialog)
    (banner,) = dialog.problems.stack.banners
    assert "gone" in banner.problem.message


def test_another_machine_judges_anew(
    qtbot: QtBot, make_dialog: MakeDialog, document: Document, tmp_path: Path
) -> None:
    specimen(tmp_path, "Qwen3-4B")
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert cells(dialog, "verdict") == ["fits"]
    document.set_this_computer(custom(2**30, 50e9, name="small", gpu=False))
    qtbot.waitUntil(lambda: cells(dialog, "verdict") == ["does not fit"])


def test_the_window_stays_usable_while_thousands_of_files_are_searched(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Field report U23: 5,000 small files and one network folder that does not answer. The window
    goes on painting, a search can be stopped, and nothing is read for rows out of sight."""
    data = header_bytes(KEYS, TENSORS) + bytes(64 * 64 * 2)
    for number in range(5_000):
        folder = tmp_path / "many" / f"{number // 500}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"m{number}.gguf").write_bytes(data)
    dead, release = tmp_path / "dead", threading.Event()
    dead.mkdir()
    original = os.scandir

    def hanging(where: object) -> object:
        if str(where) == str(dead):
            release.wait(60)
        return original(where)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", hanging)
    dialog = make_dialog(dead, tmp_path / "many")
    qtbot.waitUntil(lambda: len(dialog.sheet.rows) > 200)
    assert dialog.feed.running
    turns = len(dialog.sheet.rows)
    dialog.sheet.sort(1)
    dialog.filter.setText("m12")
    assert cells(dialog, "name") and all("m12" in name for name in cells(dialog, "name"))
    dialog.filter.clear()
    qtbot.waitUntil(lambda: len(dialog.sheet.rows) > turns)
    QTest.keyClick(dialog.table, Qt.Key.Key_Escape)
    assert not dialog.feed.running and dialog.isVisible()
    assert dialog.again_button.isVisible()
    release.set()


def test_the_window_has_one_library_and_opens_from_it(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer, "detecting", lambda handle: COMPUTER)
    models = tmp_path / "models"
    path = specimen(models, "Qwen3-4B")
    for name in ("HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS", "XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.document.this_computer is not None)
    window.welcome.library_button.click()
    window.commands.library.trigger()
    (dialog,) = window.findChildren(LibraryDialog)
    dialog.add_folder(models)
    wait(qtbot, dialog)
    assert window.settings.model_folders == (str(models),)
    dialog.table.selectRow(0)
    dialog.open_button.click()
    qtbot.waitUntil(window.isActiveWindow)  # the list stays open, behind it
    assert dialog.isVisible()
    assert dialog.windowHandle().transientParent() is None  # a desktop would keep it above
    qtbot.waitUntil(lambda: window.document.model is not None)
    assert window.document.model is not None
    assert window.document.model.file.paths == (path,)
    dialog.activateWindow()
    dialog.filter.setFocus()
    qtbot.waitUntil(dialog.filter.hasFocus)
    QTest.keyClick(dialog.filter, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert not window.isVisible()
    assert not dialog.isVisible()


@pytest.mark.parametrize("language", NAMES)
def test_the_word_of_a_verdict_finds_that_verdict_alone(
    language: str, qtbot: QtBot, theme: Theme
) -> None:
    """In Spanish "cabe" is a part of "no cabe"; half a word still finds what holds it."""
    speak(language)
    sheet = ModelSheet({"name", "verdict"})
    every = [ModelLine(verdict.value, verdict=verdict) for verdict in Verdict]
    sheet.show([*every, ModelLine("neither", state="…")], UnitSystem.GIB, anew=True)
    for verdict, words in SHORT_WORDS.items():
        for typed in (tr(words), f"  {tr(words).upper()} ", f"{verdict.value} {tr(words)}"):
            sheet.set_filter(typed)
            assert [sheet.lines[row].verdict for row in sheet.rows] == [verdict], typed
    for part in (tr(SHORT_WORDS[Verdict.FITS])[:-1], tr(SHORT_WORDS[Verdict.DOES_NOT_FIT])[:-1]):
        sheet.set_filter(part)
        assert sheet.rows, part


def test_a_filter_without_a_match_says_so_and_the_count_follows(
    qtbot: QtBot, make_dialog: MakeDialog, tmp_path: Path
) -> None:
    dialog = make_dialog(tmp_path)
    wait(qtbot, dialog)
    assert dialog.table.shown_words.startswith("No model was found.")
    specimen(tmp_path, "Qwen3-4B")
    specimen(tmp_path, "Llama-3.3-70B")
    dialog.search()
    wait(qtbot, dialog)
    assert dialog.table.shown_words == ""
    dialog.filter.setText("cabe")
    assert dialog.table.shown_words.startswith("No model has “cabe” in its name")
    assert dialog.table.accessibleDescription() == dialog.table.shown_words
    assert dialog.status.shown.startswith("2 models,")
    assert dialog.status.shown.endswith(" · 0 shown")
    dialog.filter.setText("qwen")
    assert dialog.status.shown.endswith(" · 1 shown")
    dialog.filter.clear()
    assert "shown" not in dialog.status.shown


def test_every_filtered_table_tells_an_empty_list_from_one_without_a_match(
    qtbot: QtBot, theme: Theme
) -> None:
    sheet = ModelSheet({"name"})
    table = SheetView(sheet, "model")
    qtbot.addWidget(table)
    table.set_placeholder("Nothing is here yet.")
    sheet.show([], UnitSystem.GIB, anew=True)
    sheet.set_filter("qwen")
    assert table.shown_words == "Nothing is here yet."
    sheet.show([ModelLine("Llama")], UnitSystem.GIB)
    assert table.shown_words == "Nothing matches the filter. Esc in the filter shows all."
    assert table.accessibleDescription() == table.shown_words
    sheet.set_filter("")
    assert table.shown_words == table.accessibleDescription() == ""
