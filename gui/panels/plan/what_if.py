"""WHAT IF: everything that can be chosen. Each control changes the choice at once."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLabel,
    QSpinBox,
    QWidget,
)

from core.language import tr, trc
from core.model.cache_size import FP8
from core.model.model import Model
from core.plan import layer_count
from core.plan.choice import CACHE_TYPES, MOST_SLOTS, MOST_TOKENS, Engine, FlashAttention
from core.plan.engines import RULES
from core.plan.plan import Plan
from gui.document import Document
from gui.panels.plan.also_set import AlsoSet
from gui.panels.plan.beside import BesideRow
from gui.panels.plan.margin import MarginButton
from gui.panels.plan.recipes import Recipe, as_it_is, recipes
from gui.widgets.laying_out import laid_out_once
from gui.widgets.note_lines import NoteLines
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.slider_field import SliderField, WordField
from gui.widgets.stop_slider import doubling_stops
from gui.widgets.together import labelled
from gui.widgets.undo_keys import UndoKeys
from gui.widgets.wrap import Wrap

_FIRST_CONTEXT = 512
_CONTEXT_STEP = 256  # llama.cpp pads the context to a multiple of it
_UNTRAINED = 131_072  # the end of the slider where the file does not say the trained length
_NARROWEST_BOX = 22  # characters
# Which control a problem of the plan is about, by its code; any other is about the cache.
_CONTROLS = {
    "beyond-training": "context",
    "depth": "context",
    "unknown-recipe": "quantization",
    "cannot-quantize": "quantization",
    "needs-imatrix": "quantization",
    "row-fallback": "quantization",
    "no-gpu": "layers",
    "shared-memory": "layers",
    "lent-memory": "layers",
    "one-memory": "layers",
    "reserved-share": "layers",
    "projector": "beside",
    "draft": "beside",
    "draft-vocabulary": "beside",
    "draft-head": "beside",
    "beside": "beside",
}


class WhatIfSection(QWidget):
    """Follows the plan: what is shown are the settings that the engine would run with."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._model: Model | None = None
        self._recipes: tuple[Recipe, ...] = ()
        # Not `singleShot`: of one with a time and a receiver PySide frees not everything.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._load_recipes)
        choose = document.choose
        self.context = SliderField(tr("&Context"), step=_CONTEXT_STEP, unit=tr("tokens"))
        self.context.value_changed.connect(lambda n: choose(context=n, depth=None))
        self.quantization = WordField(tr("&Quantization"))
        self.quantization.value_changed.connect(self._requantize)
        self.layers = SliderField(tr("GPU &layers"), unit=tr("layers"))
        self.layers.value_changed.connect(self._offload)
        self.experts = SliderField(tr("E&xperts in RAM"), unit=tr("layers"))
        self.experts.value_changed.connect(lambda n: choose(cpu_moe=n))
        self.engine = _combo(tr("Engine"), tuple(RULES[engine].name for engine in Engine))
        self.engine.activated.connect(lambda n: choose(engine=tuple(Engine)[n]))
        self.cache_k = _combo(tr("K cache type"), CACHE_TYPES)
        self.cache_k.textActivated.connect(lambda name: self._cache(cache_k=name))
        self.cache_v = _combo(tr("V cache type"), CACHE_TYPES)
        self.cache_v.textActivated.connect(lambda name: self._cache(cache_v=name))
        self.slots = QSpinBox()
        self.slots.setRange(1, MOST_SLOTS)
        self.slots.setKeyboardTracking(False)
        self.slots.setAccessibleName(tr("Slots"))
        self.slots.setToolTip(tr("Requests served at the same time (-np)"))
        self.slots.valueChanged.connect(lambda n: choose(slots=n))
        self.flash = _combo(tr("Flash attention"), _flash_words())
        self.flash.activated.connect(lambda n: choose(flash_attention=tuple(FlashAttention)[n]))
        self.margin = MarginButton(document)
        self.also = AlsoSet(document)
        self.beside = BesideRow(document)
        self.notes = {
            row: NoteLines() for row in ("context", "cache", "quantization", "layers", "beside")
        }
        for field in (self.context, self.quantization, self.layers, self.experts):
            field.pressed.connect(self._begin)
            field.released.connect(self._end)
        UndoKeys(self.slots)
        QuietWheel(self).guard(self.cache_k, self.cache_v, self.slots, self.flash, self.engine)
        self._lay_out()

    def show_plan(self, plan: Plan) -> None:
        """Show the settings of this plan; nobody is told that they changed."""
        if plan.model is not self._model:
            self._model = plan.model
            self._show_model(plan.model)
        settings = plan.settings
        self._show_engine(Engine(settings.engine))
        self.context.set_value(settings.requested_context)
        self.context.set_mark(plan.model.shape.context_length, _trained(plan))
        self._show_quantization(plan)
        for combo, word in (
            (self.cache_k, settings.cache_k),
            (self.cache_v, settings.cache_v),
        ):
            if combo.currentText() != word:
                combo.setCurrentText(word)  # `textActivated` is for users only
        flash = tuple(FlashAttention).index(plan.choice.flash_attention)
        if self.flash.currentIndex() != flash:
            self.flash.setCurrentIndex(flash)
        if self.slots.value() != settings.slots:
            with QSignalBlocker(self.slots):
                self.slots.setValue(settings.slots)
        self._show_offload(plan)
        self.margin.show_plan(plan)
        self.also.show_choice(plan.choice)
        self.beside.show_plan(plan, self._document.units)
        with laid_out_once(self._grid):
            for row, notes in self.notes.items():
                told = [p for p in plan.problems if _CONTROLS.get(p.code, "cache") == row]
                notes.set_problems(told)

    def _show_engine(self, engine: Engine) -> None:
        """The engine, and a cache type of its own where it has one (vLLM's fp8)."""
        number = tuple(Engine).index(engine)
        if self.engine.currentIndex() != number:
            self.engine.setCurrentIndex(number)
        own = FP8 in RULES[engine].cache_types
        for combo, chosen in (
            (self.cache_k, self._document.choice.cache_k),
            (self.cache_v, self._document.choice.cache_v),
        ):
            wanted = own or chosen == FP8
            at = combo.findText(FP8)
            if wanted and at < 0:
                combo.addItem(FP8)
            elif not wanted and at >= 0:
                combo.removeItem(at)

    def _cache(self, **half: str) -> None:
        """Both halves where the engine has one option for them."""
        (name,) = half.values()
        if RULES[self._document.choice.engine].one_cache_type:
            half = {"cache_k": name, "cache_v": name}
        self._document.choose(**half)

    def _begin(self) -> None:
        self._document.begin_step()
        for notes in self.notes.values():
            notes.hold(True)

    def _end(self) -> None:
        self._document.end_step()
        for notes in self.notes.values():
            notes.hold(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The boxes beside the sliders are equally wide, and give way in a narrow window."""
        super().resizeEvent(event)
        self._even_boxes()

    def minimumSizeHint(self) -> QSize:
        """With the boxes as narrow as they may become, not as wide as they are now."""
        hint = super().minimumSizeHint()
        box = self.quantization.box
        spare = max(0, box.width() - _NARROWEST_BOX * self.fontMetrics().averageCharWidth())
        return QSize(
            max(hint.width() - spare, self._cache_row.minimumSizeHint().width()), hint.height()
        )

    def _even_boxes(self) -> None:
        room = self.context.width() - self.context.narrowest_slider()
        width = min(self.quantization.box.sizeHint().width(), room)
        for field in (self.context, self.quantization, self.layers, self.experts):
            field.box.setFixedWidth(width)

    def _show_model(self, model: Model) -> None:
        trained = model.shape.context_length
        self.context.set_range(
            doubling_stops(_FIRST_CONTEXT, trained or _UNTRAINED), 1, MOST_TOKENS
        )
        self._offer((as_it_is(model),))
        # Sizing every recipe takes longer than a frame: the model is painted first. A timer of
        # 0 ms would be a posted event, and those come before the paint.
        self._soon.start(1)

    def _load_recipes(self) -> None:
        plan = self._document.plan
        if plan is not None and plan.model is self._model and len(self._recipes) == 1:
            self._offer(recipes(plan.model))
            self._show_quantization(plan)

    def _offer(self, made: tuple[Recipe, ...]) -> None:
        self._recipes = made
        self.quantization.set_words([recipe.words for recipe in made])
        self.quantization.setEnabled(len(made) > 1)
        self._even_boxes()

    def _show_quantization(self, plan: Plan) -> None:
        names = [recipe.ftype for recipe in self._recipes]
        name = plan.choice.requantize
        self.quantization.set_value(names.index(name) if name in names else 0)

    def _show_offload(self, plan: Plan) -> None:
        discrete = bool(plan.machine.gpus) and not plan.machine.gpus[0].unified
        whole = layer_count(plan.model)
        experts = discrete and plan.model.shape.experts > 0
        for field, shown, last, value in (
            (self.layers, discrete, whole, plan.settings.gpu_layers),
            (self.experts, experts, plan.model.shape.layers, plan.settings.cpu_moe),
        ):
            if shown != field.isVisibleTo(self):
                field.setVisible(shown)
                field.label.setVisible(shown)
            if shown:
                field.set_range(range(last + 1), 0, last)
                field.set_suffix(tr(" of {last}", last=last))
                field.set_value(value)

    def _requantize(self, index: int) -> None:
        self._document.choose(requantize=self._recipes[index].ftype)

    def _offload(self, layers: int) -> None:
        self._document.choose(gpu_layers="all" if layers == self.layers.box.maximum() else layers)

    def _lay_out(self) -> None:
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(self.fontMetrics().height() // 3)
        grid.setHorizontalSpacing(2 * self.fontMetrics().averageCharWidth())
        grid.setColumnStretch(1, 1)
        wrap = self._cache_row = Wrap()
        wrap.set_cells(
            [
                labelled(tr("&K"), self.cache_k),
                labelled("V", self.cache_v),
                labelled(tr("&Slots"), self.slots),
                labelled(tr("Fl&ash attention"), self.flash),
            ]
        )
        engine = QLabel(tr("En&gine"))
        engine.setBuddy(self.engine)
        self._engine_row = Wrap()
        self._engine_row.set_cells([self.engine, labelled(tr("Keep free"), self.margin)])
        rows: list[tuple[QWidget, QWidget, NoteLines | None]] = [
            (self.context.label, self.context, self.notes["context"]),
            (QLabel(trc("row of controls", "KV cache")), wrap, self.notes["cache"]),
            (engine, self._engine_row, None),
            (self.also.label, self.also, None),
            (self.quantization.label, self.quantization, self.notes["quantization"]),
            (self.layers.label, self.layers, self.notes["layers"]),
            (self.experts.label, self.experts, None),
            (QLabel(tr("Beside it")), self.beside, self.notes["beside"]),
        ]
        height = self.flash.sizeHint().height()
        for row, (label, control, notes) in enumerate(rows):
            # A label stands beside the first line of its control.
            label.setMinimumHeight(height)
            grid.addWidget(label, 2 * row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(control, 2 * row, 1)
            if notes is not None:
                grid.addWidget(notes, 2 * row + 1, 1)


def _trained(plan: Plan) -> str:
    trained = plan.model.shape.context_length
    if trained is None:
        return tr("the file does not say what length it was trained for")
    return tr("trained for {tokens:,}", tokens=trained)


def _flash_words() -> list[str]:
    """In the order of `FlashAttention`."""
    words = {
        FlashAttention.ON: trc("flash attention", "on"),
        FlashAttention.OFF: trc("flash attention", "off"),
        FlashAttention.AUTO: trc("flash attention", "auto"),
    }
    return [words[each] for each in FlashAttention]


def _combo(name: str, words: Sequence[str]) -> QComboBox:
    combo = QComboBox()
    combo.addItems(list(words))
    combo.setAccessibleName(name)
    return combo
