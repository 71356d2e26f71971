"""The pages of the window, set up for a picture: real specimens and a machine of the catalogue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QCursor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QGraphicsView, QProgressBar

import resources
from core.language import tr
from core.machine import catalogue, combine, custom
from core.machine.machine import Machine, OwnRun
from core.problems import Problem
from gui.document import Document
from gui.language import Speech
from gui.main_window import MainWindow, preferences
from gui.main_window.kept_settings import KeptSettings
from gui.panels.compare import ComparePage
from gui.panels.explain.page import ExplainPage
from gui.panels.measure import servers
from gui.panels.overview import panel
from gui.panels.session import SessionPage
from gui.theme import Theme
from gui.widgets import banner
from gui.widgets.banner import place
from gui.widgets.file_card import FileCard
from gui.widgets.text import qt_app
from gui.workers import computer, engine, opening
from gui.workers.runner import Handle, Runner
from tests.support import measured_scenes
from tests.support.gguf_files import TensorSpec, u32, write
from tests.support.small_model import write_small_model

WIDE = (1280, 800)
NARROW = (800, 600)
_AWAY = QPoint(-100, -100)


def _nothing(window: MainWindow) -> None:
    """Leave the page as it opens."""


def _choose(**changes: Any) -> Callable[[MainWindow], None]:
    return lambda window: window.document.choose(**changes)


def _show(panel: str) -> Callable[[MainWindow], None]:
    return lambda window: window.page.show_panel(getattr(window.page, panel))


def _compare(view: str) -> Callable[[MainWindow], None]:
    """The page "Compare" with one of its views, worked out."""

    def show(window: MainWindow) -> None:
        window.commands.compare.trigger()
        page = window.findChild(ComparePage)
        assert page is not None
        page.tabs.setCurrentWidget(getattr(page, view))
        if view == "machines":
            page.chosen.add(["2x nvidia-geforce-rtx-3060-12-gb + ram:32GiB@51.2"])
            _wait(lambda: bool(page.machines.catalogue.points), "the catalogue")
        elif view == "models":
            others = [p for p in resources.specimens() if "Gemma" in p.name or "27B" in p.name]
            page.models.add_files(others)
            page.models.add_recipe("IQ4_XS")
            _wait(lambda: len(page.models.rows) == 2 + len(others), "the models")
        else:
            _wait(lambda: not page.grid.working, "the grid")

    return show


def _session(window: MainWindow) -> None:
    """The page "Session" with a coding agent of 40 turns, which one summary lets go on."""
    window.document.choose(context=131_072)
    window.commands.session.trigger()
    page = window.findChild(SessionPage)
    assert page is not None
    page.controls.presets[1].click()
    page.controls.turns.setValue(40)
    page.show_turn(25)


def _published(window: MainWindow) -> None:
    """The page "Explain" with the runs of others, and two of one's own among them."""
    own = OwnRun("", "", "cuda", 32, 118.0, 118.0, "Llama 3.1 8B", "Q4_K_M", 4_600_000_000, 203.0)
    deep = replace(own, depth=8192, tok_s=95.0, bytes=5_670_000_000, ceiling=165.0)
    window.document.set_this_computer(replace(machine(), id="this", runs=(own, deep)))
    window.commands.explain.trigger()
    page = window.findChild(ExplainPage)
    assert page is not None
    page.tabs.setCurrentIndex(3)


def _explain(view: int) -> Callable[[MainWindow], None]:
    """The page "Explain" with one of its first views."""

    def show(window: MainWindow) -> None:
        window.commands.explain.trigger()
        page = window.findChild(ExplainPage)
        assert page is not None
        page.tabs.setCurrentIndex(view)

    return show


def _loading(window: MainWindow) -> None:
    """A long header that is being read."""

    def read(handle: Handle) -> None:
        handle.progress(7_340_032)
        while not handle.cancelled():
            time.sleep(0.01)

    with patch.object(opening, "opening", lambda path: read):
        window.opening.open("/models/Qwen3-235B-A22B-Instruct-Q4_K_M.gguf")
    _wait(window.opening.strip.isVisible, "the strip")
    # It runs to and fro: no two pictures would be the same.
    window.opening.strip.findChildren(QProgressBar)[0].setRange(0, 1)


def _unknown(path: Path) -> None:
    """A model of an architecture that nobody has heard of."""
    keys = {
        "general.architecture": "zebra",
        "general.name": "Zebra 3B",
        "zebra.block_count": u32(2),
        "zebra.context_length": u32(32768),
        "zebra.embedding_length": u32(2560),
    }
    shapes = {"stripes": (2560, 2560), "gallop.up": (2560, 10240), "gallop.down": (10240, 2560)}
    blocks = [
        TensorSpec(f"blk.{number}.{name}.weight", "Q4_K", shape)
        for number in range(2)
        for name, shape in shapes.items()
    ]
    write(path, keys, [TensorSpec("token_embd.weight", "Q6_K", (2560, 32000)), *blocks])


@dataclass(frozen=True, slots=True)
class Scene:
    """A specimen to open ("" for none) or what writes a file, and what to do then.

    ``busy``: something goes on while the picture is taken.
    """

    name: str
    specimen: str = ""
    write: Callable[[Path], object] | None = None
    busy: bool = False
    then: Callable[[MainWindow], None] = _nothing


SCENES = (
    Scene("welcome"),
    Scene("fits", "Qwen3.6-35B-A3B"),
    Scene("drafting", "Qwen3.6-27B", then=_choose(draft_head=True, context=32768)),
    Scene("does-not-fit", "Qwen3.6-27B", then=_choose(context=262144)),
    Scene(
        "requantized",
        "Gemma-3-27B",
        then=_choose(requantize="IQ4_XS", cache_k="q8_0", cache_v="q8_0"),
    ),
    Scene("tensors", "Qwen3-30B-A3B", then=_show("tensors")),
    Scene("metadata", "gpt-oss-20b", then=_show("metadata")),
    Scene("compare-machines", "Qwen3.6-35B-A3B", then=_compare("machines")),
    Scene("compare-models", "Qwen3.6-35B-A3B", then=_compare("models")),
    Scene("compare-grid", "Qwen3.6-35B-A3B", then=_compare("grid")),
    Scene("session", "Qwen3.6-35B-A3B", then=_session),
    Scene("measure", "Qwen3-4B", then=measured_scenes.measure),
    Scene("history", "Qwen3-4B", then=measured_scenes.history),
    Scene("published-runs", "Llama-3.1-8B", then=_published),
    Scene("explain-cache", "Gemma-3-27B", then=_explain(0)),
    Scene("explain-formats", write=write_small_model, then=_explain(1)),
    Scene("explain-vocabulary", write=write_small_model, then=_explain(2)),
    Scene("loading", then=_loading, busy=True),
    Scene("unknown", write=_unknown),
    Scene(
        "not-a-model", write=lambda path: path.write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    ),
)


def machine() -> Machine:
    """An RTX 3090 in a computer with 64 GiB of RAM at 51.2 GB/s."""
    return combine(
        catalogue.machine("nvidia-geforce-rtx-3090"),
        custom(64 * 2**30, 51.2e9, name="dual-channel DDR4-3200", gpu=False),
    )


@contextmanager
def window_of(
    scene: Scene, size: tuple[int, int], theme: Theme, folder: Path, language: str = "en"
) -> Iterator[MainWindow]:
    """The whole window with everything loaded and painted; closed at the end.

    ``folder`` takes the settings and the file, so that nothing of the user's is read or written and
    two that run at once do not meet.
    """
    mode = theme.mode
    QCursor.setPos(_AWAY)  # what it stands on looks different
    speech = Speech(qt_app())
    speech.speak(language, "")
    found = measured_scenes.SERVERS
    with (
        patch.object(computer, "detecting", lambda handle: machine()),
        patch.object(servers, "looking_for_servers", lambda keys: lambda handle: found),
        patch.object(engine, "programs", lambda folder="": {}),
        # Folders are not the same everywhere; in the picture they are.
        patch.object(banner, "place", partial(_place_as_if, folder)),
        patch.object(panel, "_place", lambda file: tr("in {folder}", folder="/models")),
    ):
        window = MainWindow(Document(), theme, KeptSettings(folder / "settings.json"))
        try:
            preferences.choose_theme(window, mode)
            window.resize(*size)
            window.show()
            _wait(lambda: window.document.this_computer is not None, "the machine")
            _open(window, scene, folder)
            scene.then(window)
            if window.document.plan is None:
                yield window
                return
            plot = window.page.plan.speed.plot
            _wait(
                # It may lie below what is scrolled to, once everything has its place.
                lambda: plot.visibleRegion().isEmpty() or bool(plot.findChildren(QGraphicsView)),
                "the plot",
            )
            yield window
        finally:
            window.close()
            window.deleteLater()
            speech.speak("en", "")


def picture(window: MainWindow, *, busy: bool = False) -> QImage:
    """The window as it is drawn once nothing changes any more; ``busy``: though workers work."""
    if not busy:
        _wait(lambda: _at_rest(window), "its rest")
    seen: list[QImage] = []
    for _ in range(60):
        seen.append(window.grab().toImage())
        if len(seen) > 3 and all(image == seen[-1] for image in seen[-4:]):
            break
        QTest.qWait(250)
    return seen[-1].convertToFormat(QImage.Format.Format_RGB32)


def _at_rest(window: MainWindow) -> bool:
    """Whether nothing works and nothing is put off until a slider stands still; a sentence that
    goes away by itself after a while may stand."""
    timers = (t for t in window.findChildren(QTimer) if t.isActive() and t.interval() < 1000)
    workers = (r for r in window.findChildren(Runner) if r.running)
    return not any((*timers, *workers))


def _place_as_if(folder: Path, problem: Problem) -> str:
    return place(replace(problem, where=problem.where.replace(str(folder), "/models")))


def _open(window: MainWindow, scene: Scene, folder: Path) -> None:
    if scene.specimen:
        (path,) = (p for p in resources.specimens() if p.name.startswith(scene.specimen))
        window.opening.open(path)
        _wait(lambda: window.document.plan is not None, "the model")
    elif scene.write is not None:
        path = folder / "model.gguf"
        scene.write(path)
        window.opening.open(path)
        _wait(lambda: not window.opening.reader.running, "the file")
    else:
        _wait(lambda: bool(window.welcome.findChildren(FileCard)), "the specimens")


def _wait(condition: Callable[[], bool], what: str) -> None:
    for _ in range(800):
        if condition():
            return
        QTest.qWait(25)
    raise TimeoutError(f"{what} did not come")
