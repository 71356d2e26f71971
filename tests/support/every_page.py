"""Every page and every dialog of the window, one after the other, each with something on it."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QTabWidget, QWidget

import resources
from gui.main_window import MainWindow
from gui.workers.runner import Runner

PANELS = ("overview", "tensors", "metadata")
PAGES = ("compare", "session", "measure_run", "history", "explain")
DIALOGS = (
    "own_machines",
    "copy_command",
    "paste_settings",
    "passes",
    "check_engine",
    "double_click",
    "shortcuts",
    "glossary",
    "first_steps",
    "about",
)


def open_specimen(window: MainWindow, name: str) -> None:
    """Open a specimen and let everything come to rest."""
    window.open_path(next(path for path in resources.specimens() if name in path.name))
    _wait(lambda: window.document.plan is not None)
    _wait(window.page.plan.what_if.quantization.isEnabled)
    settle(window)


def pages(window: MainWindow) -> Iterator[tuple[str, QWidget]]:
    """The name of each page with the widget that holds it; the window shows it meanwhile.

    What has tabs of its own comes once with each. A model must be open.
    """
    for name in PANELS:
        window.page.show_panel(getattr(window.page, name))
        settle(window)
        yield name, window
    for name in PAGES:
        getattr(window.commands, name).trigger()
        page = window.page_bar.page(window.page_bar.currentIndex())
        settle(window)
        tabs = page.findChild(QTabWidget)
        if tabs is None:
            yield name, window
            continue
        for number in range(tabs.count()):
            tabs.setCurrentIndex(number)
            settle(window)
            yield f"{name}, {tabs.tabText(number)}", window


def dialogs(window: MainWindow) -> Iterator[tuple[str, QWidget]]:
    """Each dialog that a menu opens, open; closed again afterwards."""
    for name in DIALOGS:
        getattr(window.commands, name).trigger()
        settle(window)
        (dialog,) = (
            d for d in QApplication.topLevelWidgets() if isinstance(d, QDialog) and d.isVisible()
        )
        yield name, dialog
        dialog.close()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        settle(window)


def settle(window: MainWindow) -> None:
    """Until no worker works any more and everything has been painted."""
    QTest.qWait(60)
    _wait(lambda: not any(r.running for r in window.findChildren(Runner)))
    QTest.qWait(60)


def _wait(condition: object) -> None:
    assert callable(condition)
    for _ in range(800):
        if condition():
            return
        QTest.qWait(25)
    raise TimeoutError("the window does not come to rest")
