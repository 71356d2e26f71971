"""The banners over the page. Many of them scroll, so that the page stays in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

from core.problems import Problem
from gui.widgets.banner import BannerStack

# The share of the window's height that problems may take.
_SHARE = 0.3


class ProblemArea(QScrollArea):
    """Shows problems; takes no room where there are none. ``actions`` as `BannerStack` has them."""

    def __init__(self, actions: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stack = BannerStack(actions)
        self.setWidget(self.stack)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.stack.installEventFilter(self)
        self.hide()

    def set_problems(self, problems: Sequence[Problem]) -> None:
        """Show these problems, the most severe first."""
        self.stack.set_problems(problems)
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A dismissed banner gives its room back."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.HideToParent):
            self._fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width, other line breaks."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.setVisible(bool(self.stack.banners))
        if not self.stack.banners:
            return
        # Qt would give wrapped text the height that it needs at its narrowest.
        width = self.viewport().width()
        wanted = max(0, self.stack.heightForWidth(width))  # -1 until new banners are shown
        self.stack.resize(width, wanted)
        self.setFixedHeight(min(wanted, round(_SHARE * self.window().height())))
