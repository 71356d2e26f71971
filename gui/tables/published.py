"""Published runs and the user's own as the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt

from core.explain.entries import Entry
from core.gguf import display
from core.language import tr
from core.machine.machine import spoken_name
from core.units import (
    UnitSystem,
    bare_rate,
    format_bandwidth,
    format_bytes,
    format_share,
    format_tokens,
)
from gui.tables.sheet import Column, Sheet, longest


def show_entries(sheet: Sheet, entries: Sequence[Entry], units: UnitSystem) -> None:
    """Fill a sheet with these, sorted as it was."""
    before, order = sheet.sorted_by, sheet.sort_order
    sheet.set_source(_columns(entries, units), len(entries), lambda: _haystack(entries))
    if before >= 0:
        sheet.sort(before, order)


def _haystack(entries: Sequence[Entry]) -> list[str]:
    return [f"{e.told} {e.address}".casefold() for e in entries]


def _columns(entries: Sequence[Entry], units: UnitSystem) -> list[Column]:
    def words(
        name: str,
        title: str,
        read: Callable[[Entry], str],
        say: Callable[[str], str] = str,
        **more: Any,
    ) -> Column:
        """``say`` puts what programs get into the reader's words."""
        texts = [display(say(read(entry))) for entry in entries]
        return Column(
            name,
            title,
            texts.__getitem__,
            lambda n: read(entries[n]),
            lambda: [text.casefold() for text in texts],
            tip=lambda n: entries[n].told,
            widest="" if more.get("stretch") else longest(texts),
            **more,
        )

    def figure(
        name: str,
        title: str,
        read: Callable[[Entry], float | None],
        text: Callable[[Any], str],
        help: str = "",
    ) -> Column:
        values = [read(entry) for entry in entries]
        texts = ["" if value is None else text(value) for value in values]
        return Column(
            name,
            title,
            texts.__getitem__,
            values.__getitem__,
            lambda: [-1.0 if value is None else value for value in values],
            number=True,
            help=help,
            tip=lambda n: entries[n].told,
            widest=longest(texts),
        )

    right = Qt.TextElideMode.ElideRight
    return [
        figure(
            "share_of_peak",
            tr("Share"),
            lambda e: e.share,
            format_share,
            tr("Tokens per second times bytes per token, over the peak bandwidth"),
        ),
        figure("decode_tok_s", "tok/s", lambda e: e.decode, bare_rate),
        figure(
            "bytes_per_token",
            tr("Read a token"),
            lambda e: e.bytes,
            lambda v: format_bytes(round(v), units),
            tr("Weights and cache that one token reads"),
        ),
        figure("depth_tokens", tr("Depth"), lambda e: e.depth, lambda v: format_tokens(round(v))),
        words("machine", tr("Machine"), lambda e: e.machine, spoken_name, stretch=3),
        words("backend", tr("Backend"), lambda e: e.backend, tr, wanted=True),
        words("model", tr("Model"), lambda e: e.model, wanted=True),
        words("quantization", tr("Quantization"), lambda e: e.quantization, wanted=True),
        words("kind", tr("Kind"), lambda e: e.kind, tr, wanted=True),
        words("date", tr("Date"), lambda e: e.date, wanted=True),
        words("program", tr("Program"), lambda e: e.program),
        figure("bandwidth_bytes_s", tr("Peak"), lambda e: e.bandwidth, format_bandwidth),
        words("remark", tr("Remark"), lambda e: e.remark, tr, elide=right),
        words("source", tr("Source"), lambda e: e.source, tr, elide=right),
        words("address", tr("Address"), lambda e: e.address, elide=right),
    ]
