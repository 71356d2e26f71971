"""Every key and what it does."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from core.language import mark, tr, trc
from gui.widgets.dialog_size import open_at

# A heading, and pairs of a key and what it does; translated where they are shown.
Group = tuple[str, Sequence[tuple[str, str]]]

# Keys that are heard by the widget that has the keyboard; those of the menus are theirs.
OF_WIDGETS: tuple[Group, ...] = (
    (
        mark("Everywhere"),
        (
            (mark("Tab, Shift+Tab"), mark("go on, or back, as one reads")),
            (
                mark("Menu key, Shift+F10"),
                mark("what can be done with the part that has the keyboard"),
            ),
            (mark("Alt and an underlined letter"), mark("go to that menu or field")),
            (mark("Esc"), mark("close a dialog, or empty a search")),
        ),
    ),
    (
        mark("On a number"),
        (
            (mark("Tab to it"), mark("show its formula, inputs and source")),
            (mark("Enter or Space"), mark("copy it")),
        ),
    ),
    (
        mark("On a slider"),
        (
            (mark("Arrow keys"), mark("one step")),
            (mark("Page Up, Page Down"), mark("several steps")),
            (mark("Home, End"), mark("the first or the last")),
        ),
    ),
    (
        mark("In a table"),
        (
            (mark("Letters"), mark("search")),
            (mark("Arrow keys, Home, End"), mark("go from row to row")),
            (mark("Ctrl+C"), mark("copy the chosen rows")),
            (mark("Enter"), mark("open the row")),
            ("Delete", mark("remove it, where the page has a list of one's own")),
        ),
    ),
    (
        mark("In a picture"),
        (
            (mark("Arrow keys"), mark("go from turn to turn, or from point to point")),
            (mark("Page Up, Page Down"), mark("many points at once")),
            (mark("Home, End"), mark("the first or the last")),
            (mark("Enter"), mark("take the point: compare that machine")),
        ),
    ),
)
_SIZE = (80, 36)  # characters and lines


class Keys(QDialog):
    """All of them, in groups; longer than a low screen, so it scrolls."""

    def __init__(self, groups: Sequence[Group], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keys"))
        self.text = QTextBrowser()
        self.text.setAccessibleName(tr("Keys"))
        self.text.setHtml("".join(map(_rows, (*groups, *OF_WIDGETS))))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(self.text)
        column.addWidget(buttons)
        open_at(self, *_SIZE)


def _rows(group: Group) -> str:
    title, keys = group
    rows = "".join(
        f"<tr><td width='200'><b>{escape(_key(key))}</b></td><td>{escape(tr(what))}</td></tr>"
        for key, what in keys
    )
    return f"<h4>{escape(tr(title))}</h4><table cellpadding='2'>{rows}</table>"


def _key(name: str) -> str:
    return trc("key", "Delete") if name == "Delete" else tr(name)  # a button has that name too
