"""A second start hands its files to the first window, and to nobody else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Client, Listener
from pathlib import Path
from threading import Thread

import pytest
from pytestqt.qtbot import QtBot

from gui.workers import instance
from gui.workers.instance import Instance

ROOT = Path(__file__).resolve().parents[2]
SCREEN = {"DISPLAY": ":0"}


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first window is waited for, however busy the machine is."""
    monkeypatch.setattr(instance, "_PATIENCE", 30.0)


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Instance]:
    made = Instance(tmp_path, SCREEN)
    made.listen()
    yield made
    made.close()


def later(folder: Path, files: list[str], token: str = "") -> bool:
    """A start after the first, as a thread: what it says and whether it was heard."""
    heard: list[bool] = []

    def start() -> None:
        second = Instance(folder, SCREEN)
        assert not second.first
        heard.append(second.hand_over(files, token))

    thread = Thread(target=start)
    thread.start()
    thread.join(60)
    return heard == [True]


@contextmanager
def listening(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A first window in a process of its own, which listens."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from gui.workers.instance import Instance\n"
        f"made = Instance(Path(sys.argv[1]), {SCREEN!r})\n"
        "made.listen()\n"
        "print('first' if made.first else 'second', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        yield process


def test_files_and_token_arrive(
    qtbot: QtBot, first: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with qtbot.waitSignal(first.files_came) as came:
        assert later(tmp_path, ["model.gguf", "/models/é \udcff.gguf"], "token-1")
    assert came.args == [[str(tmp_path / "model.gguf"), "/models/é \udcff.gguf"], "token-1"]


def test_a_start_without_a_file_only_wants_the_window(
    qtbot: QtBot, first: Instance, tmp_path: Path
) -> None:
    with qtbot.waitSignal(first.files_came) as came:
        assert later(tmp_path, [])
    assert came.args == [[], ""]


@pytest.mark.skipif(os.name != "posix", reason="a path is the address of a socket")
@pytest.mark.parametrize("letters", [60, 150])
def test_a_folder_for_passing_things_may_have_a_long_name(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: int
) -> None:
    folder = tmp_path / ("é " * (letters // 2)).strip()
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    first = Instance(tmp_path, SCREEN)
    first.listen()
    with qtbot.waitSignal(first.files_came) as came:
        assert later(tmp_path, ["/models/a.gguf"])
    first.close()
    assert came.args == [["/models/a.gguf"], ""]
    assert not list(folder.iterdir())


def test_another_screen_has_a_window_of_its_own(first: Instance, tmp_path: Path) -> None:
    other = Instance(tmp_path, {"DISPLAY": ":1"})
    assert other.first
    other.close()


def test_after_the_first_has_gone_the_next_is_the_first(tmp_path: Path) -> None:
    one = Instance(tmp_path, SCREEN)
    one.listen()
    one.close()
    two = Instance(tmp_path, SCREEN)
    assert two.first
    two.close()
    assert not list(tmp_path.glob("*.json"))


def test_the_call_that_ends_the_listening_is_no_start_that_is_talked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread for it would outlive `close`, and the program would end as if something hung."""
    talked: list[object] = []
    monkeypatch.setattr(Instance, "_talk", lambda self, connection: talked.append(connection))
    one = Instance(tmp_path, SCREEN)
    one.listen()
    one.close()
    assert not talked


def test_a_first_window_that_was_killed_is_no_first_any_more(tmp_path: Path) -> None:
    with listening(tmp_path) as process:
        process.kill()
    made = Instance(tmp_path, SCREEN)
    assert made.first
    made.listen()
    assert later(tmp_path, [])
    made.close()


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_first_window_that_hangs_does_not_keep_the_second_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_PATIENCE", 0.3)
    with listening(tmp_path) as process:
        process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        assert not later(tmp_path, ["a.gguf"])
        assert time.monotonic() - start < 60
        process.send_signal(signal.SIGCONT)
        process.kill()


def test_a_listener_that_does_not_know_the_key_is_told_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_PATIENCE", 3.0)
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    first = Instance(tmp_path, SCREEN)
    first.listen()
    (told,) = tmp_path.glob("*.json")
    heard: list[bytes] = []
    address = "other"
    with Listener(address, authkey=b"another key") as stranger:

        def listen() -> None:
            try:
                with stranger.accept() as connection:
                    heard.append(connection.recv_bytes())
            except Exception:
                return

        thread = Thread(target=listen)
        thread.start()
        kept = told.read_text()
        told.write_text(json.dumps({**json.loads(kept), "address": address}))
        assert not later(tmp_path, ["secret.gguf"])
        thread.join(30)
    first.close()
    assert heard == []


def test_who_comes_and_says_nothing_keeps_no_start_waiting(
    qtbot: QtBot, first: Instance, tmp_path: Path
) -> None:
    (told,) = tmp_path.glob("*.json")
    address = json.loads(told.read_text())["address"]
    silent = [Client(address) for _ in range(20)]
    start = time.monotonic()
    with qtbot.waitSignal(first.files_came) as came:
        assert later(tmp_path, ["a.gguf"])
    assert time.monotonic() - start < instance._PATIENCE
    assert came.args[0][0].endswith("a.gguf")
    for each in silent:
        each.close()


@pytest.mark.parametrize(
    "message",
    [b"", b"[]", b"null", b"7", b"{}", b'{"files": 7}', b'{"files": [7]}', b"\xff", b"[" * 100_000],
)
def test_a_start_that_says_something_odd_costs_only_itself(
    qtbot: QtBot, first: Instance, tmp_path: Path, message: bytes
) -> None:
    (told,) = tmp_path.glob("*.json")
    known = json.loads(told.read_text())
    came: list[object] = []
    first.files_came.connect(lambda files, token: came.append(files))
    with Client(known["address"], authkey=bytes.fromhex(known["key"])) as odd:
        odd.send_bytes(message)
        assert odd.poll(10)
        with pytest.raises((EOFError, ConnectionError)):
            odd.recv_bytes()
    assert later(tmp_path, ["a.gguf"])
    qtbot.waitUntil(lambda: came == [[str(Path.cwd() / "a.gguf")]])


def test_a_start_just_after_the_first_waits_until_that_one_listens(
    qtbot: QtBot, tmp_path: Path
) -> None:
    """Opening two files at once in a file manager is two starts at the same moment."""
    first = Instance(tmp_path, SCREEN)
    stale = {"address": str(tmp_path / "gone"), "key": "00"}
    (note,) = (path.with_suffix(".json") for path in tmp_path.glob("*.lock"))
    note.write_text(json.dumps(stale))  # of one that was killed
    heard: list[bool] = []
    thread = Thread(target=lambda: heard.append(later(tmp_path, ["b.gguf"])))
    thread.start()
    time.sleep(0.3)
    with qtbot.waitSignal(first.files_came) as came:
        first.listen()
    thread.join(30)
    first.close()
    assert heard == [True]
    assert came.args[0][0].endswith("b.gguf")


def test_where_no_lock_can_be_kept_a_start_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_PATIENCE", 60.0)
    (tmp_path / "a file").write_text("")
    made = Instance(tmp_path / "a file" / "below", SCREEN)
    assert not made.first
    start = time.monotonic()
    assert not made.hand_over(["a.gguf"])
    assert time.monotonic() - start < instance._PATIENCE
    made.close()


def test_where_the_first_goes_while_it_is_asked_the_second_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_PATIENCE", 0.5)
    first = Instance(tmp_path, SCREEN)
    second = Instance(tmp_path, SCREEN)
    first.close()
    assert not second.hand_over(["a.gguf"])
    assert second.first
    second.close()


@pytest.mark.parametrize("content", ["", "no json", "[]", "{}", '{"address": 1, "key": "zz"}'])
def test_a_damaged_note_is_no_first_window(
    content: str, tmp_path: Path, first: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_PATIENCE", 0.2)
    (told,) = tmp_path.glob("*.json")
    told.write_text(content)
    assert not later(tmp_path, ["a.gguf"])


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_only_this_user_can_read_the_key(first: Instance, tmp_path: Path) -> None:
    (told,) = tmp_path.glob("*.json")
    assert told.stat().st_mode & 0o077 == 0
    address = Path(json.loads(told.read_text())["address"])
    assert address.parent.stat().st_mode & 0o077 == 0
