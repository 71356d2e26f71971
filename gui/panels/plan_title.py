"""What a picture is of."""

from __future__ import annotations

from core.gguf import display
from core.language import tr
from core.machine.machine import spoken_name
from core.plan.plan import Plan


def plan_title(plan: Plan | None, *, model: bool = True, machine: bool = True) -> str:
    """The model, the machine and the choice; without the one that the picture compares."""
    if plan is None:
        return ""
    settings, own = plan.settings, plan.model
    name = f"{own.name or own.architecture} {settings.requantize or own.label}".strip()
    if model and machine:
        name = tr("{model} on {machine}", model=name, machine=spoken_name(plan.machine.name))
    elif machine:
        name = spoken_name(plan.machine.name)
    elif not model:
        name = ""
    return tr(
        "{name}, context {context:,}, K {k}, V {v}",
        name=display(name),
        context=settings.context,
        k=settings.cache_k,
        v=settings.cache_v,
    )
