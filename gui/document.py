"""The one mutable state of the window: a model, a machine, a choice, and the plan they make.

Panels read properties and listen to signals; they change nothing but through the methods here.
When a signal is emitted every property is already up to date, the plan included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, TypeAlias
from weakref import proxy

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from core import plan as core_plan
from core.language import listed, mark, tr
from core.machine.machine import THIS_COMPUTER, Backend, Device, DeviceKind, Machine, with_margin
from core.model.model import Model
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.plan.setting_names import setting_name
from core.provenance import Number, Rank, Source, Unit
from core.units import UnitSystem

Resolve: TypeAlias = Callable[[Model, Machine, Choice], Plan]

# Changes of one field that follow each other this closely are one step to undo (arrow keys held).
MERGE_SECONDS = 1.0
_MOST_STEPS = 200

_SOURCE = Source(Rank.REPORTED, mark("this computer"))
_NOTE = mark("still looking at this computer")

# What stands in for this computer until it has been looked at: every figure is unknown.
LOOKING = Machine(
    id="this",
    name=THIS_COMPUTER,
    devices=(
        Device(
            name="RAM",
            kind=DeviceKind.HOST,
            backend=Backend.CPU,
            memory=Number(None, Unit.BYTES, _SOURCE, note=_NOTE),
            used=Number(None, Unit.BYTES, _SOURCE, note=_NOTE),
            bandwidth=Number(None, Unit.BYTES_PER_SECOND, _SOURCE, note=_NOTE),
        ),
    ),
)


@dataclass(frozen=True)
class _State:
    """What undo covers. ``machine`` is None for this computer, whatever detection says of it."""

    machine: Machine | None = None
    choice: Choice = field(default_factory=Choice)


# A step of more fields than these is not named by them.
_NAMED = 3
_MACHINE = mark("machine")


class Document(QObject):
    """The state that all panels share.

    ``resolve`` makes the plan; tests pass their own where the plan itself is not the subject.
    """

    model_changed = Signal()
    machine_changed = Signal()
    plan_changed = Signal()  # also after every change of model, machine or choice
    units_changed = Signal()
    margins_changed = Signal()  # what shall stay free, by machine

    def __init__(self, resolve: Resolve | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._resolve: Resolve = resolve or core_plan.resolve
        self._model: Model | None = None
        self._this_computer: Machine | None = None
        self._state = _State()
        self._plan: Plan | None = None
        self._units = UnitSystem.GIB
        self._margins: dict[str, int] = {}
        self._dressed: dict[str, tuple[Machine, Machine]] = {}
        self._ready: tuple[_State, Plan | None] | None = None
        self._held = False
        self._merge_until = 0.0
        self._undo_stack = QUndoStack(self)
        self._undo_stack.setUndoLimit(_MOST_STEPS)

    @property
    def model(self) -> Model | None:
        """The open model."""
        return self._model

    @property
    def machine(self) -> Machine:
        """The machine that the plan is for; `LOOKING` until this computer has been looked at."""
        return self._machine_of(self._state)

    @property
    def this_computer(self) -> Machine | None:
        """This computer as detected, whichever machine is chosen; None while looking."""
        return self._this_computer and self._with_margin(self._this_computer)

    @property
    def choice(self) -> Choice:
        """What the user chose."""
        return self._state.choice

    @property
    def plan(self) -> Plan | None:
        """The plan of the open model; None without one."""
        return self._plan

    @property
    def units(self) -> UnitSystem:
        """GiB or GB, for every size on the screen."""
        return self._units

    @property
    def undo_stack(self) -> QUndoStack:
        """Steps of choice and machine since the model was opened."""
        return self._undo_stack

    def choose(self, **changes: Any) -> None:
        """Change fields of the choice (`Choice` names them), as one step to undo.

        Changes of the same fields in quick succession, or between `begin_step` and `end_step`,
        are one step.
        """
        self._push(replace(self._state, choice=replace(self.choice, **changes)), tuple(changes))

    def set_machine(self, machine: Machine) -> None:
        """Choose the machine to plan for; one whose id is "this" is this computer. Undoable."""
        chosen = None if machine.id == "this" else machine
        self._push(replace(self._state, machine=chosen), (_MACHINE,))

    @property
    def chosen_machine(self) -> Machine | None:
        """The machine that somebody chose; None for this computer."""
        return self._state.machine

    def start_on(self, machine: Machine) -> None:
        """Begin with this machine: nobody chose it just now, so there is nothing to undo."""
        self._restore(replace(self._state, machine=machine))

    def reset(self) -> None:
        """Return every choice to its default; the machine stays. Undoable."""
        self._push(replace(self._state, choice=Choice()), ())

    def begin_step(self) -> None:
        """A slider was pressed: what follows is one step until `end_step`."""
        self._merge_until = 0.0
        self._held = True

    def end_step(self) -> None:
        """A slider was released: the next change is a step of its own."""
        self._held = False
        self._merge_until = 0.0

    def what_if(self, **changes: Any) -> Plan:
        """The plan with other fields of the choice; nothing changes. Needs an open model."""
        return self.plan_of(self.machine, replace(self.choice, **changes))

    def plan_of(self, machine: Machine, choice: Choice) -> Plan:
        """The plan of the open model elsewhere, with another choice; nothing changes."""
        if self._model is None:
            raise ValueError("no model is open")
        return self._resolve(self._model, machine, choice)

    def set_model(self, model: Model | None, choice: Choice | None = None) -> None:
        """Show another model, or none. What was chosen for the old model alone is dropped;
        ``choice`` takes the place of all of it."""
        choice = choice or self.choice.for_another(model)
        state = replace(self._state, choice=choice)
        plan = self._plan_of(model, state)
        self._undo_stack.clear()
        self.end_step()
        self._model, self._state, self._plan = model, state, plan
        self.model_changed.emit()
        self.plan_changed.emit()

    def set_this_computer(self, machine: Machine) -> None:
        """Detection has answered."""
        self._this_computer = machine
        if self._state.machine is None:
            self._plan = self._plan_of(self._model, self._state)
        self.machine_changed.emit()
        if self._state.machine is None:
            self.plan_changed.emit()

    @property
    def margins(self) -> Mapping[str, int]:
        """Bytes that shall stay free, by the ids of machines for which somebody said so."""
        return dict(self._margins)

    def set_margins(self, margins: Mapping[str, int]) -> None:
        """What is remembered of earlier sessions."""
        self._margins = dict(margins)
        self._dressed.clear()
        self._restore(self._state)

    def set_margin(self, margin: int | None) -> None:
        """So many bytes shall stay free on the machine shown; None for what is usual there."""
        margins = {**self._margins, self.machine.id: margin}
        self.set_margins({id: value for id, value in margins.items() if value is not None})
        self.margins_changed.emit()

    def set_units(self, units: UnitSystem) -> None:
        """Show sizes in GiB or GB."""
        if units != self._units:
            self._units = units
            self.units_changed.emit()

    def _push(self, state: _State, names: tuple[str, ...]) -> None:
        if state == self._state:
            return
        # Qt does not survive an error inside a step that it is about to own.
        self._ready = (state, self._plan_of(self._model, state))
        now = monotonic()
        merge = (self._held and self._merge_until > 0) or now < self._merge_until
        self._merge_until = now + MERGE_SECONDS
        stack = self._undo_stack
        last = stack.command(stack.index() - 1) if merge else None
        if not isinstance(last, _Step) or not last.is_of(names):
            stack.push(_Step(self, self._state, state, names))
            return
        # Qt's own merging deletes a step while it is pushed, and PySide then never frees it.
        self._restore(state)
        if last.extend(state):
            stack.undo()

    def _restore(self, state: _State) -> None:
        machine = self.machine
        ready, self._ready = self._ready, None
        known = ready is not None and ready[0] is state
        plan = ready[1] if ready and known else self._plan_of(self._model, state)
        self._state, self._plan = state, plan
        if self.machine is not machine:
            self.machine_changed.emit()
        self.plan_changed.emit()

    def _machine_of(self, state: _State) -> Machine:
        return self._with_margin(state.machine or self._this_computer or LOOKING)

    def _with_margin(self, machine: Machine) -> Machine:
        """The machine with the user's margin; the same object for the same machine."""
        if machine.id not in self._margins:
            return machine
        known = self._dressed.get(machine.id)
        if known is None or known[0] is not machine:
            made = with_margin(machine, self._margins[machine.id])
            known = self._dressed[machine.id] = (machine, made)
        return known[1]

    def _plan_of(self, model: Model | None, state: _State) -> Plan | None:
        """Made before anything changes: where it fails, the document stays as it was."""
        return self._resolve(model, self._machine_of(state), state.choice) if model else None


class _Step(QUndoCommand):
    """From one state to another."""

    def __init__(
        self,
        document: Document,
        before: _State,
        after: _State,
        names: tuple[str, ...],
    ) -> None:
        words = listed([tr(setting_name(name)) for name in names])
        if len(names) > _NAMED:
            words = tr("several settings")
        super().__init__(words or tr("reset"))
        # The document owns the stack that owns this: a reference back would leave the whole ring to
        # the garbage collector, which takes it apart in an order that Qt does not survive.
        self._document: Document = proxy(document)
        self._before = before
        self._after = after
        self._names = frozenset(names)

    def is_of(self, names: tuple[str, ...]) -> bool:
        """Whether it changed just these fields; a reset changed none in particular."""
        return bool(names) and self._names == frozenset(names)

    def extend(self, after: _State) -> bool:
        """Take over a later change that belongs to the same gesture; whether the two together
        change nothing."""
        self._after = after
        self.setObsolete(self._before == after)
        return self.isObsolete()

    def redo(self) -> None:
        """Go to the later state."""
        self._document._restore(self._after)

    def undo(self) -> None:
        """Go back to the earlier state; what comes next is a step of its own. A step that changes
        nothing is only taken off."""
        if self.isObsolete():
            return
        self._document.end_step()
        self._document._restore(self._before)
