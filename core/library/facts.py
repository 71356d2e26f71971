"""A model in few words and on one machine: what a list of models shows, without the model."""

from __future__ import annotations

from dataclasses import dataclass

from core.gguf.header import HELPERS, Kind
from core.gguf.text import display
from core.machine.machine import Machine
from core.model.model import Model
from core.plan import reason, resolve
from core.plan.choice import Choice
from core.plan.plan import Verdict


@dataclass(frozen=True, slots=True)
class Facts:
    """What a header says. ``active`` is 0 where a token uses all parameters, ``context`` 0 and
    ``bits`` None where nobody says."""

    name: str
    label: str
    kind: Kind
    parameters: int
    active: int
    bits: float | None
    context: int


@dataclass(frozen=True, slots=True)
class Fit:
    """A model on a machine. ``ceiling`` is in tok/s at the context planned with, None where it is
    not known or nothing is decoded; ``why`` explains the verdict."""

    verdict: Verdict
    ceiling: float | None
    why: str


def facts_of(model: Model) -> Facts:
    """The facts of a model that was read."""
    weights = model.weights
    return Facts(
        name=display(model.name) or display(model.file.header.path.stem),
        label=display(model.label),
        kind=model.file.kind,
        parameters=weights.parameters,
        active=weights.active_parameters if model.shape.experts else 0,
        bits=weights.bits_per_weight if weights.parameters else None,
        context=model.shape.context_length or 0,
    )


def fit_of(model: Model, machine: Machine, choice: Choice | None = None) -> Fit | None:
    """The model on a machine, alone: with what of ``choice`` is not meant for another model, or
    with the defaults. None for a file that is no model."""
    if not model.file.tensors or model.file.kind in HELPERS:
        return None
    plan = resolve(model, machine, (choice or Choice()).for_another(model))
    return Fit(plan.verdict, plan.speed.ceiling.value, reason(plan))
