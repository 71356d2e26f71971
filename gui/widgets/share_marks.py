"""The marks of runs: a shape and a colour for each backend, and one for the user's own."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QWidget

from core.language import tr, trn, written
from gui import theme
from gui.theme import Colors
from gui.widgets.curves_plot import line_pen

# The corners of each shape, about one unit from its middle; a circle has none.
_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.1), (1.05, 0.85), (-1.05, 0.85)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, 1.1), (1.05, -0.85), (-1.05, -0.85)),
    ((-0.6, -1.1), (0.6, -1.1), (1.2, 0), (0.6, 1.1), (-0.6, 1.1), (-1.2, 0)),
)
_STAR = (
    *((0, -1.7), (0.4, -0.53), (1.62, -0.53), (0.64, 0.2), (1, 1.38)),
    *((0, 0.65), (-1, 1.38), (-0.64, 0.2), (-1.62, -0.53), (-0.4, -0.53)),
)
_SIZE = 3.6  # pixels
_VEIL = 0.5


def mark_color(number: int, colors: Colors) -> QColor:
    """The colour of a group by its place among the groups; -1 for the user's own."""
    return QColor(colors.text) if number < 0 else line_pen(number, colors).color()


def draw_mark(
    painter: QPainter, where: QPointF, number: int, colors: Colors, *, hollow: bool = False
) -> None:
    """Draw the shape of a group; those with a remark are ``hollow``."""
    color = mark_color(number, colors)
    painter.setPen(QPen(color, 1.1))
    if hollow:
        painter.setBrush(Qt.BrushStyle.NoBrush)
    else:
        veil = QColor(color)
        veil.setAlphaF(1.0 if number < 0 else _VEIL)
        painter.setBrush(veil)
    if number < 0:
        painter.setPen(QPen(QColor(colors.window), 1))
        painter.setBrush(color)
        painter.drawPolygon(_polygon(_STAR, where, _SIZE + 1))
        return
    shape = _SHAPES[number % len(_SHAPES)]
    if shape:
        painter.drawPolygon(_polygon(shape, where, _SIZE))
    else:
        painter.drawEllipse(where, _SIZE, _SIZE)


def _polygon(corners: tuple[tuple[float, float], ...], where: QPointF, size: float) -> QPolygonF:
    return QPolygonF([QPointF(where.x() + size * x, where.y() + size * y) for x, y in corners])


class MarkButton(QCheckBox):
    """One entry of a legend: the shape and its words. A click or Space shows and hides."""

    marks_itself = True

    def __init__(self, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._number = number
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_words(self, name: str, count: int) -> None:
        """What it stands for, and how many there are."""
        self.setText(f"{name} {written(count)}")
        self.setAccessibleName(
            trn("{name}, {count:,} runs", "{name}, {count:,} runs", count, name=name)
        )
        self.setToolTip(tr("Show or hide the runs of {name}", name=name))
        self.updateGeometry()

    def hitButton(self, pos: QPoint) -> bool:
        """All of it."""
        return self.rect().contains(pos)

    def sizeHint(self) -> QSize:
        """The shape, the words and a margin."""
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.text()) + metrics.height() * 3 // 2
        return QSize(width + 8, metrics.height() + 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        """What is hidden is hollow, and its words are struck through."""
        painter, colors = QPainter(self), theme.colors()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side, shown = self.fontMetrics().height(), self.isChecked()
        if not shown:
            painter.setOpacity(0.6)
        middle = QPointF(4 + side / 2, self.height() / 2)
        draw_mark(painter, middle, self._number, colors, hollow=not shown)
        painter.setPen(QColor(colors.text if shown else colors.muted))
        font = painter.font()
        font.setStrikeOut(not shown)
        painter.setFont(font)
        words = self.rect().adjusted(4 + side * 5 // 4, 0, 0, 0)
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter), self.text())
        if self.hasFocus():
            painter.setOpacity(1)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            theme.draw_focus(painter, self.rect())
