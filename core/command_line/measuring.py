"""The sub-command `measure`: find the server, run the sweep, say what came of it."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from core.command_line.kept_runs import KeptRuns
from core.command_line.machines import machine_of
from core.command_line.measure_options import Options
from core.command_line.output import complain, say
from core.command_line.progress_line import ProgressLine
from core.command_line.requests import BadRequestError, Request
from core.gguf import display
from core.machine import as_dict
from core.measure.clocks import utc_now
from core.measure.diagnosis import diagnose
from core.measure.discovery import (
    Found,
    NotLoadedError,
    State,
    can_load,
    discover,
    find,
    load_into_ollama,
    match_file,
    wait_until_loaded,
)
from core.measure.export import Ceiling, as_json, no_run, text
from core.measure.history.snapshot import PlanSnapshot, snapshot
from core.measure.job import Job
from core.measure.keys import Keys, from_environment
from core.measure.planned import plan_for
from core.measure.run import Run, RunPlan, RunStatus, ServerKind, Target
from core.measure.session import OTHER_SERVER, Session, can_go_on, resumed
from core.measure.versions import versions
from core.measure.vocabulary import words_of
from core.measure.wire.connect import is_this_computer
from core.measure.wire.http import address_of
from core.measure.work import default_depths, repeats
from core.model.model import Model
from core.problems import Problem, Severity, as_values
from core.remote import is_link


class _NoServerError(Exception):
    """Nothing to measure; the one argument is a problem, and the address if there is one."""

    def __init__(self, problem: Problem, url: str | None = None) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.url = url


def measure(options: Options) -> int:
    """Measure, and print what came of it; 0, 1 where it failed, 130 where it was stopped.

    Raises BadRequestError for what cannot be asked.
    """
    with _history(options) as kept:
        before = kept.to_resume(options.resume) if kept and options.resume else None
        if before is not None and not options.url:
            options = replace(options, url=before.run.target.url)
        try:
            target, key = _target(options)
            if before is not None and not can_go_on(before.run, target):
                raise _NoServerError(OTHER_SERVER, target.url)
        except _NoServerError as error:
            return _refuse(error.problem, error.url, options.json)
        model, notes = _model(options, target)
        known = _Known(target, model, options)
        if before is not None:
            run, plan = resumed(before.run, target), before.plan
        else:
            run = _new_run(options, target, notes, known.machine)
            plan = known.snapshot(run)
        if kept:
            kept.begin(run, plan)
        words = words_of(model.file.header) if model is not None else ()
        run = _carry_out(Job(run, key, words), kept)
    findings = diagnose(run, plan)
    if options.json:
        say(json.dumps(as_json(run, known.ceiling, findings)))
    else:
        say(text(run, known.ceiling, findings))
    if run.status is RunStatus.FAILED:
        complain(f"weighbridge measure: {_last_problem(run)}")
    if kept and run.status is not RunStatus.DONE:
        complain(f"What is missing: weighbridge measure --resume {run.id[:8]}")
    return {RunStatus.DONE: 0, RunStatus.STOPPED: 130}.get(run.status, 1)


def _new_run(
    options: Options, target: Target, notes: tuple[Problem, ...], machine: dict[str, Any]
) -> Run:
    depths = options.depths
    if depths is None:
        depths = default_depths(target.context, options.tokens)
    plan = RunPlan(
        depths,
        options.runs,
        options.tokens,
        options.warm_ups,
        options.cold,
        options.concurrency,
        again=repeats(depths),
    )
    return Run(
        uuid4().hex,
        utc_now(),
        target,
        plan,
        problems=notes,
        versions=versions(),
        machine=machine,
    )


@contextmanager
def _history(options: Options) -> Iterator[KeptRuns | None]:
    """Where runs are kept; None where they are not to be. Raises BadRequestError."""
    if options.no_history:
        if options.resume:
            raise BadRequestError("a run can only be resumed from the history")
        yield None
        return
    kept = KeptRuns()
    try:
        yield kept
    finally:
        kept.close()


def show_servers(as_values_: bool) -> int:
    """The servers that run on this computer; 1 where there are none."""
    found = discover(Keys().key_for)
    if as_values_:
        say(json.dumps({"schema": 1, "servers": [_server(each) for each in found]}))
    for each in found if not as_values_ else ():
        kind = each.kind.value if each.kind else "unknown"
        models = ", ".join(display(t.model) for t in each.targets)
        private = f", run by Ollama for itself ({each.driver})" if each.driver else ""
        say(f"{each.url}  {kind}  {each.state.value}{': ' if models else ''}{models}{private}")
    if not found:
        complain("weighbridge measure: no model server runs on this computer")
    return 0 if found else 1


def _target(options: Options) -> tuple[Target, str]:
    """The model to measure, and the server's key. Raises _NoServerError, BadRequestError."""
    keys = Keys()
    if options.url:
        try:
            url = address_of(options.url).url
            key = from_environment() or keys.key_for(url)
            found = find(options.url, key)
        except ValueError as error:
            raise BadRequestError(str(error)) from None
        return _loaded(found, options, key), key
    found = _only(discover(keys.key_for), options.name)
    key = keys.key_for(found.url)
    if found.state is State.NEEDS_KEY and from_environment():
        key = from_environment()
        found = find(found.url, key)
    return _loaded(found, options, key), key


def _only(found: Sequence[Found], name: str) -> Found:
    """The one server that can be meant. Raises _NoServerError, BadRequestError."""
    servers = [f for f in found if not f.driver]
    usable = [f for f in servers if f.state in (State.READY, State.SLEEPING, State.LOADING)]
    named = [f for f in servers if any(t.model == name for t in f.targets) or name in f.available]
    usable = (named if name else []) or usable or servers
    if len(usable) > 1:
        addresses = ", ".join(f.url for f in usable)
        raise BadRequestError(f"there are several servers; name one of {addresses}")
    if not usable:
        raise _NoServerError(
            Problem(
                "no_server",
                "No model server runs on this computer.",
                advice="Start one, or name its address.",
            )
        )
    return usable[0]


def _loaded(found: Found, options: Options, key: str) -> Target:
    """The model that a server has loaded, or the one that was named.

    Raises _NoServerError, BadRequestError.
    """
    if found.driver:
        raise _NoServerError(
            Problem(
                "private_server",
                "Ollama runs this server for itself; it is not measured.",
                advice="Measure Ollama's own address instead.",
            ),
            found.url,
        )
    try:
        if found.state is State.LOADING:
            complain("The server loads its model.")
            found = wait_until_loaded(lambda: find(found.url, key))
        if can_load(found, options.name):
            complain(f"Ollama loads {display(options.name)}.")
            found = load_into_ollama(found.url, options.name, key)
    except NotLoadedError as error:
        raise _NoServerError(error.problem, found.url) from None
    named = [t for t in found.targets if options.name in ("", t.model)]
    if len({t.model for t in named}) > 1:
        names = _some_names(t.model for t in named)
        raise BadRequestError(f"the server has several models; name one with --name: {names}")
    if named:
        return named[0]
    if found.targets and found.kind is ServerKind.LLAMA_SERVER and not found.available:
        # A server with one model takes any name; the answer tells who gave it.
        return replace(found.targets[0], model=options.name)
    if found.kind is not None and options.name and options.name in found.available:
        return Target(found.kind, found.url, model=options.name)
    raise _NoServerError(found.problem or _no_model(found, options.name), found.url)


def _some_names(names: Iterable[str]) -> str:
    """Ten of them, safe to show; a server may have thousands."""
    known = list(dict.fromkeys(filter(None, names)))
    more = f" and {len(known) - 10:,} more" if len(known) > 10 else ""
    return ", ".join(map(display, known[:10])) + more


def _no_model(found: Found, name: str) -> Problem:
    known = [t.model for t in found.targets] + list(found.available)
    names = _some_names(known)
    message = f"The server has no model {display(name)}." if name else "No model is loaded."
    advice = f"Name one with --name: {names}." if names else "Load one first."
    return Problem("no_model", message, advice=advice)


def _model(options: Options, target: Target) -> tuple[Model | None, tuple[Problem, ...]]:
    """The file that the server runs, where it is named or can be found; and what is odd about it.

    Raises BadRequestError for a named file that is none.
    """
    from core.command_line.reports import open_model

    local = is_this_computer(address_of(target.url).host)
    told = target.model_path if local and not is_link(target.model_path) else ""
    path = options.model or told  # what a server calls its file opens no connection
    if not path:
        return None, ()
    model = open_model(path)
    if not model.file.tensors:
        if options.model:
            raise BadRequestError(f"{display(path)} is no model that can be read")
        return None, ()
    match = match_file(target, model)
    if match.same is False:
        return (model if options.model else None), (
            Problem(
                "model_differs",
                match.sentence,
                Severity.WARNING,
                "The ceiling is that of the file, not of what was measured.",
            ),
        )
    return model, ()


class _Known:
    """What is known beside the run: the plan of the server's model on this computer."""

    def __init__(self, target: Target, model: Model | None, options: Options) -> None:
        local = is_this_computer(address_of(target.url).host)
        self._target = target
        self._model = model if local or options.bandwidth is not None else None
        self._machine = None
        self.machine: dict[str, Any] = {}
        if local or options.bandwidth is not None:
            from core.plan.choice import Choice

            request = Request("", Choice(), "this" if local else None, options.bandwidth)
            self._machine = machine_of(request)
            self.machine = as_dict(self._machine)
            if options.bandwidth is not None:  # then it is not as this computer is known
                self.machine["id"] = "custom"

    @property
    def ceiling(self) -> Ceiling:
        """Tokens per second at a depth; None where the file or the machine is not known."""

        def at(depth: float) -> float | None:
            if self._model is None or self._machine is None:
                return None
            plan = plan_for(self._target, self._model, self._machine, round(depth))
            return plan.speed.ceiling.value

        return at

    def snapshot(self, run: Run) -> PlanSnapshot | None:
        """The plan that the run is held against; None where the file or the machine is not
        known."""
        if self._model is None or self._machine is None:
            return None
        made = plan_for(run.target, self._model, self._machine)
        return snapshot(made, run.plan.depths, tokens=run.plan.tokens)


def _carry_out(job: Job, kept: KeptRuns | None) -> Run:
    """Run it in its own process, keep it, and tell on standard error how far it is."""
    with Session(job) as session, _stopping(session):
        progress = ProgressLine()
        for event in session.events():
            if kept:
                kept.take(event, session.run)
            progress.take(event)
        progress.clear()
        # What was known before the start is kept beside what the run itself found.
        return session.run


@contextmanager
def _stopping(session: Session) -> Iterator[None]:
    """Ctrl+C stops the measurement, not the program: what was finished is still printed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: session.cancel()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _refuse(problem: Problem, url: str | None, as_json_: bool) -> int:
    if as_json_:
        say(json.dumps(no_run(url, as_values(problem))))
    complain(f"weighbridge measure: {problem.message} {problem.advice}".rstrip())
    return 1


def _last_problem(run: Run) -> str:
    problems = [*run.problems, *(p for cell in run.cells for p in cell.problems)]
    errors = [p for p in problems if p.severity is Severity.ERROR]
    if not errors:
        return "nothing could be measured"
    return f"{errors[-1].message} {errors[-1].advice}".rstrip()


def _server(found: Found) -> dict[str, Any]:
    return {
        "url": found.url,
        "kind": found.kind.value if found.kind else None,
        "state": found.state.value,
        "driver": found.driver or None,
        "available": list(found.available),
        "models": [
            {
                "model": t.model or None,
                "path": t.model_path or None,
                "context": t.context,
                "slots": t.slots,
                "cache_k": t.cache_k or None,
                "cache_v": t.cache_v or None,
                "gpu_layers": t.gpu_layers,
                "loaded_bytes": t.loaded_bytes,
                "gpu_bytes": t.gpu_bytes,
            }
            for t in found.targets
        ],
    }
