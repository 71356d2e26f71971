"""One device's memory as a bar: what lies on it, what is free, what is too much."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QToolTip, QWidget

from core.language import tr
from core.plan.plan import DevicePlan, Part
from core.provenance import Number, explain, format_value
from core.units import UnitSystem, format_bytes
from gui import theme
from gui.widgets.fact_label import explanation_html
from gui.widgets.spoken import ToldLate

# The capacity mark stands out of the bar by so many pixels.
_OVERHANG = 3


def sentence(plan: DevicePlan, units: UnitSystem) -> str:
    """The bar in words, for who does not see it."""
    capacity, total = plan.device.memory, plan.total
    tones = theme.colors().parts
    parts = ", ".join(
        f"{tr(tones[part.kind].word)} {format_value(part.bytes.value, part.bytes.unit, units)}"
        for part in plan.parts
        if part.bytes.value != 0
    )
    facts = {
        "device": tr(plan.device.name),
        "total": format_value(total.value, total.unit, units),
        "room": format_value(capacity.value, capacity.unit, units),
        "verdict": tr(theme.colors().verdict(plan.verdict).word),
        "parts": parts or tr("nothing lies on it"),
        "rest": rest(plan, units),
    }
    if capacity.known and total.known:
        return tr("{device}: {total} of {room}, {verdict}: {parts}; {rest}.", **facts)
    if capacity.known:
        return tr("{device} has {room}; how much is needed is not known: {parts}; {rest}.", **facts)
    if total.known:
        return tr("{device}: {total}; how much memory it has is not known: {parts}.", **facts)
    return tr("{device}: neither its memory nor what is needed is known: {parts}.", **facts)


def rest(plan: DevicePlan, units: UnitSystem) -> str:
    """What is left or too much: "0.9 GiB free", "1.1 GiB too much"; or that nobody can tell."""
    free = plan.free.value
    if free is None:
        over = used(plan) - (plan.device.memory.value or 0)
        if plan.device.memory.known and over > 0:
            return tr("at least {size} too much", size=format_bytes(over, units))
        return tr("what is left is not known")
    if free < 0:
        return tr("{size} too much", size=format_bytes(-free, units))
    return tr("{size} free", size=format_bytes(free, units))


def used(plan: DevicePlan) -> int:
    """Bytes of the parts that are known."""
    return sum(part.bytes.value or 0 for part in plan.parts)


class BudgetBar(ToldLate, QProgressBar):
    """A `DevicePlan` drawn to scale. It stays a progress bar for screen readers, with the share of
    the capacity as its value and `sentence` as its description.

    Beyond the capacity mark everything is hatched; where a part is not known, the bar ends open.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plan: DevicePlan | None = None
        self._units = UnitSystem.GIB
        self.setRange(0, 100)
        self.setTextVisible(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    def set_plan(self, plan: DevicePlan, units: UnitSystem) -> None:
        """Draw this; nothing happens where it is drawn already."""
        if plan == self._plan and units == self._units:
            return
        before = self._drawn()
        self._plan, self._units = plan, units
        capacity, total = plan.device.memory.value, plan.total.value
        share = min(100, round(100 * total / capacity)) if capacity and total is not None else -1
        if share != self.value():
            # A progress bar paints at once when its value changes; here that waits for its turn.
            self.setUpdatesEnabled(False)
            if share < 0:
                self.reset()
            else:
                self.setValue(share)
            self.setUpdatesEnabled(True)
        elif self._drawn() != before:
            self.update()
        self.setAccessibleName(tr("Memory of {device}", device=tr(plan.device.name)))
        self.words_changed()

    def in_words(self) -> str:
        """What lies on the device, for a screen reader."""
        return sentence(self._plan, self._units) if self._plan is not None else ""

    def sizeHint(self) -> QSize:
        """As high as a line and a half."""
        metrics = self.fontMetrics()
        height = round(1.4 * metrics.height()) + 2 * _OVERHANG
        return QSize(30 * metrics.averageCharWidth(), height)

    def minimumSizeHint(self) -> QSize:
        """May become a third as wide."""
        return QSize(self.sizeHint().width() // 3, self.sizeHint().height())

    def segments(self) -> list[tuple[Part, int, int]]:
        """The known parts with their left and right edge in pixels, as drawn."""
        if self._plan is None:
            return []
        edges: list[tuple[Part, int, int]] = []
        at = 0
        scale = self._scale()
        for part in self._plan.parts:
            size = part.bytes.value or 0
            edges.append((part, round(at * scale), round((at + size) * scale)))
            at += size
        return edges

    def capacity_edge(self) -> int | None:
        """Where the capacity mark stands, in pixels; None where everything fits or is not known."""
        capacity = self._plan.device.memory.value if self._plan else None
        if self._plan is None or capacity is None or used(self._plan) <= capacity:
            return None
        return round(capacity * self._scale())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Parts from the left, what is free as an empty frame, overflow hatched."""
        if self._plan is None:
            return
        c = theme.colors()
        painter = QPainter(self)
        box = self.rect().adjusted(0, _OVERHANG, 0, -_OVERHANG)
        painter.fillRect(box, QColor(c.base))
        for part, left, right in self.segments():
            if right > left:
                # A pixel of background between neighbours, where there is room for it.
                gap = 1 if right - left > 2 else 0
                area = QRect(left, box.top(), right - left - gap, box.height())
                theme.fill(painter, area, c.tone(part.kind), c.base)
        if self._open():
            left = round(used(self._plan) * self._scale())
            painter.fillRect(
                QRect(left, box.top(), box.right() - left, box.height()),
                QBrush(QColor(c.muted), Qt.BrushStyle.Dense7Pattern),
            )
            painter.setPen(QPen(QColor(c.muted), 1, Qt.PenStyle.DashLine))
            painter.drawRect(box.adjusted(0, 0, -1, -1))
        else:
            theme.draw_frame(painter, box, c.muted)
        edge = self.capacity_edge()
        if edge is not None:
            over = QRect(edge, box.top(), box.right() - edge + 1, box.height())
            painter.fillRect(over, QColor(c.base))
            painter.fillRect(over, theme.overflow(c))
            theme.draw_frame(painter, over, c.bad)
            painter.fillRect(QRect(edge - 1, 0, 2, self.height()), QColor(c.text))

    def event(self, event: QEvent) -> bool:
        """Hovering a part explains it; elsewhere, what is free."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            found = self._at(event.pos())
            if found is not None:
                name, number = found
                text = explanation_html(name, explain(number, self._units))
                QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)

    def _drawn(self) -> tuple[object, ...]:
        """What the picture is made of, in pixels."""
        places = [(part.kind, left, right) for part, left, right in self.segments()]
        return (self._plan is None, self._open(), self.capacity_edge(), places)

    def _open(self) -> bool:
        """Whether a part is not known."""
        return self._plan is not None and any(p.bytes.value is None for p in self._plan.parts)

    def _at(self, position: QPoint) -> tuple[str, Number[int]] | None:
        if self._plan is None:
            return None
        edge = self.capacity_edge()
        if edge is None or position.x() < edge:
            for part, left, right in self.segments():
                if left <= position.x() < right:
                    return tr(theme.colors().parts[part.kind].word), part.bytes
        return tr("free") if edge is None else tr("too much"), self._plan.free

    def _scale(self) -> float:
        """Pixels per byte: the bar is as wide as the capacity, or as what lies on the device."""
        if self._plan is None:
            return 0.0
        capacity, known = self._plan.device.memory.value, used(self._plan)
        # Without a capacity, what is known fills the bar; an unknown part leaves a quarter open.
        whole = max(capacity or 0, known * 4 // 3 if self._open() and not capacity else known)
        return self.width() / whole if whole else 0.0
