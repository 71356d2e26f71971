"""When the program itself is wrong: one sentence for the user, everything in the log."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import qWarning
from pytestqt.qtbot import QtBot

from gui.crash import CrashLog

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def crash_log(tmp_path: Path) -> Iterator[CrashLog]:
    made = CrashLog(tmp_path / "state" / "weighbridge.log")
    made.install()
    yield made
    made.remove()


def error(text: str) -> BaseException:
    try:
        raise ValueError(text)
    except ValueError as raised:
        return raised


def test_an_error_is_logged_whole_and_said_in_one_sentence(crash_log: CrashLog) -> None:
    said: list[str] = []
    crash_log.reported.connect(said.append)
    raised = error("the needle")
    sys.excepthook(type(raised), raised, raised.__traceback__)
    (sentence,) = said
    assert str(crash_log.path) in sentence
    assert "Traceback" not in sentence and "\n" not in sentence
    log = crash_log.path.read_text()
    assert "the needle" in log and "Traceback" in log and "test_app_crash.py" in log


def test_the_same_error_again_is_said_once(crash_log: CrashLog) -> None:
    said: list[str] = []
    crash_log.reported.connect(said.append)
    for _ in range(3):
        crash_log.record(error("in a paint event"))
    assert len(said) == 1
    assert crash_log.path.read_text().count("Traceback") == 1


def test_an_error_in_another_thread_is_said_in_this_one(qtbot: QtBot, crash_log: CrashLog) -> None:
    def fail() -> None:
        raise ValueError("elsewhere")

    places: list[str] = []
    crash_log.reported.connect(lambda said: places.append(threading.current_thread().name))
    with qtbot.waitSignal(crash_log.reported):
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert places == [threading.current_thread().name]
    assert "elsewhere" in crash_log.path.read_text()


def test_what_qt_says_goes_to_the_log(crash_log: CrashLog) -> None:
    qWarning("a warning of Qt's own")
    assert "Qt: a warning of Qt's own" in crash_log.path.read_text()


def test_ctrl_c_is_no_error(crash_log: CrashLog) -> None:
    said: list[str] = []
    crash_log.reported.connect(said.append)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert said == []
    assert crash_log.path.read_text() == ""


def test_removing_it_gives_the_hooks_back(tmp_path: Path) -> None:
    before = (sys.excepthook, threading.excepthook, sys.unraisablehook)
    handlers = list(logging.getLogger().handlers)
    log = CrashLog(tmp_path / "log")
    log.install()
    assert sys.excepthook != before[0]
    log.remove()
    assert (sys.excepthook, threading.excepthook, sys.unraisablehook) == before
    assert logging.getLogger().handlers == handlers


def test_a_long_log_starts_afresh_and_the_old_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "weighbridge.log"
    path.write_text("x" * 1_000_001)
    log = CrashLog(path)
    log.install()
    log.remove()
    assert path.read_text() == ""
    assert path.with_suffix(".log.old").stat().st_size == 1_000_001


def test_a_log_that_cannot_be_written_goes_to_standard_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    program = (
        "from gui.crash import CrashLog\n"
        "from pathlib import Path\n"
        f"log = CrashLog(Path({str(tmp_path / 'file' / 'weighbridge.log')!r}))\n"
        "log.reported.connect(print)\n"
        "log.install()\n"
        "1 / 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert "standard error" in done.stdout
    assert "ZeroDivisionError" in done.stderr


def test_a_hard_crash_leaves_its_stack_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "weighbridge.log"
    program = (
        "import os, signal\n"
        "from gui.crash import CrashLog\n"
        "from pathlib import Path\n"
        f"CrashLog(Path({str(path)!r})).install()\n"
        "os.kill(os.getpid(), signal.SIGABRT)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60)
    assert done.returncode == -6 if os.name == "posix" else done.returncode
    assert "Fatal Python error: Aborted" in path.read_text()


def crash_in_between(path: Path, words: str) -> None:
    """A start that writes to the log and then ends without saying goodbye."""
    program = (
        "import logging, os\n"
        "from gui.crash import CrashLog\n"
        "from pathlib import Path\n"
        f"CrashLog(Path({str(path)!r})).install()\n"
        f"{words}\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60)


@pytest.mark.parametrize(
    ("words", "crashed"),
    [
        ("os.abort()", True),
        ("logging.error('it failed'); os._exit(1)", True),
        ("logging.warning('settings could not be read'); os._exit(1)", False),
        ("os._exit(0)", False),
    ],
    ids=["aborted", "an error and killed", "a warning and killed", "killed"],
)
def test_the_next_start_knows_of_a_crash_once(tmp_path: Path, words: str, crashed: bool) -> None:
    path = tmp_path / "weighbridge.log"
    crash_in_between(path, words)
    for expected in (crashed, False):
        log = CrashLog(path)
        log.install()
        log.remove()
        assert log.crashed_before is expected
    assert [each.name for each in tmp_path.iterdir()] == ["weighbridge.log"]


def test_another_window_that_runs_is_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "weighbridge.log"
    path.write_text("2026-01-01 ERROR of another window\n")
    mark = tmp_path / f"weighbridge-{os.getppid()}.running"
    mark.write_text("0")
    log = CrashLog(path)
    log.install()
    log.remove()
    assert not log.crashed_before
    assert mark.exists()


def test_a_log_that_started_afresh_since_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "weighbridge.log"
    path.write_text("Fatal Python error: Aborted\n")
    (tmp_path / f"weighbridge-{2**30}.running").write_text("999999")
    log = CrashLog(path)
    log.install()
    log.remove()
    assert log.crashed_before
