"""What is dropped is read, never taken away."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QDropEvent


def accept_copy(event: QDropEvent) -> None:
    """Accept it as a copy, whatever was proposed: who drags may delete what was moved."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()
