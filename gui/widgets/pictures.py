"""What is drawn in the window, as a picture in a file or on the clipboard.

A plot says once that it can be taken away, and has lines in its context menu; the window's menu
finds it by the same mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable
from weakref import ref

from PySide6.QtCore import QBuffer, QObject, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QImage,
    QPaintDevice,
    QPainter,
    QRegion,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QWidget

from core.gguf import display
from core.language import tr
from core.whole_file import write_out
from gui import theme
from gui.widgets.message_line import MessageLine
from gui.widgets.text import Style

# Of a plot with axes, in pixels: it is drawn anew in this size. Everything else as it stands.
PLOT = QSize(1200, 675)
_FINER = 2  # than a screen
_MARGIN = 12
_WRAPPED = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft)
Drawn: TypeAlias = Sequence[QWidget]


@runtime_checkable
class PictureHost(Protocol):
    """The window that pictures are taken from; ``message`` tells what came of it."""

    message: MessageLine

    def picture_title(self) -> str:
        """What all pictures are of: the model, the machine, the choice."""


@runtime_checkable
class OnPaper(Protocol):
    """A plot that can be painted in any size."""

    def paint(self, painter: QPainter, paper: QRectF, colors: theme.Colors) -> None:
        """All of it, on a piece of paper."""


class Picture(QObject):
    """The mark of a widget that can be taken away: a child of it, with its two menu lines.

    ``legend`` stands below it in the picture. With ``framed`` the widget around it is drawn, which
    has a title and a legend.
    """

    def __init__(
        self, widget: QWidget, legend: QWidget | None = None, *, framed: bool = False
    ) -> None:
        super().__init__(widget)
        self._framed = framed
        # What holds the widget holds the legend as well: a reference would close a ring.
        self._legend = ref(legend) if legend is not None else None
        widget.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        for words, slot in (
            (tr("Save picture…"), self.ask),
            (tr("Copy picture"), self.copy),
        ):
            widget.addAction(words).triggered.connect(slot)

    @property
    def widget(self) -> QWidget:
        """What has the lines in its context menu."""
        found = self.parent()
        assert isinstance(found, QWidget)
        return found

    @property
    def name(self) -> str:
        """What is drawn, in words."""
        return self.widget.accessibleName()

    def drawn(self) -> list[QWidget]:
        """What the picture shows, from the top."""
        legend = self._legend() if self._legend is not None else None
        around = self.widget.parentWidget() if self._framed else None
        return [around or self.widget, *([legend] if legend is not None else [])]

    def ask(self) -> None:
        """Ask where to, and save it there."""
        suggested = re.sub(r"[^\w]+", "-", self.name.lower()).strip("-")[:60] or "picture"
        told = ask_for_picture(self.widget, self.drawn(), suggested, self._title())
        host = _host(self.widget)
        if told and host is not None:
            host.message.say(told)

    def copy(self) -> None:
        """Put it on the clipboard."""
        QGuiApplication.clipboard().setImage(image(self.drawn(), self._title()))
        host = _host(self.widget)
        if host is not None:
            host.message.say(tr("The picture is on the clipboard."))

    def _title(self) -> str:
        host = _host(self.widget)
        words = (self.name, host.picture_title() if host is not None else "")
        return ": ".join(each for each in words if each)


def pictures(root: QWidget) -> list[Picture]:
    """What can be taken away just now, in the order in which it was made."""
    return [each for each in root.findChildren(Picture) if each.widget.isVisible()]


def ask_for_picture(parent: QWidget, drawn: Drawn, name: str, title: str) -> str:
    """Ask where to, and save it; what came of it, in a sentence ("" for nothing)."""
    kinds = "{} (*.svg);;{} (*.png)".format(tr("Drawing"), tr("Picture"))
    chosen, kind = QFileDialog.getSaveFileName(parent, tr("Save picture"), f"{name}.svg", kinds)
    if not chosen:
        return ""
    path = Path(chosen)
    if path.suffix.lower() not in (".svg", ".png"):
        path = path.with_name(path.name + (".png" if "png" in kind else ".svg"))
    return save_picture(drawn, path, title)


def save_picture(drawn: Drawn, path: Path, title: str = "") -> str:
    """Save these widgets, one below the other, as SVG or PNG by the ending; what came of it, in a
    sentence."""
    try:
        write_out(path, svg(drawn, title) if path.suffix.lower() == ".svg" else png(drawn, title))
    except OSError as error:
        return tr(
            "{name} could not be written: {why}.",
            name=display(path.name),
            why=error.strerror or error,
        )
    return tr("Saved as {name}.", name=display(path.name))


def svg(drawn: Drawn, title: str = "") -> bytes:
    """They as a drawing, with a title above."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    size = _size(drawn, title)
    drawing = QSvgGenerator()
    drawing.setOutputDevice(buffer)
    drawing.setResolution(drawn[0].logicalDpiX())  # or text comes out smaller than on the screen
    drawing.setSize(size)
    drawing.setViewBox(QRect(QPoint(), size))
    drawing.setTitle(title or drawn[0].accessibleName())
    drawing.setDescription(drawn[0].accessibleDescription())
    _paint(drawn, drawing, size, title)
    return bytes(buffer.data().data())


def png(drawn: Drawn, title: str = "") -> bytes:
    """The same as pixels, twice as fine as a screen."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image(drawn, title).save(buffer, "PNG")  # type: ignore[call-overload]  # as Qt itself takes it
    return bytes(buffer.data().data())


def image(drawn: Drawn, title: str = "") -> QImage:
    """The same for the clipboard."""
    size = _size(drawn, title)
    made = QImage(size * _FINER, QImage.Format.Format_RGB32)
    made.setDevicePixelRatio(_FINER)
    _paint(drawn, made, size, title)
    return made


def _sizes(drawn: Drawn) -> list[QSize]:
    return [PLOT if isinstance(each, OnPaper) else each.size() for each in drawn]


def _size(drawn: Drawn, title: str) -> QSize:
    sizes = _sizes(drawn)
    width = max(size.width() for size in sizes) + 2 * _MARGIN
    below = sum(size.height() + _MARGIN for size in sizes)
    return QSize(width, _head(title, width).bottom() + 1 + below)


def _head(title: str, width: int) -> QRect:
    """Where the title stands, with the margin below it; empty without one."""
    room = QRect(_MARGIN, _MARGIN, width - 2 * _MARGIN, 1 << 15)
    lines = Style.STRONG.metrics().boundingRect(room, _WRAPPED, title).height() if title else 0
    room.setHeight(lines + _MARGIN if title else 0)
    return room


def _paint(drawn: Drawn, device: QPaintDevice, size: QSize, title: str) -> None:
    colors = theme.colors()
    painter = QPainter(device)
    painter.fillRect(QRect(QPoint(), size), QColor(colors.window))
    head = _head(title, size.width())
    painter.setFont(Style.STRONG.font())
    painter.setPen(QColor(colors.text))
    painter.drawText(head, _WRAPPED, title)
    corner = QPoint(_MARGIN, head.bottom() + 1)
    for each, place in zip(drawn, _sizes(drawn), strict=True):
        if isinstance(each, OnPaper):
            painter.setFont(each.font())
            each.paint(painter, QRectF(corner, place), colors)
        else:
            each.render(painter, corner, QRegion(), QWidget.RenderFlag.DrawChildren)
        corner += QPoint(0, place.height() + _MARGIN)
    painter.end()


def _host(widget: QWidget) -> PictureHost | None:
    above: QWidget | None = widget
    while above is not None:
        if isinstance(above, PictureHost):
            return above
        above = above.parentWidget()
    return None
