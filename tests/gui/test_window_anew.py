"""While one window takes the place of another: what comes from outside in between is not lost."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from weakref import ref

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

import resources
from core.machine import catalogue
from gui import app, settings
from gui.document import Document
from gui.main_window import MainWindow, anew, preferences
from gui.main_window.kept_settings import KeptSettings
from gui.main_window.measuring import Measuring
from gui.theme import Theme
from gui.workers import computer
from gui.workers.runner import Runner
from tests.support import every_page, two_windows
from tests.support.shown_window import shown_window

HERE = catalogue.machine("nvidia-geforce-rtx-3090")


def specimen(words: str) -> str:
    return str(next(path for path in resources.specimens() if words in path.name))


def said(event: str, config: Path, model: str) -> list[str]:
    """The first window chooses Spanish and meets an event at once; each tells what it shows."""
    act = f"preferences.choose_language(window, language='es'); {event}"
    return two_windows.said(act, config, model, shows="window.document.model.name,")


def test_a_file_of_a_second_start_opens_in_the_window_that_comes(tmp_path: Path) -> None:
    other = specimen("gpt-oss")
    event = f"heard[0].files_came.emit([{other!r}], '')"
    first, second = said(event, tmp_path, specimen("Qwen3-4B"))
    assert first.startswith("File|Qwen3")
    assert second.lower().startswith("archivo|gpt")


def test_a_file_that_macos_sends_opens_in_the_window_that_comes(tmp_path: Path) -> None:
    other = specimen("gpt-oss")
    event = f"QApplication.instance().file_opened.emit({other!r})"
    _, second = said(event, tmp_path, specimen("Qwen3-4B"))
    assert second.lower().startswith("archivo|gpt")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal to send")
def test_a_signal_ends_the_program_and_not_only_one_of_its_windows(tmp_path: Path) -> None:
    event = "os.kill(os.getpid(), signal.SIGTERM)"
    assert len(said(event, tmp_path, specimen("Qwen3-4B"))) == 1


def test_another_language_is_spoken_where_nothing_can_be_kept(tmp_path: Path) -> None:
    in_the_way = tmp_path / "config"
    in_the_way.write_bytes(b"")
    _, second = said("pass", in_the_way, specimen("Qwen3-4B"))
    assert second.startswith("Archivo|")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("busy", "A server is being measured"),
        ("serving", "A server that this window started is running"),
    ],
)
def test_what_goes_on_in_this_window_is_not_ended_by_another_language(
    qtbot: QtBot,
    theme: Theme,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    told: str,
) -> None:
    with shown_window(qtbot, theme, tmp_path, HERE) as window:
        monkeypatch.setattr(Measuring, what, property(lambda self: True))
        preferences.choose_language(window, language="es")
        assert window.isVisible() and window.anew is None
        assert told in window.message.text()
        assert settings.load(tmp_path / "settings.json").language == "es"
        monkeypatch.undo()


def test_nothing_is_started_in_a_window_that_was_closed(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with shown_window(qtbot, theme, tmp_path, HERE) as window:
        window.close()
        window.opening.open(resources.specimens()[0])
        window.computer.detect()
        window.finding.open_text("https://127.0.0.1:9/a.gguf")
        assert not any(runner.running for runner in window.findChildren(Runner))


def test_a_second_start_leaves_a_maximized_window_maximized(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with shown_window(qtbot, theme, tmp_path, HERE) as window:
        window.setWindowState(Qt.WindowState.WindowMaximized | Qt.WindowState.WindowMinimized)
        app._come_forward(window, [], "")
        assert window.isMaximized() and not window.isMinimized()


def test_of_a_window_that_another_took_the_place_of_nothing_is_kept(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its model may be large: a vocabulary of 250,000 tokens takes tens of megabytes."""
    monkeypatch.setattr(computer, "detecting", lambda handle: HERE)

    def used() -> tuple[ref[MainWindow], ref[Document]]:
        window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
        window.show()
        every_page.open_specimen(window, "Qwen3-4B")
        for _ in (*every_page.pages(window), *every_page.dialogs(window)):
            pass
        window.close()
        anew.take_down(window)
        return ref(window), ref(window.document)

    window, document = used()
    gc.collect()
    assert window() is None and document() is None
