"""The memory half of a plan: what a search for what fits needs, and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.machine.machine import Machine
from core.model import requantize
from core.model.model import Model, Weights
from core.plan.choice import Choice
from core.plan.companions import beside
from core.plan.limits import problems_of
from core.plan.memory import memory
from core.plan.placement import Placement, WeightTable, is_cuda_like, place, weight_table
from core.plan.plan import MemoryPlan, Settings
from core.plan.settings import fill, layer_count
from core.problems import Problem


@dataclass(frozen=True, slots=True)
class Budget:
    """What lies where with a choice, and how that was found."""

    settings: Settings
    weights: Weights
    table: WeightTable
    placement: Placement
    memory: MemoryPlan
    problems: tuple[Problem, ...]


def budget(model: Model, machine: Machine, choice: Choice) -> Budget:
    """The budget of a model on a machine with a choice. Never raises for what a user can choose."""
    settings, problems = fill(model, machine, choice)
    weights, more = _weights(model, choice)
    if weights is model.weights:
        settings = replace(settings, requantize=None)
    placement = place(model, machine, settings)
    table = weight_table(model, weights, is_cuda_like(settings.backend))
    more_files = beside(model, machine, choice, settings, placement, table)
    plan = memory(model, table, placement, settings, more_files)
    limits = problems_of(settings, plan, mixture=model.shape.experts > 0, layers=layer_count(model))
    found = (*problems, *more, *more_files.problems, *limits)
    return Budget(settings, weights, table, placement, plan, found)


def _weights(model: Model, choice: Choice) -> tuple[Weights, tuple[Problem, ...]]:
    """The file's own weights, or as they would be in another quantization."""
    if choice.requantize is None:
        return model.weights, ()
    answer = requantize(model, choice.requantize)
    if isinstance(answer, Problem):
        return model.weights, (answer,)
    return answer, answer.problems
