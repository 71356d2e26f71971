"""A button with a menu that is made when it opens."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMenu, QPushButton, QWidget


class MenuButton(QPushButton):
    """``fill`` puts what can be done just now into the empty menu."""

    def __init__(
        self, text: str, tip: str, fill: Callable[[QMenu], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(text, parent)
        self.setToolTip(tip)
        menu = QMenu(self)

        def refill() -> None:
            menu.clear()
            fill(menu)

        menu.aboutToShow.connect(refill)
        self.setMenu(menu)
