"""Laying out once where Qt would do it many times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QLayout

_DEEPEST = 8  # layouts within layouts, in any page


def lay_out_now() -> None:
    """Lay out what asked for it, before anything is painted.

    What changed asks only what it stands in, and that asks on in the next turn of the event loop:
    the window would be painted in between, once for every layout on the way up.
    """
    for _ in range(_DEEPEST):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


@contextmanager
def laid_out_once(layout: QLayout) -> Iterator[None]:
    """Show and hide in here what stands in ``layout``; it is laid out when all is done.

    Qt lays out everything around a widget at the moment in which that is shown, to the window.
    """
    layout.setEnabled(False)
    try:
        yield
    finally:
        layout.setEnabled(True)
