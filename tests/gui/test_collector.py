"""What is closed is freed at once: Python's collector may run in any thread, and Qt does not
survive a view whose timers are left behind in another one."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from core.compare.columns import Column
from core.gguf import read_header
from core.problems import Problem
from core.remote.links import RepositoryLink
from core.tabular import TextFormat
from core.units import UnitSystem
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.panels.links import RepositoryDialog
from gui.panels.metadata import MetadataPanel
from gui.panels.metadata.panel import _ValueWindow
from gui.settings import default_path
from gui.tables.facts import FactSheet
from gui.tables.metadata import MetadataTable
from gui.tables.model_rows import ModelLine, ModelSheet
from gui.tables.sheet import Sheet
from gui.tables.tensors import TensorTable
from gui.tables.view import SheetView
from gui.theme import Theme
from gui.workers import links
from gui.workers.runner import Handle, Runner
from tests.support import gguf_files as files
from tests.support.models import Spec, document_of, model_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """What is freed here is freed without it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def deleted() -> None:
    """What asked to be deleted has been."""
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def tensors() -> Sheet:
    table = TensorTable()
    table.set_model(model_of([Spec("blk.0.attn_q.weight", (4096, 32), "Q4_K")]))
    return table


def metadata() -> Sheet:
    table = MetadataTable()
    table.set_header(model_of([]).file.header, "Q4_K_M")
    return table


def models() -> Sheet:
    sheet = ModelSheet({"name", "verdict"})
    for count in (1, 2):
        sheet.show([ModelLine(f"model {n}") for n in range(count)], UnitSystem.GIB)
    return sheet


def compared() -> Sheet:
    sheet: FactSheet[str] = FactSheet()
    columns = [Column[str](name, name, str.casefold) for name in ("name", "machine")]
    sheet.show(columns, ["A card", "Another"], UnitSystem.GIB)
    return sheet


@pytest.mark.parametrize("make", [tensors, metadata, models, compared])
def test_a_table_and_its_view_are_freed_without_the_garbage_collector(
    qtbot: QtBot, make: Callable[[], Sheet]
) -> None:
    sheet = make()
    view = SheetView(sheet, "row")
    view.show_columns(frozenset())
    view.show()
    sheet.set_filter("a")
    sheet.sort(0)
    for row in sheet.rows:
        for column in sheet.columns:
            assert isinstance((column.tip or column.text)(row), str)
    sheet.copied(sheet.rows, [0, 1], TextFormat.JSON)
    view.grab()
    view.close()
    alive = weakref.ref(sheet), weakref.ref(view)
    del sheet, view
    assert [each() for each in alive] == [None, None]


def test_views_that_were_closed_do_not_end_the_program_when_another_thread_collects() -> None:
    program = (
        "import gc, threading\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from core.units import UnitSystem\n"
        "from gui.tables.model_rows import ModelLine, ModelSheet\n"
        "from gui.tables.view import SheetView\n"
        "application = QApplication([])\n"
        "gc.disable()\n"
        "for _ in range(50):\n"
        "    sheet = ModelSheet({'name'})\n"
        "    sheet.show([ModelLine('model')], UnitSystem.GIB)\n"
        "    view = SheetView(sheet, 'model')\n"
        "    view.show_columns(frozenset())\n"
        "    sheet.set_filter('m')\n"
        "    del sheet, view\n"
        "collector = threading.Thread(target=gc.collect)\n"
        "collector.start()\n"
        "collector.join()\n"
        "for _ in range(20):\n"
        "    application.processEvents()\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_repository_that_was_closed_leaves_no_table_to_the_collector(
    qtbot: QtBot, theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Problem("gone", "It is not there.")
    monkeypatch.setattr(links, "listing", lambda link: lambda handle: answer)
    window = MainWindow(Document(), theme, KeptSettings(default_path()))
    qtbot.addWidget(window)
    dialog = RepositoryDialog(window.document, RepositoryLink("org/M-GGUF"), window)
    dialog.show()
    lister = dialog.lister
    qtbot.waitUntil(lambda: not lister.running)
    alive = weakref.ref(dialog.sheet), weakref.ref(dialog.table)
    dialog.close()
    del dialog
    deleted()
    assert [each() for each in alive] == [None, None]


def test_a_value_in_a_window_of_its_own_leaves_no_table_to_the_collector(
    qtbot: QtBot, tmp_path: Path
) -> None:
    words = files.array(files.STRING, [f"token {n}" for n in range(300)])
    path = files.write(tmp_path / "model.gguf", {"tokenizer.ggml.tokens": words})
    panel = MetadataPanel(document_of(model_of(header=read_header(path))))
    qtbot.addWidget(panel)
    panel.view.selectRow(0)
    panel.view.opened.emit()
    (window,) = panel.findChildren(_ValueWindow)
    (view,) = window.findChildren(SheetView)
    alive = weakref.ref(view.model()), weakref.ref(view)
    window.close()
    del window, view
    deleted()
    assert [each() for each in alive] == [None, None]


def test_a_function_that_failed_is_freed_without_the_garbage_collector(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Held:
        """What a function has in its hands."""

    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: None)
    held = Held()
    alive = weakref.ref(held)

    def fail(handle: Handle, held: Held = held) -> None:
        raise ValueError("broken")

    runner = Runner("failing")
    with qtbot.waitSignal(runner.ended):
        runner.start(fail)
    assert runner.stop()
    del fail, held
    assert alive() is None
