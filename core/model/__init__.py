"""Facts from a header: layers, weights, cache, state, requantization."""

from core.model.facts import model_from
from core.model.weights import weights_as, weights_from

__all__ = ["model_from", "weights_as", "weights_from"]
