"""The sub-command `report`: one file in words or JSON, or many requests, one answer a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TypeAlias

from core.command_line.machines import machine_of
from core.command_line.output import complain, say
from core.command_line.requests import (
    LONGEST_LINE,
    BadRequestError,
    Request,
    request_from,
    values_of_line,
)
from core.gguf import display, open_file
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.problems import Problem, Severity
from core.remote import is_link, local_name
from core.report import Values, as_json, html, refusal, text
from core.whole_file import write_out

_MODELS_KEPT = 64
Answer: TypeAlias = Callable[[Mapping[str, object]], tuple[Values, bool]]


def open_model(name: str) -> Model:
    """The model in a file or behind a link, read once for all requests that find it as it was."""
    if is_link(name):
        return _linked(name)
    path = Path(local_name(name))
    try:
        status = path.stat()
    except (OSError, ValueError):  # it may be there at the next request
        return model_from(open_file(path))
    return _opened(path, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=_MODELS_KEPT)
def _linked(link: str) -> Model:
    from core.remote.opening import open_link

    return model_from(open_link(link))


@lru_cache(maxsize=_MODELS_KEPT)
def _opened(path: Path, stamp: tuple[int, ...]) -> Model:
    return model_from(open_file(path))


def plan_of(request: Request) -> Plan:
    """The plan that a request asks for. Raises BadRequestError."""
    return resolve(open_model(request.file), machine_of(request), choice_of(request))


def choice_of(request: Request) -> Choice:
    """The choice of a request, with the files that it names read."""
    choice = request.choice
    if request.projector is not None:
        choice = replace(choice, projector=open_model(request.projector))
    if request.draft is not None:
        choice = replace(choice, draft=open_model(request.draft))
    return choice


def damage(plan: Plan) -> Problem | None:
    """Why the file is no sound GGUF; None where it is."""
    return next(
        (
            problem
            for problem in plan.model.file.problems
            if problem.severity is Severity.ERROR or problem.missing_bytes
        ),
        None,
    )


def report(values: Mapping[str, object], as_values: bool) -> int:
    """Print the report of one file; 1 where the file is damaged. ``html`` among the values is where
    it is written as a web page as well. Raises BadRequestError."""
    page = values.get("html")
    plan = plan_of(request_from({n: value for n, value in values.items() if n != "html"}))
    if page is not None:
        try:
            write_out(Path(str(page)), html(plan))
        except OSError as error:
            why = error.strerror or error
            raise BadRequestError(f"{display(str(page))} cannot be written: {why}") from None
    say(json.dumps(as_json(plan)) if as_values else text(plan))
    return status(damage(plan))


def status(fault: Problem | None) -> int:
    """The exit status, and for a damaged file a line of plain words on standard error."""
    if fault is None:
        return 0
    complain(f"weighbridge: {fault.message} {fault.advice}".rstrip())
    return 1


def answer(values: Mapping[str, object]) -> tuple[Values, bool]:
    """The report that these options ask for, and whether its file is sound. Raises
    BadRequestError."""
    plan = plan_of(request_from(values))
    return as_json(plan), damage(plan) is None


def answers(
    lines: Iterator[bytes], defaults: Mapping[str, object], answer: Answer = answer
) -> Iterator[tuple[Values, bool]]:
    """Every line's answer, and whether it went well; empty lines have none."""
    for line in lines:
        if not line.strip():
            continue
        values: Mapping[str, object] = {}
        try:
            values = {**defaults, **values_of_line(line)}
            yield answer(values)
        except BadRequestError as error:
            yield _refused(values, str(error)), False
        except OSError as error:  # of a file that the line names
            yield _refused(values, display(error.strerror or str(error))), False


def _refused(values: Mapping[str, object], sentence: str) -> Values:
    file = values.get("file")
    return refusal(file if isinstance(file, str) else None, sentence)


def report_many(source: str, defaults: Mapping[str, object], answer: Answer = answer) -> int:
    """Answer every line of a file ("-" is standard input); 1 where one could not be answered.

    Raises BadRequestError where the file of requests cannot be read.
    """
    try:
        if source == "-" and sys.stdin is None:
            raise BadRequestError("standard input is closed")
        if source == "-":
            return _answer_all(answers(_lines(sys.stdin.buffer), defaults, answer))
        with Path(source).open("rb") as file:
            return _answer_all(answers(_lines(file), defaults, answer))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise BadRequestError(f"{display(source)} cannot be read: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Line by line, as they come. Of one that is too long, enough is given that it is refused; the
    rest is passed over."""
    while line := file.readline(LONGEST_LINE + 1):
        yield line
        while len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE + 1)


def _answer_all(answered: Iterator[tuple[Values, bool]]) -> int:
    count = failed = 0
    for values, went_well in answered:
        say(json.dumps(values))
        count += 1
        failed += not went_well
    if failed:
        complain(f"weighbridge: {failed:,} of {count:,} requests have problems")
    return 1 if failed else 0
