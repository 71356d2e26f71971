"""Lists of models: what each is in few words, whether it fits, and which lie on this computer."""

from core.library.entry import Entry, State
from core.library.facts import Facts, Fit, facts_of, fit_of
from core.library.places import Folder, known_folders, with_own
from core.library.walk import scan

__all__ = [
    "Entry",
    "Facts",
    "Fit",
    "Folder",
    "State",
    "facts_of",
    "fit_of",
    "known_folders",
    "scan",
    "with_own",
]
