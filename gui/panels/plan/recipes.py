"""The quantizations on offer, in order of size, after the file as it is."""

from __future__ import annotations

from dataclasses import dataclass

from core.model import recipe_sizes
from core.model.model import Model


@dataclass(frozen=True, slots=True)
class Recipe:
    """One stop of the slider. ``ftype`` is None for the file as it is."""

    ftype: str | None
    words: str


def as_it_is(model: Model) -> Recipe:
    """The file's own quantization."""
    label = model.label or "mixed"
    return Recipe(None, f"as it is: {label}{_bits(model, model.weights.bytes)}")


def recipes(model: Model) -> tuple[Recipe, ...]:
    """The file as it is, then every recipe that can be made of it, from large to small."""
    made = [Recipe(s.ftype, f"{s.ftype}{_bits(model, s.bytes)}") for s in recipe_sizes(model)]
    return (as_it_is(model), *made)


def _bits(model: Model, size: int) -> str:
    parameters = model.weights.parameters
    return f", {8 * size / parameters:.2f} bits" if parameters else ""
