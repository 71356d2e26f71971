"""Links in the window: pasted, dropped, listed, opened like a file; nothing is downloaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

import resources
from core.machine import Machine, custom
from gui.main_window import MainWindow, anew
from gui.panels.links import LinkDialog, RepositoryDialog
from gui.theme import Theme
from gui.workers.instance import Instance
from tests.support.link_server import LinkServer, Request
from tests.support.shown_window import shown_window

COMPUTER: Machine = custom(64 * 2**30, 50e9, name="this computer", gpu=False)
SMALL = next(path for path in resources.specimens() if "Llama-3.2-1B" in path.name)
LARGE = next(path for path in resources.specimens() if "DeepSeek" in path.name)


@pytest.fixture
def server() -> Iterator[LinkServer]:
    with LinkServer() as made:
        made.files["/m/Small-Q4_K_M.gguf"] = SMALL.read_bytes()
        yield made


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, COMPUTER) as made:
        yield made
        for dialog in made.findChildren(RepositoryDialog):
            dialog.close()


@pytest.fixture
def hub(server: LinkServer, monkeypatch: pytest.MonkeyPatch) -> LinkServer:
    """A hub with three quantizations, one of them of another model that is far too large."""
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    tree = [
        {"type": "file", "path": name, "lfs": {"size": size}}
        for name, size in (
            ("M-BF16.gguf", 2_500_000_000),
            ("M-Q4_K_M.gguf", 800_000_000),
            ("Huge-Q4_K_M.gguf", 400_000_000_000),
            ("mmproj-F16.gguf", 90_000_000),
            ("README.md", 1000),
        )
    ]
    body = json.dumps(tree).encode()
    server.answers["/api/models/org/M-GGUF/tree/main"] = lambda request: request.reply(200, body)
    for name, path in (("M-Q4_K_M", SMALL), ("Huge-Q4_K_M", LARGE)):
        server.files[f"/org/M-GGUF/resolve/main/{name}.gguf"] = path.read_bytes()
    return server


def messages(window: MainWindow) -> list[str]:
    return [banner.problem.message for banner in window.problems.stack.banners]


def drop(window: MainWindow, url: str) -> None:
    data = QMimeData()
    data.setUrls([QUrl(url)])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(50, 50), Qt.DropAction.CopyAction, data, left, none)
    QGuiApplication.sendEvent(window, enter)
    dropped = QDropEvent(QPointF(50, 50), Qt.DropAction.CopyAction, data, left, none)
    QGuiApplication.sendEvent(window, dropped)


def wait_for_model(qtbot: QtBot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.document.model is not None)
    qtbot.waitUntil(lambda: not window.opening.reader.running)


def overview_texts(window: MainWindow) -> str:
    labels = window.page.overview.findChildren(QLabel)
    return " ".join(label.text() for label in labels).replace("\u200b", "")


def test_a_dropped_link_opens_like_a_file_and_says_where_it_lies(
    qtbot: QtBot, window: MainWindow, server: LinkServer
) -> None:
    drop(window, f"{server.url}/m/Small-Q4_K_M.gguf")
    wait_for_model(qtbot, window)
    assert window.document.plan is not None
    assert window.windowTitle().endswith("— Small-Q4_K_M.gguf")
    assert window.settings.recent_files == ()
    url = f"{server.url}/m/Small-Q4_K_M.gguf"
    window.commands.overview.trigger()  # a narrow window shows one panel at a time
    qtbot.waitUntil(lambda: f"at {url}" in overview_texts(window))
    assert "Would be downloaded" in overview_texts(window)
    assert not window.commands.measure_disk.isEnabled()
    assert window.commands.reload.isEnabled()


def test_coming_back_to_the_window_asks_no_server(
    qtbot: QtBot, window: MainWindow, server: LinkServer
) -> None:
    window.opening.open_first([f"{server.url}/m/Small-Q4_K_M.gguf"])
    wait_for_model(qtbot, window)
    asked = len(server.seen)
    window.file_watch.look()
    qtbot.waitUntil(lambda: not window.file_watch._runner.running)
    assert messages(window) == []
    assert len(server.seen) == asked
    window.opening.reload()
    qtbot.waitUntil(lambda: not window.opening.reader.running)
    assert len(server.seen) > asked


def test_a_link_that_cannot_be_read_is_a_banner_and_the_old_model_stays(
    qtbot: QtBot, window: MainWindow, server: LinkServer
) -> None:
    window.opening.open(SMALL)
    wait_for_model(qtbot, window)
    model = window.document.model
    window.opening.open_first([f"{server.url}/m/none.gguf"])
    qtbot.waitUntil(lambda: bool(messages(window)))
    assert "404" in messages(window)[0]
    assert window.document.model is model
    window.opening.open_first(["https://me:secret@example.org/x.gguf"])
    assert "password" in messages(window)[0] and "secret" not in messages(window)[0]


def test_what_is_pasted_is_explained_before_any_server_is_asked(
    qtbot: QtBot, window: MainWindow, server: LinkServer
) -> None:
    QGuiApplication.clipboard().setText(f"{server.url}/m/Small-Q4_K_M.gguf")
    window.commands.open_link.trigger()
    (dialog,) = window.findChildren(LinkDialog)
    assert dialog.edit.text() == f"{server.url}/m/Small-Q4_K_M.gguf"
    assert dialog.found.shown == "A file on 127.0.0.1"
    dialog.box.setEditText("ftp://example.org/x.gguf")
    assert "ftp" in dialog.found.shown and not dialog.open_button.isEnabled()
    dialog.box.setEditText("org/model:Q4_K_M")
    assert dialog.found.shown == "The models of org/model on huggingface.co, Q4_K_M first"
    dialog.box.setEditText(f"{server.url}/m/Small-Q4_K_M.gguf")
    assert server.seen == []
    dialog.open_button.click()
    wait_for_model(qtbot, window)
    assert window.settings.links == (f"{server.url}/m/Small-Q4_K_M.gguf",)
    QGuiApplication.clipboard().clear()


def opened_list(qtbot: QtBot, window: MainWindow, text: str = "org/M-GGUF") -> RepositoryDialog:
    window.finding.open_text(text)
    (dialog,) = window.findChildren(RepositoryDialog)
    qtbot.waitUntil(lambda: not dialog.lister.running)
    return dialog


def cells(dialog: RepositoryDialog, name: str) -> list[str]:
    column = next(c for c in dialog.sheet.columns if c.name == name)
    return [column.text(row) for row in dialog.sheet.rows]


def test_a_repository_is_listed_by_size_before_any_header_is_read(
    qtbot: QtBot, window: MainWindow, hub: LinkServer
) -> None:
    dialog = opened_list(qtbot, window)
    assert cells(dialog, "name") == ["M-Q4_K_M.gguf", "M-BF16.gguf", "Huge-Q4_K_M.gguf"]
    assert cells(dialog, "bytes") == ["763 MiB", "2.33 GiB", "373 GiB"]
    assert cells(dialog, "label") == ["Q4_K_M", "BF16", "Q4_K_M"]
    assert set(cells(dialog, "verdict")) == {"not checked"}
    assert "1 projector" in dialog.status.shown
    assert len(hub.seen) == 1


def test_all_headers_of_a_repository_are_judged_for_the_machine(
    qtbot: QtBot, window: MainWindow, hub: LinkServer
) -> None:
    dialog = opened_list(qtbot, window)
    dialog.check_all.click()
    qtbot.waitUntil(lambda: not dialog.checker.running)
    small, missing, huge = cells(dialog, "verdict")
    assert (small, missing, huge) == ("fits", "not readable", "does not fit")
    ceilings = cells(dialog, "ceiling_tok_s")
    assert ceilings[0].endswith("tok/s") and ceilings[1] == ""
    # The same figure as when the file itself is opened.
    window.opening.open(SMALL)
    wait_for_model(qtbot, window)
    plan = window.document.plan
    assert plan is not None and plan.speed.ceiling.value is not None
    assert dialog.sheet.lines[0].ceiling == pytest.approx(plan.speed.ceiling.value)
    assert hub.sent < 2_000_000


def test_one_row_is_checked_and_opened_by_keyboard(
    qtbot: QtBot, window: MainWindow, hub: LinkServer
) -> None:
    dialog = opened_list(qtbot, window, "org/M-GGUF:Q4_K_M")
    assert dialog.table.current_row() == 0
    dialog.check_one.click()
    qtbot.waitUntil(lambda: not dialog.checker.running)
    assert cells(dialog, "verdict") == ["fits", "not checked", "not checked"]
    assert not dialog.check_one.isEnabled()
    QTest.keyClick(dialog.table, Qt.Key.Key_Return)
    wait_for_model(qtbot, window)
    assert window.windowTitle().endswith("M-Q4_K_M.gguf")


def test_checking_can_be_stopped_while_a_server_is_silent(
    qtbot: QtBot, window: MainWindow, hub: LinkServer
) -> None:
    import threading

    release = threading.Event()

    def hold(request: Request) -> None:
        release.wait(30)
        request.close_connection = True

    for name in ("M-Q4_K_M", "M-BF16", "Huge-Q4_K_M"):
        hub.answers[f"/org/M-GGUF/resolve/main/{name}.gguf"] = hold
    dialog = opened_list(qtbot, window)
    dialog.check_all.click()
    qtbot.waitUntil(lambda: len(hub.seen) > 1)
    assert cells(dialog, "verdict")[0] == "reading…"
    dialog.stop_button.click()
    assert cells(dialog, "verdict")[0] == "not checked"
    assert dialog.checker.stop(10)
    release.set()


def test_a_repository_that_is_not_there_is_told_in_the_dialog(
    qtbot: QtBot, window: MainWindow, hub: LinkServer
) -> None:
    dialog = opened_list(qtbot, window, "org/none")
    (banner,) = dialog.problems.stack.banners
    assert "404" in banner.problem.message


def test_another_choice_judges_what_was_read_anew(
    qtbot: QtBot, window: MainWindow, hub: LinkServer
) -> None:
    dialog = opened_list(qtbot, window)
    dialog.check_all.click()
    qtbot.waitUntil(lambda: not dialog.checker.running)
    before, asked = dialog.sheet.lines[0].ceiling, len(hub.seen)
    window.document.set_machine(custom(2**30, 100e9, name="small", gpu=False))
    qtbot.waitUntil(lambda: cells(dialog, "verdict")[0] == "does not fit")
    assert dialog.sheet.lines[0].ceiling != before
    assert len(hub.seen) == asked


def test_a_link_is_handed_to_the_first_window_as_it_is(
    qtbot: QtBot, tmp_path: Path, make_instance: Callable[[], Instance]
) -> None:
    first = make_instance()
    first.listen()
    came: list[list[str]] = []
    first.files_came.connect(lambda names, token: came.append(names))
    second = make_instance()
    assert second.hand_over(["https://example.org/x.gguf", "hf:a/b"])
    qtbot.waitUntil(lambda: bool(came))
    assert came == [["https://example.org/x.gguf", "hf:a/b"]]
    second.close()
    first.close()


@pytest.fixture
def make_instance(tmp_path: Path) -> Callable[[], Instance]:
    return lambda: Instance(tmp_path / "state", {})


def test_a_model_behind_a_link_comes_along_to_the_window_of_another_language(
    qtbot: QtBot, theme: Theme, server: LinkServer, tmp_path: Path
) -> None:
    with shown_window(qtbot, theme, tmp_path, COMPUTER) as window:
        window.finding.open_text(f"{server.url}/m/Small-Q4_K_M.gguf")
        qtbot.waitUntil(lambda: window.document.model is not None)
        view = anew.view_of(window)
    with shown_window(qtbot, theme, tmp_path, COMPUTER) as other:
        anew.show_again(other, view)
        qtbot.waitUntil(lambda: other.document.model is not None)
        assert anew.view_of(other) == view
    server.files.clear()
    with shown_window(qtbot, theme, tmp_path, COMPUTER) as other:
        anew.show_again(other, view)
        qtbot.waitUntil(lambda: not other.opening.reader.running)
        assert other.document.model is None and messages(other)
        assert other.pages.currentWidget() is other.welcome
