"""What a picture is of."""

from __future__ import annotations

from core.gguf import display
from core.plan.plan import Plan


def plan_title(plan: Plan | None, *, model: bool = True, machine: bool = True) -> str:
    """The model, the machine and the choice; without the one that the picture compares."""
    if plan is None:
        return ""
    settings, own = plan.settings, plan.model
    named = []
    if model:
        named.append(f"{own.name or own.architecture} {settings.requantize or own.label}".strip())
    if machine:
        named.append(plan.machine.name)
    return (
        f"{display(' on '.join(named))}, context {settings.context:,}, "
        f"K {settings.cache_k}, V {settings.cache_v}"
    )
