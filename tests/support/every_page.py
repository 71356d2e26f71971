"""Every page and every dialog of the window, one after the other, each with something on it."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QTabWidget, QWidget

import resources
from core.library import Folder
from core.remote import FileLink, RepositoryLink
from core.remote.repository import Offer, Repository
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
    "library",
    "open_link",
)
_LINK = RepositoryLink("org/Model-GGUF")
_REPOSITORY = Repository(
    _LINK,
    tuple(
        Offer(f"Model-{label}.gguf", "", FileLink(f"https://hub/{label}"), size, 1, label)
        for label, size in (("Q4_K_M", 4_920_734_176), ("Q8_0", 8_540_770_784))
    ),
)


def open_specimen(window: MainWindow, name: str) -> None:
    """Open a specimen and let everything come to rest."""
    window.opening.open(next(path for path in resources.specimens() if name in path.name))
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
    """Each dialog that a menu or a page opens, open; closed again afterwards. The library lists the
    specimens, and the hub answers with a repository of its own."""
    openers = {name: getattr(window.commands, name).trigger for name in DIALOGS}
    machine = window.page.plan.machine
    openers |= {
        "machine of one's own": machine.type_own,
        "cards and RAM together": machine.combine,
        "value": lambda: _open_value(window),
        "repository": lambda: window.finding.open_text("org/Model-GGUF"),
    }
    specimens = Folder(resources.specimens()[0].parent, "LM Studio")
    for name, open_dialog in openers.items():
        with (
            patch("gui.panels.library.dialog.known_folders", lambda: (specimens,)),
            patch("gui.workers.links.list_link", lambda link, *_: _REPOSITORY),
        ):
            open_dialog()
            settle(window)
        (dialog,) = (
            d for d in QApplication.topLevelWidgets() if isinstance(d, QDialog) and d.isVisible()
        )
        yield name, dialog
        dialog.close()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        settle(window)


def _open_value(window: MainWindow) -> None:
    window.page.show_panel(window.page.metadata)
    window.page.metadata.view.choose_row(0)
    window.page.metadata.view.opened.emit()


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
