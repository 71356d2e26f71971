"""What the program keeps or is given, where a pipe, a socket, a device or a folder lies instead."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from core.command_line.requests import BadRequestError, request_from
from core.library.places import known_folders
from core.machine import facts, own
from core.measure.history import History
from core.measure.history.own_runs import own_runs_in
from core.measure.history.transfer import TransferError, read_file
from gui import settings
from gui.crash import CrashLog
from gui.panels.check import history
from gui.workers.counting import Counter
from gui.workers.engine import LogFile, reading_log
from gui.workers.runner import Handle
from tests.support import plans

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices of POSIX")
_SECONDS = 20.0


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    with listening:
        # Relative, because the path of a socket has at most 103 bytes.
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            listening.bind(path.name)
        finally:
            os.chdir(before)


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS: tuple[Callable[[Path], None], ...] = (_pipe, _socket, Path.mkdir, _circle, _endless)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__.strip("_"))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where a file is expected and something else lies."""
    made = tmp_path / "x.json"
    request.param(made)
    return made


def at_once(act: Callable[[], object]) -> object:
    """What comes of it, or the exception. Who waits for a pipe fails the test, not the suite."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(act())
        except Exception as error:
            found.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    assert found, "it waits"
    return found[0]


def test_settings_are_the_defaults_and_can_be_saved_again(path: Path) -> None:
    assert at_once(lambda: settings.load(path)) == settings.Settings()
    kept = settings.Settings(language="es")
    at_once(lambda: settings.save_changes(path, settings.Settings(), kept))
    assert settings.load(path) == kept


def test_machines_of_the_users_own_are_none_and_it_is_said(path: Path) -> None:
    stored = at_once(lambda: own.load(path))
    assert isinstance(stored, own.Stored)
    assert stored.machines == ()
    assert stored.problem is not None and "x.json" in stored.problem.message


def test_measured_rates_are_none(path: Path) -> None:
    assert at_once(lambda: facts.load(path)) == ()


def test_earlier_checks_are_none(path: Path) -> None:
    assert at_once(lambda: history.read(path)) == ()


def test_the_history_is_empty_and_says_why(path: Path) -> None:
    def look() -> tuple[bool, int]:
        kept = History(path)
        try:
            return kept.problem is not None, len(kept.all())
        finally:
            kept.close()

    assert at_once(look) == (True, 0)
    assert at_once(lambda: own_runs_in(path, plans.machine())) == ()


def test_runs_are_not_taken_from_it(path: Path) -> None:
    error = at_once(lambda: read_file(path))
    assert isinstance(error, TransferError)
    assert error.problem.message.startswith("It could not be read: ")
    assert "None" not in error.problem.message


def test_a_machine_report_is_refused_with_a_sentence(path: Path) -> None:
    from core.command_line.machines import machine_of

    request = request_from({"file": "m.gguf", "machine": str(path)})
    error = at_once(lambda: machine_of(request))
    assert isinstance(error, BadRequestError)
    assert "could not be read" in str(error) or "no machine" in str(error)


def test_a_text_to_count_and_a_log_to_read_are_answered_with_a_sentence(path: Path) -> None:
    counting = Counter().counting(plans.model().file.header, path, "system_tokens")
    counted = at_once(lambda: counting(Handle(lambda _: None)))
    assert counted.problem is not None  # type: ignore[attr-defined]
    log = at_once(lambda: reading_log(path)(Handle(lambda _: None)))
    assert isinstance(log, LogFile) and log.problem is not None
    assert log.problem.message.startswith("The log could not be read: ")
    assert "Errno" not in log.problem.message


def test_another_programs_settings_are_passed_over(tmp_path: Path, path: Path) -> None:
    lm_studio = tmp_path / ".lmstudio"
    lm_studio.mkdir()
    path.rename(lm_studio / "settings.json")
    found = at_once(lambda: known_folders({"HOME": str(tmp_path)}, "linux"))
    assert lm_studio / "models" in [folder.path for folder in found]  # type: ignore[attr-defined]


@pytest.fixture
def crash_log(path: Path) -> Iterator[CrashLog]:
    made = CrashLog(path)
    yield made
    made.remove()


def test_the_log_is_written_elsewhere(crash_log: CrashLog) -> None:
    # In this thread, because Qt's own hook comes along: a pipe that waits is left by a reader.
    reader: int | None = None
    if crash_log.path.is_fifo():
        reader = os.open(crash_log.path, os.O_RDONLY | os.O_NONBLOCK)
    crash_log.install()
    if reader is not None:
        os.close(reader)
    assert crash_log._where == ""


def test_a_mark_of_a_start_that_is_no_file_costs_nothing_but_itself(tmp_path: Path) -> None:
    log = tmp_path / "weighbridge.log"
    for number, kind in enumerate((*KINDS, Path.touch)):
        kind(tmp_path / f"weighbridge-{2**22 + 1 + number}.running")
    made = CrashLog(log)
    assert at_once(made._look_back) is False
    made.install()
    made.remove()
    assert log.is_file()
    assert [path.name for path in tmp_path.glob("*.running") if path.is_file()] == []


def test_a_folder_named_after_a_user_who_does_not_exist_is_no_folder() -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE", "XDG_CACHE_HOME"):
        known_folders({"HOME": "/home/somebody", name: "~nobody-of-this-name/models"}, "linux")
