"""The list of measurements, and the table of what differs between two of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from PySide6.QtCore import QObject

from core.language import tr, trc, written
from core.machine.machine import spoken_name
from core.measure.history import Listed
from core.measure.history.compare import FIRST_TOKEN, Comparison
from core.measure.run import RunStatus
from core.units import bare_rate, format_rate, format_seconds, format_share
from gui.tables.sheet import Column, Sheet, longest


class StoredSheet(Sheet):
    """Runs, the latest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.listed: tuple[Listed, ...] = ()

    def show(self, listed: tuple[Listed, ...]) -> None:
        """Show these; the filter stays."""
        self.listed = listed
        rows = listed

        def column(
            name: str,
            title: str,
            value: Callable[[Listed], Any],
            text: Callable[[Listed], str] = str,
            *,
            number: bool = False,
            stretch: int = 0,
            wanted: bool = False,
            help: str = "",
        ) -> Column:
            shown = text if text is not str else lambda r: str(value(r))
            return Column(
                name=name,
                title=title,
                text=lambda n: shown(rows[n]),
                exact=lambda n: value(rows[n]),
                keys=lambda: [_key(value(r), number) for r in rows],
                number=number,
                help=help,
                stretch=stretch,
                wanted=wanted,
                widest=longest([shown(r) for r in rows]) if not stretch else "",
            )

        columns = [
            column("started", tr("when"), lambda r: r.started, lambda r: local_time(r.started)),
            column("name", trc("noun: a saved run", "run"), lambda r: r.name, stretch=2),
            column(
                "decode_tok_s",
                "tok/s",
                lambda r: r.line.decode,
                lambda r: "" if r.line.decode is None else bare_rate(r.line.decode),
                number=True,
                wanted=True,
                help=tr("Median decode speed at the least depth"),
            ),
            column(
                "share_of_ceiling",
                tr("of ceiling"),
                lambda r: r.line.share,
                lambda r: "" if r.line.share is None else format_share(r.line.share),
                number=True,
                wanted=True,
                help=tr("Share of the ceiling at the least depth"),
            ),
            column(
                "deepest",
                tr("to depth"),
                lambda r: r.line.deepest,
                lambda r: written(r.line.deepest) if r.line.depths else "",
                number=True,
                help=tr("The deepest depth that was measured"),
            ),
            column("server", tr("server"), lambda r: r.line.server),
            column("status", tr("state"), lambda r: r.status.value, _state),
        ]
        self.set_source(columns, len(rows), lambda: [_haystack(r) for r in rows])


class DifferenceSheet(Sheet):
    """Figures of two runs side by side."""

    def show(self, comparison: Comparison | None) -> None:
        """Show this comparison, or nothing."""
        rows = comparison.rows if comparison is not None else ()

        def text(value: float, what: str) -> str:
            if what == FIRST_TOKEN:
                return format_seconds(value)
            return format_rate(value)

        def column(
            name: str, title: str, cell: Callable[[int], str], exact: Callable[[int], Any], **o: Any
        ) -> Column:
            return Column(
                name=name,
                title=title,
                text=cell,
                exact=exact,
                keys=lambda: [exact(n) for n in range(len(rows))],
                widest=longest([cell(n) for n in range(len(rows))]) if "stretch" not in o else "",
                **o,
            )

        def at(n: int) -> str:
            row = rows[n]
            many = f" × {row.concurrency}" if row.concurrency > 1 else ""
            return f"{written(row.depth)}{many}"

        columns = [
            column("what", tr("figure"), lambda n: tr(rows[n].what), lambda n: rows[n].what),
            column("depth", tr("depth"), at, lambda n: rows[n].depth, number=True),
            column(
                "first",
                trc("one of two runs", "first"),
                lambda n: text(rows[n].first, rows[n].what),
                lambda n: rows[n].first,
                number=True,
            ),
            column(
                "second",
                trc("one of two runs", "second"),
                lambda n: text(rows[n].second, rows[n].what),
                lambda n: rows[n].second,
                number=True,
            ),
            column(
                "difference",
                tr("difference, with 95 % certainty"),
                lambda n: rows[n].words,
                lambda n: rows[n].exact,
                stretch=1,
            ),
        ]
        self.set_source(columns, len(rows), lambda: [tr(row.what) for row in rows])


def local_time(stamp: str) -> str:
    """A UTC stamp on this computer's clock: "2026-01-01 13:05"."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def _state(entry: Listed) -> str:
    match entry.status:
        case RunStatus.DONE:
            return trc("of a run", "done")
        case RunStatus.STOPPED:
            return trc("of a run", "stopped")
        case RunStatus.FAILED:
            return trc("of a run", "failed")
        case RunStatus.RUNNING:
            return trc("of a run", "running")


def _haystack(entry: Listed) -> str:
    line = entry.line
    words = (
        entry.name, entry.notes, line.name, line.server, line.file, spoken_name(line.machine),
        line.cache, _state(entry), local_time(entry.started),
    )  # fmt: skip
    return " ".join(words).casefold()


def _key(value: Any, number: bool) -> Any:
    if number:
        return -1.0 if value is None else value
    return str(value).casefold()
