"""What a worker is handed on its standard input: never on a command line, never in a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from core import language as spoken
from core.measure.run import Run
from core.measure.work import Rates


@dataclass(frozen=True, slots=True)
class Job:
    """A run to carry out. ``run`` may hold finished cells: they are not measured again.

    ``key`` is the server's. ``words`` are words of the model's own vocabulary, for servers that
    take text. ``rates`` are what to expect, where a plan says. ``telemetry_seconds`` is 0 for none.
    ``language`` and ``numbers`` are for `core.language.speak`: what whoever made the job reads.
    """

    run: Run
    key: str = field(default="", repr=False)
    words: tuple[str, ...] = ()
    rates: Rates = field(default_factory=Rates)
    telemetry_seconds: float = 1.0
    language: str = field(default_factory=spoken.code)
    numbers: str = field(default_factory=spoken.numbers)
