"""MEMORY: how much of what, on which device, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from core.plan.plan import DevicePlan, PartKind, Plan, Verdict
from core.provenance import Number
from core.units import UnitSystem, format_bytes
from gui import theme
from gui.panels.plan.bandwidth import BandwidthLabel
from gui.panels.plan.rounding import scale_for, shares
from gui.widgets.budget_bar import BudgetBar, rest
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from gui.widgets.mark_label import MarkLabel
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap


def told_apart(plan: Plan) -> tuple[DevicePlan, ...]:
    """The devices of a plan; equal names get a number."""
    devices = plan.memory.devices
    names = [d.device.name for d in devices]
    if len(set(names)) == len(names):
        return devices
    return tuple(
        replace(d, device=replace(d.device, name=f"{name} #{names[: i + 1].count(name)}"))
        if names.count(name) > 1
        else d
        for i, (d, name) in enumerate(zip(devices, names, strict=True))
    )


def deciding(plan: Plan, devices: Sequence[DevicePlan]) -> DevicePlan:
    """The device that the verdict is about: the fullest of those that have it."""

    def fullness(device: DevicePlan) -> float:
        capacity, total = device.device.memory.value, device.total.value
        return total / capacity if capacity and total is not None else 0.0

    same = [d for d in devices if d.verdict is plan.verdict]
    return max(same or devices, key=fullness)


class MemorySection(QWidget):
    """The headline is about the device that decides; every device has its bar and legend."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.headline = _Amount(Style.HEADLINE)
        self.verdict = MarkLabel(Style.HEADLINE)
        self.reason = LiveText(Style.MUTED, wrap=True)
        self.devices: list[DeviceBlock] = []
        top = Wrap(last_right=True)
        top.set_cells([self.headline, self.verdict])
        self._blocks = QVBoxLayout()
        self._blocks.setSpacing(self.fontMetrics().height() * 3 // 4)
        self._blocks.setContentsMargins(0, self.fontMetrics().height() // 4, 0, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        column.addWidget(top)
        column.addWidget(self.reason)
        column.addLayout(self._blocks)

    def show_plan(self, plan: Plan, units: UnitSystem) -> None:
        """Show this plan."""
        devices = told_apart(plan)
        several = len(devices) > 1
        decides = deciding(plan, devices)
        scaled = [_Scaled(device, units) for device in devices]
        self.headline.show_device(
            scaled[devices.index(decides)], f"on {decides.device.name}" if several else ""
        )
        self.verdict.set_verdict(plan.verdict)
        self.reason.set_text(reason(plan, devices, units))
        while len(self.devices) > len(devices):
            block = self.devices.pop()
            self._blocks.removeWidget(block)
            block.hide()
            block.deleteLater()
        while len(self.devices) < len(devices):
            self.devices.append(DeviceBlock())
            self._blocks.addWidget(self.devices[-1])
        for block, device in zip(self.devices, scaled, strict=True):
            block.show_device(device, named=several)


class DeviceBlock(QWidget):
    """One device: a title where there are several, the bar, and a legend with the figures."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = Text(style=Style.STRONG)
        self._amount = _Amount(Style.BODY)
        self._bandwidth = BandwidthLabel()
        self._verdict = MarkLabel(Style.BODY)
        self.bar = BudgetBar()
        self._title = Wrap(last_right=True)
        self._title.set_cells([self._name, self._amount, self._bandwidth, self._verdict])
        self._legend = Wrap(uniform=True)
        self.entries = {kind: LegendEntry(kind) for kind in PartKind}
        self.free = LegendEntry(None)
        for entry in (*self.entries.values(), self.free):
            entry.setParent(self._legend)
            entry.hide()
        self._shown: list[LegendEntry] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        column.addWidget(self._title)
        column.addWidget(self.bar)
        column.addWidget(self._legend)

    def show_device(self, scaled: _Scaled, *, named: bool) -> None:
        """Show this device; ``named`` where it is not the only one."""
        plan, units = scaled.plan, scaled.units
        self._title.setVisible(named)
        if named:
            self._name.set_text(plan.device.name)
            self._amount.show_device(scaled, "")
            self._bandwidth.show_device(plan.device, units)
            self._verdict.set_verdict(plan.verdict)
        self.bar.set_plan(plan, units)
        # What is nothing is not listed; what is not known is.
        parts = [part for part in plan.parts if part.bytes.value != 0]
        shown = []
        for part in parts:
            entry = self.entries[part.kind]
            entry.show_size(part.bytes, units, scaled.words(part.bytes.value, part.kind))
            shown.append(entry)
        self.free.show_size(plan.free, units, scaled.words(plan.free.value, None))
        shown.append(self.free)
        # Where nothing of the model lies, the title has said it all.
        self._legend.setVisible(not named or any(p.kind is not PartKind.OTHERS for p in parts))
        if shown != self._shown:
            self._shown = shown
            self._legend.set_cells(shown)


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
        word = "too much" if over else "free"
        if self._kind is not None:
            word = theme.colors().parts[self._kind].word
        self._word.set_text(word)
        self._swatch.set_over(over)
        self.fact.set_name(word)
        self.fact.set_number(number, units, text)


class _Swatch(QWidget):
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
        painter.setPen(QPen(QColor(c.bad if self._over else c.muted), 1))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))


class _Amount(QWidget):
    """ "23.14 of 24.00 GiB", both figures with their explanation."""

    def __init__(self, style: Style, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.total = FactLabel("Used", style=style)
        self.capacity = FactLabel("Capacity", style=style)
        self._of = Text("of", style)
        self._after = Text(style=Style.MUTED)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(style.metrics().horizontalAdvance(" "))
        for widget in (self.total, self._of, self.capacity, self._after):
            row.addWidget(widget)

    def show_device(self, scaled: _Scaled, after: str) -> None:
        total, capacity = scaled.plan.total, scaled.plan.device.memory
        self.total.set_number(total, scaled.units, scaled.whole(total.value))
        self.capacity.set_number(capacity, scaled.units, scaled.whole(capacity.value))
        self._after.set_text(after)


class _Scaled:
    """A device's sizes in one unit. The parts shown add up to the total shown, and that with what
    is free to the capacity shown."""

    def __init__(self, plan: DevicePlan, units: UnitSystem) -> None:
        self.plan = plan
        self.units = units
        known = {p.kind: p.bytes.value for p in plan.parts if p.bytes.value is not None}
        capacity, total = plan.device.memory.value, plan.total.value
        sum_of_known = sum(known.values())
        self._scale = scale_for(max(capacity or 0, sum_of_known), units)
        whole = self._scale.steps(sum_of_known if total is None else total)
        rounded = shares(list(known.values()), whole, self._scale)
        self._steps: dict[PartKind | None, int] = dict(zip(known, rounded, strict=True))
        if capacity is not None and total is not None:
            self._steps[None] = self._scale.steps(capacity) - whole

    def words(self, size: int | None, kind: PartKind | None) -> str:
        """One part, or for None what is free or too much."""
        if size is None:
            return "unknown"
        return self._scale.words(abs(self._steps[kind]), nonzero=size != 0)

    def whole(self, size: int | None) -> str:
        """A total or a capacity."""
        if size is None:
            return "unknown"
        return self._scale.words(self._scale.steps(size), nonzero=size != 0)


def reason(plan: Plan, devices: Sequence[DevicePlan], units: UnitSystem) -> str:
    """Why the verdict is what it is, in the units on the screen."""
    wanted = plan.verdict
    if wanted is not Verdict.UNKNOWN:
        told = [d for d in devices if d.verdict is wanted]
        if wanted is Verdict.FITS:
            told = [deciding(plan, devices)]
        only = "only " if wanted is Verdict.TIGHT else ""
        words = "; ".join(f"{only}{rest(d, units)} on {d.device.name}" for d in told)
        return words[:1].upper() + words[1:]
    sentences = [plan.reason]
    cache, context = plan.model.cache, plan.settings.context
    if cache.low is not None and cache.high is not None:
        low, high = (format_bytes(rate * context, units) for rate in (cache.low, cache.high))
        sentences.append(f"An f16 cache would take between {low} and {high}.")
    return " ".join(sentences)
