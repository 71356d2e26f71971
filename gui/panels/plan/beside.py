"""What is loaded beside the model: a projector, a draft model, the file's own draft blocks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.gguf import display
from core.language import tr
from core.model.model import Model
from core.plan.choice import CACHE_TYPES
from core.plan.plan import Plan
from core.units import UnitSystem, format_bytes
from gui.document import Document
from gui.widgets.elided_text import ElidedText, plain_tip
from gui.widgets.icon_button import IconButton
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.text import Text
from gui.widgets.wrap import Wrap

_OFFERED = 3  # projectors that lie beside the model, as buttons


class Beside(StrEnum):
    """What can be attached, by the names of the choice."""

    PROJECTOR = "projector"
    DRAFT = "draft"


class BesideRow(QWidget):
    """Buttons to attach something, and a line for whatever is attached.

    ``attach_asked`` asks for a file to be picked, ``attach_given`` names one; whoever reads it
    puts it into the choice.
    """

    attach_asked = Signal(Beside)
    attach_given = Signal(Beside, Path)

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        choose = document.choose
        self._buttons = Wrap()
        self.attach = {
            Beside.PROJECTOR: self._button(
                tr("Attach projector…"), tr("An mmproj file, for pictures or sound")
            ),
            Beside.DRAFT: self._button(
                tr("Attach draft model…"), tr("A small model of the same family")
            ),
        }
        for kind, button in self.attach.items():
            button.clicked.connect(lambda _=False, kind=kind: self.attach_asked.emit(kind))
        self.offers: list[QPushButton] = []
        self._offered: tuple[Path, ...] = ()
        self.head = QCheckBox(tr("Draft with the file's own blocks"), self._buttons)
        self.head.hide()
        self.head.setToolTip(tr("Multi-token prediction (MTP, NextN): --spec-type draft-mtp"))
        self.head.toggled.connect(lambda on: choose(draft_head=on))
        self.on_gpu = QCheckBox(tr("on the GPU"))
        self.on_gpu.setAccessibleName(tr("Projector on the GPU"))
        self.on_gpu.setToolTip(tr("Off is --no-mmproj-offload: it stays in RAM"))
        self.on_gpu.toggled.connect(lambda on: choose(projector_on_gpu=on))
        self.projector = _Attached(tr("Projector"), tr("Detach the projector"), [self.on_gpu])
        self.projector.detached.connect(lambda: choose(projector=None))
        self.cache_k, self.cache_v = _types("K"), _types("V")
        self.cache_k.textActivated.connect(lambda name: choose(draft_cache_k=name))
        self.cache_v.textActivated.connect(lambda name: choose(draft_cache_v=name))
        self._types = Wrap()
        cells: list[QWidget] = [Text(tr("Draft's cache: K")), self.cache_k, Text("V"), self.cache_v]
        self._types.set_cells(cells)
        self.draft_on_gpu = QCheckBox(tr("on the GPU"))
        self.draft_on_gpu.setAccessibleName(tr("Draft model on the GPU"))
        self.draft_on_gpu.setToolTip(tr("Off is -ngld 0: all of its layers stay in RAM"))
        self.draft_on_gpu.toggled.connect(lambda on: choose(draft_gpu_layers="all" if on else 0))
        self.draft = _Attached(tr("Draft model"), tr("Detach the draft model"), [self.draft_on_gpu])
        self.draft.detached.connect(lambda: choose(draft=None))
        QuietWheel(self).guard(self.cache_k, self.cache_v)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 4)
        for row in (self.projector, self.draft, self._buttons, self._types):
            column.addWidget(row)

    def show_plan(self, plan: Plan, units: UnitSystem) -> None:
        """Show what is loaded beside this plan's model."""
        choice, settings = plan.choice, plan.settings
        gpu = bool(plan.machine.gpus) and settings.backend != "cpu"
        self.projector.show_model(choice.projector, units)
        self.draft.show_model(choice.draft, units)
        drafts = choice.draft is not None or settings.draft_head
        for widget, shown in ((self.on_gpu, gpu), (self.draft_on_gpu, gpu), (self._types, drafts)):
            if widget.isHidden() is shown:
                widget.setVisible(shown)
        for box, on in (
            (self.on_gpu, choice.projector_on_gpu),
            (self.draft_on_gpu, choice.draft_gpu_layers != 0),
            (self.head, settings.draft_head),
        ):
            if box.isChecked() is not on:
                with QSignalBlocker(box):
                    box.setChecked(on)
        for combo, name in (
            (self.cache_k, choice.draft_cache_k),
            (self.cache_v, choice.draft_cache_v),
        ):
            if combo.currentText() != name:
                combo.setCurrentText(name)
        self._show_buttons(plan)

    def set_offers(self, paths: Sequence[Path]) -> None:
        """Projectors that lie beside the open model, to attach with one click."""
        self._offered = tuple(paths)[:_OFFERED]
        for button in self.offers:
            button.hide()
            button.deleteLater()
        self.offers = []
        for path in self._offered:
            words = tr("Attach {file}", file=display(path.name))
            button = self._button(words, plain_tip(display(str(path))))
            button.clicked.connect(
                lambda _=False, path=path: self.attach_given.emit(Beside.PROJECTOR, path)
            )
            self.offers.append(button)
        if self._document.plan is not None:
            self._show_buttons(self._document.plan)

    def _button(self, words: str, tip: str) -> QPushButton:
        button = QPushButton(words, self._buttons)
        button.hide()  # or it comes up with the row, offered or not
        button.setToolTip(tip)
        return button

    def _show_buttons(self, plan: Plan) -> None:
        cells: list[QWidget] = []
        if plan.choice.projector is None:
            cells += [*self.offers, self.attach[Beside.PROJECTOR]]
        if plan.choice.draft is None:
            cells.append(self.attach[Beside.DRAFT])
            if plan.model.shape.draft_layers:
                cells.append(self.head)
        self._buttons.set_cells(cells)
        if self._buttons.isHidden() is bool(cells):
            self._buttons.setVisible(bool(cells))


class _Attached(QWidget):
    """One file that is attached: its name and size, its switches, and a way to take it off."""

    detached = Signal()

    def __init__(self, what: str, detach: str, switches: Sequence[QWidget]) -> None:
        super().__init__()
        self._what = what
        self.name = ElidedText()
        self.detach = IconButton("close", detach)
        self.detach.clicked.connect(self.detached)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.name, 1)
        for switch in switches:
            row.addWidget(switch)
        row.addWidget(self.detach)
        self.hide()

    def show_model(self, model: Model | None, units: UnitSystem) -> None:
        """Name it; hidden where nothing is attached."""
        if model is not None:
            size = format_bytes(model.weights.bytes, units)
            self.name.set_text(f"{self._what}: {display(model.file.header.path.name)}, {size}")
        if self.isHidden() is (model is not None):
            self.setVisible(model is not None)


def _types(half: str) -> QComboBox:
    combo = QComboBox()
    combo.addItems(list(CACHE_TYPES))
    combo.setAccessibleName(tr("{half} cache type of the draft", half=half))
    return combo
