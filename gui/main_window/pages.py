"""The pages beside the plan, and dialogs. Each is imported when somebody first asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gui.document import Document
from gui.settings import StoredComparison

if TYPE_CHECKING:
    from gui.panels.command import CommandDialog
    from gui.panels.compare import ComparePage
    from gui.panels.compare.own_machines import OwnMachinesDialog
    from gui.panels.passes import PassesDialog


def explain(document: Document) -> QWidget:
    """How a cache grows, and what a format does to weights."""
    from gui.panels.explain.page import ExplainPage

    return ExplainPage(document)


def compare(document: Document, stored: StoredComparison) -> ComparePage:
    """Machines for a model, models for a machine, recipe by context."""
    from gui.panels.compare import ComparePage

    return ComparePage(document, stored)


def own_machines(document: Document, window: QWidget) -> OwnMachinesDialog:
    """The machines that the user keeps."""
    from gui.panels.compare.own_machines import OwnMachinesDialog

    dialog = OwnMachinesDialog(document, window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.compare.hide()  # nothing is compared here
    dialog.show()
    return dialog


def session(document: Document, stored: str, keep: Callable[[str], None]) -> QWidget:
    """How long a whole conversation takes."""
    from gui.panels.session import SessionPage

    return SessionPage(document, stored, keep)


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
