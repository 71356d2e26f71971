"""The document: one state, one plan, and steps that can be undone."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtGui import QUndoStack

from core.machine.machine import Machine
from core.model.model import Model
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.units import UnitSystem
from gui import document as document_module
from gui.document import LOOKING, Document
from tests.support import plans


@pytest.fixture
def document() -> Document:
    return Document(resolve=plans.resolve)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time that the document sees; tests move it."""
    now = [1000.0]
    monkeypatch.setattr(document_module, "monotonic", lambda: now[0])
    yield now


class Heard:
    """Counts signals, and what the document said when they came."""

    def __init__(self, document: Document) -> None:
        self.names: list[str] = []
        self.plans: list[object] = []
        for name in ("model_changed", "machine_changed", "plan_changed", "units_changed"):
            getattr(document, name).connect(lambda n=name: self._hear(document, n))

    def _hear(self, document: Document, name: str) -> None:
        self.names.append(name)
        self.plans.append(document.plan)


def computer(name: str = "here") -> Machine:
    return plans.machine(id="this", name=name)


def test_without_a_model_there_is_no_plan(document: Document) -> None:
    document.choose(context=4096)
    assert document.plan is None


def test_a_model_brings_a_plan_for_the_machine_and_the_choice(document: Document) -> None:
    heard = Heard(document)
    model = plans.model()
    document.set_model(model)
    assert document.plan == plans.resolve(model, LOOKING, Choice())
    assert heard.names == ["model_changed", "plan_changed"]
    assert heard.plans == [document.plan] * 2  # up to date before the first signal


def test_a_choice_makes_a_new_plan_at_once(document: Document) -> None:
    document.set_model(plans.model())
    heard = Heard(document)
    document.choose(context=8192, cache_k="q8_0")
    assert document.plan is not None
    assert document.plan.settings.context == 8192
    assert document.plan.settings.cache_k == "q8_0"
    assert heard.names == ["plan_changed"]


def test_the_same_choice_again_says_nothing(document: Document) -> None:
    document.choose(context=8192)
    heard = Heard(document)
    document.choose(context=8192)
    assert heard.names == []
    assert document.undo_stack.count() == 1


def test_a_field_that_does_not_exist_is_refused(document: Document) -> None:
    with pytest.raises(TypeError):
        document.choose(contxt=1)


def test_a_whole_drag_is_one_step_however_long_it_pauses(
    document: Document, clock: list[float]
) -> None:
    document.choose(context=1024)
    document.begin_step()
    for context in range(2048, 2105):
        clock[0] += 5.0
        document.choose(context=context)
    document.end_step()
    assert document.undo_stack.count() == 2
    document.undo_stack.undo()
    assert document.choice.context == 1024


def test_two_drags_of_one_slider_are_two_steps(document: Document, clock: list[float]) -> None:
    for contexts in ((1024, 2048), (4096, 8192)):
        document.begin_step()
        for context in contexts:
            document.choose(context=context)
        document.end_step()
    assert document.undo_stack.count() == 2
    document.undo_stack.undo()
    assert document.choice.context == 2048


def test_keys_in_quick_succession_are_one_step_and_slow_ones_are_not(
    document: Document, clock: list[float]
) -> None:
    for context in (1024, 2048, 4096):
        clock[0] += 0.1
        document.choose(context=context)
    clock[0] += 2.0
    document.choose(context=8192)
    assert document.undo_stack.count() == 2
    document.undo_stack.undo()
    assert document.choice.context == 4096


def test_different_fields_are_different_steps(document: Document, clock: list[float]) -> None:
    document.choose(cache_k="q8_0")
    document.choose(cache_v="q8_0")
    assert document.undo_stack.count() == 2
    assert document.undo_stack.undoText() == "V cache type"


def test_a_drag_back_to_where_it_began_leaves_no_step(document: Document) -> None:
    document.begin_step()
    document.choose(context=1024)
    document.choose(context=None)
    document.end_step()
    assert document.undo_stack.count() == 0


def test_after_undo_the_next_change_is_a_step_of_its_own(
    document: Document, clock: list[float]
) -> None:
    document.choose(context=1024)
    clock[0] += 5
    document.choose(context=2048)
    document.undo_stack.undo()
    document.choose(context=4096)
    document.undo_stack.undo()
    assert document.choice.context == 1024


def test_undo_and_redo_bring_back_machine_and_choice(document: Document) -> None:
    document.set_this_computer(computer())
    document.set_model(plans.model())
    document.set_machine(plans.RTX_3090)
    document.choose(context=2048)
    stack: QUndoStack = document.undo_stack
    stack.undo()
    assert document.choice == Choice()
    heard = Heard(document)
    stack.undo()
    assert document.machine.name == "here"
    assert heard.names == ["machine_changed", "plan_changed"]
    assert document.plan is not None
    assert document.plan.machine.name == "here"
    stack.redo()
    stack.redo()
    assert document.machine == plans.RTX_3090
    assert document.choice.context == 2048


def test_reset_returns_the_choice_and_keeps_the_machine(document: Document) -> None:
    document.set_machine(plans.RTX_3090)
    document.choose(context=2048, cache_k="q4_0")
    document.reset()
    assert document.choice == Choice()
    assert document.machine == plans.RTX_3090
    document.undo_stack.undo()
    assert document.choice.context == 2048


def test_until_this_computer_is_known_every_figure_of_it_is_unknown(document: Document) -> None:
    assert document.this_computer is None
    (device,) = document.machine.devices
    assert not (device.memory.known or device.used.known or device.bandwidth.known)


def test_detection_does_not_take_away_a_chosen_machine(document: Document) -> None:
    document.set_model(plans.model())
    document.set_machine(plans.RTX_3090)
    plan = document.plan
    document.set_this_computer(computer())
    assert document.machine == plans.RTX_3090
    assert document.plan is plan
    document.set_machine(computer())
    assert document.machine.name == "here"


def test_choosing_this_computer_follows_what_is_detected_later(document: Document) -> None:
    document.set_machine(plans.RTX_3090)
    document.set_machine(computer("before"))
    document.set_this_computer(computer("after"))
    assert document.machine.name == "after"


def test_another_model_drops_what_was_chosen_for_the_old_one_alone(document: Document) -> None:
    document.set_model(plans.model())
    document.choose(
        context=200_000,
        depth=100,
        requantize="Q8_0",
        gpu_layers=3,
        cpu_moe=4,
        cache_k="q8_0",
    )
    document.set_model(plans.model(trained=40_960))
    assert document.choice == Choice(cache_k="q8_0")
    assert not document.undo_stack.canUndo()


def test_another_model_keeps_a_context_that_it_was_trained_for(document: Document) -> None:
    document.set_model(plans.model())
    document.choose(context=32_768)
    document.set_model(plans.model(trained=40_960))
    assert document.choice.context == 32_768


def test_closing_the_model_leaves_no_plan(document: Document) -> None:
    document.set_model(plans.model())
    heard = Heard(document)
    document.set_model(None)
    assert document.plan is None
    assert heard.names == ["model_changed", "plan_changed"]


def test_units_change_without_a_new_plan(document: Document) -> None:
    document.set_model(plans.model())
    plan = document.plan
    heard = Heard(document)
    document.set_units(UnitSystem.GB)
    document.set_units(UnitSystem.GB)
    assert heard.names == ["units_changed"]
    assert document.plan is plan


def test_a_plan_that_cannot_be_made_leaves_everything_as_it_was() -> None:
    def fragile(model: Model, machine: Machine, choice: Choice) -> Plan:
        if choice.context == 666 or model.architecture == "broken":
            raise ZeroDivisionError
        return plans.resolve(model, machine, choice)

    document = Document(resolve=fragile)
    model = plans.model()
    document.set_model(model)
    document.choose(context=1024)
    plan = document.plan
    with pytest.raises(ZeroDivisionError):
        document.set_model(plans.model(architecture="broken"))
    assert document.model is model
    assert document.plan is plan
    # Qt kept such steps in its stack after they were gone, and fell over them.
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            document.choose(context=666)
    assert document.plan is plan and document.choice.context == 1024
    assert document.undo_stack.count() == 1
    document.choose(cache_k="q8_0")
    document.undo_stack.undo()
    assert document.plan == plan


def test_a_document_with_steps_to_undo_is_freed_without_the_garbage_collector() -> None:
    # Left to the collector, the ring of document, stack and steps ended the program.
    document = Document(resolve=plans.resolve)
    document.choose(context=65_536)
    document.choose(cache_k="q8_0")
    document.undo_stack.undo()
    alive = weakref.ref(document)
    del document
    assert alive() is None
