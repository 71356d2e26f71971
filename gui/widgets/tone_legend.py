"""What colours and hatches stand for, in words, on as many lines as they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.plan.plan import PartKind
from gui import theme
from gui.widgets.spoken import Role, Spoken
from gui.widgets.wrap import Wrap

Swatch: TypeAlias = PartKind | Literal["dashed", "line"]


class ToneLegend(Wrap):
    """Swatches with words: parts by their tone, an outline that is dashed, a line."""

    def __init__(
        self, entries: Sequence[tuple[Swatch, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent=parent)
        self.set_cells([_Entry(tone, words) for tone, words in entries])


class _Entry(QWidget, Spoken):
    spoken_role = Role.StaticText

    def __init__(self, tone: Swatch, words: str) -> None:
        super().__init__()
        self._tone, self._words = tone, words
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(words)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(
            metrics.height() * 3 // 2 + metrics.horizontalAdvance(self._words) + 2, metrics.height()
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        c = theme.colors()
        painter = QPainter(self)
        side = self.height() * 2 // 3
        box = QRect(0, (self.height() - side) // 2, side + 2, side)
        if isinstance(self._tone, PartKind):
            theme.fill(painter, box, c.tone(self._tone), c.window)
        elif self._tone == "dashed":
            painter.setPen(QPen(QColor(c.muted), 1, Qt.PenStyle.DashLine))
            painter.drawRect(box.adjusted(0, 0, -1, -1))
        else:
            painter.setPen(QPen(QColor(c.text), 2))
            painter.drawLine(box.left(), box.center().y(), box.right(), box.center().y())
        painter.setPen(QColor(c.muted))
        words = self.rect().adjusted(self.height() * 3 // 2, 0, 0, 0)
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter), self._words)
