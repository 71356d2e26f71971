"""Every key and what it does."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from gui.widgets.dialog_size import open_at

# A heading, and pairs of a key and what it does.
Group = tuple[str, Sequence[tuple[str, str]]]

# Keys that are heard by the widget that has the keyboard; those of the menus are theirs.
OF_WIDGETS: tuple[Group, ...] = (
    (
        "Everywhere",
        (
            ("Tab, Shift+Tab", "go on, or back, as one reads"),
            ("Menu key, Shift+F10", "what can be done with the part that has the keyboard"),
            ("Alt and an underlined letter", "go to that menu or field"),
            ("Esc", "close a dialog, or empty a search"),
        ),
    ),
    (
        "On a number",
        (
            ("Tab to it", "show its formula, inputs and source"),
            ("Enter or Space", "copy it"),
        ),
    ),
    (
        "On a slider",
        (
            ("Arrow keys", "one step"),
            ("Page Up, Page Down", "several steps"),
            ("Home, End", "the first or the last"),
        ),
    ),
    (
        "In a table",
        (
            ("Letters", "search"),
            ("Arrow keys, Home, End", "go from row to row"),
            ("Ctrl+C", "copy the chosen rows"),
            ("Enter", "open the row"),
            ("Delete", "remove it, where the page has a list of one's own"),
        ),
    ),
    (
        "In a picture",
        (
            ("Arrow keys", "go from turn to turn, or from point to point"),
            ("Page Up, Page Down", "many points at once"),
            ("Home, End", "the first or the last"),
            ("Enter", "take the point: compare that machine"),
        ),
    ),
)
_SIZE = (64, 36)  # characters and lines


class Keys(QDialog):
    """All of them, in groups; longer than a low screen, so it scrolls."""

    def __init__(self, groups: Sequence[Group], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Keys")
        self.text = QTextBrowser()
        self.text.setAccessibleName("Keys")
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
        f"<tr><td width='200'><b>{escape(key)}</b></td><td>{escape(what)}</td></tr>"
        for key, what in keys
    )
    return f"<h4>{escape(title)}</h4><table cellpadding='2'>{rows}</table>"
