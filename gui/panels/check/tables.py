"""The rows of a check, and the earlier checks, as sheets."""

from __future__ import annotations

from collections.abc import Sequence

from core.check.engine_log import MIB, Size
from core.check.values import Agreement, Row
from core.units import UnitSystem, format_bytes_in, format_share
from gui.panels.check.history import Record
from gui.tables.sheet import Column, Sheet

_UNITS = {UnitSystem.GIB: "MiB", UnitSystem.GB: "MB"}
# A figure that is less exact than two decimals of a MiB is shown as a range.
_RANGE = MIB // 20


class RowSheet(Sheet):
    """Part, device, estimate, engine, difference, and why."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Row, ...] = ()
        self._units = UnitSystem.GIB

    def show(self, rows: Sequence[Row], units: UnitSystem) -> None:
        """Show these rows."""
        self._shown, self._units = tuple(rows), units
        unit = _UNITS[units]
        names = [row.part for row in rows]
        devices = [row.device for row in rows]
        columns = (
            Column(
                "part",
                "Part",
                names.__getitem__,
                names.__getitem__,
                lambda: names,
                widest="repacked weights",
            ),
            Column(
                "device",
                "Device",
                devices.__getitem__,
                devices.__getitem__,
                lambda: devices,
                widest=max(devices, key=len, default="")[:28],
            ),
            Column(
                "estimate_bytes",
                f"Plan, {unit}",
                lambda n: _bytes(rows[n].estimate, unit),
                lambda n: rows[n].estimate,
                lambda: [row.estimate or -1 for row in rows],
                number=True,
                widest="100,000.00",
            ),
            Column(
                "engine_bytes",
                f"Engine, {unit}",
                lambda n: _size(rows[n].engine, unit),
                lambda n: rows[n].engine.middle if rows[n].engine else None,  # type: ignore[union-attr]
                lambda: [row.engine.middle if row.engine else -1 for row in rows],
                number=True,
                help="As llama.cpp prints it, rounded",
                widest="10,000 to 10,001",
            ),
            Column(
                "difference_bytes",
                "Difference",
                lambda n: difference(rows[n], unit),
                lambda n: rows[n].difference,
                lambda: [abs(row.difference or 0) for row in rows],
                number=True,
                help="Plan less engine, in the same unit and as a share of the engine's figure",
                widest="+10,000.00 (100 %)",
            ),
            Column(
                "reason",
                "Why",
                lambda n: rows[n].reason,
                lambda n: rows[n].reason,
                lambda: [row.reason for row in rows],
                stretch=1,
            ),
        )
        self.set_source(columns, len(rows), lambda: [f"{r.part} {r.device}".lower() for r in rows])


class HistorySheet(Sheet):
    """Earlier checks, the newest first."""

    def show(self, records: Sequence[Record]) -> None:
        """Show these."""
        dates = [record.date.replace("T", " ")[:16] for record in records]
        models = [record.file or record.model for record in records]
        options = [_options(record) for record in records]
        builds = [record.build or "unknown" for record in records]
        sources = [record.source for record in records]
        results = [record.summary for record in records]
        texts = {
            ("date", "Date", "2026-12-30 23:59", 0): dates,
            ("model", "Model", "", 2): models,
            ("options", "Options", "", 2): options,
            ("result", "Result", "", 3): results,
            ("source", "Source", "llama-completion", 0): sources,
            ("build", "Build", "unknown", 0): builds,
        }
        columns = [
            Column(
                name,
                title,
                values.__getitem__,
                values.__getitem__,
                lambda v=values: v,  # type: ignore[misc]
                widest=widest,
                stretch=stretch,
            )
            for (name, title, widest, stretch), values in texts.items()
        ]
        self.set_source(columns, len(records), lambda: [m.casefold() for m in models])


def difference(row: Row, unit: str) -> str:
    """The difference in words: "equal", "+1.20 (0.4 %)", "within"; empty where not compared."""
    if row.agreement is Agreement.NOT_COMPARED:
        return "–"
    if row.difference is None or row.agreement is Agreement.EQUAL:
        return row.agreement.value
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
    return f"{format_bytes_in(size.low, unit, 0)} to {format_bytes_in(size.high, unit, 0)}"


def _options(record: Record) -> str:
    """Context, slots, cache types: what tells one check from the next."""
    o = record.options
    words = []
    if isinstance(o.get("context"), int):
        words.append(f"{o['context']:,} tokens")
    if isinstance(o.get("slots"), int) and o["slots"] != 1:
        words.append(f"{o['slots']} slots")
    words.append(f"K {o.get('cache_k')} V {o.get('cache_v')}")
    if o.get("ubatch") not in (None, 512):
        words.append(f"ubatch {o['ubatch']}")
    if o.get("flash_attention") is False:
        words.append("no flash attention")
    return ", ".join(words)
