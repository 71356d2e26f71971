"""The window's way to the check with llama.cpp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from gui import settings
from gui.main_window import MainWindow
from gui.theme import Theme
from tests.support import plans
from tests.support.engine_logs import recorded
from tests.support.heads import heads
from tests.support.shown_window import shown_window

COMPUTER = plans.machine(id="this", name="The test's computer")


@pytest.fixture
def window(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing here"))
    with shown_window(qtbot, theme, tmp_path, COMPUTER) as made:
        yield made


def open_model(qtbot: QtBot, window: MainWindow, folder: Path) -> None:
    path = heads()["gemma3-dense"].write(folder / "gemma3-dense.gguf")
    with qtbot.waitSignal(window.opening.reader.ended):
        window.opening.open(path)
    assert window.document.model is not None


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.dropEvent(
        QDropEvent(
            QPointF(5, 5),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


def test_the_machine_menu_leads_to_it_once_a_model_is_open(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    action = window.commands.check_engine
    menus = [m for m in window.menuBar().findChildren(QMenu) if m.title() == "&Machine"]
    assert action in menus[0].actions()
    assert not action.isEnabled()
    open_model(qtbot, window, tmp_path)
    assert action.isEnabled()
    action.trigger()
    dialog = window.engine_check.open()
    assert dialog.isVisible()
    # One dialog, however often it is asked for, and the key that leads there is listed.
    assert window.engine_check.open() is dialog
    listed = window.commands.keys()
    assert any("llama.cpp" in what for _, what in listed)


def test_a_log_that_is_dropped_on_the_window_is_held_against_the_open_model(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    open_model(qtbot, window, tmp_path)
    path = tmp_path / "server.LOG"
    path.write_text(recorded()["gemma3, 4 shared slots"])
    drop(window, path)
    dialog = window.engine_check.open()
    qtbot.waitUntil(lambda: dialog.check is not None)
    assert dialog.check is not None and dialog.check.refusal == ""
    assert {row.part for row in dialog.check.rows} >= {"weights", "cache", "compute", "output"}
    assert (tmp_path / "checks.jsonl").exists()
    # The model stays.
    assert window.document.model is not None
    assert not window.problems.stack.banners


def test_the_folder_of_llama_cpp_is_kept(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    dialog = window.engine_check.open()
    with qtbot.waitSignal(dialog.bar.finder.finished):
        dialog.bar.set_folder(str(tmp_path))
    assert settings.load(tmp_path / "settings.json").engine_folder == str(tmp_path)


def test_a_folder_of_the_wrong_type_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"version": 1, "units": "GB", "engine_folder": 7}')
    loaded = settings.load(path)
    assert (loaded.units, loaded.engine_folder) == ("GB", "")
