"""The file that holds the history: opened, brought up to date, or set aside where it is damaged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep

from core.language import tr
from core.machine import places
from core.measure.history import schema
from core.problems import Problem, Severity
from core.whole_file import require_file

# Another window that writes is done within milliseconds; on a disk that is busy it takes longer.
_WAIT_SECONDS = 10.0
_AGAIN_SECONDS = 0.02
_PATIENCE = {sqlite3.SQLITE_BUSY: _WAIT_SECONDS, sqlite3.SQLITE_IOERR: 0.5}
# A file up to this size is checked from end to end when it is opened: some 50 ms.
_CHECKED_BYTES = 64_000_000


def history_path() -> Path:
    """Where this user's history is; window and command line share it."""
    return places.folder() / "runs.sqlite"


def opened(path: Path, *, mend: bool) -> tuple[sqlite3.Connection, Problem | None]:
    """A connection, and what is wrong with the file, if anything: what is written then goes to
    memory, or to a new file where ``mend`` lets the damaged one be set aside. Never raises."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            require_file(path)  # SQLite would wait at a pipe
        except FileNotFoundError:
            pass
        except OSError as error:
            return _connect(None), unwritable(path, error)
        # Who only looks in passing does not wait for a look at every page.
        return _when_free(path, check=mend), None
    except schema.NewerVersionError:
        problem = Problem(
            "history-newer",
            tr("The history was written by a newer version of this program and is left as it is."),
            Severity.WARNING,
            tr("Runs of this window are not kept. Use the newer version."),
            str(path),
        )
    except (sqlite3.OperationalError, OSError) as error:
        return _copied(path), unwritable(path, error)
    except sqlite3.DatabaseError as error:
        if mend:
            return _begun_anew(path, error)
        message = tr("The history could not be read ({why}).", why=error)
        problem = Problem("history-damaged", message)
    return _connect(None), problem


def _begun_anew(path: Path, error: sqlite3.Error) -> tuple[sqlite3.Connection, Problem]:
    """Set the damaged file aside, with what belongs to it."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    kept = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    try:
        path.replace(kept)
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{path}{ending}").replace(f"{kept}{ending}")
        connection = _connect(path)
    except (OSError, sqlite3.Error) as again:
        return _connect(None), unwritable(path, again)
    problem = Problem(
        "history-damaged",
        tr("The history could not be read ({why}); a new one was begun.", why=error),
        Severity.WARNING,
        tr("The old file is kept as {name}.", name=kept.name),
        str(path.parent),
    )
    return connection, problem


def _copied(path: Path) -> sqlite3.Connection:
    """What a file that cannot be written has, in memory: a folder that is read-only or a disk that
    is full hides no earlier run. Empty where it cannot be read either."""
    copy = _connect(None)
    # The write-ahead log of a file that nobody has open needs a writable folder; without one the
    # file stands for itself. One that somebody else writes just now is not read half.
    for how in ("mode=ro", "mode=ro&immutable=1"):
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as source:
                source.backup(copy)
            _look_through(copy)
            schema.prepare(copy)
        except (sqlite3.Error, OSError, UnicodeDecodeError, schema.NewerVersionError) as error:
            copy.close()
            copy = _connect(None)
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            ):
                break
        else:
            break
    return copy


def _when_free(path: Path, *, check: bool) -> sqlite3.Connection:
    """`_connect`, once nobody else opens it. SQLite does not wait where two make the same new file
    one with a write-ahead log: the second is turned away at once. Where the first closes it, and
    takes the log away, at the moment in which the second looks for it, that is an I/O error."""
    begun = monotonic()
    while True:
        try:
            return _connect(path, check=check)
        except sqlite3.OperationalError as error:
            patience = _PATIENCE.get(error.sqlite_errorcode & 0xFF, 0.0)
            if monotonic() - begun >= patience:
                raise
        sleep(_AGAIN_SECONDS)


def _connect(path: Path | None, *, check: bool = True) -> sqlite3.Connection:
    """Open a file (None: only in memory), up to date, and looked through where ``check`` says so
    and it is not too long."""
    connection = sqlite3.connect(
        path or ":memory:", timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    # Letters that a fault of the disk has changed cost their own row, not every other one.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if path is not None and check and path.stat().st_size <= _CHECKED_BYTES:
            _look_through(connection)
        schema.prepare(connection)
    except UnicodeDecodeError:  # what is told of the damage names something that is damaged
        connection.close()
        raise sqlite3.DatabaseError(tr("its names are no text")) from None
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def at_once(connection: sqlite3.Connection) -> Iterator[None]:
    """What is done here waits for nobody: it can as well be done another time."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(_WAIT_SECONDS * 1000)}")


def _look_through(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)


def unwritable(path: Path, error: Exception) -> Problem:
    """Why nothing is kept."""
    words = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return Problem(
        "history-write",
        tr("The history could not be written: {why}.", why=words),
        Severity.WARNING,
        tr(
            "Runs of this window are not kept. Check that the folder can be written to and that "
            "the disk is not full."
        ),
        str(path),
    )


def this_process() -> str:
    """This process, so that no later one of the same number is taken for it."""
    import psutil

    return f"{os.getpid()} {psutil.Process().create_time():.2f}"


def alive(owner: str) -> bool:
    """Whether a process that `this_process` named has not ended."""
    import psutil

    pid, _, created = owner.partition(" ")
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(created)) < 1.0
    except (ValueError, psutil.NoSuchProcess):
        return False
    except psutil.Error:
        return True
