"""What went wrong, as a value: what happened, where, and what to do about it.

Core never shows a problem and the window never invents one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.language import mark


class Severity(StrEnum):
    NOTE = mark("note")  # worth knowing; every figure stands
    WARNING = mark("warning")  # some figures are bounds or missing
    ERROR = mark("error")  # the file or the request could not be used


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that happened.

    ``code`` is a stable word for programs ("truncated"). ``message`` says what happened, in one
    or two plain sentences without a line break. ``advice`` says what to do. ``where`` is a path or
    a name, ``offset`` the byte in that file, ``missing_bytes`` what a truncated file lacks.
    """

    code: str
    message: str
    severity: Severity = Severity.ERROR
    advice: str = ""
    where: str = ""
    offset: int | None = None
    missing_bytes: int | None = None


def as_values(problem: Problem) -> dict[str, str | int | None]:
    """A problem for JSON, field by field; what does not apply is None."""
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "advice": problem.advice or None,
        "where": problem.where or None,
        "offset": problem.offset,
        "missing_bytes": problem.missing_bytes,
    }
