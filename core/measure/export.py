"""A run as the object of `weighbridge measure --json`, and as a table for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.gguf import display
from core.measure import metrics
from core.measure.diagnosis import Finding
from core.measure.order import Summary
from core.measure.run import Cell, Run, RunStatus
from core.problems import as_values
from core.units import bare_rate, format_seconds, format_share, format_tokens

SCHEMA = 1
Ceiling = Callable[[float], float | None]
Values = dict[str, Any]


def as_json(run: Run, ceiling: Ceiling, findings: Sequence[Finding] = ()) -> Values:
    """The run for `json.dumps`: cells that were finished or could not be, absent facts null.

    ``ceiling`` gives tokens per second at a depth.
    """
    target = run.target
    return {
        "schema": SCHEMA,
        "server": {
            "kind": target.kind.value,
            "url": target.url,
            "model": target.model or None,
            "context": target.context,
        },
        "started": run.started,
        "status": run.status.value,
        "cells": [_cell(run, cell, ceiling) for cell in told(run)],
        "diagnosis": [
            {"code": f.code, "message": f.message, "evidence": f.evidence or None} for f in findings
        ],
        "problems": [as_values(problem) for problem in run.problems],
    }


def no_run(url: str | None, problem: Values) -> Values:
    """The same object where nothing could be started."""
    return {
        "schema": SCHEMA,
        "server": None
        if url is None
        else {"kind": None, "url": url, "model": None, "context": None},
        "started": None,
        "status": RunStatus.FAILED.value,
        "cells": [],
        "diagnosis": [],
        "problems": [problem],
    }


def told(run: Run) -> tuple[Cell, ...]:
    """Cells worth telling, by depth: finished ones, and those that were given up with a reason."""
    cells = (cell for cell in run.cells if cell.finished or cell.problems)
    return tuple(sorted(cells, key=lambda cell: cell.key))


def share_of_ceiling(cell: Cell, ceiling: Ceiling) -> tuple[float | None, float | None]:
    """The ceiling at the cell's true depth, and the share of it that its passes reach. It is that
    of a single request: of several at the same time, which share a pass, both are None."""
    if cell.concurrency > 1:
        return None, None
    depth, steps = metrics.point_depth(cell), metrics.steps(cell)
    most = None if depth is None else ceiling(depth)
    if most is None or steps is None:
        return most, None
    return most, steps.median / most


def _cell(run: Run, cell: Cell, ceiling: Ceiling) -> Values:
    most, share = share_of_ceiling(cell, ceiling)
    depth = metrics.exact_depth(cell)
    values: Values = {
        "depth": cell.depth if depth is None else depth,
        "runs": len(cell.measured),
        "tokens": run.plan.tokens,
        "decode_tok_s": _rate(metrics.decode(cell)),
        "server_decode_tok_s": _rate(metrics.server_decode(cell)),
        "tpot_ms": _time(metrics.time_per_token(cell)),
        "prefill_tok_s": _rate(metrics.prefill(cell)),
        "ttft_ms": _time(metrics.time_to_first(cell)),
        "ceiling_tok_s": most,
        "share_of_ceiling": share,
        "problems": [as_values(problem) for problem in cell.problems],
    }
    if run.plan.concurrency != (1,):
        values["concurrency"] = cell.concurrency
        values["total_tok_s"] = _rate(metrics.total_rate(cell))
    return values


def _rate(summary: Summary | None) -> Values | None:
    """The bad tail of a rate is the low one."""
    if summary is None:
        return None
    return {
        "median": summary.median,
        "low": summary.low,
        "high": summary.high,
        "p5": summary.p5,
    }


def _time(summary: Summary | None) -> Values | None:
    """Milliseconds; the bad tail of a time is the high one."""
    if summary is None:
        return None
    return {
        name: None if value is None else value * 1e3
        for name, value in (
            ("median", summary.median),
            ("low", summary.low),
            ("high", summary.high),
            ("p95", summary.p95),
        )
    }


def text(run: Run, ceiling: Ceiling, findings: Sequence[Finding] = ()) -> str:
    """A table of the cells, then what there is to say about them."""
    target = run.target
    many = run.plan.concurrency != (1,)
    head = ["depth", "tok/s", "from", "to", "server's", "of ceiling", "prefill", "TTFT"]
    rows = [[head[0], "at once", *head[1:], "together"] if many else head]
    rows += [_row(cell, ceiling, many) for cell in told(run)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    model = display(target.model or "an unnamed model")
    lines = [f"{model} on {target.kind.value} at {display(target.url)}"]
    if len(rows) > 1:
        for row in rows:
            cells = (f"{word:>{width}}" for word, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
    lines += [
        f"depth {format_tokens(cell.depth)}: {problem.message} {problem.advice}".rstrip()
        for cell in told(run)
        for problem in cell.problems
    ]
    lines += [words for cell in told(run) if (words := _thinking(cell))]
    lines += [f"{problem.message} {problem.advice}".rstrip() for problem in run.problems]
    for finding in findings:
        evidence = f" ({finding.evidence})" if finding.evidence else ""
        lines.append(f"{finding.message}{evidence} {finding.advice}".rstrip())
    return "\n".join(lines) + "\n"


def _row(cell: Cell, ceiling: Ceiling, many: bool) -> list[str]:
    ours, theirs = metrics.decode(cell), metrics.server_decode(cell)
    _, share = share_of_ceiling(cell, ceiling)
    prefill, first = metrics.prefill(cell), metrics.time_to_first(cell)
    depth = metrics.exact_depth(cell)
    total = metrics.total_rate(cell)

    row = [
        format_tokens(cell.depth if depth is None else depth),
        _number(ours.median if ours else None),
        _number(ours.low if ours else None),
        _number(ours.high if ours else None),
        _number(theirs.median if theirs else None),
        "-" if share is None else format_share(share),
        _number(prefill.median if prefill else None),
        "-" if first is None else format_seconds(first.median),
    ]
    if many:
        return [row[0], str(cell.concurrency), *row[1:], _number(total.median if total else None)]
    return row


def _thinking(cell: Cell) -> str:
    """When the answer began, where thinking came before it."""
    first, answer = metrics.time_to_first(cell), metrics.time_to_answer(cell)
    if first is None or answer is None or answer.median <= first.median:
        return ""
    when = format_seconds(answer.median)
    return f"depth {format_tokens(cell.depth)}: thinking came first, the answer began after {when}."


def _number(rate: float | None) -> str:
    """A rate for a column whose head has the unit."""
    return "-" if rate is None else bare_rate(rate)
