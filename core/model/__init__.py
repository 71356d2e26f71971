"""Facts from a header: layers, weights, cache, state, requantization."""

from core.model.facts import model_from
from core.model.fingerprint import fingerprint
from core.model.recipes import RECIPES, recipe_sizes, requantize
from core.model.weights import weights_as, weights_from

__all__ = [
    "RECIPES",
    "fingerprint",
    "model_from",
    "recipe_sizes",
    "requantize",
    "weights_as",
    "weights_from",
]
