"""What was found at an address."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.measure.run import ServerKind, Target
from core.problems import Problem


class State(StrEnum):
    READY = "ready"
    LOADING = "loading"  # it answers 503 until its model is there
    NEEDS_KEY = "needs a key"
    SLEEPING = "sleeping"  # it has unloaded its model and loads it with the next request
    EMPTY = "no model"  # it runs, and no model is loaded
    REFUSED = "not running"  # nothing listens there
    SILENT = "no answer"  # something listens and does not answer
    OTHER = "another program"  # it answers, but not like a model's server


@dataclass(frozen=True, slots=True)
class Found:
    """A server and the models that it has loaded; ``available`` are names that it could load.

    ``driver`` is the address of the Ollama that runs this one for itself: it is read, never asked
    to write.
    """

    url: str
    state: State
    kind: ServerKind | None = None
    targets: tuple[Target, ...] = ()
    available: tuple[str, ...] = ()
    driver: str = ""
    problem: Problem | None = None
