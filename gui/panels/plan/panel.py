"""The right side of the window: machine, memory, what if, speed, all of it live."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from core.language import tr
from core.plan.plan import Plan
from gui.document import Document
from gui.panels.plan.advice import AdviceList
from gui.panels.plan.largest import LargestRow
from gui.panels.plan.machine_picker import MachinePicker
from gui.panels.plan.memory import MemorySection
from gui.panels.plan.ram_around import RamAround
from gui.panels.plan.speed import SpeedSection
from gui.panels.plan.step_buttons import StepButtons
from gui.panels.plan.what_if import WhatIfSection
from gui.widgets.text import Style, Text


class PlanPanel(QWidget):
    """Draws the document's plan and changes its choice and machine.

    ``measure_asked`` asks for the bandwidth of this computer's memory to be measured.
    """

    measure_asked = Signal()

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.machine = MachinePicker(document)
        self.machine.measure_asked.connect(self.measure_asked)
        self.memory = MemorySection()
        self.advice = AdviceList(document)
        self.ram_around = RamAround()
        self.ram_around.asked.connect(self.machine.combine)
        self.largest = LargestRow(document)
        self.what_if = WhatIfSection(document)
        self.speed = SpeedSection()
        self.speed.measure_asked.connect(self.measure_asked)
        self.speed.machine_asked.connect(self.machine.type_own)
        self.steps = StepButtons(document)
        line = self.fontMetrics().height()
        column = QVBoxLayout(self)
        column.setContentsMargins(line * 3 // 4, line // 2, line * 3 // 4, line // 2)
        column.setSpacing(line // 3)
        head = QHBoxLayout()
        head.addWidget(Text(tr("WHAT IF"), Style.HEADING))
        head.addStretch(1)
        head.addWidget(self.advice.ask)
        head.addWidget(self.steps)
        column.addWidget(self.machine)
        column.addWidget(_rule())
        column.addWidget(self.memory)
        column.addWidget(self.advice)
        column.addWidget(self.ram_around)
        column.addWidget(self.largest)
        column.addWidget(_rule())
        column.addLayout(head)
        column.addWidget(self.what_if)
        column.addWidget(_rule())
        column.addWidget(self.speed, 1)
        self._whole: tuple[object, Plan] | None = None
        document.plan_changed.connect(self.show_plan)
        document.units_changed.connect(self.show_plan)
        self.show_plan()

    def show_plan(self) -> None:
        """Show the document's plan; without one the panel stays as it is."""
        plan = self._document.plan
        if plan is None:
            return
        units = self._document.units
        self.memory.show_plan(plan, units)
        self.advice.show_plan(plan)
        self.ram_around.show_plan(plan)
        self.largest.show_plan(plan)
        self.what_if.show_plan(plan)
        measurable = plan.machine is self._document.this_computer
        self.speed.show_plan(plan, self._whole_context(plan), units, measurable=measurable)

    def set_measuring(self, measuring: bool) -> None:
        """Whether this computer is being measured just now."""
        for button in (self.machine.measure, self.speed.remedy):
            button.setEnabled(not measuring)
            if measuring:
                button.setText(tr("Measuring…"))
        if not measuring:
            self.machine.show_machine()
            self.show_plan()

    def _whole_context(self, plan: Plan) -> Plan:
        """The plan with the whole trained context, nothing written yet. It stays the same while
        only the context slides, so the last one is kept."""
        trained = plan.model.shape.context_length
        context = max(trained or 0, plan.settings.context)
        choice = replace(plan.choice, context=context, depth=0)
        key = (plan.model, plan.machine, choice)
        if self._whole is None or self._whole[0] != key:
            self._whole = (key, self._document.what_if(context=context, depth=0))
        return self._whole[1]


def _rule() -> QFrame:
    line = QFrame()
    line.setFrameShape(QFrame.Shape.HLine)
    line.setForegroundRole(QPalette.ColorRole.Mid)
    line.setFrameShadow(QFrame.Shadow.Plain)
    return line
