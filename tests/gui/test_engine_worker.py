"""Running llama.cpp: it is ended when it has said enough, and in every other case as well."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import cast

import psutil
import pytest

from core.check.engine_log import read
from gui.workers import engine
from gui.workers.engine import EngineRun, LogFile
from gui.workers.runner import Handle
from tests.support.engine_logs import FIT, recorded
from tests.support.stand_in import ENDS, FAMILY, FLOOD, ILLEGAL, WAITS, stand_in

LOG = recorded()["gemma3, 4 shared slots"]


def ignore(_: int) -> None:
    pass


def run(path: Path, *, seconds: float = 300.0, cancel_after: float | None = None) -> EngineRun:
    handle = Handle(ignore)
    timer = Timer(cancel_after or 0, handle.cancel)
    if cancel_after is not None:
        timer.start()
    try:
        return cast(EngineRun, engine.dry_running([str(path), "-v"], seconds)(handle))
    finally:
        timer.cancel()


def children() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "stand-in" in " ".join(p.cmdline())]


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    def make(log: str = LOG, then: str = WAITS) -> Path:
        return stand_in(tmp_path / "stand-in", "llama-server", log, then)

    return make


def test_it_is_ended_as_soon_as_it_has_said_enough(make: Callable[..., Path]) -> None:
    began = monotonic()
    answer = run(make())
    assert monotonic() - began < 60
    assert answer.problem is None
    assert answer.log == read(answer.text)
    assert answer.log is not None
    # Only its look before loading: what came after may have been cut anywhere.
    assert [load.dry for load in answer.log.loads] == [True]
    assert answer.command[1:] == ("-v",)
    assert children() == []


def test_a_table_of_fit_params_is_read_when_it_ends(make: Callable[..., Path]) -> None:
    answer = run(make(FIT, ENDS))
    assert answer.problem is None
    assert answer.log is not None
    assert [row.name for row in answer.log.fit] == ["CUDA0", "Host"]


def test_a_build_for_another_processor_is_a_sentence(make: Callable[..., Path]) -> None:
    answer = run(make("build: 9000 (abc) with cc\n", ILLEGAL))
    assert answer.log is None
    assert answer.problem is not None
    assert "SIGILL" in answer.problem.message
    assert answer.text.startswith("build: 9000")


def test_an_error_of_its_own_is_a_sentence(make: Callable[..., Path]) -> None:
    answer = run(make("x: error loading model: unknown model architecture: 'new'\n", "sys.exit(1)"))
    assert answer.problem is not None
    assert answer.problem.code == "engine-architecture"


def test_one_that_says_nothing_is_ended_in_time(make: Callable[..., Path]) -> None:
    began = monotonic()
    answer = run(make("srv init: initializing ...\n"), seconds=0.5)
    assert monotonic() - began < 60
    assert answer.problem is not None
    assert answer.problem.code == "engine-late"
    assert children() == []


def test_one_that_ends_without_sizes_says_what_to_do(make: Callable[..., Path]) -> None:
    answer = run(make("llama-server: nothing to say\n", ENDS))
    assert answer.problem is not None
    assert answer.problem.code == "engine-silent"
    assert "-v" in answer.problem.advice


def test_a_run_that_nobody_wants_any_more_ends_at_once(make: Callable[..., Path]) -> None:
    began = monotonic()
    answer = run(make("srv init: initializing ...\n"), cancel_after=0.3)
    assert monotonic() - began < 60
    assert (answer.log, answer.problem) == (None, None)
    assert children() == []


def test_what_it_started_ends_with_it(make: Callable[..., Path]) -> None:
    # It says enough once it has started something.
    then = f"{FAMILY.removesuffix(WAITS)}print({LOG!r}, flush=True)\n{WAITS}"
    answer = run(make("", then))
    assert answer.problem is None
    found = re.search(r"child (\d+)", answer.text)
    assert found is not None
    child = int(found[1])
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_a_flood_of_output_is_bounded(
    make: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "OUTPUT_LIMIT", 1_000_000)
    began = monotonic()
    answer = run(make("", FLOOD))
    assert monotonic() - began < 60
    assert len(answer.text) <= 1_000_000
    assert answer.problem is not None
    assert children() == []


@pytest.mark.parametrize("kind", ["absent", "a folder", "no program"])
def test_a_program_that_cannot_be_started_is_a_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "llama-server"
    if kind == "a folder":
        path.mkdir()
    elif kind == "no program":
        path.write_bytes(b"\x00\x01not a program")
        path.chmod(0o755)
    answer = run(path)
    assert answer.problem is not None
    assert answer.problem.code == "engine-start"
    assert "could not be started" in answer.problem.message
    assert answer.problem.where == str(path)


def test_programs_are_found_in_the_chosen_folder_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("path", "own"):
        stand_in(tmp_path / folder, "llama-server", "")
    stand_in(tmp_path / "path", "llama-fit-params", "")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert engine.programs() == {
        "llama-server": str(tmp_path / "path" / "llama-server"),
        "llama-fit-params": str(tmp_path / "path" / "llama-fit-params"),
    }
    assert engine.programs(str(tmp_path / "own"))["llama-server"] == str(
        tmp_path / "own" / "llama-server"
    )
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert engine.programs(str(tmp_path / "gone")) == {}


def load(path: Path) -> LogFile:
    return cast(LogFile, engine.reading_log(path)(Handle(ignore)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_log_file_is_read_as_terminals_write_them(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(LOG, encoding=encoding)
    file = load(path)
    assert file.problem is None
    assert read(file.text) == read(LOG)


def test_a_log_that_is_not_there_or_a_model_is_a_sentence(tmp_path: Path) -> None:
    absent = load(tmp_path / "absent.log")
    assert absent.problem is not None
    assert "could not be read" in absent.problem.message
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF\x03\x00\x00\x00")
    file = load(model)
    assert file.problem is not None
    assert "not a log" in file.problem.message
    assert load(tmp_path).problem is not None


def test_a_log_without_an_end_is_read_as_far_as_is_sensible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LOG_LIMIT", 10_000)
    path = tmp_path / "long.log"
    path.write_text(LOG)
    file = load(path)
    assert len(file.text) == 10_000
    assert file.problem is not None
    assert "beginning" in file.problem.message


def test_the_port_is_free_and_on_this_computer_alone() -> None:
    port = engine.free_port()
    assert 1024 < port < 65536
