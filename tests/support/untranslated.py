"""What the window shows or says that never went through a catalogue.

While everything is `marked`, whatever letters stand outside of the marks were never given to a
translator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QAction, QPainter
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDialogButtonBox,
    QGraphicsScene,
    QGraphicsView,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QSpinBox,
    QTabBar,
    QTextEdit,
    QWidget,
)

from gui.widgets.fact_label import FactLabel
from gui.widgets.spoken import Spoken
from tests.support.marking import bare

_LINES = 60  # of a table
_ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.StatusTipRole,
    Qt.ItemDataRole.WhatsThisRole,
    Qt.ItemDataRole.AccessibleTextRole,
    Qt.ItemDataRole.AccessibleDescriptionRole,
)
_TIPS = ("toolTip", "statusTip", "whatsThis")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(
    r"(?<![\w.,])(?<!\w-)(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}\.[0-9]+)(?![\w.,]*\w)"
)
_WIDGET = ("windowTitle", *_TIPS, "accessibleName", "accessibleDescription")


def words_of(root: QWidget) -> Iterator[tuple[str, str]]:
    """Everything that a window or a dialog shows or says: where it stands, and the text. Menus
    are filled for it."""
    for menu in root.findChildren(QMenu):
        menu.aboutToShow.emit()
    for thing in [root, *root.findChildren(QWidget)]:
        if not thing.isVisibleTo(root) and not isinstance(thing, QMenu):
            continue
        for what, text in _texts(thing):
            yield f"{_path(thing, root)}.{what}", text
    for action in root.findChildren(QAction):
        if isinstance(action.parent(), QGraphicsScene):
            continue  # the plot library's own menu, which nobody sees
        for name in ("text", "iconText", *_TIPS):
            yield f"QAction({action.objectName()}).{name}", getattr(action, name)()


@contextmanager
def painted() -> Iterator[list[str]]:
    """The texts that are painted by our own hands meanwhile."""
    seen: list[str] = []
    draw = QPainter.drawText

    def keep(self: QPainter, *args: Any) -> Any:
        seen.extend(arg for arg in args if isinstance(arg, str))
        return draw(self, *args)

    with patch.object(QPainter, "drawText", keep):
        yield seen


def _texts(thing: QWidget) -> Iterator[tuple[str, str]]:
    for name in _WIDGET:
        yield name, getattr(thing, name)()
    if isinstance(thing, Spoken):
        yield "spoken_value", thing.spoken_value()
    if isinstance(thing, FactLabel) or hasattr(thing, "shown"):
        shown = thing.shown
        if isinstance(shown, str):
            yield "shown", shown
    match thing:
        case QAbstractButton():
            box = thing.parentWidget()
            ours = not isinstance(box, QDialogButtonBox) or (
                box.standardButton(thing) is QDialogButtonBox.StandardButton.NoButton
            )
            if ours:
                yield "text", thing.text()
        case QLabel():
            yield "text", thing.text()
        case QComboBox():
            for number in range(thing.count()):
                yield f"item {number}", thing.itemText(number)
                yield f"tip of item {number}", str(thing.itemData(number, _ROLES[1]) or "")
        case QLineEdit():
            if isinstance(thing.parentWidget(), QSpinBox):
                return  # Qt writes it
            yield "placeholderText", thing.placeholderText()
            yield "text", thing.text()
        case QSpinBox():
            yield from (("suffix", thing.suffix()), ("prefix", thing.prefix()))
            yield "specialValueText", thing.specialValueText()
        case QGroupBox() | QMenu():
            yield "title", thing.title()
        case QTabBar():
            for number in range(thing.count()):
                yield f"tab {number}", thing.tabText(number)
                yield f"tip of tab {number}", thing.tabToolTip(number)
        case QPlainTextEdit() | QTextEdit():
            yield "placeholderText", thing.placeholderText()
            yield "text", thing.toPlainText()
        case QProgressBar():
            if thing.isTextVisible():
                yield "text", thing.text()
        case QHeaderView():
            pass
        case QAbstractItemView():
            model = thing.model()
            if model is not None:
                yield from _cells(model)
        case QGraphicsView():
            for item in thing.scene().items() if thing.scene() else ():
                for name in ("toPlainText", "text"):
                    told = getattr(item, name, None)
                    if callable(told):
                        yield f"{type(item).__name__}", str(told())
                yield f"tip of {type(item).__name__}", item.toolTip()


def _cells(model: QAbstractItemModel) -> Iterator[tuple[str, str]]:
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(QModelIndex())
    for column in range(columns):
        for role in _ROLES:
            told = model.headerData(column, Qt.Orientation.Horizontal, role)
            if isinstance(told, str):
                yield f"heading {column}, {role.name}", told
    for row in range(min(model.rowCount(QModelIndex()), _LINES)):
        for role in _ROLES:
            told = model.headerData(row, Qt.Orientation.Vertical, role)
            if isinstance(told, str):
                yield f"heading of row {row}, {role.name}", told
        for column in range(columns):
            for role in _ROLES:
                told = model.index(row, column).data(role)
                if isinstance(told, str):
                    yield f"cell {row}, {column}, {role.name}", told


def _path(thing: QWidget, root: QWidget) -> str:
    names: list[str] = []
    here: QWidget | None = thing
    while here is not None and here is not root and len(names) < 6:
        names.append(type(here).__name__)
        here = here.parentWidget()
    return "/".join(reversed(names)) or type(root).__name__


def left_over(text: str, names: Sequence[str], allowed: re.Pattern[str]) -> list[str]:
    """Runs of two letters or more, and numbers as Python writes them, that are neither marked nor
    in a name nor allowed. ``names`` come with the longest first."""
    rest = bare(text)
    if not _WORD.search(rest) and not _NUMBER.search(rest):
        return []
    # A path may hold a name, and a name may hold what looks like a path.
    named = _without(names, rest)
    numbers = [number for number in _NUMBER.findall(named) if number in _NUMBER.findall(rest)]
    for candidate in (allowed.sub("\n", named), _without(names, allowed.sub("\n", rest))):
        words: list[str] = _WORD.findall(candidate)
        if not words:
            break
    return words + numbers


def _without(names: Sequence[str], text: str) -> str:
    for name in names:
        if name in text:
            text = text.replace(name, "\n")
    return text
