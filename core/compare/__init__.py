"""One model on many machines, many models on one, and what of a model fits a machine."""

from core.compare.figures import PROMPT, Figures
from core.compare.grid import Cell, Grid, Recipe, contexts_of, grid, recipes_of
from core.compare.machines import PER, MachineRow, compare_machines, with_price
from core.compare.models import FAR, Candidate, ModelRow, compare_models
from core.compare.sweep import Point, Wanted, sweep

__all__ = [
    "FAR",
    "PER",
    "PROMPT",
    "Candidate",
    "Cell",
    "Figures",
    "Grid",
    "MachineRow",
    "ModelRow",
    "Point",
    "Recipe",
    "Wanted",
    "compare_machines",
    "compare_models",
    "contexts_of",
    "grid",
    "recipes_of",
    "sweep",
    "with_price",
]
