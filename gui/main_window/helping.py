"""Help: what a word on the screen means, the glossary, the keys, first steps, the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QUrl
from PySide6.QtGui import (
    QContextMenuEvent,
    QCursor,
    QDesktopServices,
    QKeyEvent,
    QKeySequence,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QGroupBox,
    QHeaderView,
    QLabel,
    QMenu,
    QWidget,
)

from core.gguf import display
from core.language import tr
from gui.widgets.live_text import LiveText
from gui.widgets.text import qt_app

if TYPE_CHECKING:
    from core.explain.glossary import Term
    from gui.main_window.window import MainWindow
    from gui.panels.help.keys import Group


def what_is_this(window: MainWindow) -> None:
    """Explain the word that the keyboard is on, else that under the pointer; the whole glossary
    where neither is on one."""
    here = QApplication.focusWidget()
    found = terms_about(here) if here is not None else []
    if not found:
        at = QCursor.pos()
        under = QApplication.widgetAt(at)
        found = terms_about(under, at) if under is not None else []
    open_glossary(window, found[0] if found else None)


def open_glossary(window: MainWindow, term: Term | None = None) -> None:
    """The glossary, at a word."""
    from gui.panels.help.glossary import Glossary

    (window.findChild(Glossary) or Glossary(window)).show_term(term)


class InDialogs(QObject):
    """What the window does for its dialogs as well: a right click explains words, and the key that
    quits does, but in a dialog that has to be answered. Whichever has had the keyboard hands on to
    this what no part of it took."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        qt_app().focusChanged.connect(self._look)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Only of events that no part of the dialog took."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            leave = self._window.commands.quit
            asked = QKeySequence(event.keyCombination()) == leave.shortcut()
            if asked and isinstance(watched, QDialog) and not watched.isModal():
                leave.trigger()
                return True
        if isinstance(event, QContextMenuEvent) and isinstance(watched, QDialog):
            return explain_at(self._window, event, watched)
        return False

    def _look(self, _before: QWidget | None, now: QWidget | None) -> None:
        dialog = now.window() if now is not None else None
        if isinstance(dialog, QDialog):
            dialog.installEventFilter(self)  # once, however often it is asked for


def explain_at(window: MainWindow, event: QContextMenuEvent, root: QWidget | None = None) -> bool:
    """A menu of the words under the pointer that the glossary knows; none where it knows none.
    ``root`` is the window's dialog in which that is; True where there is a menu."""
    here = (root or window).childAt(event.pos())
    found = terms_about(here, event.globalPos()) if here is not None else []
    if not found:
        event.ignore()
        return False
    menu = QMenu(root or window)
    menu.aboutToHide.connect(menu.deleteLater)
    for term in found:
        action = menu.addAction(tr("What is “{term}”?", term=term.name).replace("&", "&&"))
        action.triggered.connect(lambda _=False, t=term: open_glossary(window, t))
    menu.popup(event.globalPos())
    return True


def terms_about(widget: QWidget, at: QPoint | None = None) -> list[Term]:
    """The terms that a widget is about: named in its own words, or in those of what it lies in.
    ``at`` is a place on the screen, for what has several words in a row."""
    from core.explain.glossary import terms_in

    header = widget.parentWidget()
    if isinstance(header, QHeaderView) and at is not None:
        return terms_in(_title(header, header.viewport().mapFromGlobal(at)))
    here: QWidget | None = widget
    while here is not None and not here.isWindow():
        found = terms_in(" · ".join(_words(here)))
        if found:
            return found
        here = here.parentWidget()
    return []


def _title(header: QHeaderView, at: QPoint) -> str:
    """What stands in the header of a table at a place."""
    model = header.model()
    return str(model.headerData(header.logicalIndexAt(at), header.orientation()) or "")


def _words(widget: QWidget) -> Iterator[str]:
    yield widget.accessibleName()
    if isinstance(widget, LiveText):
        yield widget.shown
    elif isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    elif isinstance(widget, QGroupBox):
        yield widget.title()
    parent = widget.parentWidget()
    if parent is not None:
        for label in parent.findChildren(QLabel):
            if label.buddy() is widget:
                yield label.text()


def show_first_steps(window: MainWindow) -> None:
    """The first steps, for who wants to see them again."""
    from gui.panels.help.tips import FirstSteps

    FirstSteps(window).show()


def show_keys(window: MainWindow, groups: Sequence[Group]) -> None:
    """Every key and what it does."""
    from gui.panels.help.keys import Keys

    Keys(groups, window).show()


def show_about(window: MainWindow) -> None:
    """Version, parts and licences."""
    from gui.panels.help.about import About

    About(window).show()


def open_log(window: MainWindow, path: Path) -> None:
    """Show the log in the program that the desktop has for text."""
    if not path.exists() or not path.stat().st_size:
        window.message.say(tr("The log is empty: nothing has gone wrong."))
    elif not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
        place = display(str(path))
        window.message.say(tr("No program was found to show it; the log is {place}.", place=place))
