"""One device of a plan: a title, its bar, and a legend with the figures."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from core.language import tr, trc
from core.plan.plan import PartKind
from core.provenance import Number
from core.units import UnitSystem
from gui import theme
from gui.panels.plan.bandwidth import BandwidthLabel
from gui.panels.plan.sizes import DeviceSizes
from gui.widgets.budget_bar import BudgetBar, sentence
from gui.widgets.fact_label import FactLabel, explanation_html
from gui.widgets.mark_label import MarkLabel
from gui.widgets.pictures import Picture
from gui.widgets.spoken import Role, Spoken, ToldLate
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap


class DeviceBlock(ToldLate, QWidget):
    """A title, the bar, and a legend.

    A device of which nothing needs to be drawn is its title alone; the rest is said on hover, by
    the figures of the title, and to a screen reader.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sizes: DeviceSizes | None = None
        self._name = Text(style=Style.STRONG)
        self.amount = Amount(Style.BODY)
        self._bandwidth = BandwidthLabel()
        self._verdict = MarkLabel(Style.BODY)
        self.title = Wrap(last_right=True)
        self.title.set_cells([self._name, self.amount, self._bandwidth, self._verdict])
        self.bar = BudgetBar()
        self.legend = Wrap(uniform=True)
        self.entries = {kind: LegendEntry(kind) for kind in PartKind}
        self.free = LegendEntry(None)
        for entry in (*self.entries.values(), self.free):
            entry.setParent(self.legend)
            entry.hide()
        self._shown: list[LegendEntry] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        column.addWidget(self.title)
        column.addWidget(self.bar)
        column.addWidget(self.legend)
        Picture(self.bar, framed=True)

    def show_device(self, sizes: DeviceSizes, *, titled: bool, drawn: bool) -> None:
        """Show this device: with its title, with its bar and legend, or both."""
        plan, units = sizes.plan, sizes.system
        for widget, shown in ((self.title, titled), (self.bar, drawn), (self.legend, drawn)):
            if widget.isHidden() is shown:
                widget.setVisible(shown)
        self._sizes = sizes
        self.setAccessibleName(tr("Memory of {device}", device=tr(plan.device.name)))
        self.words_changed()
        if titled:
            self._name.set_text(tr(plan.device.name))
            self.amount.show_device(sizes)
            self._bandwidth.show_device(plan.device, units)
            self._verdict.set_verdict(plan.verdict)
        if drawn:
            self.bar.set_plan(plan, units)
            self._show_legend(sizes)

    def in_words(self) -> str:
        """What lies on the device, for who hovers and for a screen reader."""
        return sentence(self._sizes.plan, self._sizes.system) if self._sizes is not None else ""

    def event(self, event: QEvent) -> bool:
        """Hovering beside the figures of a title says what lies on the device."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), explanation_html("", self.in_words()), self)
            return True
        return super().event(event)

    def _show_legend(self, sizes: DeviceSizes) -> None:
        plan, units = sizes.plan, sizes.system
        shown = []
        for part in plan.parts:
            if part.bytes.value != 0:  # what is nothing is not listed; what is not known is
                entry = self.entries[part.kind]
                entry.show_size(part.bytes, units, sizes.part(part.kind, part.bytes.value))
                shown.append(entry)
        self.free.show_size(plan.free, units, sizes.free)
        shown.append(self.free)
        if shown != self._shown:
            self._shown = shown
            self.legend.set_cells(shown)


class LegendEntry(QWidget):
    """Hatch, word and figure of one part; what is free, or too much, for None."""

    def __init__(self, kind: PartKind | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._word = Text()
        self._swatch = _Swatch(kind)
        self.fact = FactLabel(align=Qt.AlignmentFlag.AlignRight)
        self._kind = kind
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth())
        row.addWidget(self._swatch)
        row.addWidget(self._word)
        row.addStretch(1)
        row.addWidget(self.fact)

    def show_size(self, number: Number[int], units: UnitSystem, text: str) -> None:
        """Show a size, as ``text``."""
        over = (number.value or 0) < 0
        word = tr("too much") if over else trc("memory", "free")
        if self._kind is not None:
            word = tr(theme.colors().parts[self._kind].word)
        self._word.set_text(word)
        self._swatch.set_over(over)
        self.fact.set_number(number, units, text, name=word)


class _Swatch(QWidget, Spoken):
    spoken_role = Role.Whitespace

    def __init__(self, kind: PartKind | None) -> None:
        super().__init__()
        self._kind = kind
        self._over = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_over(self, over: bool) -> None:
        if over != self._over:
            self._over = over
            self.update()

    def sizeHint(self) -> QSize:
        side = self.fontMetrics().ascent()
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        c = theme.colors()
        painter = QPainter(self)
        if self._kind is not None:
            theme.fill(painter, self.rect(), c.parts[self._kind], c.base)
            return
        painter.fillRect(self.rect(), QColor(c.base))
        if self._over:
            painter.fillRect(self.rect(), theme.overflow(c))
        theme.draw_frame(painter, self.rect(), c.bad if self._over else c.muted)


class Amount(QWidget):
    """ "23.14 GiB of 24.00 GiB", both figures with their explanation."""

    def __init__(self, style: Style, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.total = FactLabel(style=style)
        self.capacity = FactLabel(style=style)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(style.metrics().horizontalAdvance(" "))
        self._of = Text(trc("23.14 GiB of 24.00 GiB", "of"), style)
        for widget in (self.total, self._of, self.capacity):
            row.addWidget(widget)

    def show_device(self, sizes: DeviceSizes) -> None:
        """Show the total and the capacity of this device."""
        device, units = sizes.plan.device, sizes.system
        name = tr(device.name)
        needed, capacity = (
            tr("Needed on {device}", device=name),
            tr("Capacity of {device}", device=name),
        )
        self.total.set_number(sizes.plan.total, units, sizes.total, name=needed)
        known = device.memory.known
        if self._of.isHidden() is known:
            self._of.setVisible(known)
        shown = known or sizes.plan.total.known
        if self.capacity.isHidden() is shown:
            self.capacity.setVisible(shown)
        text = sizes.capacity if known else tr("needed, memory unknown")
        self.capacity.set_number(device.memory, units, text, name=capacity)
