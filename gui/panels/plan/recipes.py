"""The quantizations on offer, in order of size, after the file as it is."""

from __future__ import annotations

from dataclasses import dataclass

from core import model as core_model
from core.model.model import Model, Weights


@dataclass(frozen=True, slots=True)
class Recipe:
    """One stop of the slider. ``ftype`` is None for the file as it is."""

    ftype: str | None
    words: str


def as_it_is(model: Model) -> Recipe:
    """The file's own quantization."""
    label = model.label or "mixed"
    return Recipe(None, f"as it is: {label}{_bits(model.weights)}")


def recipes(model: Model) -> tuple[Recipe, ...]:
    """The file as it is, then every recipe from large to small."""
    made = [(name, core_model.requantize(model, name)) for name in core_model.RECIPES]
    made.sort(key=lambda pair: pair[1].bytes, reverse=True)
    return (as_it_is(model), *(Recipe(name, f"{name}{_bits(w)}") for name, w in made))


def _bits(weights: Weights) -> str:
    return f", {weights.bits_per_weight:.2f} bits" if weights.parameters else ""
