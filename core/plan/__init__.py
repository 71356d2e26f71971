"""Plans: a model on a machine with a choice, resolved into every number that is shown."""

from core.plan.resolve import resolve
from core.plan.settings import default_context, layer_count, used_gpus
from core.plan.verdict import margin, reason

__all__ = ["default_context", "layer_count", "margin", "reason", "resolve", "used_gpus"]
