"""What would fit, where the plan does not: found by resolving, never by estimate."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton, QWidget

from core.machine.machine import DeviceKind
from core.model import recipe_sizes
from core.plan.choice import FlashAttention
from core.plan.plan import Plan, Verdict
from core.problems import Severity
from core.provenance import format_value
from gui.document import Document
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

WhatIf: TypeAlias = Callable[..., Plan]
Search: TypeAlias = "Generator[Fix | None, None, None]"

# A context is offered in multiples of this: what llama.cpp pads to, times four.
_CONTEXT_STEP = 1024
# Formats for models that were trained in them; others lose too much to be advised.
_TRAINED_FOR = frozenset({"TQ1_0", "TQ2_0", "Q1_0", "Q2_0", "MXFP4_MOE"})
# So long after the last change the search runs, so that a slider is never held up by it.
_AFTER_MS = 120


@dataclass(frozen=True)
class Fix:
    """One change of the choice with which the plan fits."""

    words: str
    changes: dict[str, Any]
    plan: Plan


def fits(plan: Plan) -> bool:
    """Whether the verdict is a kind of yes, and the engine would start."""
    refused = any(problem.severity is Severity.ERROR for problem in plan.problems)
    return plan.verdict in (Verdict.FITS, Verdict.TIGHT) and not refused


def find_fixes(plan: Plan, what_if: WhatIf) -> Search:
    """Single changes that make it fit, each one tried. Nothing where the plan fits or its verdict
    is not known.

    None is yielded before each trial: all of them take longer than a frame, so that is where
    somebody else may have a turn.
    """
    if plan.verdict is not Verdict.DOES_NOT_FIT:
        return
    for way in (_context, _cache, _quantization, _layers, _experts, _beside):
        yield from way(plan, what_if)


def largest(low: int, high: int, good: Callable[[int], bool]) -> Generator[None, None, int | None]:
    """The largest number from ``low`` to ``high`` that is good, where all below it are; None
    where ``low`` is not. Yields before each question."""
    yield
    if low > high or not good(low):
        return None
    while low < high:
        yield
        middle = (low + high + 1) // 2
        if good(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _context(plan: Plan, what_if: WhatIf) -> Search:
    most = (plan.settings.requested_context - 1) // _CONTEXT_STEP
    steps = yield from largest(
        1, most, lambda n: fits(what_if(context=n * _CONTEXT_STEP, depth=None))
    )
    if steps is not None:
        changes = {"context": steps * _CONTEXT_STEP, "depth": None}
        yield Fix(f"context {steps * _CONTEXT_STEP:,}", changes, what_if(**changes))


def _cache(plan: Plan, what_if: WhatIf) -> Search:
    for cache in ("q8_0", "q4_0"):
        yield None
        changes = {
            "cache_k": cache,
            "cache_v": cache,
            "flash_attention": FlashAttention.AUTO,
        }
        changed = what_if(**changes)
        smaller = (changed.memory.cache.value or 0) < (plan.memory.cache.value or 0)
        if smaller and fits(changed):
            yield Fix(f"KV cache {cache}", changes, changed)
            return


def _quantization(plan: Plan, what_if: WhatIf) -> Search:
    """The largest recipe that fits."""
    smaller = [
        size
        for size in reversed(recipe_sizes(plan.model))
        if size.bytes < plan.weights.bytes and size.ftype not in _TRAINED_FOR
    ]
    found = yield from largest(
        0, len(smaller) - 1, lambda n: fits(what_if(requantize=smaller[n].ftype))
    )
    if found is not None:
        recipe = smaller[found]
        needs = " (with an imatrix)" if recipe.needs_imatrix else ""
        changes = {"requantize": recipe.ftype}
        yield Fix(f"quantization {recipe.ftype}{needs}", changes, what_if(**changes))


def _cards_fit(plan: Plan) -> bool:
    return all(
        device.verdict in (Verdict.FITS, Verdict.TIGHT)
        for device in plan.memory.devices
        if device.device.kind is DeviceKind.GPU
    )


def _has_cards(plan: Plan) -> bool:
    return bool(plan.machine.gpus) and not plan.machine.gpus[0].unified


def _layers(plan: Plan, what_if: WhatIf) -> Search:
    """The most layers that the cards hold; the host must hold the others."""
    if not _has_cards(plan):
        return
    most = plan.settings.gpu_layers - 1
    layers = yield from largest(0, most, lambda n: _cards_fit(what_if(gpu_layers=n)))
    if layers is not None:
        changed = what_if(gpu_layers=layers)
        if fits(changed):
            words = f"{layers} layers on the GPU" if layers else "no layer on the GPU"
            yield Fix(words, {"gpu_layers": layers}, changed)


def _experts(plan: Plan, what_if: WhatIf) -> Search:
    """The fewest layers whose experts move to RAM; the host must hold them."""
    layers = plan.model.shape.layers
    if not _has_cards(plan) or not plan.model.shape.experts:
        return
    kept = yield from largest(
        0,
        layers - plan.settings.cpu_moe - 1,
        lambda n: _cards_fit(what_if(cpu_moe=layers - n)),
    )
    if kept is not None:
        changed = what_if(cpu_moe=layers - kept)
        if fits(changed):
            words = f"experts of {layers - kept} layers in RAM"
            yield Fix(words, {"cpu_moe": layers - kept}, changed)


def _beside(plan: Plan, what_if: WhatIf) -> Search:
    """Without what is loaded beside the model, or with it in RAM."""
    ways: list[tuple[bool, str, dict[str, Any]]] = [
        (plan.settings.projector_on_gpu, "the projector in RAM", {"projector_on_gpu": False}),
        (bool(plan.settings.draft_gpu_layers), "the draft model in RAM", {"draft_gpu_layers": 0}),
        (plan.settings.draft is not None, "no draft model", {"draft": None}),
        (plan.settings.draft_head, "no draft blocks", {"draft_head": False}),
    ]
    for possible, words, changes in ways:
        if possible:
            yield None
            changed = what_if(**changes)
            if fits(changed):
                yield Fix(words, changes, changed)


class FixRow(Wrap):
    """A button for every change that would make it fit; empty where it fits."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._document = document
        self.buttons: list[QPushButton] = []
        self._plan: Plan | None = None
        self.lead = Text("It would fit with", Style.MUTED, parent=self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._find)
        self._search: Search | None = None
        self._found: list[Fix] = []
        self.hide()

    def show_plan(self, plan: Plan) -> None:
        """Offer what would make this plan fit. What was offered before is withdrawn at once."""
        same = plan == self._plan
        self._plan = plan
        if same:
            return
        if plan.verdict is not Verdict.DOES_NOT_FIT:
            self._timer.stop()
            self.hide()
            return
        for button in self.buttons:
            button.setEnabled(False)
        self._search = find_fixes(plan, self._document.what_if)
        self._found = []
        self._timer.start(_AFTER_MS)

    def _find(self) -> None:
        """One trial a turn, until the model is closed."""
        if self._document.plan is not self._plan:
            return
        for fix in self._search or ():
            if fix is None:
                self._timer.start(0)
                return
            self._found.append(fix)
        self._offer()

    def _offer(self) -> None:
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = [self._button(fix) for fix in self._found]
        words = "It would fit with" if self._found else "No single choice below makes it fit."
        self.lead.set_text(words)
        self.set_cells([self.lead, *self.buttons])
        self.show()

    def _button(self, fix: Fix) -> QPushButton:
        ceiling = fix.plan.speed.ceiling
        speed = f" · {format_value(ceiling.value, ceiling.unit)}" if ceiling.known else ""
        button = QPushButton(f"{fix.words}{speed}")
        button.setAccessibleName(f"Use {fix.words}{speed}")
        button.clicked.connect(lambda: self._document.choose(**fix.changes))
        return button
