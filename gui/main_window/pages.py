"""The pages beside the plan, and dialogs. Each is imported when somebody first asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from core.language import mark
from gui.document import Document

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow
    from gui.panels.command import CommandDialog
    from gui.panels.passes import PassesDialog


def add_pages(window: MainWindow) -> None:
    """The pages beside the plan, in the order of their keys."""
    bar, measuring = window.page_bar, window.measuring
    bar.add_page(mark("Compare"), lambda: _compare(window))
    bar.add_page(mark("Session"), lambda: _session(window))
    bar.add_page(mark("Measure"), measuring.measure_page)
    bar.add_page(mark("History"), measuring.history_page)
    bar.add_page(mark("Explain"), lambda: _explain(window.document))


def _explain(document: Document) -> QWidget:
    """How a cache grows, and what a format does to weights."""
    from gui.panels.explain.page import ExplainPage

    return ExplainPage(document)


def _compare(window: MainWindow) -> QWidget:
    """Machines for a model, models for a machine, recipe by context."""
    from gui.panels.compare import ComparePage

    page = ComparePage(window.document, window.settings.comparison)
    page.stored_changed.connect(lambda stored: window.kept.save(comparison=stored))
    page.open_asked.connect(window.opening.open)
    page.said.connect(window.message.say)
    return page


def _session(window: MainWindow) -> QWidget:
    """How long a whole conversation takes."""
    from gui.panels.session import SessionPage

    # A slider changes it many times a second: written with everything else at the end.
    keep = window.kept.keep
    return SessionPage(window.document, window.settings.session, lambda text: keep(session=text))


def own_machines(window: MainWindow) -> None:
    """The machines that the user keeps; the plan's picker offers them."""
    from gui.panels.compare.own_machines import OwnMachinesDialog

    dialog = OwnMachinesDialog(window.document, window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.compare.hide()  # nothing is compared here
    dialog.changed.connect(window.page.plan.machine.show_machine)
    dialog.show()


def double_click(window: QWidget) -> None:
    """Ask whether a double-click shall open this program."""
    from gui.main_window.double_click import DoubleClickDialog

    DoubleClickDialog(window).show()


def command(document: Document, window: QWidget) -> CommandDialog:
    """The command for the choice, and a pasted one; one dialog for the window."""
    from gui.panels.command import CommandDialog

    return window.findChild(CommandDialog) or CommandDialog(document, window)


def passes(document: Document, window: QWidget) -> PassesDialog:
    """What speculation and several users bring; one dialog for the window."""
    from gui.panels.passes import PassesDialog

    return window.findChild(PassesDialog) or PassesDialog(document, window)
