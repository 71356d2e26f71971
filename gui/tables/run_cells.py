"""The table of a run: one row for each depth and number of requests at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject

from core.language import tr, trc, written
from core.measure import metrics
from core.measure.diagnosis import point_of
from core.measure.history import PlanSnapshot
from core.measure.order import Summary
from core.measure.run import Cell, Run
from core.units import bare_rate, format_seconds, format_share
from gui.tables.sheet import Column, Sheet, longest


@dataclass(frozen=True, slots=True)
class _Row:
    """The figures of a cell; None is what was not measured, or what n does not allow."""

    depth: int
    concurrency: int
    n: int
    decode: Summary | None
    share: float | None
    bandwidth: float | None
    prefill: float | None
    first: float | None
    gap: float | None
    total: float | None
    finished: bool


class CellSheet(Sheet):
    """Follows a run that grows."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows_of_run: tuple[_Row, ...] = ()

    def show(self, run: Run | None, plan: PlanSnapshot | None) -> None:
        """Show the cells of this run."""
        made = tuple(_row(cell, plan) for cell in run.cells) if run is not None else ()
        if made == self._rows_of_run and self.columns:
            return
        self._rows_of_run = made
        rows = made
        several = any(r.concurrency > 1 for r in rows)

        def column(
            name: str,
            title: str,
            value: Callable[[_Row], Any],
            text: Callable[[_Row], str],
            help: str,
        ) -> Column:
            return Column(
                name=name,
                title=title,
                text=lambda n: text(rows[n]),
                exact=lambda n: value(rows[n]),
                keys=lambda: [-1 if value(r) is None else value(r) for r in rows],
                number=True,
                help=help,
                widest=longest([text(r) for r in rows]),
            )

        columns = [
            column(
                "depth",
                tr("depth"),
                lambda r: r.depth,
                lambda r: written(r.depth),
                tr("Tokens in the cache when writing began, as the server counted them"),
            ),
            *(
                [
                    column(
                        "requests",
                        tr("at once"),
                        lambda r: r.concurrency,
                        lambda r: str(r.concurrency),
                        tr("Requests at the same time"),
                    )
                ]
                if several
                else []
            ),
            column(
                "decode_tok_s",
                "tok/s",
                lambda r: r.decode.median if r.decode else None,
                lambda r: _rate(r.decode.median if r.decode else None),
                tr("Median decode speed of one request, by the server's timings where it has them"),
            ),
            column(
                "interval",
                "95 %",
                lambda r: _interval(r),
                _interval_text,
                trc(
                    "requests that are repeated",
                    "Between these lies the median with 95 % confidence (6 runs or more)",
                ),
            ),
            column(
                "worst_tok_s",
                tr("worst"),
                lambda r: r.decode.least if r.decode else None,
                lambda r: _rate(r.decode.least if r.decode else None),
                trc("requests that are repeated", "The slowest run"),
            ),
            *(
                [
                    column(
                        "p5_tok_s",
                        "p5",
                        lambda r: r.decode.p5 if r.decode else None,
                        lambda r: _rate(r.decode.p5 if r.decode else None),
                        trc(
                            "requests that are repeated",
                            "19 of 20 runs are faster (20 runs or more)",
                        ),
                    )
                ]
                if any(r.decode and r.decode.p5 is not None for r in rows)
                else []
            ),
            *(
                [
                    column(
                        "total_tok_s",
                        tr("together"),
                        lambda r: r.total,
                        lambda r: _rate(r.total),
                        tr("Tokens per second of all requests together"),
                    )
                ]
                if several
                else []
            ),
            column(
                "share_of_ceiling",
                tr("of ceiling"),
                lambda r: r.share,
                lambda r: "" if r.share is None else format_share(r.share),
                tr("Passes of the model per second over the ceiling at this depth"),
            ),
            column(
                "bytes_per_second",
                "GB/s",
                lambda r: r.bandwidth,
                lambda r: "" if r.bandwidth is None else written(r.bandwidth / 1e9, ",.1f"),
                tr("Bytes read per second: passes per second times bytes per token"),
            ),
            column(
                "prefill_tok_s",
                tr("prefill"),
                lambda r: r.prefill,
                lambda r: _rate(r.prefill),
                tr("Prompt tokens read per second, of those that were not in the cache"),
            ),
            column(
                "ttft_s",
                "TTFT",
                lambda r: r.first,
                lambda r: "" if r.first is None else format_seconds(r.first),
                tr("Time to the first token of a prompt that is new"),
            ),
            column(
                "gap_p95_s",
                tr("gap p95"),
                lambda r: r.gap,
                lambda r: "" if r.gap is None else format_seconds(r.gap),
                tr("19 of 20 gaps between tokens are shorter (100 gaps or more)"),
            ),
            column(
                "n",
                trc("requests that are repeated", "runs"),
                lambda r: r.n,
                lambda r: f"{r.n}",
                trc("requests that are repeated", "Runs that count"),
            ),
        ]
        self.set_source(columns, len(rows), lambda: ["" for _ in rows])


def _row(cell: Cell, plan: PlanSnapshot | None) -> _Row:
    point = point_of(cell, plan) if cell.concurrency == 1 else None
    prefill, first = metrics.prefill(cell), metrics.time_to_first(cell)
    total = metrics.total_rate(cell) if cell.concurrency > 1 else None
    depth = metrics.exact_depth(cell)
    return _Row(
        cell.depth if depth is None else depth,
        cell.concurrency,
        len(cell.measured),
        metrics.best_decode(cell),
        point.share if point else None,
        point.bandwidth if point else None,
        prefill.median if prefill and cell.depth > 1 else None,
        first.median if first else None,
        metrics.longest_gaps(cell),
        total.median if total else None,
        cell.finished,
    )


def _rate(value: float | None) -> str:
    return "" if value is None else bare_rate(value)


def _interval(row: _Row) -> Sequence[float] | None:
    d = row.decode
    return None if d is None or d.low is None or d.high is None else [d.low, d.high]


def _interval_text(row: _Row) -> str:
    ends = _interval(row)
    return "" if ends is None else f"{_rate(ends[0])} – {_rate(ends[1])}"
