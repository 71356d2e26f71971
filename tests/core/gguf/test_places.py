"""Paths, permissions, and files that change: read-only, closed afterwards, never a hang."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from pathlib import Path

import pytest

from core.gguf import PageError, open_file, read_header, read_page
from core.gguf.header import Array, Kind
from core.gguf.reader import parse
from core.gguf.source import FilePlace
from tests.support.gguf_files import I32, STRING, TensorSpec, array, header_bytes, u32, write

TENSORS = [TensorSpec("a", "F32", (8,))]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def open_files() -> list[str]:
    links = Path("/proc/self/fd").iterdir()
    return [str(link.readlink()) for link in links if link.is_symlink()]


@pytest.mark.parametrize(
    "name",
    [
        "with spaces.gguf",
        "Загрузки.gguf",
        "用户　x.gguf",
        "Žofín.gguf",
        "👩\u200d👧.gguf",
        "quotes ' \" & % ^ $HOME `x`.gguf",
        "line\nbreak.gguf",
        "dot.",
        "no extension",
        "x" * 250,
        "-rf",
        "{}.gguf",
        "%s.gguf",
    ],
)
def test_any_name_opens(tmp_path: Path, name: str) -> None:
    """P37."""
    if sys.platform == "win32" and set(name) & set('"\n'):
        pytest.skip("Windows has no such names")
    file = open_file(write(tmp_path / name, {"general.architecture": "llama"}, TENSORS))
    assert file.problems == ()
    assert file.paths == (tmp_path / name,)


@POSIX
def test_a_name_of_bytes_that_are_no_text_opens_and_can_be_shown(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.gguf")
    write(path, {"general.architecture": "llama"}, TENSORS)
    assert open_file(path).problems == ()
    os.truncate(path, 30)
    for problem in open_file(path).problems:
        assert problem.where.encode("utf-8")
        assert "caf\\xe9.gguf" in problem.where


def test_a_path_of_three_hundred_characters_opens(tmp_path: Path) -> None:
    """P37."""
    folder = tmp_path.joinpath(*["f" * 60] * 5)
    folder.mkdir(parents=True)
    assert open_file(write(folder / "a.gguf", {}, TENSORS)).header.problems == ()


def test_a_path_may_be_given_as_text(tmp_path: Path) -> None:
    write(tmp_path / "a.gguf", {}, TENSORS)
    assert read_header(str(tmp_path / "a.gguf")).problems == ()


def only_problem(path: Path | str) -> tuple[str, str]:
    file = open_file(path)
    assert file.kind is Kind.UNKNOWN
    assert file.header.version is None
    (problem,) = file.problems
    assert problem.severity == "error"
    assert problem.message
    assert problem.advice
    return problem.code, problem.message


def test_what_is_not_there_is_a_problem(tmp_path: Path) -> None:
    assert only_problem(tmp_path / "none.gguf")[0] == "not-found"
    (tmp_path / "file").write_bytes(b"")
    assert only_problem(tmp_path / "file" / "below.gguf")[0] == "not-found"


def test_a_folder_is_a_problem(tmp_path: Path) -> None:
    code, message = only_problem(tmp_path)
    assert code == "not-a-file"
    assert "folder" in message


@POSIX
def test_a_pipe_that_nobody_writes_to_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    found: list[tuple[str, str]] = []
    thread = threading.Thread(target=lambda: found.append(only_problem(path)), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert found[0][0] == "not-a-file"
    assert "pipe" in found[0][1]


@POSIX
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device_is_a_problem(device: str) -> None:
    assert only_problem(device)[0] == "not-a-file"


@POSIX
def test_a_socket_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.gguf")
        assert only_problem("s.gguf")[0] == "not-a-file"


@POSIX
def test_a_link_in_a_circle_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "loop.gguf"
    path.symlink_to(path)
    assert only_problem(path)[0] == "read-error"


@POSIX
def test_a_link_to_a_file_opens(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {}, TENSORS)
    (tmp_path / "link.gguf").symlink_to(path)
    assert read_header(tmp_path / "link.gguf").problems == ()


@pytest.mark.parametrize("name", ["nul\0byte.gguf", "x" * 5000])
def test_a_name_that_no_file_can_have_is_a_problem(tmp_path: Path, name: str) -> None:
    only_problem(tmp_path / name)


@POSIX
def test_a_file_without_permission_is_a_problem(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {}, TENSORS)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert only_problem(path)[0] == "no-permission"


def test_permission_that_is_refused_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.gguf", {}, TENSORS)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    code, message = only_problem(path)
    assert code == "no-permission"
    assert "may not be read" in message


class FailingSource:
    """A disk that fails behind the first so many bytes."""

    def __init__(self, data: bytes, good: int) -> None:
        self.size = len(data)
        self.modified_ns = 0
        self._data = data
        self._good = good

    def read(self, offset: int, length: int) -> bytes:
        if offset + length > self._good:
            raise OSError(5, "Input/output error")
        return self._data[offset : offset + length]


@pytest.mark.parametrize("good", [0, 8])
def test_a_disk_that_fails_is_a_problem(good: int) -> None:
    source = FailingSource(header_bytes({"a": u32(1)}, TENSORS), good)
    header = parse(source, FilePlace(Path("a.gguf")))
    (problem,) = header.problems
    assert problem.code == "read-error"
    assert "Input/output error" in problem.message


def test_a_read_only_file_in_a_read_only_folder_opens_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    """P38."""
    path = write(tmp_path / "a.gguf", {}, TENSORS)
    path.chmod(stat.S_IREAD)
    tmp_path.chmod(stat.S_IREAD | stat.S_IEXEC)
    try:
        before = path.stat()
        assert read_header(path).problems == ()
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        assert list(tmp_path.iterdir()) == [path]
    finally:
        tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_file_is_closed_once_it_is_read(tmp_path: Path) -> None:
    """P38."""
    path = write(tmp_path / "a.gguf", {"t": array(STRING, ["x"] * 2_000)}, TENSORS)
    header = read_header(path)
    value = header.metadata["t"]
    assert isinstance(value, Array)
    read_page(header, value, 0, 10)
    assert str(path) not in open_files()
    path.rename(tmp_path / "b.gguf")
    (tmp_path / "b.gguf").unlink()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_bad_file_is_closed_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    for data in (b"", b"<html>", b"GGUF", header_bytes({"a": u32(1)})[:40]):
        path.write_bytes(data)
        read_header(path)
        assert str(path) not in open_files()


@pytest.fixture
def paged(tmp_path: Path) -> tuple[Path, Array]:
    path = write(tmp_path / "a.gguf", {"n": array(I32, list(range(10_000)))}, TENSORS)
    value = read_header(path).metadata["n"]
    assert isinstance(value, Array)
    return path, value


def test_a_page_of_a_file_that_has_grown_is_refused(paged: tuple[Path, Array]) -> None:
    path, value = paged
    header = read_header(path)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(PageError) as caught:
        read_page(header, value, 0, 10)
    assert caught.value.problem.code == "changed"
    assert caught.value.problem.advice == "Open it again."


def test_a_page_of_a_file_with_another_time_is_refused(paged: tuple[Path, Array]) -> None:
    path, value = paged
    header = read_header(path)
    os.utime(path, (1, 1))
    with pytest.raises(PageError):
        read_page(header, value, 0, 10)


def test_a_page_of_a_file_that_is_gone_is_refused(paged: tuple[Path, Array]) -> None:
    path, value = paged
    header = read_header(path)
    path.unlink()
    with pytest.raises(PageError) as caught:
        read_page(header, value, 0, 10)
    assert caught.value.problem.code == "not-found"


def test_a_page_larger_than_anybody_can_look_at_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(header_bytes({"n": array(I32, [], 1 << 26)}, padded=False))
    os.truncate(path, 24 + 8 + 1 + 4 + 12 + (4 << 26))
    header = read_header(path)
    value = header.metadata["n"]
    assert isinstance(value, Array)
    assert read_page(header, value, 1 << 25, (1 << 25) + 3) == (0, 0, 0)
    with pytest.raises(PageError) as caught:
        read_page(header, value, 0, 1 << 26)
    assert caught.value.problem.code == "page-too-large"


def test_a_file_that_grows_while_it_is_read_is_still_being_written(tmp_path: Path) -> None:
    """P38."""
    path = write(tmp_path / "a.gguf", {"t": array(STRING, ["token"] * 60_000)}, TENSORS)

    def grow(_: int) -> None:
        with path.open("ab") as file:
            file.write(b"more")

    codes = [p.code for p in read_header(path, progress=grow).problems]
    assert codes == ["growing"]


def test_a_file_that_shrinks_while_it_is_read_ends_in_a_problem(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {"t": array(STRING, ["token"] * 90_000)}, TENSORS)

    def shrink(done: int) -> None:
        if done < 600_000:
            os.truncate(path, 400_000)

    codes = [p.code for p in read_header(path, progress=shrink).problems]
    assert codes == ["truncated", "growing"]
