"""What is used for long holds no more than before: counts of objects and widgets, not megabytes."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import resources
from gui.document import Document
from gui.main_window import MainWindow
from gui.theme import Theme
from tests.support import every_page, plans
from tests.support.scenes import machine
from tests.support.shown_window import shown_window

TIMES = 4


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, machine()) as made:
        yield made


def held() -> Counter[str]:
    """Objects of Python's and widgets, by their types."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()
    found = Counter(type(each) for each in gc.get_objects())
    ours = {f"object {kind.__name__}": n for kind, n in found.items() if _is_ours(kind)}
    return Counter(
        ours, **Counter(f"widget {type(each).__name__}" for each in QApplication.allWidgets())
    )


def _is_ours(kind: type) -> bool:
    """The test's own tools keep a record of what Qt says."""
    return kind is weakref.ref or str(kind.__module__).startswith(("core.", "gui.", "PySide6."))


def growing(work: Callable[[], None]) -> dict[str, int]:
    """The types of which there are more after every time; what is made once and kept is none."""
    seen = []
    for _ in range(4):
        for _ in range(TIMES):
            work()
        seen.append(held())
    steps = [later - earlier for earlier, later in pairwise(seen)]
    return {
        name: count for name, count in steps[-1].items() if all(s[name] >= TIMES for s in steps)
    }


def test_a_long_drag_is_one_step_in_memory_too() -> None:
    before = held()["object _Step"]
    document = Document(resolve=plans.resolve)
    document.begin_step()
    for context in range(1024, 1324):
        document.choose(context=context)
    document.end_step()
    assert document.undo_stack.count() == 1
    assert held()["object _Step"] - before == 1
    document.undo_stack.undo()
    assert document.choice.context is None


def test_undo_goes_back_far_but_not_for_ever() -> None:
    document = Document(resolve=plans.resolve)
    for context in range(1024, 2024):
        document.begin_step()
        document.choose(context=context)
        document.end_step()
    count = document.undo_stack.count()
    assert 100 <= count < 1000
    for _ in range(count):
        document.undo_stack.undo()
    assert document.choice.context == 2023 - count


def test_sliders_that_are_moved_for_long_hold_no_more(window: MainWindow) -> None:
    every_page.open_specimen(window, "Qwen3.6-35B")
    document = window.document
    fields = {
        "context": (1024, 8192, 131_072, 262_144),
        "gpu_layers": (0, 10, 20, 40),
        "requantize": ("Q8_0", "Q2_K", "IQ4_XS", None),
    }

    def slide() -> None:
        for name, values in fields.items():
            document.begin_step()
            for value in values:
                document.choose(**{name: value})
                QCoreApplication.processEvents()
            document.end_step()
        document.undo_stack.clear()

    assert growing(slide) == {}


def test_models_opened_in_turn_hold_no_more(window: MainWindow, qtbot: QtBot) -> None:
    paths = [p for p in resources.specimens() if "Qwen3.6-35B" in p.name or "Llama-3.1" in p.name]
    assert len(paths) == 2
    window.page.show_panel(window.page.tensors)

    def here(path: Path) -> bool:
        model = window.document.model
        if model is None or model.file.header.path != path:
            return False
        ready = window.page.plan.what_if.quantization.isEnabled()
        return ready and not window.opening.reader.running

    def switch() -> None:
        for path in paths:
            window.opening.open(path)
            qtbot.waitUntil(partial(here, path))

    assert growing(switch) == {}
