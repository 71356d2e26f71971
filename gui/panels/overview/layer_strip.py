"""One cell per layer: what it keeps while the model writes, told by shape, colour and words."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRect, QSize
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from core.language import listed, tr, trn
from core.model.model import Model
from core.plan.plan import PartKind
from gui import theme
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Spoken


class LayerStrip(QWidget, Spoken):
    """Layers from the left. A high cell keeps the whole context, a low one a window or an extract
    of it, a hollow one a state of fixed size, a line nothing. Where layers keep both, the states
    have a lane of their own. The rows below say the same in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cells: list[tuple[frozenset[str], tuple[str, ...]]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("What each layer keeps"))
        Picture(self)

    def set_model(self, model: Model | None) -> None:
        """Show the layers of a model."""
        self._cells = []
        if model is not None and (model.cache.groups or model.cache.states):
            count = model.shape.layers
            kinds: list[set[str]] = [set() for _ in range(count)]
            words: list[list[str]] = [[] for _ in range(count)]
            for group in model.cache.groups:
                for layer in group.layers:
                    if layer < count:
                        high = group.window is None and group.stride == 1
                        kinds[layer].add("high" if high else "low")
                        words[layer].append(group.name)
            for state in model.cache.states:
                for layer in state.layers:
                    if layer < count:
                        kinds[layer].add("state")
                        words[layer].append(state.name)
            self._cells = [(frozenset(k), tuple(w)) for k, w in zip(kinds, words, strict=True)]
        self.setVisible(bool(self._cells))
        self.setAccessibleDescription(
            "; ".join(_said(layer, words) for layer, (_, words) in enumerate(self._cells))
        )
        self.update()

    def spoken_value(self) -> str:
        """How many there are, for a screen reader."""
        return trn("{count} layer", "{count} layers", len(self._cells))

    def sizeHint(self) -> QSize:
        """One and a half lines of text high."""
        metrics = self.fontMetrics()
        return QSize(30 * metrics.averageCharWidth(), metrics.height() * 3 // 2)

    def event(self, event: QEvent) -> bool:
        """Which layer is under the mouse, and what it keeps."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            cell = event.pos().x() * len(self._cells) // max(1, self.width())
            if 0 <= cell < len(self._cells):
                text = _said(cell, self._cells[cell][1])
                QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Cells of equal width, one pixel apart where there is room."""
        if not self._cells:
            return
        painter = QPainter(self)
        c = theme.colors()
        cache, state = (QColor(c.tone(k).color) for k in (PartKind.CACHE, PartKind.STATE))
        count, width, height = len(self._cells), self.width(), self.height()
        gap = 1 if width >= 4 * count else 0
        lanes = any("state" in kinds and len(kinds) > 1 for kinds, _ in self._cells)
        cache_bottom = height // 2 - 1 if lanes else height
        state_top = height // 2 + 1 if lanes else 0
        for i, (kinds, _) in enumerate(self._cells):
            left, right = (k * width // count for k in (i, i + 1))
            wide = max(1, right - left - gap)
            painter.fillRect(left, height - 1, wide, 1, QColor(c.muted))
            if kinds & {"high", "low"}:
                top = 0 if "high" in kinds else cache_bottom // 2
                painter.fillRect(left, top, wide, cache_bottom - top, cache)
            if "state" in kinds:
                painter.fillRect(left, state_top, wide, height - state_top, state)
                if wide > 3:
                    inside = QRect(left + 1, state_top + 1, wide - 2, height - state_top - 2)
                    painter.fillRect(inside, QColor(c.window))


def _said(layer: int, words: tuple[str, ...]) -> str:
    kept = listed([tr(word) for word in dict.fromkeys(words)]) or tr("keeps nothing")
    return tr("layer {number}: {kept}", number=layer, kept=kept)
