"""The history of measurements in one SQLite file: whatever is killed, and whenever, what was kept
stays and the file stays whole.

Every cell is a transaction of its own, made the moment it is finished. A file that is damaged is
set aside and a new one begun; one that cannot be written costs the history, never the measurement.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.language import tr
from core.measure.codec import BadValueError, from_json, to_json, whole
from core.measure.history.file import alive, at_once, opened, this_process, unwritable
from core.measure.history.line import Line, line_of, own_name, shown_name
from core.measure.history.snapshot import PlanSnapshot
from core.measure.readings import Reading
from core.measure.run import Cell, Run, RunStatus
from core.problems import Problem


@dataclass(frozen=True, slots=True)
class Stored:
    """A run in the history. ``plan`` is the plan of that moment, None where there was none;
    ``deleted`` says when, and is empty while it is there."""

    run: Run
    plan: PlanSnapshot | None
    title: str = ""
    notes: str = ""
    deleted: str = ""

    @property
    def name(self) -> str:
        """What to call it: its title, else its model."""
        return self.title or shown_name(own_name(self.run, self.plan))


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as a list shows it."""

    id: str
    started: str
    status: RunStatus
    title: str
    notes: str
    line: Line

    @property
    def name(self) -> str:
        """What to call it: its title, else its model."""
        return self.title or shown_name(self.line.name)


class HistoryError(Exception):
    """The history could not be read or written; ``problem`` says so."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class History:
    """One connection, for one thread. ``problem`` is what was wrong with the file, if anything.

    Any number of windows may have the same file open. A damaged file is set aside where ``mend``
    says so; without it the history is empty and the file stays as it is.
    """

    def __init__(self, path: Path, *, mend: bool = True) -> None:
        self.path = path
        self._owner = this_process()
        self._connection, self.problem = opened(path, mend=mend)
        self._end_orphans()

    def close(self) -> None:
        """Nothing can be read or written after this."""
        self._connection.close()

    # Writing.

    def begin(self, run: Run, plan: PlanSnapshot | None) -> None:
        """Keep a run that has begun, or goes on: with what it has of cells, and under the name and
        with the notes that it was given."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO runs (id, started, ended, status, model, head, plan, owner)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " started = excluded.started, ended = excluded.ended, status = excluded.status,"
                " model = excluded.model, head = excluded.head, plan = excluded.plan,"
                " owner = excluded.owner, deleted = NULL, line = NULL",
                (
                    run.id,
                    run.started,
                    run.ended,
                    run.status.value,
                    whole(plan.model if plan is not None else run.target.model),
                    _head(run),
                    _dump(plan) if plan is not None else None,
                    self._owner if run.status is RunStatus.RUNNING else "",
                ),
            )
            db.execute("DELETE FROM cells WHERE run = ?", (run.id,))
            for cell in run.cells:
                _put_cell(db, run.id, cell)
            _put_telemetry(db, run.id, run.telemetry)

    def keep_cell(self, run_id: str, cell: Cell) -> None:
        """Keep a cell; it is safe when this returns."""
        with self._writing() as db:
            _put_cell(db, run_id, cell)

    def finish(self, run: Run) -> None:
        """The run has ended, or goes on later: its state, its unfinished cells, its telemetry."""
        with self._writing() as db:
            db.execute(
                "UPDATE runs SET ended = ?, status = ?, head = ?, owner = ?, line = NULL "
                "WHERE id = ?",
                (
                    run.ended,
                    run.status.value,
                    _head(run),
                    self._owner if run.status is RunStatus.RUNNING else "",
                    run.id,
                ),
            )
            for cell in run.cells:
                _put_cell(db, run.id, cell)
            _put_telemetry(db, run.id, run.telemetry)

    def rename(self, run_id: str, title: str) -> None:
        """Call it so; an empty title takes its own name back."""
        with self._writing() as db:
            db.execute("UPDATE runs SET title = ? WHERE id = ?", (whole(title.strip()), run_id))

    def note(self, run_id: str, notes: str) -> None:
        """Keep these notes with it."""
        with self._writing() as db:
            db.execute("UPDATE runs SET notes = ? WHERE id = ?", (whole(notes), run_id))

    def delete(self, run_ids: Iterable[str]) -> None:
        """Take these out of the list; `restore` brings them back until `purge`."""
        self._mark(run_ids, _now())

    def restore(self, run_ids: Iterable[str]) -> None:
        """Undo `delete`."""
        self._mark(run_ids, None)

    def purge(self) -> None:
        """Let go of what was deleted an hour ago or earlier: nobody undoes that any more."""
        now = datetime.now(UTC).timestamp() - 3600
        limit = _stamp(datetime.fromtimestamp(now, UTC))
        with self._writing() as db:
            db.execute("DELETE FROM runs WHERE deleted < ?", (limit,))

    def add(self, stored: Iterable[Stored]) -> int:
        """Take runs in from elsewhere; those that are here already stay as they are. Returns how
        many were new."""
        new = 0
        with self._writing() as db:
            for entry in stored:
                run = entry.run
                made = db.execute(
                    "INSERT OR IGNORE INTO runs"
                    " (id, started, ended, status, model, head, plan, title, notes)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        run.id,
                        run.started,
                        run.ended,
                        _settled(run.status).value,
                        whole(entry.plan.model if entry.plan is not None else run.target.model),
                        _head(run),
                        _dump(entry.plan) if entry.plan is not None else None,
                        whole(entry.title),
                        whole(entry.notes),
                    ),
                )
                if made.rowcount == 0:
                    continue
                new += 1
                for cell in run.cells:
                    _put_cell(db, run.id, cell)
                _put_telemetry(db, run.id, run.telemetry)
        return new

    # Reading.

    def lines(self) -> tuple[Listed, ...]:
        """Every run that was not deleted, the latest first, without its requests."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT id, started, status, title, notes, line FROM runs "
                "WHERE deleted IS NULL ORDER BY started DESC, id"
            ).fetchall()
        found = []
        for run_id, started, status, title, notes, text in rows:
            known, line = _status(status), self._line(run_id, text)
            if known is not None and line is not None:
                found.append(
                    Listed(run_id, _words(started), known, _words(title), _words(notes), line)
                )
        return tuple(found)

    def _line(self, run_id: str, text: str | None) -> Line | None:
        """What is kept, or worked out now and kept where that can be done."""
        if text is not None:
            with suppress(ValueError):
                made: Line = _load(Line, text)
                return made
        stored = self.load(run_id)
        if stored is None:
            return None
        line = line_of(stored.run, stored.plan)
        if stored.run.status is not RunStatus.RUNNING:
            with suppress(HistoryError), at_once(self._connection), self._writing() as db:
                db.execute("UPDATE runs SET line = ? WHERE id = ?", (_dump(line), run_id))
        return line

    def all(self) -> tuple[Stored, ...]:
        """Every run that was not deleted, the latest first. Telemetry is left out."""
        return tuple(self._read("WHERE deleted IS NULL", ()))

    def load(self, run_id: str) -> Stored | None:
        """One run with everything; None where there is none of this id."""
        return next(self._read("WHERE id = ?", (run_id,), telemetry=True), None)

    def _read(
        self, where: str, values: tuple[str, ...], telemetry: bool = False
    ) -> Iterator[Stored]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT id, ended, status, head, plan, title, notes, deleted FROM runs "
                f"{where} ORDER BY started DESC, id",
                values,
            ).fetchall()
            cells: dict[str, list[Cell]] = {}
            chosen = f"SELECT id FROM runs {where}"
            for run_id, cell in db.execute(
                f"SELECT run, cell FROM cells WHERE run IN ({chosen}) ORDER BY depth, concurrency",
                values,
            ):
                with suppress(BadValueError, ValueError):
                    cells.setdefault(run_id, []).append(_load(Cell, cell))
            readings: dict[str, list[Reading]] = {}
            if telemetry:
                for run_id, reading in db.execute(
                    f"SELECT run, reading FROM telemetry WHERE run IN ({chosen}) ORDER BY number",
                    values,
                ):
                    with suppress(BadValueError, ValueError):
                        readings.setdefault(run_id, []).append(_load(Reading, reading))
        for run_id, ended, status, head, plan, title, notes, deleted in rows:
            try:
                run = replace(
                    _load(Run, head),
                    ended=_words(ended),
                    status=RunStatus(status),
                    cells=tuple(cells.get(run_id, ())),
                    telemetry=tuple(readings.get(run_id, ())),
                )
                kept = _load(PlanSnapshot, plan) if plan is not None else None
            except ValueError as error:
                logging.warning("run %s of the history is not understood: %s", run_id, error)
                continue
            yield Stored(run, kept, _words(title), _words(notes), _words(deleted))

    # The file.

    def _end_orphans(self) -> None:
        """Runs whose program died while it measured were stopped by that."""
        try:
            with self._reading() as db:
                owners = db.execute(
                    "SELECT id, owner FROM runs WHERE status = 'running'"
                ).fetchall()
            dead = [run_id for run_id, owner in owners if not alive(_words(owner))]
            if dead:
                with self._writing() as db:
                    for run_id in dead:
                        db.execute(
                            "UPDATE runs SET status = 'stopped', owner = '' WHERE id = ?",
                            (run_id,),
                        )
        except HistoryError as error:
            logging.warning("the history could not be tidied: %s", error)

    def _mark(self, run_ids: Iterable[str], when: str | None) -> None:
        with self._writing() as db:
            db.executemany(
                "UPDATE runs SET deleted = ? WHERE id = ?", [(when, run_id) for run_id in run_ids]
            )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise HistoryError(unwritable(self.path, error)) from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._connection
        except sqlite3.Error as error:
            problem = Problem(
                "history-read",
                tr("The history could not be read: {why}.", why=error),
                advice=tr("It is looked at again when the program is started."),
                where=str(self.path),
            )
            raise HistoryError(problem) from error


def _put_cell(db: sqlite3.Connection, run_id: str, cell: Cell) -> None:
    db.execute(
        "INSERT OR REPLACE INTO cells (run, depth, concurrency, cell) VALUES (?, ?, ?, ?)",
        (run_id, cell.depth, cell.concurrency, _dump(cell)),
    )


def _put_telemetry(db: sqlite3.Connection, run_id: str, readings: Iterable[Reading]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO telemetry (run, number, reading) VALUES (?, ?, ?)",
        ((run_id, number, _slim(reading)) for number, reading in enumerate(readings)),
    )


def _slim(reading: Reading) -> str:
    """Without what nobody told, which is most of a reading and None when it is read back."""
    values = to_json(reading)
    values["gpus"] = [_known(gpu) for gpu in values["gpus"]]
    return json.dumps(_known(values), separators=(",", ":"))


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _head(run: Run) -> str:
    """All but the cells and the telemetry, which have tables of their own."""
    return _dump(replace(run, cells=(), telemetry=()))


def _dump(value: Any) -> str:
    return json.dumps(to_json(value), separators=(",", ":"))


def _load(kind: type[Any], text: str) -> Any:
    """Raises ValueError."""
    try:
        return from_json(kind, json.loads(text))
    except RecursionError:
        raise BadValueError(tr("it is nested too deeply")) from None


def _words(value: object) -> str:
    """A text of a row; a row of a damaged file may hold anything."""
    return value if isinstance(value, str) else ""


def _status(text: object) -> RunStatus | None:
    return next((status for status in RunStatus if status.value == text), None)


def _settled(status: RunStatus) -> RunStatus:
    return RunStatus.STOPPED if status is RunStatus.RUNNING else status


def _now() -> str:
    return _stamp(datetime.now(UTC))


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
