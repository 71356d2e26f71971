"""The window: files come in every way, one at a time, and what is shown is never lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import (
    QAccessible,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QTextDocumentFragment,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QStyle, QWidget
from pytestqt.qtbot import QtBot

from core.machine.machine import Machine
from core.problems import Severity
from core.units import UnitSystem
from gui import settings
from gui.crash import CrashLog
from gui.document import Document
from gui.main_window import MainWindow, preferences
from gui.main_window.kept_settings import KeptSettings
from gui.panels.help.about import About
from gui.theme import Theme, ThemeMode, colors
from gui.widgets.text import Text
from gui.workers import computer, opening
from gui.workers.runner import Handle
from tests.support import plans
from tests.support.gguf_files import Plain, TensorSpec, u32, write

COMPUTER = plans.machine(id="this", name="The test's computer")

MakeFile: TypeAlias = Callable[..., Path]
MakeWindow: TypeAlias = Callable[[], MainWindow]


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """A small llama model by name."""

    def make(file_name: str = "small.gguf", name: str = "Small Llama") -> Path:
        path = tmp_path / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(
            path,
            {
                "general.architecture": "llama",
                "general.name": name,
                "general.file_type": u32(7),
                "llama.block_count": u32(2),
                "llama.context_length": u32(4096),
                "llama.embedding_length": u32(256),
                "llama.feed_forward_length": u32(512),
                "llama.attention.head_count": u32(4),
                "llama.attention.head_count_kv": u32(2),
            },
            [
                TensorSpec("token_embd.weight", "Q8_0", (256, 1000)),
                TensorSpec("blk.0.attn_q.weight", "Q8_0", (256, 256)),
                TensorSpec("blk.1.attn_q.weight", "Q8_0", (256, 256)),
                TensorSpec("output.weight", "Q8_0", (256, 1000)),
            ],
        )
        return path

    return make


@pytest.fixture
def make_window(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeWindow]:
    """A window on the settings of this test; they are kept from one to the next."""
    monkeypatch.setattr(computer, "detecting", lambda handle: COMPUTER)
    made: list[MainWindow] = []

    def make() -> MainWindow:
        window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
        qtbot.addWidget(window)
        made.append(window)
        window.show()
        qtbot.waitUntil(lambda: window.document.this_computer is not None)
        return window

    yield make
    for window in made:
        window.close()


@pytest.fixture
def window(make_window: MakeWindow) -> MainWindow:
    return make_window()


def wait_until_read(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: not window.opening.reader.running)


def open_and_wait(qtbot: QtBot, window: MainWindow, path: Path) -> None:
    window.opening.open(path)
    wait_until_read(qtbot, window)


def messages(window: MainWindow) -> list[str]:
    return [banner.problem.message for banner in window.problems.stack.banners]


def drop(window: MainWindow, *urls: QUrl) -> None:
    data = QMimeData()
    data.setUrls(list(urls))
    left, shift = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier  # to move it
    offered = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    enter = QDragEnterEvent(QPoint(50, 50), offered, data, left, shift)
    QGuiApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    dropped = QDropEvent(QPointF(50, 50), offered, data, left, shift)
    QGuiApplication.sendEvent(window, dropped)
    # Whoever dragged it may delete what was moved.
    assert enter.dropAction() == dropped.dropAction() == Qt.DropAction.CopyAction


def test_the_empty_window_shows_the_machine_and_how_to_begin(window: MainWindow) -> None:
    assert window.pages.currentWidget() is window.welcome
    assert window.welcome.open_button.isVisible()
    assert window.document.machine is COMPUTER
    assert window.windowTitle() == ""


def test_a_file_is_read_and_its_page_comes_to_the_front(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    open_and_wait(qtbot, window, make_file())
    assert window.document.model is not None
    assert window.pages.currentWidget() is window.page
    assert window.windowTitle() == "Small Llama — small.gguf"
    assert messages(window) == []
    assert window.page.tabs.tabText(window.page.tabs.indexOf(window.page.tensors)) == "Tensors 4"


@pytest.mark.parametrize(
    "name", ["with space & so.gguf", "Größe/模型 мир.gguf", "sha256-0123456789abcdef"]
)
def test_a_path_may_hold_anything(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, name: str
) -> None:
    path = make_file(name)
    drop(window, QUrl.fromLocalFile(str(path)))
    wait_until_read(qtbot, window)
    assert window.document.model is not None
    assert window.document.model.file.paths == (path,)


def test_a_relative_path_of_the_command_line_is_remembered_absolute(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_file()
    monkeypatch.chdir(path.parent)
    window.opening.open_first([path.name])
    wait_until_read(qtbot, window)
    assert window.settings.recent_files == (str(path),)


def test_of_several_dropped_files_the_first_is_opened_and_that_is_said(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    first, second = make_file("a.gguf", "First"), make_file("b.gguf", "Second")
    drop(window, QUrl.fromLocalFile(str(first)), QUrl.fromLocalFile(str(second)))
    assert "first of 2 files" in window.message.text()
    wait_until_read(qtbot, window)
    assert window.windowTitle() == "First — a.gguf"


def test_what_was_done_is_said_for_a_while_and_what_goes_on_until_it_is_over(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.widgets.message_line._SAID_MS", 1)
    window.message.say("The report is on the clipboard.")
    qtbot.waitUntil(lambda: window.message.text() == "")
    window.message.say("Measuring memory bandwidth…")
    QTest.qWait(20)
    assert window.message.text() == "Measuring memory bandwidth…"
    window.message.say("")
    assert window.message.text() == ""


def test_what_goes_on_takes_nothing_away_that_was_just_said(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model opened at the start is as it was left: that was said for less than a moment, until
    this computer was looked at."""
    monkeypatch.setattr("gui.widgets.message_line._SAID_MS", 300)
    window.message.say("As you left this model the last time.")
    window.message.say("Looking at this computer…")
    assert window.message.text() == "Looking at this computer…"
    window.message.say("")
    assert window.message.text() == "As you left this model the last time."
    qtbot.waitUntil(lambda: window.message.text() == "")


def test_a_dropped_folder_gets_a_sentence(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    drop(window, QUrl.fromLocalFile(str(tmp_path)))
    wait_until_read(qtbot, window)
    (message,) = messages(window)
    assert "folder" in message
    assert window.pages.currentWidget() is window.welcome


def test_something_dropped_from_the_web_gets_a_sentence(window: MainWindow) -> None:
    drop(window, QUrl("ftp://example.org/model.gguf"))
    (message,) = messages(window)
    assert "neither a file of this computer nor a link" in message


def test_every_part_of_the_window_leaves_drops_to_the_window(window: MainWindow) -> None:
    assert window.acceptDrops()
    assert not [w for w in window.findChildren(QWidget) if w.acceptDrops()]


def test_a_file_that_cannot_be_read_keeps_the_old_model(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, tmp_path: Path
) -> None:
    good = make_file()
    open_and_wait(qtbot, window, good)
    model = window.document.model
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"<!DOCTYPE html><html></html>")
    open_and_wait(qtbot, window, bad)
    assert window.document.model is model
    assert window.pages.currentWidget() is window.page
    (banner,) = window.problems.stack.banners
    assert banner.problem.severity is Severity.ERROR
    assert banner.problem.advice.endswith("What is shown is still Small Llama — small.gguf.")
    assert window.settings.recent_files == (str(good),)
    window.commands.close_model.trigger()  # then nothing is shown any more
    assert messages(window) == []


def test_a_file_that_is_not_there_gets_a_sentence_and_the_window_stays_usable(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, tmp_path: Path
) -> None:
    open_and_wait(qtbot, window, tmp_path / "gone.gguf")
    (banner,) = window.problems.stack.banners
    assert str(tmp_path / "gone.gguf") in banner.problem.where
    assert "still" not in banner.problem.advice
    assert window.pages.currentWidget() is window.welcome
    open_and_wait(qtbot, window, make_file())
    assert messages(window) == []


def test_a_damaged_file_shows_what_could_be_read_and_what_is_missing(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    path = make_file()
    whole = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(whole - 1000)
    open_and_wait(qtbot, window, path)
    assert window.pages.currentWidget() is window.page
    (banner,) = window.problems.stack.banners
    assert banner.problem.missing_bytes == 1000


def test_a_projector_opens_and_is_named_for_what_it_is(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / "mmproj.gguf"
    metadata: dict[str, Plain] = {
        "general.architecture": "clip",
        "general.type": "mmproj",
        "clip.has_vision_encoder": True,
    }
    write(
        path,
        metadata,
        [TensorSpec("v.patch_embd.weight", "F16", (16, 16, 3, 64))],
    )
    open_and_wait(qtbot, window, path)
    assert window.pages.currentWidget() is window.page
    assert "projector" in [text.text() for text in window.page.header.findChildren(Text)]


def test_the_old_model_stays_until_the_new_one_is_read_and_escape_keeps_it(
    qtbot: QtBot,
    window: MainWindow,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    open_and_wait(qtbot, window, make_file("a.gguf", "Old"))
    ended = threading.Event()

    def slow(path: Path) -> Callable[[Handle], object]:
        def read(handle: Handle) -> object:
            handle.progress(3_000_000_000)
            while not handle.cancelled():
                threading.Event().wait(0.005)
            ended.set()
            return None

        return read

    monkeypatch.setattr(opening, "opening", slow)
    window.opening.open("/slow/disk/b.gguf")
    qtbot.waitUntil(window.opening.strip.isVisible)
    assert window.pages.currentWidget() is window.page
    assert window.windowTitle() == "Old — a.gguf"
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.opening.reader.running
    assert not window.opening.strip.isVisible()
    assert window.windowTitle() == "Old — a.gguf"
    assert ended.wait(30)


def test_cancelling_the_very_first_file_returns_to_the_welcome_page(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(path: Path) -> Callable[[Handle], object]:
        return lambda handle: threading.Event().wait(0.05)

    monkeypatch.setattr(opening, "opening", slow)
    window.opening.open("/slow/disk/b.gguf")
    assert window.pages.currentWidget() is not window.welcome
    window.commands.cancel.trigger()
    assert window.pages.currentWidget() is window.welcome


def test_a_second_file_opened_while_the_first_is_read_wins(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    first, second = make_file("a.gguf", "First"), make_file("b.gguf", "Second")
    window.opening.open(first)
    window.opening.open(second)
    wait_until_read(qtbot, window)
    qtbot.wait(20)
    assert window.windowTitle() == "Second — b.gguf"
    assert window.settings.recent_files == (str(second),)


def test_an_error_in_the_reader_keeps_the_old_model_and_the_window(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_and_wait(qtbot, window, make_file())
    reported: list[BaseException] = []
    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: reported.append(error))

    def broken(path: Path) -> Callable[[Handle], object]:
        def read(handle: Handle) -> object:
            raise ZeroDivisionError

        return read

    monkeypatch.setattr(opening, "opening", broken)
    window.opening.open("/x.gguf")
    wait_until_read(qtbot, window)
    assert len(reported) == 1
    assert window.pages.currentWidget() is window.page
    window.problems.show_failure_inside("Something went wrong; the log is in /log.")
    assert messages(window) == ["Something went wrong; the log is in /log."]


def test_an_error_anywhere_in_the_window_becomes_a_banner(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    log = CrashLog(tmp_path / "weighbridge.log")
    log.reported.connect(window.problems.show_failure_inside)
    log.install()
    try:
        QTimer.singleShot(0, lambda: [][1])
        qtbot.waitUntil(lambda: bool(messages(window)))
    finally:
        log.remove()
    (message,) = messages(window)
    assert str(log.path) in message
    assert "IndexError" in log.path.read_text()


def come_back(qtbot: QtBot, window: MainWindow) -> None:
    """Go to another window and return, as somebody does who copied or deleted a file."""
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    with qtbot.waitSignal(window.file_watch.differs):
        window.activateWindow()
    other.close()


def test_a_file_that_grew_while_it_was_shown_is_said_and_reloaded_by_one_click(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    path = make_file()
    open_and_wait(qtbot, window, path)
    before = window.document.model
    come_back(qtbot, window)
    assert messages(window) == []
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"still being written")
    come_back(qtbot, window)
    (banner,) = window.problems.stack.banners
    assert f"grown from {size:,} B to {size + 19:,} B" in banner.problem.message
    assert banner.problem.where == str(path)
    assert window.document.model is before  # what is shown stays until somebody asks
    assert banner.action.text() == "Reload"
    QTest.mouseClick(banner.action, Qt.MouseButton.LeftButton)
    wait_until_read(qtbot, window)
    assert window.document.model is not before
    assert messages(window) == []
    come_back(qtbot, window)
    assert messages(window) == []


def test_a_file_that_was_replaced_by_a_smaller_one_is_said(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    path = make_file()
    open_and_wait(qtbot, window, path)
    path.write_bytes(path.read_bytes()[:-64])
    come_back(qtbot, window)
    assert messages(window) == ["small.gguf has changed on disk since it was read."]


def test_a_file_that_vanished_is_said_and_its_model_stays(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    path = make_file()
    open_and_wait(qtbot, window, path)
    away = path.rename(path.with_name("elsewhere.gguf"))  # nothing holds the file open
    come_back(qtbot, window)
    (banner,) = window.problems.stack.banners
    assert "is not there any more" in banner.problem.message
    assert not banner.action.isVisible()
    assert window.page.isVisible()
    away.rename(path)
    come_back(qtbot, window)
    assert messages(window) == []


def test_closing_the_model_forgets_what_became_of_its_file(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    path = make_file()
    open_and_wait(qtbot, window, path)
    path.unlink()
    come_back(qtbot, window)
    assert len(messages(window)) == 1
    window.commands.close_model.trigger()
    assert messages(window) == []


def test_the_help_tells_the_version_or_that_it_is_not_known(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text() -> str:
        window.commands.about.trigger()
        (box,) = window.findChildren(About)
        said = box.text.toPlainText()
        box.close()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return said

    monkeypatch.setattr(metadata, "version", lambda name: {"weighbridge": "3.2.1"}.get(name, "1"))
    assert "Weighbridge 3.2.1" in text()

    def not_installed(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", not_installed)
    assert "version unknown" in text()


def test_a_name_of_a_megabyte_is_cut_before_it_reaches_the_screen(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    open_and_wait(qtbot, window, make_file(name="Long " * 200_000))
    assert window.page.isVisible()
    for label in window.findChildren(QLabel):
        assert len(label.text()) < 2000
        assert len(label.accessibleName()) < 2000
    assert 10 < len(window.windowTitle()) < 2000


def test_closing_the_model_returns_to_the_welcome_page(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    open_and_wait(qtbot, window, make_file())
    QTest.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert window.document.model is None
    assert window.pages.currentWidget() is window.welcome
    assert not window.commands.close_model.isEnabled()


def test_the_dialog_opens_what_was_picked_and_starts_where_the_last_file_lay(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_file("models/a.gguf")
    folders: list[str] = []

    def pick(parent: QWidget, title: str, folder: str, kinds: str) -> tuple[str, str]:
        folders.append(folder)
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", pick)
    for _ in range(2):
        QTest.keyClick(window, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
        wait_until_read(qtbot, window)
    assert window.windowTitle() == "Small Llama — a.gguf"
    assert folders == ["", str(path.parent)]


def unfolded(tip: str) -> str:
    """A tip without its markup, and without the spaces at which it may be folded."""
    return "".join(QTextDocumentFragment.fromHtml(tip).toPlainText().split())


def test_recent_files_and_the_geometry_come_back(
    qtbot: QtBot, make_window: MakeWindow, make_file: MakeFile
) -> None:
    first = make_window()
    a, b = make_file("a.gguf"), make_file("b.gguf")
    for path in (a, b):
        open_and_wait(qtbot, first, path)
    first.resize(777, 666)
    preferences.choose_units(first, UnitSystem.GB)
    preferences.choose_theme(first, ThemeMode.DARK)
    first.close()
    b.unlink()
    second = make_window()
    assert (second.width(), second.height()) == (777, 666)
    assert second.document.units is UnitSystem.GB
    assert colors().dark
    recent = second.commands.recent_menu.actions()
    qtbot.waitUntil(lambda: not second.commands.recent_menu.actions()[0].isEnabled())
    recent = second.commands.recent_menu.actions()
    tips = [unfolded(action.toolTip()) for action in recent[:2]]
    assert tips == ["".join(str(path).split()) for path in (b, a)]
    recent[1].trigger()
    wait_until_read(qtbot, second)
    assert second.document.model is not None
    assert second.document.model.file.paths == (a,)


def test_two_files_of_one_model_are_told_apart_in_the_title(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    for name in ("q4.gguf", "q8.gguf"):
        open_and_wait(qtbot, window, make_file(name, "One"))
        assert window.windowTitle() == f"One — {name}"
    open_and_wait(qtbot, window, make_file("nameless.gguf", ""))
    assert window.windowTitle() == "nameless.gguf"


def test_two_windows_do_not_undo_each_others_settings(
    qtbot: QtBot, make_window: MakeWindow, make_file: MakeFile
) -> None:
    first, second = make_window(), make_window()
    a, b = make_file("a.gguf"), make_file("b.gguf")
    open_and_wait(qtbot, first, a)
    preferences.choose_units(first, UnitSystem.GB)
    open_and_wait(qtbot, second, b)
    preferences.choose_theme(second, ThemeMode.DARK)
    first.close()
    second.close()
    third = make_window()
    assert third.document.units is UnitSystem.GB
    assert colors().dark
    assert third.settings.recent_files == (str(b), str(a))


def test_broken_settings_do_not_keep_the_window_from_opening(
    make_window: MakeWindow, tmp_path: Path
) -> None:
    (tmp_path / "settings.json").write_text('{"version": 1, "geometry": "%%%", "splitter": "é"}')
    window = make_window()
    assert window.isVisible()
    assert window.width() > 100


def test_settings_that_cannot_be_saved_do_not_keep_the_window_from_closing(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(path: Path, stored: settings.Settings) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(settings, "save", fail)
    assert window.close()
    assert "Read-only file system" in caplog.text


def test_looking_again_keeps_a_chosen_machine(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.document.set_machine(plans.RTX_3090)
    other: Machine = plans.machine(id="this", name="With a new GPU")
    monkeypatch.setattr(computer, "waking", lambda handle: other)
    QTest.keyClick(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.document.this_computer is other)
    assert window.document.machine == plans.RTX_3090


def test_undo_and_reset_work_from_the_keyboard(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    open_and_wait(qtbot, window, make_file())
    window.page.tabs.tabBar().setFocus()
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    window.document.choose(context=1024)
    QTest.keyClick(window, Qt.Key.Key_Z, control)
    assert window.document.choice.context is None
    QTest.keyClick(window, Qt.Key.Key_Z, control | shift)
    assert window.document.choice.context == 1024
    QTest.keyClick(window, Qt.Key.Key_0, control)
    assert window.document.choice.context is None


def test_the_report_can_be_copied_as_markdown_and_as_json(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    assert not window.commands.copy_markdown.isEnabled()
    open_and_wait(qtbot, window, make_file())
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_C, modifiers)
    text = QGuiApplication.clipboard().text()
    assert text.startswith("```\n") and text.endswith("```\n")
    assert "Small Llama" in text
    window.commands.copy_json.trigger()
    values = json.loads(QGuiApplication.clipboard().text())
    assert values["schema"] == 1
    assert values["model"]["name"] == "Small Llama"
    # 2 x 256 x 1000 + 2 x 256 x 256 weights, 34 bytes for each block of 32 in Q8_0.
    assert values["model"]["parameters"] == 643_072
    assert values["weights"]["bytes"] == 643_072 // 32 * 34


def test_a_file_name_is_never_taken_for_markup(window: MainWindow) -> None:
    path = Path("/models/<b>bold & so.gguf")
    window.kept.keep(window.settings.with_recent(str(path)))
    window.opening.show_recent()
    action = window.commands.recent_menu.actions()[0]
    assert "&lt;b&gt;bold &amp; so.gguf" in action.toolTip()
    assert action.text().replace("&&", "&") == "<b>bold & so.gguf  (models)"


@pytest.mark.parametrize("size", [(1280, 800), (800, 600)])
def test_keys_bring_every_panel_to_the_front(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, size: tuple[int, int]
) -> None:
    window.resize(*size)
    open_and_wait(qtbot, window, make_file())
    page = window.page
    control = Qt.KeyboardModifier.ControlModifier
    for key, panel in (
        (Qt.Key.Key_2, page.tensors),
        (Qt.Key.Key_3, page.metadata),
        (Qt.Key.Key_1, page.overview),
        (Qt.Key.Key_4, page.plan),
    ):
        QTest.keyClick(window, key, control)
        assert panel.isVisible()
    QTest.keyClick(window, Qt.Key.Key_F, control)
    assert page.tensors.isVisible()
    focus = window.focusWidget()
    assert focus is not None
    assert page.tensors.isAncestorOf(focus)


def test_a_narrow_window_makes_the_plan_a_tab_and_a_wide_one_takes_it_back(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    open_and_wait(qtbot, window, make_file())
    page = window.page
    for width, narrow in ((1280, False), (800, True), (1280, False)):
        window.resize(width, 700)
        qtbot.wait(20)
        assert page.narrow is narrow
        assert page.plan.isVisible()
        assert window.width() == width


def move_splitter(window: MainWindow, pixels: int) -> None:
    handle = window.page.splitter.handle(1)
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    start = handle.rect().center()
    QTest.mousePress(handle, left, none, start)
    QTest.mouseMove(handle, start + QPoint(pixels, 0))
    QTest.mouseRelease(handle, left, none, start + QPoint(pixels, 0))


def test_a_window_that_was_narrow_from_the_start_opens_to_two_usable_columns(
    qtbot: QtBot, make_window: MakeWindow, make_file: MakeFile
) -> None:
    for start in (520, 800):
        window = make_window()
        window.resize(start, 700)
        open_and_wait(qtbot, window, make_file())
        qtbot.wait(20)
        assert window.page.narrow
        window.resize(1400, 700)
        qtbot.wait(20)
        left, right = window.page.splitter.sizes()
        assert 1.5 < right / left < 2.5
        window.close()


def test_a_column_stays_readable_however_far_the_splitter_is_dragged(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    window.resize(1280, 700)
    open_and_wait(qtbot, window, make_file())
    qtbot.wait(20)
    letters = 35 * window.fontMetrics().averageCharWidth()
    for pixels in (1000, -1000):
        move_splitter(window, pixels)
        assert min(window.page.splitter.sizes()) >= letters


def test_the_columns_come_back_after_a_narrow_window_and_at_the_next_start(
    qtbot: QtBot, make_window: MakeWindow, make_file: MakeFile
) -> None:
    first = make_window()
    first.resize(1280, 700)
    open_and_wait(qtbot, first, make_file())
    qtbot.wait(20)
    move_splitter(first, 150)
    sizes = first.page.splitter.sizes()
    first.resize(700, 600)
    qtbot.wait(20)
    assert first.page.narrow
    first.resize(1280, 700)
    qtbot.wait(20)
    assert first.page.splitter.sizes() == sizes
    first.resize(700, 600)
    qtbot.wait(20)
    first.close()
    second = make_window()
    second.resize(1280, 700)
    open_and_wait(qtbot, second, make_file())
    qtbot.wait(20)
    assert second.page.splitter.sizes() == sizes


def test_the_window_may_be_as_small_as_800_by_600(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile
) -> None:
    open_and_wait(qtbot, window, make_file())
    for page in (window.welcome, window.page):
        window.pages.setCurrentWidget(page)
        window.resize(800, 600)
        qtbot.wait(20)
        assert (window.width(), window.height()) == (800, 600)
        assert window.minimumSizeHint().width() <= 800
        assert window.minimumSizeHint().height() <= 600


@pytest.mark.parametrize("size", [(1280, 800), (800, 600)])
def test_everything_that_takes_the_keyboard_has_a_name_for_a_screen_reader(
    qtbot: QtBot, window: MainWindow, make_file: MakeFile, size: tuple[int, int]
) -> None:
    window.resize(*size)
    nameless = unnamed(window)
    open_and_wait(qtbot, window, make_file())
    for tab in range(window.page.tabs.count()):
        window.page.tabs.setCurrentIndex(tab)
        qtbot.wait(10)
        nameless += unnamed(window)
    assert nameless == []


def unnamed(window: MainWindow) -> list[str]:
    """What can have the focus, is visible, and has no accessible name."""
    found = []
    for widget in window.findChildren(QWidget):
        if widget.focusPolicy() is Qt.FocusPolicy.NoFocus or not widget.isVisible():
            continue
        if widget.focusProxy() is not None:
            continue
        interface = QAccessible.queryAccessibleInterface(widget)
        if interface is None or not interface.text(QAccessible.Text.Name):
            found.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    return found


def test_a_first_window_leaves_room_for_its_frame(window: MainWindow) -> None:
    style = window.style()
    frame = style.pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    assert frame > 0
    assert window.height() + frame <= QGuiApplication.primaryScreen().availableSize().height()
