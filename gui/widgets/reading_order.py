"""The way of the Tab key: as one reads, whatever was made first.

Qt goes by the order in which widgets were made and puts rows that come later at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget


def reading_order(root: QWidget, here: QWidget | None = None) -> Iterator[QWidget]:
    """The widgets inside that take the Tab key now, from left to right and line by line.

    ``here`` has its place among them even if it has just been hidden or disabled.
    """
    for child in _lines(root, here):
        if child is here:
            yield child
        elif child.focusPolicy() & Qt.FocusPolicy.TabFocus and child.focusProxy() is None:
            if child.isEnabled():
                yield child
        else:
            yield from reading_order(child, here)


def move_focus(root: QWidget, *, forward: bool) -> bool:
    """Give the keyboard to the next widget inside, or the one before, and bring it into sight.

    False where there is none.
    """
    here: QWidget | None = root.focusWidget()
    while here is not None and here.focusProxy() is not None:
        here = here.focusProxy()
    order = list(reading_order(root, here))
    if not order or order == [here]:
        return False
    step = 1 if forward else -1
    place = order.index(here) + step if here in order else min(step, 0)
    target = order[place % len(order)]
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    if here is not None and not (here.isVisible() and here.isEnabled()):
        reason = Qt.FocusReason.OtherFocusReason  # it went by itself; nobody pressed a key
    target.setFocus(reason)
    above: QWidget | None = target.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(target)
        above = above.parentWidget()
    return True


def _lines(parent: QWidget, here: QWidget | None) -> list[QWidget]:
    """Children that are shown. Those beside each other make a line, whatever their height."""
    shown = [
        child
        for child in parent.children()
        if isinstance(child, QWidget)
        and not child.isWindow()
        and (child.isVisible() or child is here or (here and child.isAncestorOf(here)))
    ]
    shown.sort(key=lambda child: child.y())
    ordered: list[QWidget] = []
    line: list[QWidget] = []
    bottom = 0
    for child in shown:
        if line and child.y() + child.height() // 2 >= bottom:
            ordered += sorted(line, key=lambda child: child.x())
            line = []
        bottom = child.geometry().bottom() if not line else max(bottom, child.geometry().bottom())
        line.append(child)
    return ordered + sorted(line, key=lambda child: child.x())
