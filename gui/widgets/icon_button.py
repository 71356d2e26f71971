"""A flat button with an icon that follows the theme."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QToolButton, QWidget

from gui import theme


class IconButton(QToolButton):
    """``icon`` names one of resources/icons. ``words`` are its name for a screen reader, and stand
    beside the icon where ``labelled``; else they are its tooltip."""

    def __init__(
        self, icon: str, words: str, *, labelled: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self.setAutoRaise(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(words)
        if labelled:
            self.setText(words)
            self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        else:
            self.setToolTip(words)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """The icon takes the colour of the theme in use."""
        if event.type() is QEvent.Type.PaletteChange:
            self._dress()
        super().changeEvent(event)

    def _dress(self) -> None:
        self.setIcon(theme.icon(self._icon_name, theme.colors().muted))
