"""Where a card of the catalogue is planned for alone: what sits around it is asked for."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from core.language import tr
from core.plan.plan import Plan, Verdict
from core.plan.settings import layer_count
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style
from gui.widgets.wrap import Wrap


class RamAround(Wrap):
    """One line, where a plan needs RAM of which nobody said how much it is or how fast; ``asked``
    wants the dialog in which it is said."""

    asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.button = QPushButton(tr("Cards and RAM together…"))
        self.button.setAutoDefault(False)
        self.button.clicked.connect(self.asked)
        self.words = LiveText(Style.MUTED)
        self.set_cells([self.words, self.button])
        self.hide()

    def show_plan(self, plan: Plan) -> None:
        """Ask where it matters for this plan."""
        wanted = needs_ram(plan)
        if wanted:
            host = plan.machine.host
            self.words.set_text(
                tr("How fast the RAM around the card is read is not known.")
                if host is not None and host.memory.known
                else tr("The RAM around the card is not known, nor how fast it is read.")
            )
        if self.isHidden() is wanted:
            self.setVisible(wanted)


def needs_ram(plan: Plan) -> bool:
    """Whether experts or layers are left in RAM that is not known around a card, or would have to
    be for the plan to fit."""
    host = plan.machine.host
    cards = [gpu for gpu in plan.machine.gpus if not gpu.unified]
    if not cards or host is None or (host.memory.known and host.bandwidth.known):
        return False
    settings = plan.settings
    left = settings.cpu_moe > 0 or settings.gpu_layers < layer_count(plan.model)
    return left or plan.verdict not in (Verdict.FITS, Verdict.TIGHT)
