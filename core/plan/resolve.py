"""Make a plan: pure, deterministic and fast enough to run at every step of a slider."""

from __future__ import annotations

from dataclasses import replace

from core.machine.machine import Machine
from core.model import requantize
from core.model.model import Model, Weights
from core.plan.choice import Choice
from core.plan.memory import memory
from core.plan.placement import is_cuda_like, place, weight_table
from core.plan.plan import Plan
from core.plan.settings import fill
from core.plan.speed import speed
from core.problems import Problem


def resolve(model: Model, machine: Machine, choice: Choice) -> Plan:
    """The plan of a model on a machine with a choice. Never raises for what a user can choose."""
    settings, problems = fill(model, machine, choice)
    weights, more = _weights(model, choice)
    if weights is model.weights:
        settings = replace(settings, requantize=None)
    placement = place(model, machine, settings)
    table = weight_table(model, weights, is_cuda_like(settings.backend))
    budget, verdict, reason = memory(model, table, placement, settings)
    return Plan(
        model=model,
        machine=machine,
        choice=choice,
        settings=settings,
        weights=weights,
        memory=budget,
        speed=speed(model, weights, table, placement, settings),
        verdict=verdict,
        reason=reason,
        problems=problems + more,
    )


def _weights(model: Model, choice: Choice) -> tuple[Weights, tuple[Problem, ...]]:
    """The file's own weights, or as they would be in another quantization."""
    if choice.requantize is None:
        return model.weights, ()
    answer = requantize(model, choice.requantize)
    if isinstance(answer, Problem):
        return model.weights, (answer,)
    return answer, answer.problems
