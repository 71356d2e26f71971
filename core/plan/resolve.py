"""Make a plan: pure, deterministic and fast enough to run at every step of a slider."""

from __future__ import annotations

from core.machine.machine import Machine
from core.model.model import Model
from core.plan.budget import budget
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.plan.speed import speed


def resolve(model: Model, machine: Machine, choice: Choice) -> Plan:
    """The plan of a model on a machine with a choice. Never raises for what a user can choose."""
    made = budget(model, machine, choice)
    return Plan(
        model=model,
        machine=machine,
        choice=choice,
        settings=made.settings,
        weights=made.weights,
        memory=made.memory,
        speed=speed(
            model,
            made.weights,
            made.table,
            made.placement,
            made.settings,
            runs=machine.runs,
        ),
        verdict=made.memory.verdict,
        problems=made.problems,
    )
