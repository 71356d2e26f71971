"""Runs in and out: JSON holds everything, CSV one request a row, Markdown what one would tell."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core import tabular
from core.language import tr, written
from core.machine.machine import spoken_name
from core.measure import metrics
from core.measure.codec import BadValueError, from_json, to_json, whole
from core.measure.diagnosis import diagnose, point_of
from core.measure.history.snapshot import PlanSnapshot
from core.measure.history.store import Stored
from core.measure.run import (
    Cell,
    Run,
    RunPlan,
    RunStatus,
    Sample,
    SampleKind,
    Target,
)
from core.problems import Problem
from core.units import bare_rate, format_rate, format_seconds, format_share
from core.whole_file import open_file

FORMAT = "weighbridge-runs"
VERSION = 1
SIZE_LIMIT = 512_000_000
_RUN_COLUMNS = (
    "run", "started", "ended", "status", "title", "server", "version", "url", "model",
    "model_path", "context",
)  # fmt: skip
_SAMPLE_COLUMNS = (
    "depth", "concurrency", "kind", "round", "user", "started_ns", "prompt_tokens",
    "cached_tokens", "tokens", "token_source", "finish", "decode_tok_s", "server_decode_tok_s",
    "tpot_ms", "ttft_ms", "prefill_tok_s", "first_byte_ns", "first_answer_ns", "ended_ns",
    "arrivals_ns", "counts", "server_timings",
)  # fmt: skip
# What the plan of that moment said; empty where there was none. Not read back.
_PLAN_COLUMNS = (
    "machine", "cache_k", "cache_v", "gpu_layers", "verdict", "planned_bytes", "bytes_per_token",
    "ceiling_tok_s", "expected_low_tok_s", "expected_mid_tok_s", "expected_high_tok_s",
    "share_of_ceiling",
)  # fmt: skip
_OPTIONAL_NUMBERS = (
    "first_byte_ns", "first_answer_ns", "ended_ns", "tokens", "prompt_tokens", "cached_tokens",
)  # fmt: skip


class TransferError(Exception):
    """A file that holds no runs; ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


# Out.


def to_json_text(stored: Iterable[Stored]) -> str:
    """Everything, raw stamps and telemetry included."""
    runs = [
        {
            "run": to_json(entry.run),
            "plan": to_json(entry.plan) if entry.plan is not None else None,
            "title": entry.title,
            "notes": entry.notes,
        }
        for entry in stored
    ]
    return tabular.json_text({"format": FORMAT, "version": VERSION, "runs": runs})


def to_csv_text(stored: Iterable[Stored]) -> str:
    """One row a request, warm-ups too, with what the plan said about its depth. All of the plan,
    notes and telemetry are in JSON only."""
    rows = (
        [*_run_cells(entry), *_sample_cells(cell, sample), *_plan_cells(entry.plan, cell, sample)]
        for entry in stored
        for cell in entry.run.cells
        for sample in cell.samples
    )
    return tabular.comma_separated((*_RUN_COLUMNS, *_SAMPLE_COLUMNS, *_PLAN_COLUMNS), rows)


def _run_cells(entry: Stored) -> list[Any]:
    run, target = entry.run, entry.run.target
    return [
        run.id, run.started, run.ended, run.status.value, entry.title, target.kind.value,
        target.version, target.url, target.model, target.model_path, target.context,
    ]  # fmt: skip


def _sample_cells(cell: Cell, s: Sample) -> list[Any]:
    return [
        cell.depth, cell.concurrency, s.kind.value, s.round, s.user, s.started_ns,
        s.prompt_tokens, s.cached_tokens, s.tokens, s.token_source.value, s.finish,
        _round(metrics.decode_rate(s), 1), _round(metrics.server_decode_rate(s), 1),
        _round(metrics.tpot(s), 1000), _round(metrics.ttft(s), 1000),
        _round(metrics.prefill_rate(s), 1), s.first_byte_ns, s.first_answer_ns, s.ended_ns,
        " ".join(map(str, s.arrivals_ns)), " ".join(map(str, s.counts)),
        json.dumps(s.server_timings, separators=(",", ":")) if s.server_timings else None,
    ]  # fmt: skip


def _plan_cells(plan: PlanSnapshot | None, cell: Cell, s: Sample) -> list[Any]:
    if plan is None:
        return [None] * len(_PLAN_COLUMNS)
    depth = s.prompt_tokens if s.prompt_tokens is not None else cell.depth
    figures = plan.figures(depth + max((s.tokens or 1) - 1, 0) / 2)
    rate = metrics.step_rate(s) if cell.concurrency == 1 else None
    ceiling = figures.ceiling if figures is not None else None
    told = (
        (figures.bytes, ceiling, figures.low, figures.mid, figures.high)
        if figures is not None
        else (None,) * 5
    )
    return [
        plan.machine, plan.settings.get("cache_k"), plan.settings.get("cache_v"),
        plan.settings.get("gpu_layers"), plan.verdict, plan.total, *told,
        _round(rate / ceiling, 1) if rate and ceiling else None,
    ]  # fmt: skip


def _round(value: float | None, scale: float) -> float | None:
    return None if value is None else round(value * scale, 6)


# In.


def from_text(text: str, name: str = "") -> tuple[Stored, ...]:
    """The runs in exported text of either form. Raises TransferError."""
    start = text.lstrip("\ufeff").lstrip()
    if start.startswith(("{", "[")):
        return _from_json(start, name)
    if start.startswith("run,"):
        return _from_csv(start, name)
    raise _refused(tr("It holds no runs that this program has exported."), name)


def read_file(path: Path) -> tuple[Stored, ...]:
    """The runs in an exported file. Raises TransferError."""
    try:
        with open_file(path) as file:
            data = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        message = tr("It could not be read: {why}.", why=error.strerror)
        raise _refused(message, str(path)) from error
    if len(data) > SIZE_LIMIT:
        raise _refused(tr("It is far longer than any export."), str(path))
    return from_text(data.decode("utf-8-sig", "replace"), str(path))


def _from_json(text: str, name: str) -> tuple[Stored, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(tr("It is no JSON: {why}.", why=error), name) from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _refused(tr("It is JSON, but no export of runs."), name)
    if not isinstance(value.get("version"), int) or value["version"] > VERSION:
        raise _refused(tr("It was exported by a newer version of this program."), name)
    entries = value.get("runs")
    if not isinstance(entries, list):
        raise _refused(tr("It is an export without runs."), name)
    found = []
    for number, entry in enumerate(entries):
        try:
            if not isinstance(entry, dict):
                raise BadValueError(tr("it is no object"))
            plan = entry.get("plan")
            found.append(
                Stored(
                    from_json(Run, entry.get("run")),
                    from_json(PlanSnapshot, plan) if plan is not None else None,
                    _text(entry.get("title")),
                    _text(entry.get("notes")),
                )
            )
        except BadValueError as error:
            message = tr(
                "Run {number} of {all} is damaged: {why}.",
                number=number + 1,
                all=len(entries),
                why=error,
            )
            raise _refused(message, name) from error
    return tuple(found)


def _from_csv(text: str, name: str) -> tuple[Stored, ...]:
    runs: dict[str, Run] = {}
    titles: dict[str, str] = {}
    samples: dict[str, dict[tuple[int, int], list[Sample]]] = {}
    csv.field_size_limit(16_000_000)
    reader = csv.DictReader(io.StringIO(text))
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(tr("it has other fields than the first line names"))
            id = row["run"]
            if id not in runs:
                runs[id], titles[id], samples[id] = _run_of(row), row["title"], {}
            sample = _sample_of(row)
            samples[id].setdefault(_cell_of(row).key, []).append(sample)
    except (ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        message = tr("Line {number} is damaged: {why}.", number=reader.line_num, why=error)
        raise _refused(message, name) from error
    found = []
    for id, run in runs.items():
        cells = tuple(
            Cell(*key, samples=tuple(each), finished=True)
            for key, each in sorted(samples[id].items())
        )
        found.append(Stored(_planned(replace(run, cells=cells)), None, titles[id]))
    return tuple(found)


def _run_of(row: dict[str, str]) -> Run:
    told = {name: row[name] for name in ("url", "model", "version", "model_path")}
    target = from_json(Target, {**told, "kind": row["server"], "context": _int(row["context"])})
    return Run(
        id=row["run"],
        started=row["started"],
        ended=row["ended"],
        target=target,
        plan=RunPlan(depths=()),
        status=RunStatus(row["status"]),
    )


def _cell_of(row: dict[str, str]) -> Cell:
    return from_json(Cell, {name: int(row[name]) for name in ("depth", "concurrency")})


def _sample_of(row: dict[str, str]) -> Sample:
    told = row["server_timings"]
    return from_json(
        Sample,
        {
            **{name: row[name] for name in ("kind", "token_source", "finish")},
            **{name: int(row[name]) for name in ("started_ns", "user", "round")},
            **{name: _int(row[name]) for name in _OPTIONAL_NUMBERS},
            **{name: list(map(int, row[name].split())) for name in ("arrivals_ns", "counts")},
            "server_timings": json.loads(told) if told else {},
        },
    )


def _planned(run: Run) -> Run:
    """What was to be measured, as far as the requests tell."""
    measured = [s for c in run.cells for s in c.samples if s.kind is SampleKind.RUN]
    plan = RunPlan(
        depths=tuple(sorted({cell.depth for cell in run.cells})),
        runs=max((s.round + 1 for s in measured), default=0),
        tokens=max((s.tokens or 0 for s in measured), default=0),
        concurrency=tuple(sorted({cell.concurrency for cell in run.cells})),
    )
    return replace(run, plan=plan)


def _int(text: str) -> int | None:
    return int(text) if text else None


def _text(value: Any) -> str:
    return whole(value) if isinstance(value, str) else ""


def _refused(message: str, name: str) -> TransferError:
    problem = Problem(
        "import",
        message,
        advice=tr("Choose a file that History exported as JSON or CSV."),
        where=name,
    )
    return TransferError(problem)


# To tell others.


def to_markdown(entry: Stored) -> str:
    """The run's table, what it was made with, and the line of llama-bench that would check it."""
    run, plan, target = entry.run, entry.plan, entry.run.target
    facts = [f"**{tabular.markdown_cell(entry.name)}**"]
    facts.append(
        ", ".join(
            word
            for word in (
                f"{target.kind.value} {target.version}".strip(),
                spoken_name(plan.machine) if plan is not None else "",
                tr("context {tokens:,}", tokens=target.context) if target.context else "",
                _cache_words(entry),
                run.started.replace("T", " ").replace("Z", " UTC"),
            )
            if word
        )
    )
    titles = (
        tr("depth"), tr("requests"), tr("decode"), "95 %", tr("of ceiling"), "GB/s",
        tr("prefill"), "TTFT",
    )  # fmt: skip
    rows = [row for cell in run.cells if (row := _markdown_row(cell, plan)) is not None]
    lines = ["\n\n".join(facts), tabular.markdown(titles, rows, [True] * len(titles)).rstrip()]
    said = [
        f"- {finding.message}" + (f" {finding.evidence}" if finding.evidence else "")
        for finding in diagnose(run, plan)
    ]
    if said:
        lines.append("\n".join(said))
    if line := bench_line(run, plan):
        words = tr("To check it with the engine alone:")
        lines.append(f"{words}\n\n```\n{line}\n```")
    if entry.notes:
        lines.append(entry.notes)
    return "\n\n".join(lines) + "\n"


def _markdown_row(cell: Cell, plan: PlanSnapshot | None) -> Sequence[str] | None:
    decode = metrics.best_decode(cell)
    if decode is None:
        return None
    point = point_of(cell, plan)
    prefill, first = metrics.prefill(cell), metrics.time_to_first(cell)
    share = point.share if point is not None and cell.concurrency == 1 else None
    bandwidth = point.bandwidth if point is not None and cell.concurrency == 1 else None
    between = (
        tr("{low} to {high}", low=bare_rate(decode.low), high=bare_rate(decode.high))
        if decode.low is not None and decode.high is not None
        else ""
    )
    depth = metrics.exact_depth(cell)
    return (
        written(cell.depth if depth is None else depth),
        f"{decode.n}" + (f" × {cell.concurrency}" if cell.concurrency > 1 else ""),
        format_rate(decode.median),
        between,
        format_share(share) if share is not None else "",
        written(bandwidth / 1e9, ",.0f") if bandwidth is not None else "",
        format_rate(prefill.median) if prefill is not None else "",
        format_seconds(first.median) if first is not None else "",
    )


def _cache_words(entry: Stored) -> str:
    settings = entry.plan.settings if entry.plan is not None else {}
    k = entry.run.target.cache_k or settings.get("cache_k")
    v = entry.run.target.cache_v or settings.get("cache_v")
    return tr("cache K {k}, V {v}", k=k, v=v) if k and v else ""


def bench_line(run: Run, plan: PlanSnapshot | None) -> str:
    """The llama-bench command that measures the same without a server; "" without a plan."""
    if plan is None:
        return ""
    s = plan.settings
    depths = ",".join(str(depth) for depth in sorted(set(run.plan.depths)))
    words = ["llama-bench", "-m", run.target.model_path or plan.path]
    words += ["-p", "0", "-n", str(run.plan.tokens), "-d", depths or "0"]
    words += ["-r", str(run.plan.runs)]
    for flag, name in (("-ngl", "gpu_layers"), ("-ctk", "cache_k"), ("-ctv", "cache_v")):
        if name in s:
            words += [flag, str(s[name])]
    if s.get("cpu_moe"):
        words += ["-ncmoe", str(s["cpu_moe"])]
    if "flash_attention" in s:
        words += ["-fa", "1" if s["flash_attention"] else "0"]
    for flag, name in (("-b", "batch"), ("-ub", "ubatch")):
        if name in s:
            words += [flag, str(s[name])]
    return shlex.join(words)
