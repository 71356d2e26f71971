"""Earlier checks: one JSON object a line, in a file beside the settings.

A line is written in one piece at the end of the file. One that is damaged costs only itself; a
file that has grown too long is written anew with the latest lines.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.check.compare import Check, summary
from core.check.values import Row
from core.plan.plan import Plan
from core.whole_file import open_file, write_whole

VERSION = 1
KEPT = 200
_SIZE_LIMIT = 2_000_000
# Of the resolved settings, what decides sizes.
_OPTIONS = (
    "context",
    "slots",
    "unified_cache",
    "cache_k",
    "cache_v",
    "flash_attention",
    "ubatch",
    "swa_full",
    "gpu_layers",
    "cpu_moe",
    "engine",
    "requantize",
    "backend",
)


@dataclass(frozen=True, slots=True)
class Record:
    """One check. ``date`` is ISO, ``source`` what was read ("llama-server", a file's name)."""

    date: str
    model: str
    file: str
    machine: str
    build: str
    source: str
    options: Mapping[str, Any]
    summary: str
    rows: tuple[Mapping[str, Any], ...] = ()


def record_of(check: Check, plan: Plan, source: str, date: str) -> Record:
    """What is kept of a check."""
    return Record(
        date=date,
        model=plan.model.name or plan.model.architecture,
        file=plan.model.file.header.path.name,
        machine=plan.machine.name,
        build=check.build,
        source=source,
        options={name: getattr(plan.settings, name) for name in _OPTIONS},
        summary=summary(check),
        rows=tuple(_row(row) for row in check.rows),
    )


def read(path: Path) -> tuple[Record, ...]:
    """The latest checks, the newest first; none where there is no file. Never raises."""
    try:
        with open_file(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _SIZE_LIMIT))
            lines = file.read().split(b"\n")
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            logging.warning("earlier checks could not be read: %s", error)
        return ()
    found = [record for line in lines if (record := _record(line)) is not None]
    return tuple(reversed(found[-KEPT:]))


def append(path: Path, record: Record) -> None:
    """Add one line. Raises OSError."""
    fields = {name: getattr(record, name) for name in Record.__slots__}
    line = json.dumps({"version": VERSION, **fields}, ensure_ascii=True).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        size = file.seek(0, os.SEEK_END)
        if size:  # what another program was stopped in the middle of ends here
            file.seek(size - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    if size > _SIZE_LIMIT:
        _shorten(path)


def _shorten(path: Path) -> None:
    """Keep the latest lines, whole or not at all."""
    lines = [line for line in path.read_bytes().split(b"\n") if _record(line) is not None]
    write_whole(path, b"\n".join(lines[-KEPT:]) + b"\n")


def _row(row: Row) -> dict[str, Any]:
    return {
        "part": row.part,
        "device": row.device,
        "estimate": row.estimate,
        "engine_low": row.engine.low if row.engine else None,
        "engine_high": row.engine.high if row.engine else None,
        "agreement": row.agreement,
    }


def _record(line: bytes) -> Record | None:
    try:
        stored = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        return None
    words = {
        name: stored.get(name)
        for name in ("date", "model", "file", "machine", "build", "source", "summary")
    }
    options, rows = stored.get("options"), stored.get("rows")
    if not all(isinstance(word, str) for word in words.values()):
        return None
    if not isinstance(options, dict) or not isinstance(rows, list):
        return None
    kept = tuple(row for row in rows if isinstance(row, dict))
    return Record(**words, options=options, rows=kept)  # type: ignore[arg-type]
