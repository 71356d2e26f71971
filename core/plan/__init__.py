"""Plans: a model on a machine with a choice, resolved into every number that is shown."""

from core.plan.engine_words import engine_words
from core.plan.fits import LargestContext, largest_contexts, search_context
from core.plan.growth import context_per_request
from core.plan.resolve import resolve
from core.plan.settings import default_context, layer_count, used_gpus
from core.plan.verdict import decides, margin, margin_of, reason, room

__all__ = [
    "LargestContext",
    "context_per_request",
    "decides",
    "default_context",
    "engine_words",
    "largest_contexts",
    "layer_count",
    "margin",
    "margin_of",
    "reason",
    "resolve",
    "room",
    "search_context",
    "used_gpus",
]
