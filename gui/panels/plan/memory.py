"""MEMORY: how much of what, on which device, and whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.language import tr
from core.plan.plan import DevicePlan, PartKind, Plan, Verdict
from core.plan.verdict import decides
from core.plan.verdict import reason as why
from core.provenance import explain
from core.units import UnitSystem, format_bytes
from gui.panels.plan.device_block import Amount, DeviceBlock
from gui.panels.plan.sizes import DeviceSizes
from gui.widgets.budget_bar import used
from gui.widgets.fact_label import explanation_html
from gui.widgets.live_text import LiveText
from gui.widgets.mark_label import MarkLabel
from gui.widgets.rows import fit_rows
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

# A device that holds a smaller share of the model than this is told in one line.
_WORTH_DRAWING = 0.1


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


def drawn(devices: Sequence[DevicePlan], first: DevicePlan) -> list[DevicePlan]:
    """The devices that get a bar: the one that decides, those in trouble, and those that hold a
    share of the model worth a picture."""

    def held(device: DevicePlan) -> int:
        others = (p.bytes.value or 0 for p in device.parts if p.kind is PartKind.OTHERS)
        return used(device) - sum(others)

    least = _WORTH_DRAWING * sum(held(device) for device in devices)
    return [
        device
        for device in devices
        if device is first
        or device.verdict in (Verdict.TIGHT, Verdict.DOES_NOT_FIT)
        or held(device) > least
    ]


class MemorySection(QWidget):
    """The headline is about the device that decides; the others have titles of their own."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.headline = Amount(Style.HEADLINE)
        self.about = LiveText(Style.MUTED)
        self.verdict = MarkLabel(Style.HEADLINE)
        self.reason = LiveText(Style.MUTED, wrap=True)
        self.devices: list[DeviceBlock] = []
        top = Wrap(last_right=True)
        top.set_cells([Text(tr("MEMORY"), Style.HEADING), self.headline, self.about, self.verdict])
        self._blocks = QVBoxLayout()
        self._blocks.setSpacing(self.fontMetrics().height() // 2)
        self._blocks.setContentsMargins(0, 0, 0, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        column.addWidget(top)
        column.addWidget(self.reason)
        column.addLayout(self._blocks)

    def show_plan(self, plan: Plan, units: UnitSystem) -> None:
        """Show this plan."""
        devices = told_apart(plan)
        # The same device under its new name.
        place = plan.memory.devices.index(decides(plan.memory.devices))
        first = devices[place]
        with_bar = drawn(devices, first)
        sizes = [DeviceSizes(device, units) for device in devices]
        headline = next(size for size in sizes if size.plan is first)
        self.headline.show_device(headline)
        self.about.set_text(about(headline, named=len(devices) > 1))
        self.verdict.set_verdict(plan.verdict)
        name = tr("Free on {device}", device=tr(first.device.name))
        told = explanation_html(name, explain(first.free, units))
        for widget in (self.about, self.verdict):
            widget.setToolTip(told)
        words = reason(plan, [size for size in sizes if size is not headline], units)
        self.reason.set_text(words)
        if self.reason.isHidden() is bool(words):
            self.reason.setVisible(bool(words))
        fit_rows(self._blocks, self.devices, len(devices), DeviceBlock)
        for number, (block, size) in enumerate(zip(self.devices, sizes, strict=True)):
            # Right below the headline that is about it, a device needs no title.
            titled = number > 0 or size is not headline
            block.show_device(size, titled=titled, drawn=size.plan in with_bar)


def about(first: DeviceSizes, *, named: bool) -> str:
    """What the headline's figures leave open: which device, and what is left on it."""
    plan = first.plan
    words = [tr("on {device}", device=tr(plan.device.name))] if named else []
    if plan.verdict is Verdict.TIGHT:
        words.append(tr("only {rest}", rest=first.rest()))
    elif plan.verdict is not Verdict.UNKNOWN:
        words.append(first.rest())
    return ", ".join(words)


def reason(plan: Plan, others: Sequence[DeviceSizes], units: UnitSystem) -> str:
    """Why nothing can be told, or which devices beside the deciding one are in the same trouble;
    else nothing."""
    if plan.verdict is Verdict.FITS:
        return ""
    if plan.verdict is not Verdict.UNKNOWN:
        same = [size for size in others if size.plan.verdict is plan.verdict]
        words = "; ".join(
            tr("{rest} on {device}", rest=size.rest(), device=tr(size.plan.device.name))
            for size in same
        )
        return tr("Also {others}", others=words) if words else ""
    words = why(plan, units)
    words = words[:1].upper() + words[1:]
    cache, context = plan.model.cache, plan.settings.context
    if cache.low is None or cache.high is None:
        return words
    low, high = (format_bytes(rate * context, units) for rate in (cache.low, cache.high))
    bounds = tr("An f16 cache would take between {low} and {high}.", low=low, high=high)
    return f"{words} {bounds}"
