"""Which quantizations and contexts of a model fit a machine: recipe by context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.compare.columns import MIXED
from core.language import mark, tr
from core.machine.machine import Machine
from core.model import recipe_sizes
from core.model.model import Model
from core.plan import room
from core.plan.budget import budget
from core.plan.choice import Choice
from core.plan.plan import Verdict
from core.plan.speed import speed
from core.plan.verdict import why_refused
from core.provenance import Number

FIRST_CONTEXT = 4_096
UNTRAINED = 131_072  # how far to go where a file does not say what its model was trained for
_AS_IT_IS = mark("as it is: {label}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A row of the grid: the file as it is (``ftype`` None), or one recipe of llama-quantize.

    ``bytes`` are those of its tensors, ``bits`` per weight on average (None without parameters).
    ``exact`` is the label for programs: in English, whatever the reader's language.
    """

    ftype: str | None
    label: str
    bytes: int
    bits: float | None
    needs_imatrix: bool = False
    exact: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One recipe at one context, and the speeds with that context full. ``refused`` says why the
    engine would not start at all; empty where it would."""

    recipe: Recipe
    context: int
    verdict: Verdict
    room: Number[int]
    ceiling: Number[float]
    expected: Number[float]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """``cells`` has a row for each recipe, with a cell for each context."""

    recipes: tuple[Recipe, ...]
    contexts: tuple[int, ...]
    cells: tuple[tuple[Cell, ...], ...]


def recipes_of(model: Model) -> tuple[Recipe, ...]:
    """The file as it is, then every recipe that can be made of it, from large to small."""
    weights = model.weights
    bits = weights.bits_per_weight if weights.parameters else None
    label = tr(_AS_IT_IS, label=model.label or tr(MIXED))
    exact = _AS_IT_IS.format(label=model.label or MIXED)
    made = [Recipe(None, label, weights.bytes, bits, exact=exact)]
    made += [
        Recipe(
            size.ftype,
            size.ftype,
            size.bytes,
            8 * size.bytes / weights.parameters if weights.parameters else None,
            size.needs_imatrix,
        )
        for size in recipe_sizes(model)
    ]
    return tuple(made)


def contexts_of(model: Model, chosen: int | None = None) -> tuple[int, ...]:
    """Doubling from 4,096 tokens to what the model was trained for, that and the chosen one
    included."""
    trained = model.shape.context_length or UNTRAINED
    found = {trained}
    context = FIRST_CONTEXT
    while context < trained:
        found.add(context)
        context *= 2
    if chosen is not None:
        found.add(chosen)
    return tuple(sorted(found))


def grid(
    model: Model,
    machine: Machine,
    choice: Choice,
    recipes: Sequence[Recipe] | None = None,
    contexts: Sequence[int] | None = None,
) -> Grid:
    """Every recipe at every context, the rest of the choice as it is."""
    rows = recipes_of(model) if recipes is None else tuple(recipes)
    columns = contexts_of(model, choice.context) if contexts is None else tuple(contexts)
    return Grid(
        rows,
        columns,
        tuple(
            tuple(cell(model, machine, choice, recipe, context) for context in columns)
            for recipe in rows
        ),
    )


def cell(model: Model, machine: Machine, choice: Choice, recipe: Recipe, context: int) -> Cell:
    """One cell of the grid."""
    trial = replace(choice, context=context, depth=None, requantize=recipe.ftype)
    made = budget(model, machine, trial)
    found = speed(model, made.weights, made.table, made.placement, made.settings, 1, machine.runs)
    return Cell(
        recipe=recipe,
        context=context,
        verdict=made.memory.verdict,
        room=room(made.memory.devices),
        ceiling=found.ceiling,
        expected=found.expected.mid,
        refused=why_refused(made.problems),
    )
