"""The history: what was kept stays, whatever happens to the programs that keep it."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import monotonic, sleep

import pytest

from core.machine.machine import named_here
from core.measure.history import (
    History,
    HistoryError,
    PlanSnapshot,
    Stored,
    schema,
    snapshot,
)
from core.measure.history.compare import compare
from core.measure.history.transfer import to_csv_text, to_json_text, to_markdown
from core.measure.readings import GpuReading, Reading
from core.measure.run import Run, RunStatus
from tests.support import runs
from tests.support.kills import kill_rounds
from tests.support.marking import marked
from tests.support.specimen_plans import specimen_plan

ROOT = Path(__file__).parents[3]
ROUNDS = kill_rounds(3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "history.sqlite"


def keep(history: History, run: Run, **changes: str) -> None:
    history.begin(run, planned(run.plan.depths))
    history.finish(run)


@cache
def planned(depths: tuple[int, ...]) -> PlanSnapshot:
    return snapshot(specimen_plan("Llama-3.1-8B"), depths)


@pytest.fixture
def other_language() -> Iterator[None]:
    with marked():
        yield


@pytest.mark.usefixtures("other_language")
def test_what_is_kept_is_in_no_language_and_what_is_shown_in_the_readers(path: Path) -> None:
    run = runs.run({4096: [40.5] * 6}, target=replace(runs.TARGET, model=""))
    history = History(path)
    history.begin(run, None)
    history.finish(run)
    (listed,) = history.lines()
    kept = history.load(run.id)
    history.close()
    assert kept is not None
    assert listed.name == kept.name == "⟦unknown model⟧"
    with closing(sqlite3.connect(path)) as db:
        assert "⟦" not in "\n".join(db.iterdump())
    assert "⟦" not in to_json_text([kept]) + to_csv_text([kept])
    assert "4096,1,run" in to_csv_text([kept])
    assert "| 4˙096 | 6 | 40'5 tok/s |" in to_markdown(kept)


@pytest.mark.usefixtures("other_language")
def test_this_computer_is_kept_under_its_english_name(path: Path) -> None:
    plan = specimen_plan("Llama-3.1-8B")
    here = replace(plan, machine=replace(plan.machine, name=named_here("RTX 3090 24 GB")))
    kept = snapshot(here)
    assert kept.machine == "This computer: RTX 3090 24 GB"
    told = to_markdown(Stored(runs.run({0: [40.0] * 6}), kept))
    assert ", ⟦This computer⟧: RTX 3090 24 GB, " in told


@pytest.mark.usefixtures("other_language")
def test_a_comparison_names_its_figures_in_no_language() -> None:
    made = [Stored(runs.run({0: [rate] * 6}, id=f"{rate}"), None) for rate in (40.0, 50.0)]
    found = compare(*made)
    assert [row.what for row in found.rows] == ["decode", "time to first token"]
    assert found.summary.startswith("⟦The second writes ⟧")


def test_a_run_comes_back_as_it_was_with_its_raw_stamps_and_timings(path: Path) -> None:
    card = GpuReading("RTX 3090", use=0.9, limits=())
    readings = [Reading(at_ns=n * 10**9, cpu=0.5, gpus=(card,)) for n in range(3)]
    run = runs.run({0: [50.0, 51.5, 49.25], 4096: [40.0] * 6}, telemetry=readings)
    plan = snapshot(specimen_plan("Llama-3.1-8B", cache_k="q8_0"), run.plan.depths)
    history = History(path)
    history.begin(run, plan)
    history.finish(run)
    history.close()
    again = History(path)
    stored = again.load(run.id)
    assert again.problem is None
    assert stored == Stored(run, plan)
    assert stored.run.cells[0].samples[1].arrivals_ns == run.cells[0].samples[1].arrivals_ns
    assert stored.run.cells[0].samples[1].server_timings["predicted_n"] == 64
    assert [entry.run.id for entry in again.all()] == [run.id]
    again.close()


def test_the_plan_of_that_moment_has_the_figures_at_every_depth_that_was_measured() -> None:
    # 3090: 936 GB/s; the ceiling is bandwidth / bytes per token (domain.md, 2).
    plan = specimen_plan("Llama-3.1-8B", context=16_384)
    kept = snapshot(plan, (0, 1234, 16_384))
    for depth in (0, 1234, 16_384):
        figures = kept.figures(depth)
        assert figures is not None
        assert figures.depth == depth
        assert figures.bytes
        assert figures.ceiling
        assert figures.ceiling == pytest.approx(936e9 / figures.bytes, rel=1e-3)
    between = kept.figures(5000.5)
    assert between is not None
    assert between.ceiling == pytest.approx(936e9 / (between.bytes or 1), rel=1e-3)
    assert kept.figures(20_000) is None
    assert kept.settings["context"] == 16_384


def test_a_line_of_the_list_is_worked_out_once(path: Path) -> None:
    history = History(path)
    keep(history, runs.run({4096: [40.0] * 6, 0: [50.0] * 6}))
    (listed,) = history.lines()
    assert listed.name == "Llama 3.1 8B Instruct Q4_K_M"
    assert listed.line.decode == pytest.approx(50.0)
    # 936 GB/s over what a token reads: 4.92 GB less the 0.30 GB of the embedding, a look-up.
    assert listed.line.share == pytest.approx(50.0 / (936 / 4.62), rel=0.005)
    assert (listed.line.depths, listed.line.deepest) == (2, 4096)
    with history._writing() as db:  # it does not look at the requests again
        db.execute("DELETE FROM cells")
    assert history.lines() == (listed,)
    history.rename(listed.id, "mine")
    assert history.lines()[0].name == "mine"
    history.close()


def test_a_cell_is_safe_when_it_was_kept(path: Path) -> None:
    run = runs.run({0: [50.0] * 6}, status=RunStatus.RUNNING)
    history = History(path)
    history.begin(replace(run, cells=()), None)
    history.keep_cell(run.id, run.cells[0])
    # Another connection sees it at once, without anybody having closed anything.
    second = History(path)
    stored = second.load(run.id)
    assert stored is not None
    assert stored.run.cells == run.cells
    assert stored.run.status is RunStatus.RUNNING
    history.close()
    second.close()


def test_a_run_whose_program_died_was_stopped(path: Path) -> None:
    run = runs.run({0: [50.0] * 6}, status=RunStatus.RUNNING)
    history = History(path)
    history.begin(run, None)
    history.close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE runs SET owner = '999999999 1.0'")
    db.close()
    again = History(path)
    (stored,) = again.all()
    assert stored.run.status is RunStatus.STOPPED
    assert stored.run.cells == run.cells
    again.close()


def test_names_notes_and_deleting_with_undo(path: Path) -> None:
    history = History(path)
    for number in range(3):
        keep(history, runs.run(id=f"run-{number}", started=f"2026-01-0{number + 1}T00:00:00Z"))
    history.rename("run-1", "  with flash attention ")
    history.note("run-1", "second line\n<b>no markup</b>")
    history.delete(["run-1", "run-2"])
    assert [entry.run.id for entry in history.all()] == ["run-0"]
    history.restore(["run-1"])
    latest, _ = history.all()
    assert (latest.name, latest.notes) == (
        "with flash attention",
        "second line\n<b>no markup</b>",
    )
    history.rename("run-1", "")
    assert history.all()[0].name == "Llama 3.1 8B Instruct Q4_K_M"
    history.purge()  # what was deleted just now can still be brought back
    history.restore(["run-2"])
    assert len(history.all()) == 3
    with history._writing() as db:
        db.execute("UPDATE runs SET deleted = '2020-01-01T00:00:00Z' WHERE id = 'run-2'")
    history.purge()
    history.restore(["run-2"])
    assert len(history.all()) == 2
    assert history.load("run-2") is None
    history.close()


def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path) -> None:
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.executescript((ROOT / "tests/data/history_version_1.sql").read_text(encoding="utf-8"))
    db.close()
    history = History(path)
    assert history.problem is None
    (stored,) = history.all()
    assert stored.run.target.model == "qwen3-4b"
    assert stored.title == "before the new driver"
    assert [cell.depth for cell in stored.run.cells] == [0, 4096]
    assert stored.plan is not None
    assert stored.plan.model == "Qwen3 4B"
    (version,) = history._connection.execute("PRAGMA user_version").fetchone()
    assert version == schema.VERSION
    keep(history, runs.run())
    assert len(history.all()) == 2
    history.close()


@pytest.mark.parametrize(
    "content",
    [b"no database at all, but long enough to be read as one" * 30, b"SQLite format 3\x00" * 99],
)
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    history = History(path)
    assert history.problem is not None
    assert history.problem.code == "history-damaged"
    keep(history, runs.run())
    assert len(history.all()) == 1
    history.close()
    (aside,) = path.parent.glob("history.damaged-*.sqlite")
    assert aside.read_bytes() == content


def test_a_file_with_pages_overwritten_is_set_aside(path: Path) -> None:
    history = History(path)
    for number in range(20):
        keep(history, runs.run(id=f"run-{number}"))
    history._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    history.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(range(256)) * (size // 1024))
    history = History(path)
    assert history.problem is not None
    assert history.problem.code == "history-damaged"
    assert history.all() == ()
    history.close()


def test_a_file_of_a_newer_version_is_left_as_it_is(path: Path) -> None:
    History(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    history = History(path)
    assert history.problem is not None
    assert "newer version" in history.problem.message
    keep(history, runs.run())  # in memory, for this window
    assert len(history.all()) == 1
    history.close()
    assert path.read_bytes() == before


def test_another_programs_database_is_not_touched(path: Path) -> None:
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.commit()
    db.close()
    history = History(path)
    assert history.problem is not None
    history.close()
    (aside,) = path.parent.glob("history.damaged-*.sqlite")
    db = sqlite3.connect(aside)
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
    db.close()


def test_a_place_that_cannot_be_written_costs_the_history_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    history = History(tmp_path / "file" / "history.sqlite")
    assert history.problem is not None
    assert history.problem.code == "history-write"
    keep(history, runs.run())
    assert len(history.all()) == 1
    history.close()


def read_only(*arguments: object, **options: object) -> None:
    """What SQLite says where a folder may not be written and the log does not exist."""
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    raise error


@pytest.mark.parametrize("open_elsewhere", [False, True], ids=["closed", "open in another window"])
def test_earlier_runs_are_seen_where_nothing_can_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch, open_elsewhere: bool
) -> None:
    first = History(path)
    keep(first, runs.run(id="earlier"))
    if not open_elsewhere:
        first.close()
    before = path.read_bytes()
    monkeypatch.setattr("core.measure.history.file._when_free", read_only)
    history = History(path)
    assert history.problem is not None
    assert history.problem.code == "history-write"
    keep(history, runs.run(id="later"))
    assert {line.id for line in history.lines()} == {"earlier", "later"}
    history.close()
    assert path.read_bytes() == before
    if open_elsewhere:
        first.close()


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\x00" * 99])
def test_a_damaged_file_where_nothing_can_be_written_is_empty(
    path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    monkeypatch.setattr("core.measure.history.file._when_free", read_only)
    history = History(path)
    keep(history, runs.run(id="later"))
    assert [line.id for line in history.lines()] == ["later"]
    history.close()
    assert path.read_bytes() == content


def test_a_row_that_is_not_understood_costs_only_itself(path: Path) -> None:
    history = History(path)
    for number in range(3):
        keep(history, runs.run(id=f"run-{number}"))
    with history._writing() as db:
        db.execute("UPDATE runs SET head = '{}' WHERE id = 'run-0'")
        db.execute("UPDATE cells SET cell = 'nonsense' WHERE run = 'run-1' AND depth = 0")
    assert [(s.run.id, len(s.run.cells)) for s in history.all()] == [("run-1", 1), ("run-2", 2)]
    history.close()


ODD = (b"\xff\xfe", 5, 1.5, "", "{}", "[]", "null", "[" * 100_000, "\x00", "9" * 400, "1e999")


@pytest.mark.parametrize("kept", [False, True], ids=["no line yet", "with its line"])
@pytest.mark.parametrize(
    "column",
    [
        *("id", "started", "ended", "status", "model", "head", "plan", "title", "notes"),
        *("deleted", "owner", "line"),
    ],
)
def test_a_row_of_anything_costs_only_itself(path: Path, column: str, kept: bool) -> None:
    for value in ODD:
        path.unlink(missing_ok=True)
        history = History(path)
        keep(history, runs.run(id="odd"))
        keep(history, runs.run(id="sound"))
        if kept:
            assert len(history.lines()) == 2
        with history._writing() as db:
            db.execute("PRAGMA defer_foreign_keys = ON")
            db.execute("UPDATE cells SET run = ? WHERE run = 'odd' AND ? = 'id'", (value, column))
            db.execute(f"UPDATE runs SET {column} = ? WHERE id = 'odd'", (value,))
            if column == "owner":
                db.execute("UPDATE runs SET status = 'running' WHERE id = 'odd'")
        history.close()
        history = History(path)
        assert history.problem is None
        assert "sound" in [line.id for line in history.lines()]
        entries = history.all()
        assert "sound" in [entry.run.id for entry in entries]
        assert to_json_text(entries) and to_csv_text(entries)
        assert all(to_markdown(entry) for entry in entries)
        history.purge()
        history.close()


def test_a_name_that_is_no_text_in_the_file_or_half_typed_is_kept(path: Path) -> None:
    """A model's name may hold bytes that are no UTF-8, which stand as half characters."""
    history = History(path)
    plan = snapshot(specimen_plan("Llama-3.1-8B"), (0,))
    run = runs.run(target=replace(runs.TARGET, model="m\udc80", model_path="/a\udcff"))
    history.begin(run, replace(plan, model="m\udc80"))
    history.finish(run)
    history.rename(run.id, "t\ud800")
    history.note(run.id, "n\ud800")
    (entry,) = history.all()
    assert (entry.title, entry.notes) == ("t?", "n?")
    assert len(history.lines()) == 1
    history.close()


def test_letters_that_are_no_unicode_cost_only_their_own_row(path: Path) -> None:
    history = History(path)
    for number in range(2):
        keep(history, runs.run(id=f"run-{number}"))
    history.rename("run-0", "a title")
    history.close()
    path.write_bytes(path.read_bytes().replace(b"a title", b"a \xff\xfe\xfd\xfc\xfb"))
    history = History(path)
    assert history.problem is None
    assert [line.id for line in history.lines()] == ["run-0", "run-1"]
    assert len(history.all()) == 2
    history.close()


def test_a_file_whose_tables_are_not_whole_is_set_aside(path: Path) -> None:
    history = History(path)
    history._connection.execute("ALTER TABLE runs RENAME COLUMN head TO xead")
    history.close()
    history = History(path)
    assert history.problem is not None
    assert history.problem.code == "history-damaged"
    keep(history, runs.run())
    assert len(history.all()) == 1
    history.close()


def test_a_list_is_read_at_once_while_somebody_else_writes(path: Path) -> None:
    """Lines that are worked out anew are kept another time: a wait for each would take minutes."""
    history = History(path)
    for number in range(4):
        keep(history, runs.run(id=f"run-{number}"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    begun = monotonic()
    assert len(history.lines()) == 4
    assert monotonic() - begun < 8  # one wait is ten seconds
    other.execute("ROLLBACK")
    other.close()
    assert history._connection.execute("PRAGMA busy_timeout").fetchone() == (10_000,)
    history.close()


def test_two_windows_write_at_the_same_time_and_both_are_kept(path: Path) -> None:
    failures: list[HistoryError] = []

    def write(window: int) -> None:
        history = History(path)
        try:
            for number in range(15):
                keep(history, runs.run(id=f"{window}-{number}"))
        except HistoryError as error:
            failures.append(error)
        finally:
            history.close()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    history = History(path)
    assert len(history.all()) == 60
    history.close()


_WRITER = """\
import sys
import time
from dataclasses import replace
from pathlib import Path
from core.measure.history import History
from core.measure.run import RunStatus
from tests.support import runs
from tests.support.kills import kill_rounds
from tests.support.marking import marked
history = History(Path(sys.argv[1]))
name = sys.argv[2]
run = runs.run({}, id=name, status=RunStatus.RUNNING)
history.begin(run, None)
for depth in range(10_000):
    cell = runs.cell(depth, [50.0] * 6)
    history.keep_cell(run.id, cell)
    print(depth, flush=True)
    time.sleep(0.005)  # three that never pause would starve each other
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killed_again_and_again_no_cell_that_was_kept_is_lost(path: Path) -> None:
    """Each writer is killed at a random moment while it commits one cell after the other; three at
    once, ``KILL_ROUNDS`` times."""
    chance = random.Random(7)
    told: dict[str, int] = {}
    for round in range(ROUNDS):
        names = [f"{round}-{n}" for n in range(3)]
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(path), name],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for name in names
        ]
        streams = [writer.stdout for writer in writers]
        for stream in streams:
            assert stream is not None
            assert stream.readline() == "0\n"
        sleep(chance.uniform(0.0, 0.05))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for name, writer, stream in zip(names, writers, streams, strict=True):
            assert stream is not None
            told[name] = max([0, *(int(line) for line in stream if line.endswith("\n"))])
            writer.wait()
            stream.close()
    history = History(path)
    assert history.problem is None
    kept = {entry.run.id: entry.run for entry in history.all()}
    assert len(kept) == 3 * ROUNDS
    for name, last in told.items():
        depths = [cell.depth for cell in kept[name].cells]
        assert depths[: last + 1] == list(range(last + 1))
        assert kept[name].status is RunStatus.STOPPED
    (verdict,) = history._connection.execute("PRAGMA integrity_check").fetchone()
    assert verdict == "ok"
    history.close()


def test_a_new_file_may_be_opened_by_several_windows_at_the_same_moment(tmp_path: Path) -> None:
    """SQLite turns the second one away at once while the first makes its log."""
    for round in range(20):
        path = tmp_path / str(round) / "history.sqlite"
        start = threading.Barrier(6)
        problems: list[object] = []

        def look(
            path: Path = path,
            start: threading.Barrier = start,
            problems: list[object] = problems,
        ) -> None:
            start.wait()
            history = History(path)
            problems.append(history.problem)
            history.close()

        threads = [threading.Thread(target=look) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == [None] * 6


def test_a_run_that_goes_on_keeps_its_name_and_its_notes(path: Path) -> None:
    history = History(path)
    run = runs.run({0: [50.0] * 6, 4096: [40.0] * 6}, status=RunStatus.STOPPED)
    half = replace(run, cells=(run.cells[0], replace(run.cells[1], finished=False)))
    keep(history, half)
    history.rename(run.id, "with the new driver")
    history.note(run.id, "fan at full speed")
    history.begin(replace(half, status=RunStatus.RUNNING, cells=half.finished_cells), None)
    stored = history.load(run.id)
    assert stored is not None
    assert (stored.title, stored.notes) == ("with the new driver", "fan at full speed")
    assert [cell.depth for cell in stored.run.cells] == [0]
    history.close()


def test_what_a_reading_does_not_tell_takes_no_room(path: Path) -> None:
    """An hour of readings is most of a history."""
    history = History(path)
    run = runs.run(telemetry=[Reading(at_ns=1, cpu=0.25, gpus=(GpuReading("A card", use=0.5),))])
    keep(history, run)
    (text,) = history._connection.execute("SELECT reading FROM telemetry").fetchone()
    history.close()
    assert text == '{"at_ns":1,"cpu":0.25,"gpus":[{"name":"A card","use":0.5}]}'
