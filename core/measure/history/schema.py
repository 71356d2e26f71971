"""The tables of the history, step by step: a file of any earlier version is brought up to date.

A step is never changed once it was released; what comes later is one more step.
"""

from __future__ import annotations

import sqlite3

from core.language import tr

# "WBrg": tells the file from any other SQLite database.
APPLICATION_ID = 0x57427267

STEPS: tuple[str, ...] = (
    # 1: what was measured. JSON as `core.measure.codec` writes it, raw stamps included.
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        started TEXT NOT NULL,
        ended TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL,
        model TEXT NOT NULL DEFAULT '',
        head TEXT NOT NULL,
        plan TEXT,
        title TEXT NOT NULL DEFAULT '',
        notes TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    CREATE TABLE cells (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        depth INTEGER NOT NULL,
        concurrency INTEGER NOT NULL,
        cell TEXT NOT NULL,
        PRIMARY KEY (run, depth, concurrency)
    ) WITHOUT ROWID;
    CREATE TABLE telemetry (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        reading TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
    """,
    # 2: deleting can be undone; who measures, so that a run whose program died is no longer
    # called running.
    """
    ALTER TABLE runs ADD COLUMN deleted TEXT;
    ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    CREATE INDEX runs_by_time ON runs(started);
    """,
    # 3: what a list shows of a run; null until somebody has worked it out.
    """
    ALTER TABLE runs ADD COLUMN line TEXT;
    """,
    # 4: the line says what the run teaches as well, so it is worked out anew.
    """
    UPDATE runs SET line = NULL;
    """,
)
VERSION = len(STEPS)
_COLUMNS = {
    "runs": {
        *("id", "started", "ended", "status", "model", "head", "plan", "title", "notes"),
        *("deleted", "owner", "line"),
    },
    "cells": {"run", "depth", "concurrency", "cell"},
    "telemetry": {"run", "number", "reading"},
}


class NewerVersionError(Exception):
    """The file is of a version that this program does not know."""


def prepare(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date. Raises NewerVersionError, sqlite3.Error.

    Each step is one transaction: killed in between, the file is of one version or of the next. A
    second window that does the same at the same time waits, and then finds it done.
    """
    for number in range(_version(connection), VERSION):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection) == number:
                for statement in STEPS[number].split(";"):
                    if statement.strip():
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    for table, columns in _COLUMNS.items():
        there = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
        if not there >= columns:
            raise sqlite3.DatabaseError(tr("the table of {name} is not whole", name=table))


def _version(connection: sqlite3.Connection) -> int:
    # In one statement: another window may be at work on a new file between two.
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if version == 0 and application == 0:
        if tables:
            raise sqlite3.DatabaseError(tr("a database of another program"))
        return 0
    if application != APPLICATION_ID:
        raise sqlite3.DatabaseError(tr("a database of another program"))
    if version > VERSION:
        raise NewerVersionError(version)
    return int(version)
