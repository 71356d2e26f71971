"""The quantizations on offer, in order of size, after the file as it is."""

from __future__ import annotations

from dataclasses import dataclass

from core.language import tr, trc
from core.model import recipe_sizes
from core.model.model import Model
from core.provenance import Unit, format_value


@dataclass(frozen=True, slots=True)
class Recipe:
    """One stop of the slider. ``ftype`` is None for the file as it is."""

    ftype: str | None
    words: str


def as_it_is(model: Model) -> Recipe:
    """The file's own quantization."""
    words = tr("as it is: {label}", label=model.label or trc("quantization", "mixed"))
    return Recipe(None, words + _bits(model.weights.bytes, model))


def recipes(model: Model) -> tuple[Recipe, ...]:
    """The file as it is, then every recipe that can be made of it, from large to small. "imatrix"
    marks those that are made with an importance matrix only."""
    made = [as_it_is(model)]
    for size in recipe_sizes(model):
        needs = ", imatrix" if size.needs_imatrix else ""
        made.append(Recipe(size.ftype, f"{size.ftype}{_bits(size.bytes, model)}{needs}"))
    return tuple(made)


def _bits(size: int, model: Model) -> str:
    parameters = model.weights.parameters
    return f", {format_value(8 * size / parameters, Unit.BITS_PER_WEIGHT)}" if parameters else ""
