"""What llama-quantize would make of a model, from its header alone."""

from core.model.recipes.apply import RECIPES, RecipeSize, recipe_sizes, requantize

__all__ = ["RECIPES", "RecipeSize", "recipe_sizes", "requantize"]
