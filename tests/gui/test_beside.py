"""What is loaded beside the model, the engine, and what shall stay free: chosen in the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMenu
from pytestqt.qtbot import QtBot

from core.machine.machine import Backend
from core.plan.choice import Engine
from core.plan.plan import PartKind
from gui import settings
from gui.document import Document
from gui.main_window import MainWindow, anew
from gui.main_window.kept_settings import KeptSettings
from gui.panels.plan.beside import Beside
from gui.theme import Theme
from gui.workers import computer
from resources import specimens
from tests.support import plans
from tests.support.gguf_files import U32, TensorSpec, Typed, write
from tests.support.shown_window import shown_window

GIB = 2**30
CARD = plans.machine(*plans.RTX_3090.devices, id="this", name="The test's computer")


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, CARD, (1280, 900)) as made:
        yield made


def mmproj(path: Path, width: int = 4096) -> Path:
    """A projector whose rows are so wide."""
    return write(
        path,
        {"general.architecture": "clip", "clip.vision.projection_dim": Typed(U32, width)},
        [TensorSpec("v.blk.0.ffn_up.weight", "F16", (1024, 1024))],
    )


def open_llama(qtbot: QtBot, window: MainWindow, folder: Path) -> Path:
    """Llama 3.1 8B, whose rows are 4,096 wide, in a folder of its own."""
    (source,) = (path for path in specimens() if "Llama-3.1-8B" in path.name)
    path = folder / "llama.gguf"
    path.write_bytes(source.read_bytes())
    with qtbot.waitSignal(window.attaching.looker.finished):
        window.opening.open(path)
    return path


def kinds(window: MainWindow) -> set[PartKind]:
    plan = window.document.plan
    assert plan is not None
    return {part.kind for device in plan.memory.devices for part in device.parts}


def picks(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (str(path), ""))


def test_a_projector_that_lies_beside_the_model_is_offered_and_attached_by_one_click(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    """M33."""
    mmproj(tmp_path / "mmproj-F16.gguf")
    open_llama(qtbot, window, tmp_path)
    row = window.page.plan.what_if.beside
    assert PartKind.PROJECTOR not in kinds(window)
    (offer,) = row.offers
    assert offer.isVisible() and offer.text() == "Attach mmproj-F16.gguf"
    with qtbot.waitSignal(window.attaching.opener.ended):
        offer.click()
    assert PartKind.PROJECTOR in kinds(window)
    assert row.projector.isVisible() and not offer.isVisible()
    assert row.projector.name.text() == "Projector: mmproj-F16.gguf, 2.00 MiB"
    row.on_gpu.click()
    assert window.document.choice.projector_on_gpu is False
    window.commands.undo.trigger()
    assert row.on_gpu.isChecked()
    row.projector.detach.click()
    assert window.document.choice.projector is None
    assert offer.isVisible() and not row.projector.isVisible()


def test_a_projector_that_is_dropped_is_attached_to_the_open_model(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    open_llama(qtbot, window, tmp_path)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(mmproj(tmp_path / "mmproj-dropped.gguf")))])
    drop = QDropEvent(
        QPointF(10, 10),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    with qtbot.waitSignal(window.attaching.opener.ended):
        window.dropEvent(drop)
    assert PartKind.PROJECTOR in kinds(window)


def test_a_projector_of_another_model_is_attached_and_said_to_be_one(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_llama(qtbot, window, tmp_path)
    picks(monkeypatch, mmproj(tmp_path / "other.gguf", 5120))
    row = window.page.plan.what_if.beside
    with qtbot.waitSignal(window.attaching.opener.ended):
        row.attach[Beside.PROJECTOR].click()
    (line,) = window.page.plan.what_if.notes["beside"].lines
    assert "5,120" in line.text.shown and "4,096" in line.text.shown


@pytest.mark.parametrize("kind", Beside)
def test_a_file_that_cannot_be_attached_is_a_banner_and_changes_nothing(
    qtbot: QtBot,
    window: MainWindow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Beside,
) -> None:
    open_llama(qtbot, window, tmp_path)
    page = tmp_path / "page.gguf"
    page.write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    picks(monkeypatch, page)
    before = window.document.choice
    with qtbot.waitSignal(window.attaching.opener.ended):
        window.page.plan.what_if.beside.attach[kind].click()
    assert window.document.choice == before
    assert any("page.gguf" in banner.problem.message for banner in window.problems.stack.banners)


def test_a_draft_model_is_attached_with_cache_types_of_its_own(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M34."""
    picks(monkeypatch, open_llama(qtbot, window, tmp_path))
    row = window.page.plan.what_if.beside
    assert row.cache_k.isHidden() or not row.cache_k.isVisible()
    with qtbot.waitSignal(window.attaching.opener.ended):
        row.attach[Beside.DRAFT].click()
    assert PartKind.DRAFT in kinds(window)
    assert row.cache_k.isVisible()
    row.cache_k.setCurrentText("q8_0")
    row.cache_k.textActivated.emit("q8_0")
    assert window.document.choice.draft_cache_k == "q8_0"
    assert window.document.choice.cache_k == "f16"
    row.draft_on_gpu.click()
    assert window.document.choice.draft_gpu_layers == 0
    row.draft.detach.click()
    assert PartKind.DRAFT not in kinds(window)


def test_draft_blocks_are_offered_where_the_file_has_some(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    """M19."""
    row = window.page.plan.what_if.beside
    open_llama(qtbot, window, tmp_path)
    assert not row.head.isVisible()
    (path,) = (path for path in specimens() if "Qwen3.6-27B" in path.name)
    with qtbot.waitSignal(window.attaching.looker.finished):
        window.opening.open(path)
    assert row.head.isVisible()
    row.head.click()
    assert window.document.choice.draft_head
    assert PartKind.DRAFT in kinds(window)


def test_another_model_has_nothing_attached(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    mmproj(tmp_path / "mmproj-F16.gguf")
    open_llama(qtbot, window, tmp_path)
    with qtbot.waitSignal(window.attaching.opener.ended):
        window.page.plan.what_if.beside.offers[0].click()
    (path,) = (path for path in specimens() if "Qwen3.6-27B" in path.name)
    with qtbot.waitSignal(window.attaching.looker.finished):
        window.opening.open(path)
    assert window.document.choice.projector is None
    assert window.page.plan.what_if.beside.offers == []


# The engine.


def test_the_engine_is_chosen_and_fp8_is_there_for_vllm_alone(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    """M04: one file takes different memory in different engines."""
    open_llama(qtbot, window, tmp_path)
    what_if = window.page.plan.what_if
    names = [what_if.engine.itemText(n) for n in range(what_if.engine.count())]
    assert names == ["llama-server", "llama-cli", "Ollama", "LM Studio", "ik_llama.cpp", "vLLM"]
    assert what_if.cache_k.findText("fp8") < 0
    what_if.engine.activated.emit(names.index("vLLM"))
    assert window.document.choice.engine is Engine.VLLM
    assert what_if.engine.currentText() == "vLLM"
    what_if.cache_k.textActivated.emit("fp8")
    # One option sets both halves.
    assert (window.document.choice.cache_k, window.document.choice.cache_v) == ("fp8", "fp8")
    assert what_if.cache_v.currentText() == "fp8"
    what_if.engine.activated.emit(0)
    what_if.cache_k.textActivated.emit("f16")
    what_if.cache_v.textActivated.emit("f16")
    assert what_if.cache_k.findText("fp8") < 0


# What shall stay free.


def chosen(window: MainWindow, words: str) -> None:
    """Pick a line of the menu by how it begins."""
    menu = QMenu()
    window.page.plan.what_if.margin._fill(menu)
    (action,) = (action for action in menu.actions() if action.text().startswith(words))
    action.trigger()
    menu.deleteLater()


def test_what_shall_stay_free_is_by_backend_until_somebody_says_otherwise(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M45: a margin that is visible, with its source, and can be changed for a machine."""
    open_llama(qtbot, window, tmp_path)
    button = window.page.plan.what_if.margin
    assert window.document.machine.gpus[0].backend is Backend.CUDA
    assert button.text() == "1.00 GiB"
    assert "--fit-target" in button.toolTip()
    chosen(window, "256 MiB")
    assert button.text() == "256 MiB"
    assert "your own setting" in button.toolTip()
    assert window.document.machine.gpus[0].margin == 256 * 2**20
    assert settings.load(tmp_path / "settings.json").margins == {"this": 256 * 2**20}
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: ("3 GiB", True))
    chosen(window, "Another size")
    assert button.text() == "3.00 GiB"
    chosen(window, "As usual: 1.00 GiB")
    assert button.text() == "1.00 GiB"
    assert settings.load(tmp_path / "settings.json").margins == {}


def test_the_field_for_what_shall_stay_free_begins_with_what_can_be_read(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_llama(qtbot, window, tmp_path)
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, text: (text, True))
    for words, margin in (("Nothing", 0), ("256 MiB", 256 * 2**20)):
        chosen(window, words)
        chosen(window, "Another size")
        assert window.document.machine.gpus[0].margin == margin


def test_what_shall_stay_free_comes_back_for_its_machine_alone(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computer, "detecting", lambda handle: CARD)
    settings.save(tmp_path / "settings.json", settings.Settings(margins={"this": 0}))
    window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.document.this_computer is not None)
    assert window.document.machine.gpus[0].margin == 0
    assert window.document.machine is window.document.this_computer
    window.document.set_machine(plans.RTX_3090)
    assert window.document.machine.gpus[0].margin is None
    window.close()


def test_a_margin_that_makes_no_sense_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"version": 1, "margins": {"a": -1, "b": true, "c": "x", "d": 5}}', "utf-8")
    assert settings.load(path).margins == {"d": 5}
    path.write_text('{"version": 1, "margins": [1, 2]}', "utf-8")
    assert settings.load(path).margins == {}


def test_what_lies_beside_the_model_and_the_panel_come_along_to_the_window_that_comes(
    qtbot: QtBot, theme: Theme, window: MainWindow, tmp_path: Path
) -> None:
    """A window of another language shows what the one before it showed."""
    path = open_llama(qtbot, window, tmp_path)
    files = {Beside.PROJECTOR: mmproj(tmp_path / "mmproj-F16.gguf"), Beside.DRAFT: path}
    for kind, file in files.items():
        with qtbot.waitSignal(window.attaching.opener.ended):
            window.attaching.attach(kind, file)
    window.document.choose(draft_gpu_layers=0)
    window.page.show_panel(window.page.metadata)
    window.page_bar.open_named("Compare")
    window.anew = anew.view_of(window)
    window.close()
    with shown_window(qtbot, theme, tmp_path, CARD, (1280, 900)) as other:
        anew.show_again(other, window.anew)
        qtbot.waitUntil(lambda: other.document.choice.draft is not None)
        before, now = window.document.plan, other.document.plan
        assert before is not None and now is not None
        assert now.memory == before.memory and now.settings == before.settings
        assert other.page.tabs.currentIndex() == window.page.tabs.currentIndex() > 0
        assert other.page_bar.currentIndex() == window.page_bar.currentIndex() > 0


def test_a_file_that_went_from_beside_the_model_is_missed_and_the_rest_comes(
    qtbot: QtBot, theme: Theme, window: MainWindow, tmp_path: Path
) -> None:
    open_llama(qtbot, window, tmp_path)
    gone, there = mmproj(tmp_path / "mmproj-gone.gguf"), tmp_path / "llama.gguf"
    for kind, file in ((Beside.PROJECTOR, gone), (Beside.DRAFT, there)):
        with qtbot.waitSignal(window.attaching.opener.ended):
            window.attaching.attach(kind, file)
    view = anew.view_of(window)
    window.close()
    gone.unlink()
    with shown_window(qtbot, theme, tmp_path, CARD, (1280, 900)) as other:
        anew.show_again(other, view)
        qtbot.waitUntil(lambda: other.document.choice.draft is not None)
        assert other.document.choice.projector is None
        banners = other.problems.stack.banners
        assert any("mmproj-gone" in banner.problem.where for banner in banners)
