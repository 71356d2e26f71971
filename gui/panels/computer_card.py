"""This computer in a few lines: what was found, and what could not be seen."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QPushButton, QVBoxLayout, QWidget

from core.language import tr
from core.machine.machine import Device
from core.provenance import Unit, format_value
from gui import theme
from gui.document import LOOKING, Document
from gui.panels.plan.bandwidth import BandwidthLabel, measure_words
from gui.widgets.fact_label import FactLabel
from gui.widgets.text import Style, Text

_ONE_LINE = 90  # characters; a narrower card takes two lines for a device


class ComputerCard(QWidget):
    """Memory and bandwidth of every device of this computer, whichever machine is chosen."""

    measure_asked = Signal()

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._looking = Text(tr("Looking at this computer…"), Style.MUTED)
        self.measure_button = QPushButton(tr("Measure RAM"))
        self.measure_button.setToolTip(tr("Time the RAM of this computer; takes a few seconds"))
        self.measure_button.clicked.connect(self.measure_asked)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(2 * self.fontMetrics().averageCharWidth())
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(4, 1)
        self._rows: list[_Row] = []
        self._narrow = False
        self._measuring = False
        self._problems = Text(style=Style.MUTED, wrap=True)
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._top.addLayout(self._grid, 1)
        corner = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft
        self._top.addWidget(self.measure_button, 0, corner)
        column = QVBoxLayout(self)
        column.addWidget(self._looking)
        column.addLayout(self._top)
        column.addWidget(self._problems)
        document.machine_changed.connect(self._show)
        document.units_changed.connect(self._show)
        self._show()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A card like those of the files below it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        c = theme.colors()
        painter.setPen(QColor(c.line))
        painter.setBrush(QColor(c.base))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def set_measuring(self, measuring: bool) -> None:
        """Whether this computer is being measured just now."""
        self._measuring = measuring
        self._show_offer()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow card has the figures of a device below its name."""
        super().resizeEvent(event)
        narrow = self.width() < _ONE_LINE * self.fontMetrics().averageCharWidth()
        if narrow != self._narrow:
            self._narrow = narrow
            way = QBoxLayout.Direction
            self._top.setDirection(way.TopToBottom if narrow else way.LeftToRight)
            for line, row in enumerate(self._rows):
                row.place(self._grid, line, narrow=narrow)

    def minimumSizeHint(self) -> QSize:
        """As wide as it is when it is narrow."""
        widest = max((row.narrowest() for row in self._rows), default=0)
        margins = self.contentsMargins().left() + self.contentsMargins().right()
        return QSize(widest + margins, super().minimumSizeHint().height())

    def _show(self) -> None:
        found = self._document.this_computer
        machine = found or LOOKING
        self._looking.setVisible(found is None)
        devices = machine.devices if found else ()
        while len(self._rows) > len(devices):
            self._rows.pop().remove(self._grid)
        while len(self._rows) < len(devices):
            self._rows.append(_Row())
            self._rows[-1].place(self._grid, len(self._rows) - 1, narrow=self._narrow)
        for row, device in zip(self._rows, devices, strict=True):
            row.show(device, self._document)
        self._show_offer()
        words = " ".join(f"{tr(p.message)} {tr(p.advice)}".rstrip() for p in machine.problems)
        self._problems.set_text(words)
        self._problems.setVisible(bool(words))

    def _show_offer(self) -> None:
        words = measure_words(self._document.this_computer)
        self.measure_button.setEnabled(not self._measuring)
        self.measure_button.setText(tr("Measuring…") if self._measuring else words)
        self.measure_button.setVisible(bool(words))


class _Row:
    """One device: name, memory, what others use of it, bandwidth."""

    def __init__(self) -> None:
        self._name = Text(style=Style.STRONG)
        self._memory = FactLabel(tr("Memory"))
        self._used = FactLabel(tr("In use"))
        self._bandwidth = BandwidthLabel()
        self._figures: tuple[QWidget, ...] = (self._memory, self._used, self._bandwidth)

    def place(self, grid: QGridLayout, line: int, *, narrow: bool) -> None:
        """Put it into the grid: on one line, or the figures below the name."""
        grid.addWidget(self._name, 2 * line, 0, 1, 4 if narrow else 1)
        for column, figure in enumerate(self._figures):
            grid.addWidget(figure, 2 * line + narrow, column if narrow else column + 1)

    def narrowest(self) -> int:
        """Pixels that it takes in two lines."""
        gap = 2 * self._name.fontMetrics().averageCharWidth()
        figures = sum(figure.sizeHint().width() + gap for figure in self._figures)
        return max(self._name.sizeHint().width(), figures)

    def show(self, device: Device, document: Document) -> None:
        """Show this device."""
        units = document.units
        self._name.set_text(device.name)
        self._memory.set_number(
            device.memory, units, name=tr("{device}, memory", device=device.name)
        )
        used = format_value(device.used.value, Unit.BYTES, units)
        in_use = tr("{size} in use", size=used) if device.used.known else ""
        self._used.set_number(
            device.used, units, in_use, name=tr("{device}, in use", device=device.name)
        )
        self._bandwidth.show_device(device, units)

    def remove(self, grid: QGridLayout) -> None:
        """Take the row off the screen."""
        for widget in (self._name, *self._figures):
            grid.removeWidget(widget)
            widget.deleteLater()
