"""Lists of models: what each is in few words, and whether it fits."""

from core.library.facts import HELPERS, Facts, Fit, facts_of, fit_of

__all__ = ["HELPERS", "Facts", "Fit", "facts_of", "fit_of"]
