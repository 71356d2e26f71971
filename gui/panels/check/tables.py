"""The rows of a check, and the earlier checks, as sheets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject

from core.check.engine_log import MIB, Size
from core.check.values import REPACKED, Agreement, Row, part_words
from core.language import mark, tr, written
from core.units import UnitSystem, format_bytes_in, format_share
from gui.panels.check.history import Record
from gui.tables.sheet import Column, Sheet

_UNITS = {UnitSystem.GIB: "MiB", UnitSystem.GB: "MB"}
# A figure that is less exact than two decimals of a MiB is shown as a range.
_RANGE = MIB // 20


class RowSheet(Sheet):
    """Part, device, estimate, engine, difference, and why."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Row, ...] = ()
        self._units = UnitSystem.GIB

    def show(self, rows: Sequence[Row], units: UnitSystem) -> None:
        """Show these rows."""
        self._shown, self._units = tuple(rows), units
        unit = _UNITS[units]
        names = [part_words(row.part) for row in rows]
        devices = [tr(row.device) for row in rows]
        reasons = [tr(row.reason) for row in rows]
        columns = (
            Column(
                "part",
                tr("Part"),
                names.__getitem__,
                lambda n: rows[n].part,
                lambda: names,
                widest=tr(REPACKED),
            ),
            Column(
                "device",
                tr("Device"),
                devices.__getitem__,
                lambda n: rows[n].device,
                lambda: devices,
                widest=max(devices, key=len, default="")[:28],
            ),
            Column(
                "estimate_bytes",
                tr("Plan, {unit}", unit=unit),
                lambda n: _bytes(rows[n].estimate, unit),
                lambda n: rows[n].estimate,
                lambda: [row.estimate or -1 for row in rows],
                number=True,
                widest=written(100_000, ",.2f"),
            ),
            Column(
                "engine_bytes",
                tr("Engine, {unit}", unit=unit),
                lambda n: _size(rows[n].engine, unit),
                lambda n: rows[n].engine.middle if rows[n].engine else None,  # type: ignore[union-attr]
                lambda: [row.engine.middle if row.engine else -1 for row in rows],
                number=True,
                help=tr("As llama.cpp prints it, rounded"),
                widest=_range(10_000 * MIB, 10_001 * MIB, "MiB"),
            ),
            Column(
                "difference_bytes",
                tr("Difference"),
                lambda n: difference(rows[n], unit),
                lambda n: rows[n].difference,
                lambda: [abs(row.difference or 0) for row in rows],
                number=True,
                help=tr("Plan less engine, in the same unit and as a share of the engine's figure"),
                widest=f"+{written(10_000, ',.2f')} (100 %)",
            ),
            Column(
                "reason",
                tr("Why"),
                reasons.__getitem__,
                reasons.__getitem__,
                lambda: reasons,
                stretch=1,
            ),
        )
        self.set_source(
            columns,
            len(rows),
            lambda: [f"{p} {d}".lower() for p, d in zip(names, devices, strict=True)],
        )


class HistorySheet(Sheet):
    """Earlier checks, the newest first."""

    def show(self, records: Sequence[Record]) -> None:
        """Show these."""
        dates = [record.date.replace("T", " ")[:16] for record in records]
        models = [record.file or record.model for record in records]
        unknown = mark("unknown")
        builds = [record.build or unknown for record in records]
        sources = [record.source for record in records]
        results = [record.summary for record in records]

        def column(
            name: str,
            title: str,
            exact: Sequence[str],
            shown: Sequence[str] = (),
            widest: str = "",
            stretch: int = 0,
        ) -> Column:
            texts = shown or exact
            return Column(
                name,
                title,
                texts.__getitem__,
                exact.__getitem__,
                lambda: texts,
                widest=widest,
                stretch=stretch,
            )

        columns = [
            column("date", tr("Date"), dates, widest="2026-12-30 23:59"),
            column("model", tr("Model"), models, stretch=2),
            column(
                "options",
                tr("Options"),
                [_options(record, str.format) for record in records],
                [_options(record, tr) for record in records],
                stretch=2,
            ),
            column("result", tr("Result"), results, stretch=3),
            column("source", tr("Source"), sources, [*map(tr, sources)], "llama-completion"),
            column("build", tr("Build"), builds, [*map(tr, builds)], tr(unknown)),
        ]
        self.set_source(columns, len(records), lambda: [m.casefold() for m in models])


def difference(row: Row, unit: str) -> str:
    """The difference in words: "equal", "+1.20 (0.4 %)", "within"; empty where not compared."""
    if row.agreement is Agreement.NOT_COMPARED:
        return "–"
    if row.difference is None or row.agreement is Agreement.EQUAL:
        return tr(row.agreement.value)
    share = f" ({format_share(abs(row.share))})" if row.share is not None else ""
    sign = "+" if row.difference > 0 else "−"
    return f"{sign}{format_bytes_in(abs(row.difference), unit)}{share}"


def _bytes(count: int | None, unit: str) -> str:
    return "–" if count is None else format_bytes_in(count, unit)


def _size(size: Size | None, unit: str) -> str:
    if size is None:
        return "–"
    if size.high - size.low <= _RANGE:
        return format_bytes_in(size.middle, unit)
    return _range(size.low, size.high, unit)


def _range(low: int, high: int, unit: str) -> str:
    return tr(
        "{low} to {high}", low=format_bytes_in(low, unit, 0), high=format_bytes_in(high, unit, 0)
    )


def _options(record: Record, say: Callable[..., str]) -> str:
    """Context, slots, cache types: what tells one check from the next. ``say`` puts facts into a
    text, for a reader or for a program."""
    o = record.options
    words = []
    if isinstance(o.get("context"), int):
        words.append(say(mark("{count:,} tokens"), count=o["context"]))
    if isinstance(o.get("slots"), int) and o["slots"] != 1:
        words.append(say(mark("{count} slots"), count=o["slots"]))
    words.append(f"K {o.get('cache_k')} V {o.get('cache_v')}")
    if o.get("ubatch") not in (None, 512):
        words.append(f"ubatch {o['ubatch']}")
    if o.get("flash_attention") is False:
        words.append(say(mark("no flash attention")))
    return ", ".join(words)
