"""One model on many machines, many models on one, and what of a model fits a machine."""

from core.compare.rows import PROMPT, MachineRow, compare, compare_one
from core.compare.sweep import Point, Wanted, sweep

__all__ = ["PROMPT", "MachineRow", "Point", "Wanted", "compare", "compare_one", "sweep"]
