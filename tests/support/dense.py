"""A model by what one token reads of it, for the worked figures of one device."""

from __future__ import annotations

from core.model import model_from
from core.model.model import Model
from tests.support.memory import file_of


def dense(weights: float, cache: float, depth: int) -> Model:
    """One layer that reads so many bytes of weights, and so many of cache at that depth
    (16 B a token at least)."""
    width = max(1, round(cache / depth / 4))  # K and V in f16
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": depth,
        "llama.embedding_length": 32,
        "llama.attention.head_count": 1,
        "llama.attention.key_length": width,
        "llama.attention.value_length": width,
    }
    return model_from(file_of(keys, [("blk.0.ffn_up.weight", (32, round(weights / 64)), "F16")]))
